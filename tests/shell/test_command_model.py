"""Bash and the real wrappers as judges: whatever program they start was foreseen."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.shell import analyse
from tests.examples import examples

STUBS = ("one", "two", "git", "make", "python")
WRAPPERS = (
    "env",
    "nice",
    "nohup",
    "timeout",
    "stdbuf",
    "setsid",
    "xargs",
    "find",
    "flock",
    "bash",
    "sh",
    "echo",
    "true",
    "sleep",
    "cat",
    "ionice",
    "chrt",
    "taskset",
    "awk",
    "sed",
    "sort",
    "tar",
    "split",
    "ls",
)
STUB = '#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@" $\'\\001\' >> "$LOG"\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs: stubs that note how they were started, and the system's own that start others."""
    folder = tmp_path_factory.mktemp("started")
    (folder / "bin").mkdir()
    (folder / "work").mkdir()
    (folder / "work" / "file").write_text("one\ntwo\n")
    for name in STUBS:
        (folder / "bin" / name).write_text(STUB)
        (folder / "bin" / name).chmod(stat.S_IRWXU)
    for name in WRAPPERS:
        found = shutil.which(name)
        if found:
            (folder / "bin" / name).symlink_to(found)
    return folder


def started_by(place: Path, line: str) -> list[tuple[str, ...]]:
    log = place / "log"
    log.write_bytes(b"")
    environment = {
        "PATH": str(place / "bin"),
        "LOG": str(log),
        "LC_ALL": "C.UTF-8",
        "HOME": str(place / "work"),
    }
    bash = shutil.which("bash")
    assert bash
    subprocess.run(
        [bash, "--norc", "-c", line],
        env=environment,
        cwd=place / "work",
        stdin=-3,
        stdout=-3,
        stderr=-3,
        timeout=30,
        check=False,
    )
    records = log.read_bytes().decode("utf-8", "replace").split("\0\1\0")[:-1]
    return [tuple(record.split("\0")) for record in records]


def assert_foreseen(place: Path, line: str) -> int:
    understood = analyse(line)
    if understood.doubt or "! !" in line:  # the grammar takes the second one for a program
        return 0
    acts = understood.commands
    started = started_by(place, line)
    anything = any(0 in act.dynamic for act in acts) or any(act.risk for act in acts)
    for words in started:
        exact = any(act.words == words for act in acts)
        filled = any(act.dynamic and act.words[: act.dynamic[0]] == words[: act.dynamic[0]] for act in acts)
        assert exact or filled or anything, (line, words)
    return len(started)


LINES = [
    "env -u A B=1 one x",
    "env 1b=2 one x",
    "time A=1 one x",
    "time -p A+=1 B[0]=2 one x",
    "env -C / two",
    "env -S 'one x y'",
    "env -i PATH=$PATH LOG=$LOG one",
    "nice -n 5 one a b",
    "nice -5 one",
    "nice --adjustment=3 one",
    "nohup one",
    "timeout -k 1 5 one x",
    "timeout --signal=KILL 5 env A=1 two",
    "stdbuf -o L -eL one",
    "setsid -w one x",
    "ionice -c 3 one x",
    "ionice -c2 -n 7 one",
    "flock -n lock one x",
    "flock lock -c 'one x; two'",
    "bash -c 'one x' name a",
    "bash -ec 'one x && two'",
    "bash -c -- 'one'",
    "bash -o pipefail -c 'one | two'",
    "bash -euo pipefail -c 'one'",
    "sh -c 'one; two'",
    "bash <<'E'\none x\nE",
    "bash <<< 'one x'",
    "eval one x",
    "eval 'one x; two'",
    "trap 'one x' EXIT",
    "exec one x",
    "command -p one || command one x",
    "echo a b | xargs one",
    "echo a b | xargs -n1 one x",
    "echo a b | xargs -n 1 -P 2 one x",
    "echo a | xargs -I% one %x %",
    "echo a | xargs -i one {}",
    "echo a | xargs -d '\\n' one",
    "echo a | xargs -L1 one",
    "echo a | xargs -t -r one",
    "echo a | xargs -s 1000 one",
    "echo a | xargs --max-args=1 one",
    "echo a | xargs -E x one",
    "echo a | xargs -e one",
    "echo a | xargs -l one",
    "find . -name file -exec one {} ';'",
    "find . -type f -execdir one x {} +",
    "find -L . -maxdepth 1 -name file -exec one {} \\; -exec two {} \\;",
    "find . -name file -exec env A=1 one {} +",
    "find . -name file -exec bash -c 'one x' {} ';'",
    "f() { one x; }; f",
    "one x | two y & wait",
    "{ one; two; } > out",
    "cat <(one x)",
    "echo $(one x) `two y`",
    "X=$(one x)",
    "cat <<E\n$(one x)\nE",
    "if one; then two; else git; fi",
    "for i in a b; do one x; done",
    "case a in a) one x;; esac",
    "[[ -n $(one x) ]]",
    "echo ${X:-$(one x)} $((1 + $(one y)))",
    "time -p one x",
    "! one x",
    "one x >& out 2>&1 < file",
    "taskset 1 one x",
    "nice nohup timeout 5 stdbuf -oL env A=1 one x",
    "builtin eval 'one x'",
]


@pytest.mark.parametrize("line", LINES)
def test_every_program_that_a_line_starts_was_predicted(place: Path, line: str) -> None:
    understood = analyse(line)
    assert understood.doubt == "" or "$" in line or "-C" in line
    foreseen = [act.words[0] for act in understood.commands if act.words]
    assert any(name in STUBS for name in foreseen)
    assert_foreseen(place, line)


_OUTER = st.sampled_from(
    [
        "env",
        "env A=1",
        "env -u B",
        "env -i PATH=$PATH",
        "nice",
        "nice -n 3",
        "nice -3",
        "nohup",
        "timeout 5",
        "timeout -s TERM 5",
        "stdbuf -oL",
        "setsid -w",
        "command",
        "exec",
        "builtin",
        "echo a b | xargs",
        "echo a | xargs -I{}",
        "echo a | xargs -n1",
        "time",
        "!",
        "A=1",
        "bash -c",
        "eval",
        "trap",
        "sh -c",
        "find file -exec",
        "env -S",
        "timeout",
        "xargs",
        "env -",
        "nice --",
    ]
)
_INNER = st.sampled_from(
    [
        "one x",
        "two",
        "one {} ;",
        "one {} +",
        "'one x'",
        '"two y"',
        "-x one",
        "-- one x",
        "A=1 one",
        "one \\;",
        "5 one",
        "'one x; two' EXIT",
        "{} one",
    ]
)
_MORE = st.sampled_from(["", "; two", " | two", " && one y", " > out", " 2>&1", " & wait", "\ntwo"])


@settings(max_examples=examples(200), deadline=None)
@given(outer=st.lists(_OUTER, min_size=1, max_size=3), inner=_INNER, more=_MORE)
def test_every_program_that_a_random_line_starts_was_predicted(
    place: Path, outer: list[str], inner: str, more: str
) -> None:
    assert_foreseen(place, " ".join([*outer, inner]) + more)


def test_the_stubs_are_started(place: Path) -> None:
    assert os.access(place / "bin" / "one", os.X_OK)
    assert started_by(place, "one a 'b c'") == [("one", "a", "b c")]
    assert assert_foreseen(place, "env A=1 one x; nice two") == 2
