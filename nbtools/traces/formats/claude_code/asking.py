"""Calls that wait for their answers, and answers that came before their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from nbtools.traces.formats.claude_code.calls import Answer, Asked, answered, change
from nbtools.traces.formats.claude_code.linking import Links
from nbtools.traces.formats.claude_code.names import AGENTS, EDITS
from nbtools.traces.formats.claude_code.records import Block, Line
from nbtools.traces.formats.claude_code.tree import NONE
from nbtools.traces.model import Event, Origin, Ref, Row

Level: TypeAlias = Literal["model", "nested"]
_DONE = ("ok", "interrupted")


class Calls:
    """``put`` takes each call when it is answered, and what it changed; ``number`` gives the next place in reading order.

    ``asked`` are the formats' ids of all calls, ``gone`` where the records begin that a rewind left behind.
    """

    def __init__(self, put: Callable[[Row], None], number: Callable[[], int], origin: Origin, links: Links) -> None:
        self.put, self.number, self.origin, self.links = put, number, origin, links
        self.asked: set[str] = set()
        self.gone = NONE
        self._waiting: dict[Level, dict[str, Asked]] = {"model": {}, "nested": {}}
        self._early: dict[str, tuple[Answer, Event]] = {}

    def ask(self, block: Block, place: int, level: Level, line: Line, session: str, turn: int, at: float | None, ref: Ref) -> None:
        """``place`` is the block's in its message."""
        native, nested = block.id or "", level == "nested"
        if native:
            if native in self.asked:
                return
            if not nested:
                self.asked.add(native)
        asked = Asked(
            session,
            native or f"{line.uuid or ref.offset}.{place}",
            native,
            block,
            self.number(),
            at,
            ref,
            level,
            (line.parent_tool_use_id or "") if nested else self.links.around(line),
            turn,
            line.uuid or "",
        )
        if block.name in AGENTS:
            self.links.remember(asked)
        if native and native in self._early:
            self._close(asked, self._early.pop(native)[0])
        else:
            self._waiting[level][asked.id] = asked

    def answer(self, name: str | None, found: Answer, level: Level, before: str | None) -> str | None:
        """The id under which to ``keep`` an answer whose call is still to come; None where nothing is to come.

        ``before`` is the record before its own, which asked for a call that has no id.
        """
        waiting = self._waiting[level]
        name = name or next((asked.id for asked in waiting.values() if not asked.native and asked.record == before), "")
        asked = waiting.pop(name, None)
        if asked is not None:
            self._close(asked, found)
            return None
        return name if level == "model" and name not in self.asked else None

    def keep(self, name: str, found: Answer, event: Event) -> None:
        """An answer before its call; where none comes it is an event."""
        if name in self._early:
            self.put(self._early[name][1])
        self._early[name] = found, event

    def unanswered(self) -> None:
        for waiting in self._waiting.values():
            for asked in waiting.values():
                self._close(asked, None)
            waiting.clear()
        for _, event in self._early.values():
            self.put(event)
        self._early.clear()

    def link_the_only_one(self) -> None:
        self.links.the_only_one(list(self._waiting["model"].values()))

    def _close(self, asked: Asked, found: Answer | None) -> None:
        name = asked.block.name
        child = self.links.child(asked, found.outcome if found else None) if name in AGENTS and self.links.agents else ""
        call = answered(asked, found, child, self.origin, not self.gone or asked.ref.offset not in self.gone)
        self.put(call)
        if name in EDITS and asked.level == "model":
            self.put(change(asked, found.outcome if found else None, applied=call.status in _DONE))
