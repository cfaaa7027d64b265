"""By what the lines of a log can be chosen: kinds, tools, files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from posixpath import join, normpath

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.order import Key, Told
from nbtools.notebook.trace.outcomes import CHANGES, Tone, inside
from nbtools.notebook.trace.timeline import Timeline
from nbtools.notebook.trace.wire import TraceChoice
from nbtools.notebook.visible import one_line
from nbtools.traces.model import Call, Event
from nbtools.traces.trace import Trace

MOST = 200
"""Tools and files that are offered: those with the most lines."""
_SORTS: dict[str, frozenset[str]] = {
    "edits": CHANGES,
    "shell": frozenset({"shell"}),
    "search": frozenset({"search", "list", "web_search"}),
    "reads": frozenset({"read", "fetch"}),
    "agents": frozenset({"agent"}),
    "said": frozenset({"user", "assistant_text"}),
    "thinking": frozenset({"thinking"}),
}
"""What calls do and what events are."""
_ENDS: dict[str, Tone] = {"failed": "failed", "stopped": "stopped"}
_ORDER = ("edits", "shell", "search", "reads", "agents", "failed", "stopped", "said", "thinking")
_FILES = CHANGES | {"read"}


class Facets:
    """Which lines have which.  Each list of lines is in order, and made when it is asked for."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._lines = lines
        self._changed = _changed(trace)

    def choices(self) -> tuple[TraceChoice, ...]:
        """The kinds that there are, all lines first."""
        every = TraceChoice(key="", label="All", count=len(self._lines))
        counted = ((key, self._count(key)) for key in _ORDER)
        return (every, *(TraceChoice(key=key, label=key, count=count) for key, count in counted if count))

    def _count(self, key: str) -> int:
        return self._lines.tones.count(_ENDS[key]) if key in _ENDS else sum(len(self._sorts.get(sort, ())) for sort in _SORTS[key])

    def tools(self) -> tuple[TraceChoice, ...]:
        return _most(self._tools)

    def paths(self) -> tuple[TraceChoice, ...]:
        return _most(self._paths)

    def of_kind(self, key: str) -> Sequence[int]:
        """Raises ``TraceError`` for a kind that there is not."""
        if key in _ENDS:
            return [line for line, tone in enumerate(self._lines.tones) if tone == _ENDS[key]]
        if key not in _SORTS:
            raise TraceError(f"There is no kind {key} of steps: {', '.join(_ORDER)}.")
        return sorted(line for sort in _SORTS[key] for line in self._sorts.get(sort, ()))

    def of_tool(self, name: str) -> Sequence[int]:
        return self._tools.get(name, ())

    def of_path(self, key: str) -> Sequence[int]:
        return self._paths.get(key, ())

    def paths_at(self, line: int) -> list[str]:
        """Keys of the files that this step read or changed."""
        return list(dict.fromkeys(self._touched(self._lines.rows[line])))

    def is_change(self, line: int, path: str) -> bool:
        """Whether the step was to change the file, and not only to read it."""
        row = self._lines.rows[line]
        return isinstance(row, Call) and (row.op in CHANGES or path in self._by_change(row))

    @cached_property
    def _sorts(self) -> Mapping[str, list[int]]:
        sorts: dict[str, list[int]] = defaultdict(list)
        for line, row in enumerate(self._lines.rows):
            if type(row) is Call:
                sorts[row.op].append(line)
            elif type(row) is Event:
                sorts[row.kind].append(line)
        return sorts

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
                for path in set(self._touched(row)):
                    paths[path].append(line)
            elif row.paths and row.op in _FILES:
                paths[_seen_from(row.paths[0], self._lines.folder(row))].append(line)
        return paths

    def _touched(self, row: Told) -> Iterator[str]:
        if isinstance(row, Call):
            if row.op in _FILES and row.paths:
                folder = self._lines.folder(row)
                yield from (_seen_from(path, folder) for path in row.paths)
            yield from self._by_change(row)

    def _by_change(self, call: Call) -> list[str]:
        folder = self._lines.folder(call)
        return [_seen_from(path, folder) for path in self._changed.get((call.session, call.id), ())]


@lru_cache(maxsize=1 << 14)
def _seen_from(path: str, folder: str) -> str:
    """One name for a file, however it was spelled."""
    return inside(normpath(join(folder, path)), folder)


def _changed(trace: Trace) -> dict[Key, list[str]]:
    """The files that each call changed."""
    changed: dict[Key, list[str]] = defaultdict(list)
    for change in trace.file_changes:
        if change.path:
            changed[change.session, change.call].append(change.path)
    return dict(changed)


def _most(lines: Mapping[str, list[int]]) -> tuple[TraceChoice, ...]:
    ranked = sorted((one for one in lines.items() if _travels(one[0])), key=lambda one: (-len(one[1]), one[0]))[:MOST]
    return tuple(TraceChoice(key=key, label=one_line(key, 200), count=len(found)) for key, found in ranked)


def _travels(text: str) -> bool:
    """Half of a character is no text that a page can send back."""
    return text.isprintable() or not any("\ud800" <= character <= "\udfff" for character in text)
