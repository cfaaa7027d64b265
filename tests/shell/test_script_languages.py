"""The programs themselves as judge of their scripts:
what counts as plain leaves no file, starts nothing, and shows no other file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools.shell import analyse
from tests.shell.script_languages import LANGUAGES, Language, plain_scripts, violations

COMMANDS = [(language, command) for language in LANGUAGES for command in language.installed()]
ESCAPES = {
    "sed": ["1e >m", "1w m", "a\\\\\n1e >m", ":a#;1e >m"],
    "awk": [
        'BEGIN{system(">m")} # function system',
        'BEGIN{print > "m"}',
        'BEGIN{">m" | getline}',
        '/function system/; END{system(">m")}',
    ],
    "jq": ['import "./k" as $k; $k', '[1] | "a\\(.[0])" | import "k" as $k; $k'],
    "sql": ["select * from fsdir('k')", ".trace m", "select data from fsdir where path='k'"],
}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_known_escapes_are_not_plain(language: Language) -> None:
    assert not any(language.is_plain(script) for script in ESCAPES[language.name])


@pytest.mark.parametrize(
    ("language", "command"), COMMANDS, ids=[" ".join(command[:2]) for _, command in COMMANDS]
)
def test_plain_scripts_do_nothing_else(language: Language, command: tuple[str, ...], tmp_path: Path) -> None:
    plain = plain_scripts(language, "short", 6000)[:60]
    assert len(plain) > 20
    assert violations(command, plain, tmp_path) == []


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_script_that_does_more_is_noticed(language: Language, tmp_path: Path) -> None:
    commands = language.installed()
    if not commands:
        pytest.skip(f"no program for {language.name} is installed")
    assert violations(commands[0], ESCAPES[language.name], tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "gawk 1 /inet/tcp/0/localhost/80",
        "sqlite3 x.db 'select 1'",
        "sqlite3 -safe x.db 'select edit/**/(1,\"touch m\")'",
        "sqlite3 -safe x.db .testcase",
        "jq -f x.jq a",
        'jq -n "$X"',
        "jq --arg v -- 'import \"k\" as $k; $k'",
        "yq 'load_str(\"k\")' a",
        "yq e 'system(\"x\")' a",
    ],
)
def test_programs_whose_scripts_do_more_need_approval(line: str) -> None:
    assert any(act.risk for act in analyse(line).commands)


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("sqlite3 -safe -readonly x.db 'select count(*) from t'", ("x.db",)),
        ("jq --arg v \"$V\" '.version == $v' package.json", ("package.json",)),
        ("jq '.[] | {id, name: .user.name}' a b", ("a", "b")),
        ("yq e '.a.b' x.yml", ("x.yml",)),
        ("awk -v min=1 '$1 > min {print $2}' a", ("a",)),
    ],
)
def test_plain_scripts_are_no_risk(line: str, reads: tuple[str, ...]) -> None:
    (act,) = analyse(line).commands
    assert (act.risk, act.reads) == ("", reads)
