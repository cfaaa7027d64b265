"""Whatever others do to the files in the middle of a change:
it ends and tells how, nothing is half, and nobody's work is lost.
"""

import pytest

from tests.faults.meddling import MEDDLERS
from tests.faults.tracing import traceable

pytestmark = [
    pytest.mark.skipif(
        not traceable, reason="system calls can be followed on Linux only, on x86_64 and aarch64"
    ),
    pytest.mark.slow,
    pytest.mark.timeout(600),  # on a machine that is busy with other things a kill takes ten times as long
]

EACH, SHARE = 40, 4
"""So many of the system calls, evenly: in ``make fuzz``, and in the suite."""


def program(name, meddler, all_rounds):
    return "tests.faults.meddling", name, "PLACE", str(EACH if all_rounds else SHARE)


@pytest.mark.parametrize("meddler", MEDDLERS)
@pytest.mark.parametrize("name", ["edit", "write over", "patch", "move over"])
def test_others_at_work(name, meddler, found, all_rounds):
    assert found[meddler]["broken"] == []
    assert set(found[meddler]["ends"]) <= {"made", "failed"}
    assert sum(found[meddler]["ends"].values()) >= (EACH if all_rounds else SHARE) * 0.9
