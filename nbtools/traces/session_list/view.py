"""The list of sessions as the value of a cell: ``%trace`` alone."""

from __future__ import annotations

import time
import uuid
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import TraceError
from nbtools.traces.comparison.comparison_messages import CompareWithTask
from nbtools.traces.explorer.explorer_messages import OpenedLogs
from nbtools.traces.explorer.notebook_services import connect_page, widget_of
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.session_index.listing import LoggedSession, SessionCatalog, SessionQuery
from nbtools.traces.session_index.places import label_of
from nbtools.traces.session_list.session_messages import (
    SESSIONS_MIME,
    OpenSessionsTask,
    SessionChoice,
    SessionFilter,
    SessionsPage,
    SessionsTask,
    SessionsView,
)
from nbtools.traces.session_list.session_text import home_relative, session_row, sessions_html, sessions_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtools.traces.trace import Trace

MAX_ROWS = 200
"""Largest number of sessions in one reply."""
INITIAL_ROWS = 60
_MAX_PROJECTS = 200
_FIRST_LOOK = 1.5
"""Seconds that reading new logs may take until the first rows are shown; the page asks for the rest."""
_NEXT_LOOK = 0.5
_PAUSE = 4.0
"""Seconds between two looks at the folders; more, if a look takes long."""


@cache
def session_catalog() -> SessionCatalog:
    """Returns the sessions of this machine; one catalog for all lists of a kernel."""
    return SessionCatalog()


class SessionList:
    """Displays the sessions on this machine. Nothing is read before it is displayed or asked for."""

    def __init__(self, query: SessionFilter | None = None) -> None:
        self.id = uuid.uuid4().hex
        self.size = 1
        self.filter = query or SessionFilter()
        self._catalog = session_catalog()

    @property
    def sessions(self) -> list[LoggedSession]:
        """The sessions under the initial filter."""
        self._catalog.refresh()
        return self._catalog.page(_query(self.filter))

    def answer(self, task: Any) -> SessionsPage | OpenedLogs:
        """Answers a request of a page. Raises ``TraceError``."""
        match task:
            case SessionsTask():
                return self.looked_up(task)
            case OpenSessionsTask():
                return open_sessions(task.ids)
        raise TraceError("This list cannot answer that request. Run the cell again.")

    def looked_up(self, task: SessionsTask) -> SessionsPage:
        """Returns sessions under a filter, after a look at the folders if the task asks for it."""
        if task.look:
            self._look()
        return self.page(task)

    def view(self) -> SessionsView:
        """Returns the initial view, after a first look at the folders."""
        self._catalog.refresh(_FIRST_LOOK)
        self._catalog.read_in_background()
        return SessionsView(
            explorer=self.id,
            filter=self.filter,
            page=self.page(SessionsTask(filter=self.filter, first=0, count=INITIAL_ROWS)),
        )

    def bundle(self) -> dict[str, Any]:
        """Returns a MIME bundle, like that of an explorer:
        for the extension, as a widget where needed, as HTML and as text.
        """
        EXPLORERS.add(self)
        view = self.view()
        return {
            SESSIONS_MIME: view.model_dump(mode="json"),
            **connect_page(view),
            "text/html": sessions_html(view.page),
            "text/plain": sessions_text(view.page),
        }

    def widget(self) -> Any:
        """Returns the list as an anywidget."""
        EXPLORERS.add(self)
        return widget_of(self.view())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle()

    def __repr__(self) -> str:
        return "<List of the sessions on this machine>"

    def _look(self) -> None:
        found = self._catalog.found
        if found.left or time.monotonic() - found.at > max(_PAUSE, 20 * found.seconds):
            self._catalog.refresh(_NEXT_LOOK)
        self._catalog.read_in_background()

    def page(self, task: SessionsTask) -> SessionsPage:
        """Returns sessions under a filter, at most ``MAX_ROWS``."""
        wanted, first, count = task.filter, max(0, task.first), min(max(0, task.count), MAX_ROWS)
        catalog, query, now = self._catalog, _query(wanted), time.time()
        total, everything = catalog.count(query), catalog.count(SessionQuery())
        agents = catalog.counts("agent", _query(wanted.model_copy(update={"agent": ""})))
        projects = catalog.counts("project", _query(wanted.model_copy(update={"project": ""})))
        return SessionsPage(
            first=first,
            total=total,
            all=everything,
            rows=tuple(session_row(session, now) for session in catalog.page(query, first, count)),
            agents=tuple(
                SessionChoice(key=name, label=label_of(name), count=number) for name, number in agents
            ),
            projects=tuple(
                SessionChoice(key=name, label=home_relative(name), count=number)
                for name, number in sorted(projects[:_MAX_PROJECTS])
            ),
            unread=(
                catalog.unread(query) if catalog.index.lasting else 0
            ),  # else they are not going to be read
            left=catalog.found.left,
            unreadable=catalog.unreadable(),
            folders=() if everything or catalog.found.left else searched_folders(catalog),
        )


def searched_folders(catalog: SessionCatalog) -> tuple[str, ...]:
    """Returns the folders that were looked at, each once."""
    return tuple(dict.fromkeys(home_relative(str(place.folder)) for place in catalog.found.places))


def listed_log(id: str) -> Path:  # noqa: A002 - the field's name
    """Returns the path of a log by its id. Raises ``TraceError`` if it is not among those on this machine."""
    catalog = session_catalog()
    if not catalog.found.at:  # the tab of a session is restored in a new kernel
        catalog.refresh()
    return catalog.path_of(id)


def choose_sessions(trace: Trace, task: SessionsTask | CompareWithTask) -> SessionsPage | OpenedLogs:
    """Returns listed sessions, or the comparison of ``trace`` with some of them. Raises ``TraceError``."""
    if isinstance(task, CompareWithTask):
        return open_sessions(task.ids, trace)
    return SessionList().looked_up(task)


def open_sessions(ids: Sequence[str], first: Trace | None = None) -> OpenedLogs:
    """Opens one listed session, or compares several; ``first`` is compared with them.
    Raises ``TraceError``.
    """
    paths = [listed_log(one) for one in ids]
    if len(paths) == 1 and first is None:
        from nbtools.traces.explorer.explorer import (  # noqa: PLC0415 - log readers are loaded on first use
            open_trace,
        )

        explorer = open_trace(paths[0])
        EXPLORERS.add(explorer)
        return OpenedLogs(view=explorer.view())
    from nbtools.traces.comparison.comparison import compare  # noqa: PLC0415 - as above
    from nbtools.traces.comparison.view import ComparisonDisplay  # noqa: PLC0415 - as above

    return OpenedLogs(
        comparison=ComparisonDisplay(compare(*([] if first is None else [first]), *paths)).opened()
    )


def _query(wanted: SessionFilter) -> SessionQuery:
    return SessionQuery(
        wanted.text, wanted.agent, wanted.project, wanted.outcome, wanted.sort, wanted.descending
    )
