"""Real sessions in checkouts of their own, for comparisons."""

from __future__ import annotations

from pathlib import Path

from nbtools import Policy, Session, traces
from nbtools.testing import temporary_workspace
from nbtools.traces.recording.recorder import Recorder

FILES = {"a.py": "one = 1\n", "b.py": "two = 2\n", "test_a.py": "import a\nassert a.one == 11\n"}
READ = ("read", {"path": "a.py"})
EDIT = ("edit", {"path": "a.py", "old": "1", "new": "11"})
GREP = ("shell", {"command": "grep 11 a.py"})
TEST = ("shell", {"command": "python3 -B test_a.py"})


async def record(log: Path, *calls: tuple[str, dict[str, object]]) -> traces.Trace:
    """Records a session that makes these calls."""
    with temporary_workspace(FILES) as root:
        async with Session(
            root, policy=Policy(mode="yolo"), observers=[Recorder(log, session=log.stem, workspace=root)]
        ) as session:
            for name, arguments in calls:
                await session.call(name, arguments)
    return traces.load(log)
