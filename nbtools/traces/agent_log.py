"""Writes down what an agent does: what was said, what its model used, and of all calls of its session those that it made."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Literal, TypeAlias

from nbtools.core.call import FINISHED, CallEvent, OutputEvent
from nbtools.traces.kept import KeptRecorder
from nbtools.traces.log_records import SAID, EndRecord, RequestRecord, SaidRecord

Kind: TypeAlias = Literal["user", "assistant_text", "thinking"]


class AgentLog(KeptRecorder):
    """Among the kept logs of the workspace, begun with the first thing said.  ``calls_of`` is the session that makes the calls."""

    def __init__(self, workspace: Path, calls_of: str, dialect: str, limit: int) -> None:
        super().__init__(workspace, secrets.token_hex(3), dialect, limit, calls_of=calls_of)
        self._own: set[str] = set()

    def expect(self, call_id: str) -> None:
        """The agent is about to make this call."""
        self._own.add(call_id)

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, OutputEvent) or event.request.id not in self._own:
            return
        super().notice(event)
        if isinstance(event, FINISHED):
            self._own.discard(event.request.id)

    def said(self, kind: Kind, text: str, step: int = 0) -> None:
        whole = self._paper.line(text)
        size = len(whole) if len(whole) > SAID else 0
        number, at = self._next(), time.time()
        self._add(lambda: SaidRecord(session=self.session, number=number, at=at, kind=kind, text=whole[:SAID], step=step, size=size))

    def used(self, step: int, model: str, *, input: int, cache_read: int, cache_write: int, output: int, cost: float | None) -> None:  # noqa: A002 - the name that the log has for it
        """A request to the model was answered."""
        record = RequestRecord(
            session=self.session,
            at=time.time(),
            step=step,
            model=model,
            input=input,
            cache_read=cache_read,
            cache_write=cache_write,
            output=output,
            cost=cost,
        )
        self._add(lambda: record)

    def end(self, why: str, *, failed: bool = False) -> None:
        """A run is over before the model had its last word."""
        number, at = self._next(), time.time()
        self._add(lambda: EndRecord(session=self.session, number=number, at=at, why=self._paper.line(why), failed=failed))
