"""The strict reader: what it takes, what it refuses, and the shells themselves as judges of what it takes."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.shell.grammar import SimpleCommand, parse_shell
from nbtools.shell.reader import parse_strictly
from tests.examples import examples
from tests.fuzz.run_allowed import HARMLESS, MARK, lines

SHELLS = {
    "bash": ["bash", "--norc"],
    "dash": ["dash"],
    "busybox": ["busybox", "ash"],
    "zsh": ["zsh", "-f"],
    "ksh": ["ksh"],
}


def argvs(line: str) -> list[list[str]]:
    reading = parse_strictly(line)
    assert reading.problem == ""
    return [list(command.argv) for command in reading.commands if command.argv]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b; c && d || e | f & g", [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a 'b c' \"d e\" f\\ g h'i'\"j\"", [["a", "b c", "d e", "f g", "hij"]]),
        (
            "a 'it'\\''s' \"x$\" {} HEAD@{1} x~y a#b -- --x=y",
            [["a", "it's", "x$", "{}", "HEAD@{1}", "x~y", "a#b", "--", "--x=y"]],
        ),
        ("A=1 B='x y' a b", [["a", "b"]]),
        ('for i in a b; do c "$i"; done', [["c", '"$i"']]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("{ a; b; } && (c; d)", [["a"], ["b"], ["c"], ["d"]]),
        ('a "$(b c)" $(d)', [["a", '"$(b c)"', "$(d)"], ["b", "c"], ["d"]]),
        ("a <<'E'\n$(b)\nE\nc", [["a"], ["c"]]),
        ("a  # b; c\nd", [["a"], ["d"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("! a | b", [["a"], ["b"]]),
        ("# nothing", []),
        ("", []),
    ],
)
def test_the_reader_accepts_the_common_part_of_all_shells(line: str, words: list[list[str]]) -> None:
    assert argvs(line) == words
    assert [list(command.argv) for command in parse_shell(line).commands if command.argv] == words


def test_redirects_and_assignments() -> None:
    (command,) = parse_strictly("A=1 a >f 2>>g <h 2>&1 3<&- <<E b\ntext\nE").commands
    assert command.assignments == ("A=1",)
    assert command.argv == ("a", "b")
    assert [(one.operator, one.target) for one in command.redirects[:5]] == [
        (">", "f"),
        (">>", "g"),
        ("<", "h"),
        (">&", "1"),
        ("<&-", ""),
    ]
    assert command.redirects[5].body == "text\n"


def test_variables_that_are_set_without_an_assignment() -> None:
    assert parse_strictly("for PATH in a; do b; done; c ${X:=d}").variables == ("PATH", "X")


@pytest.mark.parametrize(
    "line",
    Path(__file__).with_name("refused_lines.txt").read_text().splitlines(),
)
def test_the_reader_refuses_other_constructs(line: str) -> None:
    assert parse_strictly(line).problem


@pytest.mark.parametrize(
    "line",
    [
        "~bob",
        "a ~bob",
        "a=~/b",
        "a\\\nb",
        "a \\\n#b",
        "a &\\\n& b",
        "\\\na",
        "a <<E\n$b\nE",
        "a <<E\n`b`\nE",
        "a <<E\nb",
        "a <<E\\\nF\nF",
        "a <<-E\n\tb\\\n\tE",
        "a <<E $(b\n)\nE",
        "a <<E 'b\nc'\nE",
        "a \x0bb",
        "a \xa0b",
        "a \u2028b",
        "a\x00b",
        '"a\\\nb" c',
        "$(" * 50 + "a" + ")" * 50,
    ],
)
def test_the_reader_refuses_constructs_over_several_lines(line: str) -> None:
    assert parse_strictly(line).problem


@settings(max_examples=examples(500))
@given(st.text("ab \t\n;&|<>(){}[]$`'\"\\#=~!*?/-1:", max_size=40))
def test_any_text_is_taken_or_refused(text: str) -> None:
    reading = parse_strictly(text)
    assert reading.problem == "" or not reading.commands


def test_its_depth_is_limited() -> None:
    assert parse_strictly("(" * 10_000 + "a").problem
    assert parse_strictly("if a; then b; " + "elif a; then b; " * 2_000 + "fi").problem == ""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stubs that write down how they were started."""
    folder = tmp_path_factory.mktemp("programs")
    # one write, so that records do not mix
    stub = """#!/bin/sh\nprintf '%s\\0' "${0##*/}" "$@" '\1' >> "$LOG"\n"""
    for name in (*HARMLESS, MARK):
        (folder / name).write_text(stub)
        (folder / name).chmod(0o755)
    return folder


def started(shell: str, line: str, programs: Path, work: Path) -> list[list[str]]:
    log = (
        work / f"log-{len(list(work.iterdir()))}"
    )  # one for each line: what runs in the background may be late
    log.touch()
    environment = {"PATH": str(programs), "HOME": str(work), "LOG": str(log), "LC_ALL": "C.UTF-8"}
    argv = [shutil.which(SHELLS[shell][0]) or "", *SHELLS[shell][1:], "-c", line]
    subprocess.run(argv, cwd=work, env=environment, stdin=-3, stdout=-3, stderr=-3, timeout=30, check=False)
    return [
        record.split("\0")[:-1] for record in log.read_bytes().decode("utf-8", "replace").split("\1\0")[:-1]
    ]


def foreseen(words: list[str], commands: tuple[SimpleCommand, ...]) -> bool:
    """Whether a program was started as the reader said, up to the first word that only the shell knows."""
    return any(
        list(command.argv) == words
        if not command.dynamic
        else list(command.argv[: command.dynamic[0]]) == words[: command.dynamic[0]]
        for command in commands
    )


_STARTERS = (
    "eval",
    "trap",
    "sh",
    "bash",
    "env",
    "nice",
    "timeout",
    "xargs",
    "command",
    "exec",
    "builtin",
    ".",
    "source",
    "alias",
    "time",
    "hash",
    "let",
)


@pytest.mark.parametrize("shell", [name for name, argv in SHELLS.items() if shutil.which(argv[0])])
def test_the_shells_start_what_it_read(shell: str, programs: Path, tmp_path: Path) -> None:
    """Random tokens in everyday lines: of those that it takes, each shell starts nothing else,
    with no other words.
    """
    (tmp_path / "a").write_text("$(mark)\n")
    chance, taken = lines(random.Random(7)), 0
    while taken < 150:
        line = next(chance)
        reading = parse_strictly(line)
        programs_of = {command.argv[0] for command in reading.commands if command.argv}
        endless = "while" in line or "until" in line
        if endless or reading.problem or not line.strip() or programs_of & set(_STARTERS) or "PATH" in line:
            continue
        taken += 1
        for words in started(shell, line, programs, tmp_path):
            assert foreseen(words, reading.commands), (line, words)
