"""What an explorer's page asks for, answered."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.cells import Cells
from nbtools.notebook.trace.drawing import Snippets, drawn
from nbtools.notebook.trace.facets import Facets
from nbtools.notebook.trace.listing import Listing
from nbtools.notebook.trace.records import Records
from nbtools.notebook.trace.searching import Search
from nbtools.notebook.trace.timeline import Timeline
from nbtools.notebook.trace.wire import (
    CellTask,
    OpenTask,
    PageTask,
    PlaceTask,
    RawTask,
    StoryTask,
    TraceCell,
    TraceFilter,
    TraceOpened,
    TracePage,
    TracePlace,
    TraceRaw,
    TraceStory,
)
from nbtools.traces.trace import Trace

if TYPE_CHECKING:
    from nbtools.notebook.trace.opened import Opener

MOST = 500
"""Lines of one page."""
Task: TypeAlias = PageTask | PlaceTask | OpenTask | RawTask | CellTask | StoryTask
Reply: TypeAlias = TracePage | TracePlace | TraceOpened | TraceRaw | TraceCell | TraceStory


class Answers:
    """About ``trace``, whose ``lines`` and ``facets`` are known already.  May be asked in any thread."""

    def __init__(self, trace: Trace, lines: Timeline, facets: Facets, cells: Cells) -> None:
        self._trace = trace
        self._lines = lines
        self._facets = facets
        self._cells = cells
        self._search = Search(trace, lines)
        self._listing = Listing(lines, facets, self._search)

    def answer(self, task: Task) -> Reply:
        """Raises ``TraceError`` for a line or a kind that there is not, and where the log has changed since it was read."""
        match task:
            case PageTask():
                return self.page(task.filter, task.first, task.count)
            case PlaceTask():
                return TracePlace(number=self._listing.listed(task.filter).number_of(task.line))
            case OpenTask():
                return self._opener.opened(self._known(task.line))
            case RawTask():
                return self._records.raw(self._lines.rows[self._known(task.line)])
            case CellTask():
                return TraceCell(source=self._cells.compare() if task.action == "compare" else self._cells.sql())
            case StoryTask():
                return self._story()

    def page(self, wanted: TraceFilter, first: int, count: int) -> TracePage:
        """At most ``MOST`` lines."""
        listed = self._listing.listed(wanted)
        first = max(0, first)
        places = listed.lines[first : first + min(max(0, count), MOST)]
        snippets = Snippets(self._lines, self._search, wanted.text) if wanted.text.strip() else None
        lines = tuple(drawn(self._lines, place, snippets.of(place) if snippets else ()) for place in places)
        return TracePage(first=first, total=len(listed.lines), calls=listed.calls, lines=lines, indexed=listed.indexed)

    def _story(self) -> TraceStory:
        """Raises ``TraceError`` where the log is in no file, and where the notebook cannot be written."""
        if not self._cells.actions:
            raise TraceError("This log is in no file, so there is no folder to write a notebook into. Use trace.to_notebook(path).")
        path = self._trace.to_notebook(self._cells.story())
        return TraceStory(path=str(path), place=_from_notebook(path))

    def _known(self, line: int) -> int:
        if not 0 <= line < len(self._lines):
            raise TraceError(f"There is no line {line} in this log.")
        return line

    @cached_property
    def _records(self) -> Records:
        return Records(self._trace)

    @cached_property
    def _opener(self) -> Opener:
        from nbtools.notebook.trace.opened import Opener  # noqa: PLC0415 - all tools, which are not loaded before a step is opened

        return Opener(self._lines, self._facets, self._records, self._cells)


def _from_notebook(path: Path) -> str:
    """``path`` as seen from the folder of this kernel's notebook; empty where there is no way to it."""
    session = Path(os.environ.get("JPY_SESSION_NAME", ""))
    folder = session.parent if session.is_absolute() else Path.cwd()
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return ""
