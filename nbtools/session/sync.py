"""A session without ``await``: runs an event loop in its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from nbtools.core.call import FinishedCall, LiveCall
from nbtools.core.decision import Decision
from nbtools.core.errors import SessionError
from nbtools.core.result import ToolResult
from nbtools.core.schema.json_schema import Json, Provider

if TYPE_CHECKING:
    from nbtools.dialects import DialectTools
    from nbtools.session import Session
    from nbtools.workspace.history.store import JournalEntry
    from nbtools.workspace.history.undo import UndoMerge

T = TypeVar("T")

_CLEANUP_TIMEOUT = 10.0
"""Seconds that an interrupted call has for cleaning up."""


class BlockingSession:
    """``Session`` without ``await``. Change mutable parts of ``session`` only through ``run``."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="nbtools", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs a coroutine in the loop; cancelling the future cancels it. Raises ``SessionError``."""
        self._must_be_open(work)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _must_be_open(self, work: Coroutine[Any, Any, object]) -> None:
        if self._loop.is_closed():
            work.close()
            raise SessionError("This session is closed; open a new one.")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the loop; an interrupt cancels it, waits for its end and propagates."""
        self._must_be_open(work)
        ended = threading.Event()
        future = self.submit(_signal_end(work, ended))
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            ended.wait(_CLEANUP_TIMEOUT)
            raise

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002
    ) -> ToolResult:
        """See ``Session.call``."""
        return self.run(self.session.call(name, arguments, id=id))

    def call_many(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[ToolResult]:
        """See ``Session.call_many``."""
        return self.run(self.session.call_many(calls))

    def undo(
        self,
        call_id: str | None = None,
        *,
        merge: UndoMerge = False,
        id: str | None = None,  # noqa: A002
    ) -> ToolResult:
        """See ``Session.undo``."""
        return self.run(self.session.undo(call_id, merge=merge, id=id))

    @property
    def changes(self) -> tuple[JournalEntry, ...]:
        """See ``Session.changes``."""

        async def changes() -> tuple[JournalEntry, ...]:
            return self.session.changes

        return self.run(changes())

    def decide(self, name: str, arguments: Mapping[str, Any] | None = None) -> Decision:
        """See ``Session.decide``."""
        return self.session.decide(name, arguments)

    def cancel(self, call_id: str) -> bool:
        """See ``Session.cancel``; safe from any thread."""

        async def cancel() -> bool:
            return self.session.cancel(call_id)

        return self.run(cancel())

    def declarations(self, provider: Provider) -> list[Json]:
        """See ``Session.declarations``."""
        return self.session.declarations(provider)

    @property
    def tools(self) -> DialectTools:
        return self.session.tools

    @property
    def history(self) -> tuple[FinishedCall, ...]:
        return self.session.history

    @property
    def active(self) -> tuple[LiveCall, ...]:
        return self.session.active

    def close(self) -> None:
        """Cancels running calls, closes the session and ends the thread."""
        if self._thread.is_alive():
            self.run(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _end(self) -> None:
        """Closes the session, then cancels what else was submitted and has not ended."""
        await self.session.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _signal_end(work: Coroutine[Any, Any, T], ended: threading.Event) -> T:
    try:
        return await work
    finally:
        ended.set()
