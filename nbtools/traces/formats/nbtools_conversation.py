"""What the log of an agent of ours has beside its calls: what was said, and what its model used."""

from __future__ import annotations

from typing import Any

from nbtools.traces.log_records import EndRecord, RequestRecord, SaidRecord, SessionRecord
from nbtools.traces.model import PREVIEW, Event, EventKind, Ref, Tokens

_KINDS: dict[str, EventKind] = {"user": "user", "assistant_text": "assistant_text", "thinking": "thinking"}
_COUNTED = ("input", "cache_read", "cache_write", "output")


class Conversation:
    """As far as it is read: ``turn`` counts the prompts, ``title`` is the beginning of the first."""

    def __init__(self) -> None:
        self.turn = 0
        self.title = ""
        self.used: list[RequestRecord] = []

    def said(self, record: SaidRecord, ref: Ref) -> Event:
        kind = _KINDS.get(record.kind, "system")
        if kind == "user":
            self.turn += 1
            self.title = self.title or record.text[:PREVIEW]
        size = max(len(record.text), record.size)
        role = "user" if kind == "user" else "assistant"
        return self._event(record, ref, kind=kind, text=record.text[:PREVIEW], size=size, role=role, type="said")

    def ended(self, record: EndRecord, ref: Ref) -> Event:
        return self._event(record, ref, kind="error", text=record.why[:PREVIEW], size=len(record.why), type="end")

    def _event(self, record: SaidRecord | EndRecord, ref: Ref, **fields: Any) -> Event:
        return Event(session=record.session, seq=record.number, at=record.at, turn=self.turn, ref=ref, **fields)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.model for one in self.used))

    @property
    def native_tokens(self) -> dict[str, int]:
        return {name: sum(getattr(one, name) for one in self.used) for name in _COUNTED} if self.used else {}

    @property
    def tokens(self) -> Tokens:
        return Tokens(**self.native_tokens)

    @property
    def cost(self) -> float | None:
        """None where that of one request is not known."""
        costs = [one.cost for one in self.used if one.cost is not None]
        return sum(costs) if costs and len(costs) == len(self.used) else None

    def counts(self, header: SessionRecord) -> dict[str, Any]:
        """Of what only such a log has."""
        requests = {"requests": len(self.used)} if self.used else {}
        return {**requests, "calls_of": header.calls_of} if header.calls_of else requests
