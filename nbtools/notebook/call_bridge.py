"""Makes calls from cells and other threads in the session's thread, and waits for their results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import greenback

from nbtools.core.call import CallEvent, FinishedCall, OutputEvent, ScheduledCall
from nbtools.core.errors import ToolFailure
from nbtools.core.result import ToolResult
from nbtools.notebook.change_preview import PREVIEWED_TOOL
from nbtools.notebook.display_target import DisplayTarget
from nbtools.notebook.frontend import Kernel, Terminal, has_portal
from nbtools.notebook.live_cards import LiveCards
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.waits import LoopWait, ThreadWait
from nbtools.session.sync import BlockingSession

if TYPE_CHECKING:
    from nbtools.workspace.history.undo import UndoMerge

T = TypeVar("T")
Arguments = Mapping[str, Any]
CallWork: TypeAlias = Callable[[str], Coroutine[Any, Any, T]]
"""Makes a call with the given id."""
Work: TypeAlias = Callable[[DisplayTarget], Coroutine[Any, Any, T]]
"""Work in the session's loop, displayed at the given target."""


class Bridge:
    """Makes calls from cells and other code.  Failed results are returned like all others."""

    def __init__(self, blocking: BlockingSession, cards: LiveCards, frontend: Kernel | Terminal) -> None:
        self.blocking = blocking
        self._cards = cards
        self._frontend = frontend
        self._background: set[str] = set()
        cards.can_be_undone = self._is_in_journal

    def run(self, name: str, arguments: Arguments, *, silent: bool = False) -> ToolResult:
        """Calls a tool and waits.  In a cell, the kernel's loop keeps running;
        an interrupt cancels the call and is raised.
        """
        return self.perform(
            lambda call_id: self.blocking.session.call(name, arguments, id=call_id), silent=silent
        )

    def undo(self, of: str, *, merge: UndoMerge) -> ToolResult:
        """Undoes the call ``of`` (empty: the last change) and waits, like ``run``."""
        return self.perform(lambda call_id: self.blocking.session.undo(of or None, merge=merge, id=call_id))

    def perform(self, work: CallWork[T], *, silent: bool = False, display: LiveDisplay | None = None) -> T:
        """Runs ``work``, which makes one call, and waits, like ``run``.

        The call is shown in ``display``, if given;
        if that cannot be updated, it is shown only when it has a question, below.
        """
        call_id = self.blocking.session.new_id()

        def with_card(target: DisplayTarget) -> Coroutine[Any, Any, T]:
            if display is None or display.is_live:
                self._cards.open(call_id, target, display)
            else:
                self._cards.open(call_id, replace(target, silent=True))
            return self._with_cleanup(work(call_id), call_id)

        return self.run_work(with_card, self._stopper(call_id), silent=silent)

    def run_work(self, work: Work[T], stop: Callable[[], None] | None = None, *, silent: bool = False) -> T:
        """Runs ``work`` in the session's loop with the display target of this cell, and waits.

        Questions can be answered meanwhile.
        An interrupt calls ``stop``, by default to cancel the work, and is raised.
        """
        if stop is None:
            work, stop = _cancellable(work)
        loop_runs = has_portal() and not self._frontend.prompts_first()
        wait = LoopWait() if loop_runs else ThreadWait()
        target = self._frontend.display_target(wait.post, loop_runs=loop_runs, silent=silent)
        try:
            return self._finish(wait, self.blocking.submit(work(target)), stop)
        except KeyboardInterrupt:
            stop()  # the interrupt may have come before the wait began
            raise

    async def start_work(self, work: Work[T], stop: Callable[[], None]) -> T:
        """Runs ``work`` in the session's loop with the display target of this cell, and awaits it."""
        wait = LoopWait()
        return await wait.wait(
            self.blocking.submit(work(self._frontend.display_target(wait.post, loop_runs=True))), stop
        )

    def set_target(self, call_id: str, target: DisplayTarget) -> None:
        """Sets the display target of a call that another caller will make."""
        self._cards.open(call_id, target)

    async def start(self, name: str, arguments: Arguments, *, silent: bool = False) -> ToolResult:
        """Calls a tool and awaits its result; other tasks keep running."""
        wait = LoopWait()
        call_id = self._open(self._frontend.display_target(wait.post, loop_runs=True, silent=silent))
        return await wait.wait(self._submit(name, arguments, call_id), self._stopper(call_id))

    def background(self, name: str, arguments: Arguments) -> BackgroundCall:
        """Starts a call and returns when its card is shown or, where only this thread can prompt,
        when its question is answered.
        """
        wait = ThreadWait()
        prompts = self._frontend.prompts_first()
        call_id = self._open(self._frontend.display_target(wait.post if prompts else None, early=True))
        self._background.add(call_id)
        future = self.blocking.submit(
            self._observed(name, arguments, call_id, _Gate(call_id, prompts, wait.release))
        )
        wait.serve(future, self._stopper(call_id))
        return BackgroundCall(self, call_id, name, future)

    def await_future(self, future: Future[ToolResult]) -> ToolResult:
        """Waits for a call; an interrupt ends the wait but not the call."""
        return self._finish(LoopWait() if has_portal() else ThreadWait(), future, lambda: None)

    def is_background(self, call_id: str) -> bool:
        """Whether a call runs in the background."""
        return call_id in self._background

    def cell_of(self, call_id: str) -> str:
        """Returns the id of the cell that shows a call; empty if there is none."""
        return self._cards.cell_of(call_id)

    def cancel(self, call_id: str) -> Future[bool]:
        """Cancels a call; can be called from any thread and does not wait for its end."""

        async def cancel() -> bool:
            return self.blocking.session.cancel(call_id)

        return self.blocking.submit(cancel())

    def redraw(self, call_id: str) -> Future[None]:
        """Displays the card of a call again for a reloaded page; can be called from any thread."""

        async def redraw() -> None:
            self._cards.redraw(call_id)

        return self.blocking.submit(redraw())

    def undo_at_cards(self, calls: Sequence[str], *, merge: UndoMerge) -> Future[None]:
        """Undoes calls at their cards, in this order, until one cannot be undone; like ``undo_at_card``."""

        async def undo() -> None:
            for call in calls:
                if not (await asyncio.wrap_future(self.undo_at_card(call, merge=merge))).ok:
                    return

        return self.blocking.submit(undo())

    def undo_at_card(self, of: str, *, merge: UndoMerge) -> Future[ToolResult]:
        """Undoes a call or an undo at its card;
        can be called from any thread and does not wait for its end.
        """
        target, call_id = self._cards.target_of(of), self.blocking.session.new_id()
        if target is not None:
            self._cards.open(call_id, replace(target.another(), silent=True, early=False))
        return self.blocking.submit(
            self._with_cleanup(self.blocking.session.undo(of, merge=merge, id=call_id), call_id)
        )

    def apply_at_card(self, preview: str) -> Future[ToolResult | None]:
        """Makes the change that a call has previewed, in a new call below its card;
        can be called from any thread and does not wait.
        """

        async def apply() -> ToolResult | None:
            call_id = self.blocking.session.new_id()
            arguments = self._cards.apply(preview, call_id)
            return None if arguments is None else await self._call(PREVIEWED_TOOL, arguments, call_id)

        return self.blocking.submit(apply())

    def _is_in_journal(self, call_id: str) -> bool:
        """Whether the journal has changes of a call, or may get some."""
        session = self.blocking.session
        try:
            return session.settings.journal and any(
                entry.can_be_undone for entry in session.workspace.journal.entries(call=call_id)
            )
        except ToolFailure:  # the journal is unreadable: the card gets no undo button
            return False

    def _finish(self, wait: LoopWait | ThreadWait, future: Future[T], stop: Callable[[], None]) -> T:
        if isinstance(wait, ThreadWait):
            return wait.wait(future, stop)
        result: T = greenback.await_(wait.wait(future, stop))
        return result

    def _open(self, target: DisplayTarget) -> str:
        call_id = self.blocking.session.new_id()
        self._cards.open(call_id, target)
        return call_id

    def _submit(self, name: str, arguments: Arguments, call_id: str) -> Future[ToolResult]:
        return self.blocking.submit(self._call(name, arguments, call_id))

    async def _call(self, name: str, arguments: Arguments, call_id: str) -> ToolResult:
        return await self._with_cleanup(self.blocking.session.call(name, arguments, id=call_id), call_id)

    async def _with_cleanup(self, work: Coroutine[Any, Any, T], call_id: str) -> T:
        try:
            return await work
        finally:
            self._cards.forget(call_id)

    async def _observed(self, name: str, arguments: Arguments, call_id: str, gate: _Gate) -> ToolResult:
        stop_observing = self.blocking.session.observe(gate)
        try:
            return await self._call(name, arguments, call_id)
        finally:
            stop_observing()
            self._background.discard(call_id)

    def _stopper(self, call_id: str) -> Callable[[], None]:
        def stop() -> None:
            self.cancel(call_id)

        return stop


def _cancellable(work: Work[T]) -> tuple[Work[T], Callable[[], None]]:
    """Returns ``work`` with a function that cancels it from any thread."""
    cancellers: list[Callable[[], object]] = []

    async def run(target: DisplayTarget) -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            cancellers.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work(target)

    def cancel() -> None:
        for one in cancellers:
            one()

    return run, cancel


class _Gate:
    """Calls ``release`` at the first event of a call or, with ``decided``,
    when it no longer needs approval.
    """

    def __init__(self, call_id: str, decided: bool, release: Callable[[], None]) -> None:
        self._call_id = call_id
        self._decided = decided
        self._release = release

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, OutputEvent) or event.request.id != self._call_id:
            return
        if not self._decided or isinstance(event, ScheduledCall | FinishedCall):
            self._release()


class BackgroundCall:
    """A call that runs in the background; its card is updated."""

    def __init__(self, bridge: Bridge, call_id: str, name: str, future: Future[ToolResult]) -> None:
        self.id = call_id
        self._bridge = bridge
        self._name = name
        self._future = future

    @property
    def done(self) -> bool:
        return self._future.done()

    def result(self) -> ToolResult:
        """Waits for the result.  A failed call also returns one: check ``.ok``.
        An interrupt ends the wait, not the call.
        """
        return self._bridge.await_future(self._future)

    def cancel(self) -> None:
        """Cancels the call; ``result()`` then returns a cancelled result."""
        self._bridge.cancel(self.id)

    def __repr__(self) -> str:
        return f"<{self._name} {self.id}: {'done' if self.done else 'running'}>"
