"""One session for a long day: thousands of calls of all kinds leave nothing behind in it."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from pathlib import Path

import psutil
import pytest

from nbtools.core.result import ToolResult
from nbtools.core.settings import Settings
from nbtools.session import Session

CALLS, SHARE = 10_000, 4_000
"""Calls of all kinds in ``make fuzz``, and in the suite."""
WARM = 20
"""Rounds of a hundred until every module is loaded, every cache filled,
and the history of results well under way.
"""


async def ok(session: Session, name: str, **arguments: object) -> ToolResult:
    result = await session.call(name, arguments)
    assert result.ok, (name, arguments, result)
    return result


async def hundred(session: Session, number: int) -> None:
    """A hundred calls, as an agent's day has them: reads most of all."""
    for turn in range(50):
        await ok(session, "read", path=f"src/module_{turn % 20}.py")
    for _ in range(28):
        await ok(session, "ls", path="src")
    half, round_ = number % 2 * 10, number // 2
    for turn in range(half, half + 10):
        await ok(
            session,
            "edit",
            path=f"src/module_{turn}.py",
            old=f"number = {round_}",
            new=f"number = {round_ + 1}",
        )
    for turn in range(2):
        await ok(session, "glob", pattern=f"**/*_{turn}.py")
    for turn in range(2):
        await ok(session, "grep", pattern=f"def name_{turn}", path="src")
    await ok(session, "write", path="notes.txt", content=f"round {number}\n")
    await ok(session, "todo", items=[{"text": f"round {number}"}])
    failed = await session.call("read", {"path": "missing.py"})
    assert not failed.ok
    await ok(session, "shell", command="echo $((6 * 7)); exit 3")
    started = await ok(session, "shell", command="echo begun; exec sleep 1000", background=True)
    await ok(session, "shell_output", id=started.data.id)
    await ok(session, "shell_kill", id=started.data.id)
    assert (await session.undo()).ok


def held() -> tuple[int, int, int, int]:
    """Descriptors, threads, children, and resident bytes, without memory that is free:
    other tests of this process have left some.
    """
    gc.collect()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
    process = psutil.Process()
    return (
        len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        threading.active_count(),
        len(process.children()),
        process.memory_info().rss,
    )


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted in /proc")
async def test_thousands_of_calls_leave_nothing_behind(tmp_path: Path, all_rounds: bool) -> None:
    calls = CALLS if all_rounds else SHARE
    (tmp_path / "src").mkdir()
    for number in range(20):
        (tmp_path / "src" / f"module_{number}.py").write_text(
            f"number = 0\n\n\ndef name_{number}():\n    return {number}\n"
        )
    async with Session(tmp_path, settings=Settings(read_first=False)) as session:
        for rule in ("shell", "edit", "write", "todo"):
            session.allow(rule)
        for number in range(WARM):
            await hundred(session, number)
        files, threads, children, memory = held()
        for number in range(WARM, calls // 100):
            await hundred(session, number)
        later = held()
        assert later[0] <= files + 3
        assert later[1] <= threads + 2
        assert later[2] <= children
        grown = (later[3] - memory) / (calls - WARM * 100)
        assert grown < 4_000, f"{grown:.0f} bytes a call"
