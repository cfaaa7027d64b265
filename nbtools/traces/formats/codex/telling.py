"""Where rows are told from: the session that it is, the turn, the number of the next row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from nbtools.traces.formats.codex.records import Payload, word
from nbtools.traces.formats.codex.sessions import Told
from nbtools.traces.model import PREVIEW, Event, EventKind, Origin, Ref, Row


class Telling:
    """``out`` are the rows of the records so far that nobody has taken.  ``next`` numbers them."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.out: list[Row] = []
        self.owner = Told("")
        self.turn = 0
        self.live = True
        self.model = self.permission = ""
        self.next: Callable[[], int] = count().__next__

    def say(self, kind: EventKind, type_: Any, at: float | None, ref: Ref, said: str = "", role: str = "", key: str = "") -> None:
        self.out.append(
            Event(
                session=self.owner.id,
                seq=self.next(),
                kind=kind,
                text=said[:PREVIEW],
                size=len(said),
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
                session=self.owner.id,
                seq=self.next(),
                kind="progress",
                at=at,
                turn=self.turn,
                live=self.live,
                type=word(payload.type),
                ref=ref,
            )
        )

    def unknown(self, kind: str, at: float | None, ref: Ref, *, known: bool = False) -> None:
        """A record of which nothing is told but that it is there."""
        if not known:
            self.owner.flags["unknown_records"] = None
        self.say("system", kind, at, ref)
