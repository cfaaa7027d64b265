"""Builds the rows of a session from message parts: numbers them and joins calls to their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from nbtools.traces.conversation import CallPart, MessagePart, ResultPart, TextPart
from nbtools.traces.display_builders import changes_of, exit_code_of_result
from nbtools.traces.json_access import arguments, text_of
from nbtools.traces.known_tools import summarize_call
from nbtools.traces.model import PREVIEW, Call, Event, EventKind, Origin, Ref, Row


class SessionBuilder:
    """Numbers the rows of one session and joins its calls to their results. Collects ``times`` and ``models``.

    ``first`` is the first number to use: numbers continue over the sessions of a file.
    """

    def __init__(self, session: str, origin: Origin, first: int = 0) -> None:
        self.session, self.origin = session, origin
        self.seq = first
        self.turn = 0
        self.times: list[float] = []
        self.models: dict[str, None] = {}
        self._waiting: dict[str, deque[tuple[Call, Any]]] = {}

    def note_time_and_model(self, at: float | None, model: str = "") -> None:
        if at is not None:
            self.times.append(at)
        if model:
            self.models[model] = None

    def next_seq(self) -> int:
        self.seq += 1
        return self.seq - 1

    def event(self, kind: EventKind, text: str, ref: Ref, **fields: Any) -> Event:
        self.turn += kind == "user"
        return Event(
            session=self.session,
            seq=self.next_seq(),
            kind=kind,
            text=text[:PREVIEW],
            size=len(text),
            turn=self.turn,
            ref=ref,
            **fields,
        )

    def call(self, id_: str, name: str, args: Any, ref: Ref, **fields: Any) -> Call:
        """Builds a call without a result so far; ``args`` as recorded."""
        op, paths, subject = summarize_call(name, arguments(args))
        values = {"status": "unanswered", "subject": subject, "paths": paths, "turn": self.turn, "ref": ref, **fields}
        return Call(self.session, id_, self.next_seq(), name, op, self.origin, **values)

    def add_part(self, piece: MessagePart, id_: str, ref: Ref, at: float | None = None, model: str = "", key: str = "") -> Iterator[Row]:
        """Adds a message part and yields the rows that it completes; a call waits for its result."""
        self.note_time_and_model(at, model)
        if isinstance(piece, TextPart):
            yield self.event(piece.kind, piece.text, ref, at=at, role=piece.role, model=model, type=piece.type, key=key)
        elif isinstance(piece, CallPart):
            call = self.call(id_, piece.name, piece.args, ref, native_id=piece.id, at=at)
            self._waiting.setdefault(piece.id, deque()).append((call, piece.args))
        else:
            yield from self._answer(piece, ref, at)

    def _answer(self, piece: ResultPart, ref: Ref, at: float | None) -> Iterator[Row]:
        """Completes the oldest waiting call with this id or, where there are no ids, with this name."""
        waiting = self._waiting.get(piece.id) or ()
        match = next((one for one in waiting if piece.id or not piece.name or one[0].name == piece.name), None)
        if match is None:
            yield self.event("tool_result", text_of(piece.content), ref, at=at, role="tool", key=piece.id)
            return
        self._waiting[piece.id].remove(match)
        request, args = match
        call = call_with_result(request, piece, ref, at)
        yield call
        yield from changes_of(call, arguments(args))

    def unanswered_calls(self) -> Iterator[Row]:
        """Yields the calls without a result."""
        yield from (call for calls in self._waiting.values() for call, _ in calls)
        self._waiting.clear()


def call_with_result(call: Call, piece: ResultPart, ref: Ref, at: float | None) -> Call:
    """Returns the call with its result. Where the API does not record failures, the status follows from a command's exit code."""
    text = text_of(piece.content)
    code = exit_code_of_result(text) if call.op == "shell" else None
    has_status = piece.status != "unknown"
    return replace(
        call,
        status=piece.status if has_status else "unknown" if code is None else "error" if code else "ok",
        status_source="flag" if has_status else "none" if code is None else "exit_code",
        exit_code=code,
        answered=True,
        ended=at,
        duration=at - call.at if at is not None and call.at is not None and at >= call.at else None,
        result_size=len(text),
        result_ref=ref,
    )
