"""Three ways to wait for a call that runs in the session's thread, each letting questions and interrupts through.

``ThreadWait`` blocks its thread and does there what a question needs (a prompt).  ``LoopWait`` awaits; in a cell's task it serves both a
cell that awaits and, through a portal, code that blocks at any depth while the kernel's loop turns and clicks arrive.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

from nbtools.notebook.places import Errand

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds that an interrupted wait gives its call to end; processes are terminated, then killed after two."""


_INTERRUPTED = "The call was interrupted."


def interruption() -> KeyboardInterrupt:
    """An interrupt that IPython shows as one line: the way through our frames says nothing to the person who pressed stop."""
    error = KeyboardInterrupt(_INTERRUPTED)
    error._render_traceback_ = lambda: [f"KeyboardInterrupt: {_INTERRUPTED}"]  # type: ignore[attr-defined]
    return error


class Stopped(Exception):  # noqa: N818 - a signal between these waits, never seen outside
    """An interrupt came while a loop was waiting."""


class CellTasks:
    """The tasks that run cells.  Only there may a ``KeyboardInterrupt`` be raised: out of any other task it would end the kernel's loop."""

    def __init__(self) -> None:
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()

    def note(self) -> None:
        """Called in a task that runs a cell."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)

    def running(self) -> bool:
        """Whether the current task runs a cell."""
        return asyncio.current_task() in self._tasks


class Interrupts:
    """Hears SIGINT for those that wait in the main thread's loop.

    The handler is set while somebody waits and taken back only where it is still ours: ipykernel sets its own around every cell.
    """

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[], bool]] = {}
        self._before: Any = None

    def listen(self, key: object, listener: Callable[[], bool]) -> None:
        """Calls ``listener`` at every interrupt until ``end(key)``; it says whether that is all that needs to be done."""
        if threading.current_thread() is threading.main_thread():
            self._listeners[key] = listener
            current = signal.getsignal(signal.SIGINT)
            if current != self._on_interrupt:
                self._before = current
                signal.signal(signal.SIGINT, self._on_interrupt)

    def end(self, key: object) -> None:
        heard = self._listeners.pop(key, None) is not None
        if heard and not self._listeners and signal.getsignal(signal.SIGINT) == self._on_interrupt:
            signal.signal(signal.SIGINT, self._before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        settled = [listener() for listener in tuple(self._listeners.values())]
        if not settled or (not all(settled) and self._before is not signal.default_int_handler):
            self._go_on(number, frame)

    def _go_on(self, number: int, frame: FrameType | None) -> None:
        """What would have happened without us; Python's own handler raises, which a turning loop must not see."""
        if callable(self._before):
            self._before(number, frame)


CELLS = CellTasks()
INTERRUPTS = Interrupts()


class ThreadWait:
    """Blocks the thread that made it; errands are done in it."""

    def __init__(self) -> None:
        self._errands: SimpleQueue[Errand | None] = SimpleQueue()

    def post(self, errand: Errand) -> None:
        """Hands work to the waiting thread; safe from any other."""
        self._errands.put(errand)

    def release(self) -> None:
        """Ends the wait."""
        self._errands.put(None)

    def wait(self, future: Future[T], stop: Callable[[], None]) -> T:
        """The future's result.  An interrupt calls ``stop``, gives the call time to end and propagates."""
        future.add_done_callback(lambda _: self.release())
        self.serve(future, stop)
        return future.result()

    def serve(self, future: Future[Any], stop: Callable[[], None]) -> None:
        """Does errands until it is released."""
        try:
            while (errand := self._errands.get()) is not None:
                errand()
        except KeyboardInterrupt:
            stop()
            self._until_ended(future)
            raise interruption() from None

    def _until_ended(self, future: Future[Any]) -> None:
        deadline = time.monotonic() + PATIENCE
        with suppress(Empty):
            while not future.done():
                self._errands.get(timeout=max(0.0, deadline - time.monotonic()))


class LoopWait:
    """Awaits in the running loop; errands are done in the waiting task."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Errand | None] = asyncio.Queue()
        self._may_raise = CELLS.running()
        self._heard = False

    def post(self, errand: Errand) -> None:
        """Hands work to the waiting task; safe from any thread."""
        self._put(errand)

    async def wait(self, future: Future[T], stop: Callable[[], None]) -> T:
        """The future's result.  An interrupt or a cancellation calls ``stop``, gives the call time to end and propagates."""
        future.add_done_callback(lambda _: self._put(None))
        try:
            INTERRUPTS.listen(self, self._interrupted)
            await self._serve()
        except (Stopped, KeyboardInterrupt):
            stop()
            await self._until_ended()
            raise self._interruption() from None
        except asyncio.CancelledError:
            stop()
            await self._until_ended()
            raise
        finally:
            INTERRUPTS.end(self)
        if self._heard and self._may_raise:  # too late for this call, but not for the code around it
            raise interruption()
        return future.result()

    def _interruption(self) -> BaseException:
        return interruption() if self._may_raise else asyncio.CancelledError(_INTERRUPTED)

    def _interrupted(self) -> bool:
        self._heard = True
        self._put(_stop)
        return self._may_raise

    def _put(self, item: Errand | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    async def _serve(self) -> None:
        while (errand := await self._items.get()) is not None:
            errand()

    async def _until_ended(self) -> None:
        with suppress(TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(PATIENCE):
                while (item := await self._items.get()) is not None:
                    if item is _stop:
                        return


def _stop() -> None:
    raise Stopped
