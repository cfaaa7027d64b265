"""Pieces of a conversation on their way into rows: numbered, calls joined to their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from nbtools.traces.conversation import Answered, Asked, Piece, Said
from nbtools.traces.familiar import meant
from nbtools.traces.loose import arguments, text_of
from nbtools.traces.model import PREVIEW, Call, Event, EventKind, Origin, Ref, Row
from nbtools.traces.recalled import changes_of, outcome_in


class Timeline:
    """Of one session.  ``times`` and ``models`` are what was met.

    ``first`` is where its numbers begin: a file counts on over its sessions.
    """

    def __init__(self, session: str, origin: Origin, first: int = 0) -> None:
        self.session, self.origin = session, origin
        self.seq = first
        self.turn = 0
        self.times: list[float] = []
        self.models: dict[str, None] = {}
        self._waiting: dict[str, deque[tuple[Call, Any]]] = {}

    def met(self, at: float | None, model: str = "") -> None:
        if at is not None:
            self.times.append(at)
        if model:
            self.models[model] = None

    def next(self) -> int:
        self.seq += 1
        return self.seq - 1

    def event(self, kind: EventKind, text: str, ref: Ref, **fields: Any) -> Event:
        self.turn += kind == "user"
        return Event(
            session=self.session,
            seq=self.next(),
            kind=kind,
            text=text[:PREVIEW],
            size=len(text),
            turn=self.turn,
            ref=ref,
            **fields,
        )

    def call(self, id_: str, name: str, args: Any, ref: Ref, **fields: Any) -> Call:
        """One without a result so far; ``args`` as given."""
        op, paths, subject = meant(name, arguments(args))
        more = {"status": "unanswered", "subject": subject, "paths": paths, "turn": self.turn, "ref": ref, **fields}
        return Call(self.session, id_, self.next(), name, op, self.origin, **more)

    def take(self, piece: Piece, id_: str, ref: Ref, at: float | None = None, model: str = "", key: str = "") -> Iterator[Row]:
        """The rows that are finished by it; a call waits for its result."""
        self.met(at, model)
        if isinstance(piece, Said):
            yield self.event(piece.kind, piece.text, ref, at=at, role=piece.role, model=model, type=piece.type, key=key)
        elif isinstance(piece, Asked):
            call = self.call(id_, piece.name, piece.args, ref, native_id=piece.id, at=at)
            self._waiting.setdefault(piece.id, deque()).append((call, piece.args))
        else:
            yield from self._answer(piece, ref, at)

    def _answer(self, piece: Answered, ref: Ref, at: float | None) -> Iterator[Row]:
        """The oldest waiting call of this id; where there are no ids, of this name."""
        waiting = self._waiting.get(piece.id) or ()
        found = next((one for one in waiting if piece.id or not piece.name or one[0].name == piece.name), None)
        if found is None:
            yield self.event("tool_result", text_of(piece.content), ref, at=at, role="tool", key=piece.id)
            return
        self._waiting[piece.id].remove(found)
        asked, args = found
        call = answered(asked, piece, ref, at)
        yield call
        yield from changes_of(call, arguments(args))

    def end(self) -> Iterator[Row]:
        """The calls that nothing answered."""
        yield from (call for calls in self._waiting.values() for call, _ in calls)
        self._waiting.clear()


def answered(call: Call, piece: Answered, ref: Ref, at: float | None) -> Call:
    """The call with its result.  Where the API has no word for failure, a command's exit code is asked."""
    text = text_of(piece.content)
    code = outcome_in(text) if call.op == "shell" else None
    known = piece.status != "unknown"
    return replace(
        call,
        status=piece.status if known else "unknown" if code is None else "error" if code else "ok",
        status_source="flag" if known else "none" if code is None else "exit_code",
        exit_code=code,
        answered=True,
        ended=at,
        duration=at - call.at if at is not None and call.at is not None and at >= call.at else None,
        result_size=len(text),
        result_ref=ref,
    )
