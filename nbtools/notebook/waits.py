"""Waits for a call in the session's thread, while questions and interrupts are handled.

``ThreadWait`` blocks its thread and runs prompts there.  ``LoopWait`` awaits; in a cell's task it works for
cells that await and, through a portal, for code that blocks at any depth while the kernel's loop keeps
running and clicks are handled.
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

from nbtools.notebook.display_target import Callback

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds that an interrupted wait allows its call to end;
processes are terminated, then killed after two seconds.
"""
_INTERRUPTED = "The call was interrupted."


def interruption() -> KeyboardInterrupt:
    """Returns a ``KeyboardInterrupt`` that IPython shows as one line,
    because a traceback through our code helps nobody.
    """
    error = KeyboardInterrupt(_INTERRUPTED)
    error._render_traceback_ = lambda: [f"KeyboardInterrupt: {_INTERRUPTED}"]  # type: ignore[attr-defined]
    return error


class Stopped(Exception):  # noqa: N818 - a signal between these waits, never seen outside
    """Raised inside a wait when an interrupt arrives."""


class CellTasks:
    """The tasks that run cells.  Only they may raise a ``KeyboardInterrupt``;
    from any other task it would end the kernel's loop.
    """

    def __init__(self) -> None:
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()

    def note(self) -> None:
        """Adds the current task, which runs a cell."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)

    def running(self) -> bool:
        """Whether the current task runs a cell."""
        return asyncio.current_task() in self._tasks


class Interrupts:
    """Handles SIGINT for waits in the main thread's loop.

    The handler is installed while there are listeners, and removed only if it is still ours:
    ipykernel sets its own around every cell.
    """

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[], bool]] = {}
        self._before: Any = None

    def listen(self, key: object, listener: Callable[[], bool]) -> None:
        """Calls ``listener`` at every interrupt until ``end(key)``;
        it returns whether the interrupt was fully handled.
        """
        # Without a handler of ours, an interrupt during the wait is raised inside the kernel's loop and ends
        # the kernel.  Only the main thread may set one.
        if threading.current_thread() is threading.main_thread():
            self._listeners[key] = listener
            current = signal.getsignal(signal.SIGINT)
            if current != self._on_interrupt:
                self._before = current
                signal.signal(signal.SIGINT, self._on_interrupt)

    def end(self, key: object) -> None:
        removed = self._listeners.pop(key, None) is not None
        if removed and not self._listeners and signal.getsignal(signal.SIGINT) == self._on_interrupt:
            signal.signal(signal.SIGINT, self._before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        handled = [listener() for listener in tuple(self._listeners.values())]
        # While there are listeners, the previous handler is not called if it is Python's own, which would
        # raise inside the loop.
        passes_on = not handled or (not all(handled) and self._before is not signal.default_int_handler)
        if passes_on and callable(self._before):
            self._before(number, frame)


CELLS = CellTasks()
INTERRUPTS = Interrupts()


class ThreadWait:
    """Blocks the thread that created it, and runs posted functions there."""

    def __init__(self) -> None:
        self._tasks_to_run: SimpleQueue[Callback | None] = SimpleQueue()
        self._has_ended = False
        self._was_interrupted = False

    def post(self, task: Callback) -> None:
        """Passes a function to the waiting thread; thread-safe."""
        self._tasks_to_run.put(task)

    def release(self) -> None:
        """Ends the wait."""
        self._tasks_to_run.put(None)

    def wait(self, future: Future[T], stop: Callable[[], None]) -> T:
        """Waits for the future's result.
        An interrupt calls ``stop``, waits for the call to end, and is raised.
        """
        self.serve(future, stop)
        return future.result()

    def serve(self, future: Future[Any], stop: Callable[[], None]) -> None:
        """Runs posted functions until the future is done or ``release`` is called."""
        # An interrupt that is raised while this thread holds the future's lock would leave it locked, and the
        # session's thread would wait for it without end.
        INTERRUPTS.listen(self, self._interrupted)
        try:
            future.add_done_callback(self._end)
        finally:
            INTERRUPTS.end(self)
        try:
            if self._was_interrupted:
                raise KeyboardInterrupt  # noqa: TRY301 - handled like one that comes later
            while (task := self._tasks_to_run.get()) is not None:
                task()
        except KeyboardInterrupt:
            stop()
            # Functions posted from now on are dropped: they are prompts of a call that is being stopped.
            deadline = time.monotonic() + PATIENCE
            with suppress(Empty):
                while not self._has_ended:
                    self._tasks_to_run.get(timeout=max(0.0, deadline - time.monotonic()))
            raise interruption() from None

    def _end(self, _: Future[Any]) -> None:
        self._has_ended = True
        self.release()

    def _interrupted(self) -> bool:
        self._was_interrupted = True
        return True


class LoopWait:
    """Awaits in the running loop, and runs posted functions in the waiting task."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Callback | None] = asyncio.Queue()
        self._may_raise = CELLS.running()
        self._was_interrupted = False

    def post(self, task: Callback) -> None:
        """Passes a function to the waiting task; thread-safe."""
        self._put(task)

    async def wait(self, future: Future[T], stop: Callable[[], None]) -> T:
        """Awaits the future's result.  An interrupt or a cancellation calls ``stop``,
        waits for the call to end, and is raised.
        """
        try:
            # First: an interrupt that is raised while this thread holds the future's lock would leave it
            # locked, and the session's thread would wait for it without end.
            INTERRUPTS.listen(self, self._interrupted)
            future.add_done_callback(lambda _: self._put(None))
            await self._serve()
        except (Stopped, KeyboardInterrupt):
            stop()
            await self._until_ended()
            raise (interruption() if self._may_raise else asyncio.CancelledError(_INTERRUPTED)) from None
        except asyncio.CancelledError:
            stop()
            await self._until_ended()
            raise
        finally:
            INTERRUPTS.end(self)
        # The interrupt came too late for this call, but the code around it must see it.
        if self._was_interrupted and self._may_raise:
            raise interruption()
        return future.result()

    def _interrupted(self) -> bool:
        self._was_interrupted = True
        self._put(_stop)
        return self._may_raise

    def _put(self, item: Callback | None) -> None:
        # Also called by the signal handler, in the loop's own thread: only the thread-safe call wakes a loop
        # that sleeps in select.
        with suppress(RuntimeError):  # the loop is closed, so nothing waits
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    async def _serve(self) -> None:
        while (task := await self._items.get()) is not None:
            task()

    async def _until_ended(self) -> None:
        with suppress(TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(PATIENCE):
                while (item := await self._items.get()) is not None:
                    if item is _stop:  # interrupted again: the person does not want to wait for the end
                        return


def _stop() -> None:
    raise Stopped
