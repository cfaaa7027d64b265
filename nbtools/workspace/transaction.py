"""Several changes of files as one: all of them are made, or none.

Each step keeps what was there: the old file itself under a hidden name beside it, where the file system lets it, so that putting it back
takes no space and no writing.  The hidden names go when the last step is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.workspace.steps import Made, Move, Remove, Step, Write

__all__ = ["Move", "Remove", "Step", "Write", "carry_out"]

_MOST_NAMED = 5
_MANY = 64
"""So many changes are brought to the disk together: one by one would take a hundred times as long."""


def _nothing(*_: object) -> None:
    return None


async def carry_out(
    steps: Sequence[Step],
    progress: Callable[[int], None] | None = None,
    first: Callable[[], None] = _nothing,
    stands: Callable[[Step], None] = _nothing,
) -> tuple[Path, ...]:
    """Makes all steps in their order, or none; the folders made for them.

    ``progress`` is told, in this event loop, how many are done; ``first`` is done before them, in their thread.  Raises ``ToolFailure``
    when one cannot be made; it says so where not all could be put back, and ``stands`` is told of each step that could not.  Cancelled, it
    puts everything back first.
    """
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def done(count: int) -> None:
        if progress is not None:
            loop.call_soon_threadsafe(progress, count)

    work = loop.create_task(asyncio.to_thread(_make_all, steps, stop, done, first, stands))
    try:
        made = await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        await _finished(work)
        await _finished(loop.create_task(asyncio.to_thread(_undo, work, stands)))
        raise
    # From here on the changes stand: a cancellation comes too late, and the caller hears that they are made.
    await _finished(loop.create_task(asyncio.to_thread(_settle, made)))
    return tuple(folder for one in made for folder in one.folders)


def _undo(work: asyncio.Task[list[Made]], stands: Callable[[Step], None]) -> None:
    """Takes back what the work made before it heard that it was to stop."""
    if not work.cancelled() and work.exception() is None:
        _take_back(work.result(), stands)


def _settle(made: Sequence[Made]) -> None:
    for one in made:
        with contextlib.suppress(OSError):
            one.settle()


async def _finished(task: asyncio.Task[object] | asyncio.Task[list[Made]] | asyncio.Task[None]) -> None:
    """Waits to the end, however often the caller is cancelled: a disk left half way is worse than a late answer."""
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue


def _make_all(
    steps: Sequence[Step],
    stop: threading.Event,
    done: Callable[[int], None],
    first: Callable[[], None],
    stands: Callable[[Step], None],
) -> list[Made]:
    made: list[Made] = []
    first()
    each = len(steps) < _MANY
    for step in steps:
        if stop.is_set():
            break
        try:
            made.append(step.make(sync=each))
        except ToolFailure as failure:
            raise _put_back(failure, made, len(steps), stands) from None
        except BaseException:
            _take_back(made, stands)
            raise
        done(len(made))
    if not each:
        os.sync()  # what was there before is kept until now
    return made


def _put_back(failure: ToolFailure, made: list[Made], of: int, stands: Callable[[Step], None]) -> ToolFailure:
    """The failure to raise when everything before it has been taken back, as far as that goes."""
    stuck = _take_back(made, stands)
    if stuck:
        return ToolFailure(ErrorCode.FILE_WRITE_FAILURE, f"{failure.message} And not everything could be put back: {_named(stuck)}")
    if of == 1:
        return failure
    undone = f": what had been done to {len(made):,} before it was put back" if made else ""
    return ToolFailure(failure.code, f"{failure.message} Nothing was changed{undone}.")


def _take_back(made: list[Made], stands: Callable[[Step], None]) -> list[str]:
    """Undoes the last step first; what could not be, a sentence each."""
    stuck = []
    for one in reversed(made):
        try:
            one.take_back()
        except (ToolFailure, OSError) as error:
            failure = from_os_error(error, one.step.subject) if isinstance(error, OSError) else error
            stuck.append(_left(one, failure.message))
            stands(one.step)
    return stuck


def _left(made: Made, why: str) -> str:
    kept = made.kept
    return f"{why} What it held before is in {kept.name} beside it." if kept is not None and os.path.lexists(kept) else why


def _named(stuck: list[str]) -> str:
    more = f" ({len(stuck) - _MOST_NAMED:,} more)" if len(stuck) > _MOST_NAMED else ""
    return " ".join(stuck[:_MOST_NAMED]) + more
