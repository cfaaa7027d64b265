"""Matches calls with their results, in either order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from nbtools.traces.model import Event, Origin, Ref, Row
from nbtools.traces.readers.claude_code.branches import NO_OFFSETS
from nbtools.traces.readers.claude_code.calls import CallResult, PendingCall, call_row, file_change
from nbtools.traces.readers.claude_code.records import AGENTS, EDITS, Block, Line
from nbtools.traces.readers.claude_code.sessions import SubAgentLinks

Level: TypeAlias = Literal["model", "nested"]
_DONE = ("ok", "interrupted")


class CallMatcher:
    """``put`` receives each call when it is complete, and what it changed; ``number`` returns the next position in reading order.

    ``asked`` are the log's ids of all calls, ``gone`` the offsets of records that a rewind abandoned.
    """

    def __init__(self, put: Callable[[Row], None], number: Callable[[], int], origin: Origin, links: SubAgentLinks) -> None:
        self.put, self.number, self.origin, self.links = put, number, origin, links
        self.call_ids: set[str] = set()
        self.abandoned = NO_OFFSETS
        self._waiting: dict[Level, dict[str, PendingCall]] = {"model": {}, "nested": {}}
        self._early: dict[str, tuple[CallResult, Event]] = {}

    def add_call(self, block: Block, place: int, level: Level, line: Line, session: str, turn: int, at: float | None, ref: Ref) -> None:
        """Adds a call; ``place`` is the index of its block in the message."""
        native, nested = block.id or "", level == "nested"
        if native:
            if native in self.call_ids:
                return
            if not nested:
                self.call_ids.add(native)
        call = PendingCall(
            session,
            native or f"{line.uuid or ref.offset}.{place}",
            native,
            block,
            self.number(),
            at,
            ref,
            level,
            (line.parent_tool_use_id or "") if nested else self.links.call_around(line),
            turn,
            line.uuid or "",
        )
        if block.name in AGENTS:
            self.links.add_call(call)
        if native and native in self._early:
            self._complete(call, self._early.pop(native)[0])
        else:
            self._waiting[level][call.id] = call

    def add_result(self, name: str | None, result: CallResult, level: Level, before: str | None) -> str | None:
        """Completes the call that a result belongs to.

        Returns the id under which to ``keep`` a result whose call may still come; None if none is expected.  ``before`` is the record
        before the result's own, which made a call that has no id.
        """
        waiting = self._waiting[level]
        name = name or next((one.id for one in waiting.values() if not one.native and one.record == before), "")
        call = waiting.pop(name, None)
        if call is not None:
            self._complete(call, result)
            return None
        return name if level == "model" and name not in self.call_ids else None

    def store_early_result(self, name: str, result: CallResult, event: Event) -> None:
        """Stores a result that came before its call; if the call never comes, ``event`` is emitted."""
        if name in self._early:
            self.put(self._early[name][1])
        self._early[name] = result, event

    def emit_unanswered(self) -> None:
        """Emits the calls without results, and the results without calls."""
        for waiting in self._waiting.values():
            for call in waiting.values():
                self._complete(call, None)
            waiting.clear()
        for _, event in self._early.values():
            self.put(event)
        self._early.clear()

    def link_last_pair(self) -> None:
        self.links.link_last_pair(list(self._waiting["model"].values()))

    def _complete(self, pending: PendingCall, result: CallResult | None) -> None:
        name = pending.block.name
        child = self.links.child(pending, result.outcome if result else None) if name in AGENTS and self.links.agents else ""
        call = call_row(pending, result, child, self.origin, not self.abandoned or pending.ref.offset not in self.abandoned)
        self.put(call)
        if name in EDITS and pending.level == "model":
            self.put(file_change(pending, result.outcome if result else None, applied=call.status in _DONE))
