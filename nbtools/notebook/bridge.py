"""From the thread that makes a call to the session's thread and back, with its card and its questions."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import greenback

from nbtools.blocking import BlockingSession
from nbtools.core.call import CallEvent, FinishedCall, OutputEvent, ScheduledCall
from nbtools.core.errors import ToolFailure
from nbtools.core.result import ToolResult
from nbtools.notebook.cards import Cards, silently
from nbtools.notebook.frontend import Kernel, Terminal, has_portal
from nbtools.notebook.places import Place
from nbtools.notebook.waits import LoopWait, ThreadWait

T = TypeVar("T")
Arguments = Mapping[str, Any]
Work = Callable[[str], Coroutine[Any, Any, T]]
"""Makes a call that has this id."""


class Bridge:
    """Makes calls from cells and other code.  Results are returned as they are, failed ones too."""

    def __init__(self, blocking: BlockingSession, cards: Cards, frontend: Kernel | Terminal) -> None:
        self.blocking = blocking
        self._cards = cards
        self._frontend = frontend
        cards.can_be_undone = self._is_kept

    def run(self, name: str, arguments: Arguments, *, silent: bool = False) -> ToolResult:
        """Waits for a call.  In a cell the kernel goes on meanwhile; an interrupt cancels the call and is raised."""
        return self.perform(lambda call_id: self.blocking.session.call(name, arguments, id=call_id), silent=silent)

    def undo(self, of: str, *, merge: bool) -> ToolResult:
        """The same for undoing a call: that is one, too."""
        return self.perform(lambda call_id: self.blocking.session.undo(of or None, merge=merge, id=call_id))

    def perform(self, work: Work[T], *, silent: bool = False, frame: Callable[[Place], Place] = lambda place: place) -> T:
        """The same for ``work`` that makes one call; ``frame`` says where in the cell it is shown."""
        call_id = self.blocking.session.new_id()

        def shown(place: Place) -> Coroutine[Any, Any, T]:
            self._cards.open(call_id, frame(place))
            return self._forgetting(work(call_id), call_id)

        return self.attend(shown, self._stopper(call_id), silent=silent)

    def attend(self, work: Callable[[Place], Coroutine[Any, Any, T]], stop: Callable[[], None], *, silent: bool = False) -> T:
        """The same for ``work`` in the session's loop that is told where it stands and shows itself; an interrupt calls ``stop``."""
        turning = has_portal() and not self._frontend.prompts_first()
        wait = LoopWait() if turning else ThreadWait()
        place = self._frontend.place(wait.post, turning=turning, silent=silent)
        try:
            return self._finish(wait, self.blocking.submit(work(place)), stop)
        except KeyboardInterrupt:
            stop()  # it may have come before anything waited
            raise

    async def attending(self, work: Callable[[Place], Coroutine[Any, Any, T]], stop: Callable[[], None]) -> T:
        """The same for code that awaits; other work goes on beside it."""
        wait = LoopWait()
        return await wait.wait(self.blocking.submit(work(self._frontend.place(wait.post, turning=True))), stop)

    def show_at(self, call_id: str, place: Place) -> None:
        """Says where a call is shown that somebody else will make."""
        self._cards.open(call_id, place)

    async def start(self, name: str, arguments: Arguments, *, silent: bool = False) -> ToolResult:
        """The same for code that awaits; other work goes on beside it."""
        wait = LoopWait()
        call_id = self._open(self._frontend.place(wait.post, turning=True, silent=silent))
        return await wait.wait(self._submit(name, arguments, call_id), self._stopper(call_id))

    def background(self, name: str, arguments: Arguments) -> BackgroundCall:
        """Starts a call and returns as soon as its card stands there or, where a question can only be asked here, is answered."""
        wait = ThreadWait()
        prompts = self._frontend.prompts_first()
        call_id = self._open(self._frontend.place(wait.post if prompts else None, early=True))
        future = self.blocking.submit(self._watched(name, arguments, call_id, _Gate(call_id, prompts, wait.release)))
        future.add_done_callback(lambda _: wait.release())
        wait.serve(future, self._stopper(call_id))
        return BackgroundCall(self, call_id, name, future)

    def await_future(self, future: Future[ToolResult]) -> ToolResult:
        """Waits for a call that goes on when the wait is interrupted."""
        return self._finish(LoopWait() if has_portal() else ThreadWait(), future, _let_it_run)

    def cancel(self, call_id: str) -> Future[bool]:
        """Stops a call; from any thread, without waiting for its end."""

        async def cancel() -> bool:
            return self.blocking.session.cancel(call_id)

        return self.blocking.submit(cancel())

    def draw_again(self, call_id: str) -> Future[None]:
        """Draws the card of a call for a page that was loaded again; from any thread."""

        async def draw() -> None:
            self._cards.draw_again(call_id)

        return self.blocking.submit(draw())

    def undo_at_card(self, of: str, *, merge: bool) -> Future[ToolResult]:
        """Undoes a call, or an undoing, where its card stands.  From any thread, without waiting for its end."""
        place, call_id = self._cards.place_of(of), self.blocking.session.new_id()
        if place is not None:
            self._cards.open(call_id, silently(place, uuid.uuid4().hex))
        return self.blocking.submit(self._forgetting(self.blocking.session.undo(of, merge=merge, id=call_id), call_id))

    def _is_kept(self, call_id: str) -> bool:
        """Whether the journal has what a call changed."""
        session = self.blocking.session
        try:
            return session.settings.journal and bool(session.workspace.journal.entries(call=call_id))
        except ToolFailure:  # it cannot be read: the card has no button then
            return False

    def _finish(self, wait: LoopWait | ThreadWait, future: Future[T], stop: Callable[[], None]) -> T:
        if isinstance(wait, ThreadWait):
            return wait.wait(future, stop)
        result: T = greenback.await_(wait.wait(future, stop))
        return result

    def _open(self, place: Place) -> str:
        call_id = self.blocking.session.new_id()
        self._cards.open(call_id, place)
        return call_id

    def _submit(self, name: str, arguments: Arguments, call_id: str) -> Future[ToolResult]:
        return self.blocking.submit(self._call(name, arguments, call_id))

    async def _call(self, name: str, arguments: Arguments, call_id: str) -> ToolResult:
        return await self._forgetting(self.blocking.session.call(name, arguments, id=call_id), call_id)

    async def _forgetting(self, work: Coroutine[Any, Any, T], call_id: str) -> T:
        try:
            return await work
        finally:
            self._cards.forget(call_id)

    async def _watched(self, name: str, arguments: Arguments, call_id: str, gate: _Gate) -> ToolResult:
        end = self.blocking.session.observe(gate)
        try:
            return await self._call(name, arguments, call_id)
        finally:
            end()

    def _stopper(self, call_id: str) -> Callable[[], None]:
        def stop() -> None:
            self.cancel(call_id)

        return stop


def _let_it_run() -> None:
    return None


class _Gate:
    """Opens when a call has been seen or, with ``decided``, when nobody needs to be asked about it any more."""

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
    """A call that goes on beside other work; its card keeps itself up to date."""

    def __init__(self, bridge: Bridge, call_id: str, name: str, future: Future[ToolResult]) -> None:
        self.id = call_id
        self._bridge = bridge
        self._name = name
        self._future = future

    @property
    def done(self) -> bool:
        return self._future.done()

    def result(self) -> ToolResult:
        """Waits for the end.  A failed call is a result too: look at ``.ok``.  An interrupt ends the wait, not the call."""
        return self._bridge.await_future(self._future)

    def cancel(self) -> None:
        """Stops the call; ``result()`` then says so."""
        self._bridge.cancel(self.id)

    def __repr__(self) -> str:
        return f"<{self._name} {self.id}: {'done' if self.done else 'under way'}>"
