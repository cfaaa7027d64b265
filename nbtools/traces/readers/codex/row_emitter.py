"""Emits rows, with the current session, turn and row number."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from nbtools.traces.model import PREVIEW, Event, EventKind, Origin, Ref, Row
from nbtools.traces.readers.codex.records import Payload, string_of
from nbtools.traces.readers.codex.sessions import SessionBuilder


class RowEmitter:
    """``out`` are the rows not yet taken by the caller.  ``next`` numbers rows."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.out: list[Row] = []
        self.session = SessionBuilder("")
        self.turn = 0
        self.live = True
        self.model = self.permission = ""
        self.next: Callable[[], int] = count().__next__

    def event(self, kind: EventKind, type_: Any, at: float | None, ref: Ref, text: str = "", role: str = "", key: str = "") -> None:
        self.out.append(
            Event(
                session=self.session.id,
                seq=self.next(),
                kind=kind,
                text=text[:PREVIEW],
                size=len(text),
                at=at,
                role=role,
                model=self.model if role == "assistant" else "",
                turn=self.turn,
                live=self.live,
                key=key,
                type=type_,
                ref=ref,
            )
        )

    def progress(self, payload: Payload, at: float | None, ref: Ref) -> None:
        self.out.append(
            Event(
                session=self.session.id,
                seq=self.next(),
                kind="progress",
                at=at,
                turn=self.turn,
                live=self.live,
                type=string_of(payload.type),
                ref=ref,
            )
        )

    def unknown_record(self, kind: str, at: float | None, ref: Ref, *, known: bool = False) -> None:
        """Emits an event for a record of an unknown kind."""
        if not known:
            self.session.flags["unknown_records"] = None
        self.event("system", kind, at, ref)
