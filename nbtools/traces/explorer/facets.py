"""Chips and menus to filter the lines of a log by: kind, outcome, tool and file, and what others add."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from nbtools.cards.hidden_characters import one_line
from nbtools.core.errors import TraceError
from nbtools.traces.comparison.steps import file_key
from nbtools.traces.explorer.explorer_view import TraceChoice, TraceFacet, TraceFilter
from nbtools.traces.explorer.line_style import CHANGE_OPS
from nbtools.traces.explorer.nesting import CallKey, LineRow
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, Session
from nbtools.traces.trace import Trace

MAX_CHOICES = 200
"""Largest number of tools and files offered: those with the most lines."""
_FILES = CHANGE_OPS | {"read"}


class Facet(ABC):
    """A group of choices by which lines can be filtered.

    A line matches a facet if it has one of the chosen keys, and the whole filter if it matches every facet.
    ``name`` has no colon.  ``menu``: the choices are a menu, because there are many, instead of chips.
    """

    name: str
    label: str
    menu = False

    @abstractmethod
    def lines(self) -> Mapping[str, Sequence[int]]:
        """Returns the lines of every key, in order; the keys in the order in which they are offered."""

    def title(self, key: str) -> str:
        """Returns what the choice means, to show on hover."""
        return ""

    def offered(self) -> Sequence[str]:
        """Returns the keys that are offered."""
        return tuple(self.lines())


class TableFacet(Facet):
    """Filters by a property of steps that a table lists: each key has its lines and a title."""

    def __init__(self, titles: Mapping[str, str], by_key: Mapping[str, Sequence[int]]) -> None:
        self._titles = titles
        self._lines = {key: by_key[key] for key in titles if by_key.get(key)}

    def lines(self) -> Mapping[str, Sequence[int]]:
        return self._lines

    def title(self, key: str) -> str:
        return self._titles.get(key, "")


class KindFacet(TableFacet):
    """Filters by what a step is."""

    name, label = "kind", "Kind of step"
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
    }

    def __init__(self, lines: Timeline) -> None:
        keys: dict[str, str] = {kind: key for key, (kinds, _) in self._KINDS.items() for kind in kinds}
        by_key: dict[str, list[int]] = defaultdict(list)
        for line, row in enumerate(lines.rows):
            if not isinstance(row, Session):
                key = keys.get(row.op if type(row) is Call else row.kind)  # type: ignore[union-attr]
                if key:
                    by_key[key].append(line)
        super().__init__({key: title for key, (_, title) in self._KINDS.items()}, by_key)


class OutcomeFacet(TableFacet):
    """Filters by how a step ended."""

    name, label = "end", "Outcome"

    def __init__(self, lines: Timeline) -> None:
        titles = {
            "failed": "Calls that failed or exited with an error, and errors of the agent",
            "stopped": "Calls that were denied, cancelled, interrupted or never answered",
        }
        by_tone: dict[str, list[int]] = defaultdict(list)
        for line, tone in enumerate(lines.tones):
            by_tone[tone].append(line)
        super().__init__(titles, by_tone)


class ToolFacet(Facet):
    """Filters by the tool of a call."""

    name, label, menu = "tool", "Tool", True

    def __init__(self, lines: Timeline) -> None:
        self._lines: dict[str, list[int]] = defaultdict(list)
        for line, row in enumerate(lines.rows):
            if type(row) is Call:
                self._lines[row.name].append(line)

    def lines(self) -> Mapping[str, Sequence[int]]:
        return self._lines

    def offered(self) -> Sequence[str]:
        return _most_used(self._lines)


class FileFacet(Facet):
    """Filters by the files that a call read or changed."""

    name, label, menu = "path", "File", True

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._timeline = lines
        self._changed: dict[CallKey, tuple[str, ...]] = defaultdict(tuple)
        for change in trace.file_changes:
            if change.path:
                self._changed[change.session, change.call] += (change.path,)

    def lines(self) -> Mapping[str, Sequence[int]]:
        return self._paths

    def offered(self) -> Sequence[str]:
        return _most_used(self._paths)

    @cached_property
    def _paths(self) -> Mapping[str, list[int]]:
        paths: dict[str, list[int]] = defaultdict(list)
        changed = self._changed
        for line, row in enumerate(self._timeline.rows):
            if type(row) is not Call:
                continue
            named = row.paths if row.op in _FILES else ()
            found = changed.get((row.session, row.id), named) if changed else named
            if found == named and len(found) == 1:
                paths[file_key(found[0], self._timeline.folder(row))].append(line)
            elif found:
                for path in set(self.paths_of(row)):
                    paths[path].append(line)
        return paths

    def paths_of(self, row: LineRow) -> Iterator[str]:
        if isinstance(row, Call):
            if row.op in _FILES and row.paths:
                folder = self._timeline.folder(row)
                yield from (file_key(path, folder) for path in row.paths)
            yield from self.changed_by(row)

    def changed_by(self, call: Call) -> list[str]:
        folder = self._timeline.folder(call)
        return [file_key(path, folder) for path in self._changed.get((call.session, call.id), ())]


class Facets:
    """The facets of a log.  Their lines are computed on first use; ``version`` changes with them."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._lines = lines
        self.version = 0
        self._added: dict[str, Facet] = {}
        self._trace = trace

    @cached_property
    def _files(self) -> FileFacet:
        return FileFacet(self._trace, self._lines)

    @cached_property
    def _own(self) -> Mapping[str, Facet]:
        own = (KindFacet(self._lines), OutcomeFacet(self._lines), ToolFacet(self._lines), self._files)
        return {facet.name: facet for facet in own}

    def add(self, facet: Facet) -> None:
        """Adds a facet, or replaces the one of the same name; the page's next answer has its chips."""
        self._added[facet.name] = facet
        self.changed()

    def changed(self) -> None:
        """Tells that the lines of an added facet have changed."""
        self.version += 1

    def matching(self, chips: Sequence[str]) -> dict[str, Sequence[int]]:
        """Returns the lines of each facet that the chips name.  Raises ``TraceError`` for an unknown chip."""
        chosen: dict[str, list[str]] = defaultdict(list)
        for chip in chips:
            name, _, key = chip.partition(":")
            if name not in self._all:
                raise TraceError(f"Unknown filter: {chip}. Available: {', '.join(self._all)}.")
            chosen[name].append(key)
        lines = {name: (self._all[name].lines(), keys) for name, keys in chosen.items()}
        found = {name: [by_key.get(key, ()) for key in keys] for name, (by_key, keys) in lines.items()}
        return {name: one[0] if len(one) == 1 else sorted(set().union(*one)) for name, one in found.items()}

    def offered(
        self, others: Mapping[str, Sequence[int] | None], query: TraceFilter
    ) -> tuple[TraceFacet, ...]:
        """Returns all choices with their counts.

        ``others`` has for each facet of ``query``, and for ``""``,
        the lines that all *other* parts of the filter match; None: all lines.
        """
        masks: dict[str, bytearray | None] = {}
        for name, lines in others.items():
            # One byte for each line: looking up 100,000 lines there is faster than in a set.
            mask = masks[name] = None if lines is None else bytearray(len(self._lines))
            for line in lines or ():
                mask[line] = 1  # type: ignore[index]
        return tuple(
            self._offer(facet, masks.get(facet.name, masks[""]), query.chips) for facet in self._all.values()
        )

    def _offer(self, facet: Facet, mask: bytearray | None, chips: Sequence[str]) -> TraceFacet:
        lines = facet.lines()
        chosen = [key for name, _, key in (chip.partition(":") for chip in chips) if name == facet.name]
        keys = dict.fromkeys((*facet.offered(), *chosen))
        return TraceFacet(
            name=facet.name,
            label=facet.label,
            menu=facet.menu,
            choices=tuple(
                TraceChoice(
                    key=f"{facet.name}:{key}",
                    label=one_line(key, 200),
                    count=len(places) if mask is None else sum(map(mask.__getitem__, places)),
                    title=facet.title(key),
                )
                for key in keys
                if _is_encodable(key)
                for places in [lines.get(key, ())]
            ),
        )

    @property
    def added(self) -> Sequence[Facet]:
        return tuple(self._added.values())

    @property
    def _all(self) -> Mapping[str, Facet]:
        return {**self._own, **self._added}

    def lines_of_path(self, key: str) -> Sequence[int]:
        return self._files.lines().get(key, ())

    def paths_at(self, line: int) -> list[str]:
        """Returns the keys of the files that this step read or changed."""
        return list(dict.fromkeys(self._files.paths_of(self._lines.rows[line])))

    def is_change(self, line: int, path: str) -> bool:
        """Returns whether the step was meant to change the file, not only to read it."""
        row = self._lines.rows[line]
        return isinstance(row, Call) and (row.op in CHANGE_OPS or path in self._files.changed_by(row))


def _most_used(lines: Mapping[str, Sequence[int]]) -> list[str]:
    return sorted(lines, key=lambda key: (-len(lines[key]), key))[:MAX_CHOICES]


def _is_encodable(text: str) -> bool:
    """Returns whether ``text`` can be sent to a page and back: lone surrogates cannot."""
    return text.isprintable() or not any("\ud800" <= character <= "\udfff" for character in text)
