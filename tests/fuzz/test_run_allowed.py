"""The search for lines that do more than the policy allows:
a short one finds nothing, and it does find what is there.
"""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path

import pytest

from nbtools import Policy
from tests.fuzz.run_allowed import Ground, lines, normal_form, search, system_calls

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="the stubs are written in C")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground", lambda line: not line.startswith("git push"))


def test_nothing_runs_that_no_rule_allows() -> None:
    tally = search(1, most=600)
    assert tally.made == 600
    assert tally.run > 20
    assert tally.violations == []


def test_a_program_that_should_not_run_is_noticed() -> None:
    tally = search(1, most=600, policy=Policy(mode="yolo"))
    assert tally.violations


def test_the_same_seed_makes_the_same_lines() -> None:
    first, second = (list(itertools.islice(lines(random.Random("1/0")), 100)) for _ in range(2))
    assert first == second


def test_lines_of_a_batch_are_distinguished(ground: Ground) -> None:
    batch = [
        "ls a",
        "mark",
        "echo x > new",
        "while :; do :; done",
        "./ls & wait",
        "echo x > ../../../new",
        "git push",
        ">>a",
        "cat 'b c'",
    ]
    wrong = [False, True, True, False, True, True, True, True, False]
    for shell in ground.shells:
        outcomes = ground.run(shell, batch)
        assert [outcome.endless for outcome in outcomes] == [number == 3 for number in range(len(batch))]
        assert outcomes[8].started == ((str(ground.programs(shell) / "cat"), "cat", "b c"),)
        found = [bool(ground.violations(shell, outcome)) for outcome in outcomes]
        assert found[1:5] + found[6:] == wrong[1:5] + wrong[6:]
        assert any("new" in path for outcome in outcomes for path in outcome.written if "/work/" not in path)
        assert not any(map(ground.violations, [shell] * 2, ground.run(shell, ["ls", "ls a"])))


def test_system_calls_show_started_programs_and_written_files(ground: Ground) -> None:
    if not ground.tracer:
        pytest.skip("strace is not installed, or may not trace")
    for shell in ground.shells:
        assert ground.traced(shell, "ls a | cat <b 2>/dev/null") == []
        assert [what.split()[2] for what in ground.traced(shell, "./ls; echo x > new")] != []


def test_a_system_call_on_two_lines() -> None:
    trace = '7  execve("/bin/a", ["a"] <unfinished ...>\n8  openat(AT_FDCWD, "b", O_RDONLY) = 3\n7  <... execve resumed>) = 0\n'
    assert list(system_calls(trace)) == [
        ("openat", "b", ", O_RDONLY) = 3"),
        ("execve", "/bin/a", ', ["a"] ) = 0'),
    ]


def test_lines_that_differ_in_names_have_the_same_form() -> None:
    assert normal_form("cat  -l c") == normal_form("ls -a a")
    assert normal_form("ls 'a'") != normal_form("ls a")
