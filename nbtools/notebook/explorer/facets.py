"""Kinds, tools and files by which the lines of a log can be filtered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from posixpath import join, normpath

from nbtools.core.errors import TraceError
from nbtools.notebook.explorer.model import TraceChoice
from nbtools.notebook.explorer.nesting import CallKey, LineRow
from nbtools.notebook.explorer.recorded_card import CHANGE_OPS, Tone, relative_path
from nbtools.notebook.explorer.timeline import Timeline
from nbtools.notebook.hidden_characters import one_line
from nbtools.traces.model import Call, Event
from nbtools.traces.trace import Trace

MAX_CHOICES = 200
"""Largest number of tools and files offered: those with the most lines."""
_KINDS: dict[str, frozenset[str]] = {
    "edits": CHANGE_OPS,
    "shell": frozenset({"shell"}),
    "search": frozenset({"search", "list", "web_search"}),
    "reads": frozenset({"read", "fetch"}),
    "agents": frozenset({"agent"}),
    "said": frozenset({"user", "assistant_text"}),
    "thinking": frozenset({"thinking"}),
}
"""Which operations of calls and which kinds of events each filter selects."""
_ENDS: dict[str, Tone] = {"failed": "failed", "stopped": "stopped"}
_ORDER = ("edits", "shell", "search", "reads", "agents", "failed", "stopped", "said", "thinking")
_FILES = CHANGE_OPS | {"read"}


class Facets:
    """The line indexes of each kind, tool and file.  Each list is in order and computed on first use."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._lines = lines
        self._changed = _changed(trace)

    def kinds(self) -> tuple[TraceChoice, ...]:
        """Returns the kinds that occur, with "All" first."""
        all_lines = TraceChoice(key="", label="All", count=len(self._lines))
        counts = ((key, self._count(key)) for key in _ORDER)
        return (all_lines, *(TraceChoice(key=key, label=key, count=count) for key, count in counts if count))

    def _count(self, key: str) -> int:
        return self._lines.tones.count(_ENDS[key]) if key in _ENDS else sum(len(self._by_kind.get(kind, ())) for kind in _KINDS[key])

    def tools(self) -> tuple[TraceChoice, ...]:
        return _choices(self._tools)

    def paths(self) -> tuple[TraceChoice, ...]:
        return _choices(self._paths)

    def lines_of_kind(self, key: str) -> Sequence[int]:
        """Returns the lines of a kind.  Raises ``TraceError`` for an unknown kind."""
        if key in _ENDS:
            return [line for line, tone in enumerate(self._lines.tones) if tone == _ENDS[key]]
        if key not in _KINDS:
            raise TraceError(f"Unknown kind of step: {key}. Available: {', '.join(_ORDER)}.")
        return sorted(line for kind in _KINDS[key] for line in self._by_kind.get(kind, ()))

    def lines_of_tool(self, name: str) -> Sequence[int]:
        return self._tools.get(name, ())

    def lines_of_path(self, key: str) -> Sequence[int]:
        return self._paths.get(key, ())

    def paths_at(self, line: int) -> list[str]:
        """Returns the keys of the files that this step read or changed."""
        return list(dict.fromkeys(self._paths_of(self._lines.rows[line])))

    def is_change(self, line: int, path: str) -> bool:
        """Returns whether the step was meant to change the file, not only to read it."""
        row = self._lines.rows[line]
        return isinstance(row, Call) and (row.op in CHANGE_OPS or path in self._by_change(row))

    @cached_property
    def _by_kind(self) -> Mapping[str, list[int]]:
        by_kind: dict[str, list[int]] = defaultdict(list)
        for line, row in enumerate(self._lines.rows):
            if type(row) is Call:
                by_kind[row.op].append(line)
            elif type(row) is Event:
                by_kind[row.kind].append(line)
        return by_kind

    @cached_property
    def _tools(self) -> Mapping[str, list[int]]:
        tools: dict[str, list[int]] = defaultdict(list)
        for line, row in enumerate(self._lines.rows):
            if type(row) is Call:
                tools[row.name].append(line)
        return tools

    @cached_property
    def _paths(self) -> Mapping[str, list[int]]:
        paths: dict[str, list[int]] = defaultdict(list)
        for line, row in enumerate(self._lines.rows):
            if type(row) is not Call:
                continue
            if (row.session, row.id) in self._changed or (len(row.paths) > 1 and row.op in _FILES):
                for path in set(self._paths_of(row)):
                    paths[path].append(line)
            elif row.paths and row.op in _FILES:
                paths[_file_key(row.paths[0], self._lines.folder(row))].append(line)
        return paths

    def _paths_of(self, row: LineRow) -> Iterator[str]:
        if isinstance(row, Call):
            if row.op in _FILES and row.paths:
                folder = self._lines.folder(row)
                yield from (_file_key(path, folder) for path in row.paths)
            yield from self._by_change(row)

    def _by_change(self, call: Call) -> list[str]:
        folder = self._lines.folder(call)
        return [_file_key(path, folder) for path in self._changed.get((call.session, call.id), ())]


@lru_cache(maxsize=1 << 14)
def _file_key(path: str, folder: str) -> str:
    """Returns one key for a file, however its path was written."""
    return relative_path(normpath(join(folder, path)), folder)


def _changed(trace: Trace) -> dict[CallKey, list[str]]:
    """Returns the files changed by each call."""
    changed: dict[CallKey, list[str]] = defaultdict(list)
    for change in trace.file_changes:
        if change.path:
            changed[change.session, change.call].append(change.path)
    return dict(changed)


def _choices(lines: Mapping[str, list[int]]) -> tuple[TraceChoice, ...]:
    ranked = sorted((entry for entry in lines.items() if _is_encodable(entry[0])), key=lambda entry: (-len(entry[1]), entry[0]))[
        :MAX_CHOICES
    ]
    return tuple(TraceChoice(key=key, label=one_line(key, 200), count=len(places)) for key, places in ranked)


def _is_encodable(text: str) -> bool:
    """Returns whether ``text`` can be sent to a page and back: lone surrogates cannot."""
    return text.isprintable() or not any("\ud800" <= character <= "\udfff" for character in text)
