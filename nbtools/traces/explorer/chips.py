"""The chips by which a page filters the steps of a log: kind, outcome, tool and file of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

from nbtools.cards.hidden_characters import one_line
from nbtools.traces.counts import DEFINITIONS
from nbtools.traces.explorer.line_style import CHANGE_OPS
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.row_messages import TraceChip
from nbtools.traces.explorer.step_files import StepFiles
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, Session

FACETS = ("kind", "end", "tool", "path")
"""The facets of chips.  A step matches a facet if it has one of the chosen chips of it."""
_LABELS = {"edits": "writes"}
"""Labels of chips that are not their keys: the head's *edits* are those that took effect."""
_KINDS: Mapping[str, tuple[frozenset[str], str]] = {
    "edits": (CHANGE_OPS, "Calls that change files, whether or not the change took effect"),
    "shell": (frozenset({"shell"}), "Calls that run commands"),
    "search": (
        frozenset({"search", "list", "web_search"}),
        "Calls that search or list files, or search the web",
    ),
    "reads": (frozenset({"read", "fetch"}), "Calls that read files or pages"),
    "agents": (frozenset({"agent"}), "Calls that start sub-agents"),
    "said": (frozenset({"user", "assistant_text"}), "Messages of people and models"),
    "thinking": (frozenset({"thinking"}), "Thinking of models"),
    "scorers": (frozenset({"scorer"}), "What models wrote that scorers of an evaluation called"),
}
_KIND_BY_ROW = {kind: key for key, (kinds, _) in _KINDS.items() for kind in kinds}
_ENDS: Mapping[str, str] = {
    "failed": DEFINITIONS["failed_calls"],
    "stopped": "Calls that were denied, cancelled, interrupted or never answered",
    "errors": DEFINITIONS["errors"],
    "other failures": DEFINITIONS["other_failures"],
}
_MAX_KEY = 9_000
"""Characters of a tool's name or a path that can be filtered by."""


class Chips:
    """The chips of an explorer.  Their ids are their positions, and stay while the log grows: kinds and
    outcomes come first, tools and files as they are seen.  Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._chips: list[TraceChip] = []
        self._ids: dict[tuple[str, str], int | None] = {}
        for key, (_, title) in _KINDS.items():
            self._add("kind", key, title)
        for key, title in _ENDS.items():
            self._add("end", key, title)

    def since(self, first: int) -> tuple[TraceChip, ...]:
        """Returns the chips with the ids from ``first`` on."""
        return tuple(self._chips[max(first, 0) :])

    def id_of(self, facet: str, key: str) -> int | None:
        """Returns the id of a chip, and adds it if it is new; None for one that a page cannot ask for."""
        if (facet, key) not in self._ids:
            with self._lock:
                if (facet, key) not in self._ids:
                    self._add(facet, key)
        return self._ids[facet, key]

    def _add(self, facet: str, key: str, title: str = "") -> None:
        can_ask = len(key) <= _MAX_KEY and is_encodable(key)
        if can_ask:
            label = _LABELS.get(key, "") if facet == "kind" else ""
            label = label or one_line(redacted(key), 200)
            self._chips.append(TraceChip(facet=facet, key=f"{facet}:{key}", label=label, title=title))
        self._ids[facet, key] = len(self._chips) - 1 if can_ask else None


class StepChips:
    """The ids of the chips of each step in ``lines``."""

    def __init__(self, chips: Chips, lines: Timeline, files: StepFiles) -> None:
        self._chips = chips
        self._lines = lines
        self._files = files
        # A log has 100,000 calls, but few tools.
        self._known: dict[tuple[str, str | None, str], tuple[int, ...]] = {}

    def ids_at(self, line: int) -> Sequence[int]:
        row, tone = self._lines.rows[line], self._lines.tones[line]
        if isinstance(row, Session):
            return ()
        if not isinstance(row, Call):
            return self._ids(row.kind, None, "errors" if tone == "failed" else tone)
        is_other = tone == "failed" and row.has_failed is None
        ids = self._ids(row.op, row.name, "other failures" if is_other else tone)
        keys = self._files.keys_at(line)
        if not keys:
            return ids
        found = (self._chips.id_of("path", key) for key in keys)
        return [*ids, *(number for number in found if number is not None)]

    def _ids(self, kind: str, tool: str | None, end: str) -> tuple[int, ...]:
        known = self._known.get((kind, tool, end))
        if known is None:
            wanted = [
                ("kind", _KIND_BY_ROW.get(kind)),
                ("end", end if end in _ENDS else None),
                ("tool", tool),
            ]
            found = (self._chips.id_of(facet, key) for facet, key in wanted if key is not None)
            known = tuple(number for number in found if number is not None)
            self._known[kind, tool, end] = known
        return known


def is_encodable(text: str) -> bool:
    """Returns whether ``text`` can be sent to a page and back: lone surrogates cannot."""
    return text.isprintable() or not any("\ud800" <= character <= "\udfff" for character in text)
