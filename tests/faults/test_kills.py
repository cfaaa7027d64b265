"""A process killed at any system call leaves each file whole, the old one or the new one,
and a journal that can undo what was made.
"""

import pytest

from tests.faults.operations import OPERATIONS
from tests.faults.tracing import traceable

pytestmark = [
    pytest.mark.skipif(
        not traceable, reason="system calls can be followed on Linux only, on x86_64 and aarch64"
    ),
    pytest.mark.slow,
    pytest.mark.timeout(600),  # on a machine that is busy with other things a kill takes ten times as long
]

WITHOUT_JOURNAL = [f"{name} without journal" for name in ("write new", "edit", "patch")]
EVERY, SHARE = 150, 8
"""Operations that make more system calls are killed at so many of them, evenly:
in ``make fuzz``, and in the suite.
"""
FEWER = {"replace in many": 30, "edit large": 50, "replace_in_files": 100}
"""… and these, where a kill takes longer, at so many in ``make fuzz``."""


def most_kills(name, all_rounds):
    every = FEWER.get(name, EVERY)
    return every if all_rounds else min(every, SHARE)


def program(name, all_rounds):
    return "tests.faults.killing", name, "PLACE", str(most_kills(name, all_rounds))


@pytest.mark.parametrize("name", [*OPERATIONS, *WITHOUT_JOURNAL])
def test_a_kill_leaves_every_file_old_or_new_and_the_journal_knows(name, found, all_rounds):
    print(name, found)
    assert found["broken"] == []
    assert (
        found["kills"] >= min(found["calls"], most_kills(name, all_rounds)) * 0.7
    )  # threads make some calls more or less
    assert found["before"]
    assert (
        found["after"] or name in FEWER or not all_rounds
    )  # of few kills the last may come too early: threads make some calls more
