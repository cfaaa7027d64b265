"""The list of sessions as the value of a cell: ``%trace`` alone."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtools.cards.hidden_characters import one_line
from nbtools.core.errors import TraceError
from nbtools.core.methods import method
from nbtools.traces.counts import DEFINITIONS
from nbtools.traces.explorer.explorer_messages import OpenedLogs, ReviewedLog
from nbtools.traces.explorer.explorer_view import TraceView
from nbtools.traces.explorer.notebook_services import connect_page, widget_of
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.session_index.content_search import found_steps
from nbtools.traces.session_index.index import session_id
from nbtools.traces.session_index.left_out import left_out_count, left_out_files
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery
from nbtools.traces.session_index.logged_session import LoggedSession
from nbtools.traces.session_index.places import ADDED_ENDINGS, OTHER, add_log_folder, label_of
from nbtools.traces.session_index.session_totals import usage_of
from nbtools.traces.session_list.review_queue import ReviewQueue
from nbtools.traces.session_list.rows import SessionChanges, session_block
from nbtools.traces.session_list.search_answers import SearchAnswers
from nbtools.traces.session_list.session_messages import (
    SESSIONS_MIME,
    AddedFolder,
    AddFolderParams,
    Definition,
    FoundSessions,
    LeftOutFile,
    LeftOutFiles,
    LeftOutParams,
    NextReviewParams,
    OpenSessionsParams,
    ReviewSessionsParams,
    SearchSessionsParams,
    SessionFilter,
    SessionReviews,
    SessionReviewsParams,
    SessionRows,
    SessionRowsParams,
    SessionsView,
    SessionTotal,
    SessionTotals,
    SessionTotalsParams,
)
from nbtools.traces.session_list.session_text import (
    FirstSessions,
    home_relative,
    session_row,
    sessions_html,
    sessions_text,
    total_row,
)
from nbtools.traces.usage.cost import prices_name
from nbtools.traces.usage.totals import TOTALS_BY, add_up

if TYPE_CHECKING:
    from nbtools.traces.trace import Trace

SEARCH_PREFIX = "search:"
"""Marks a text to search for, where a request could name a step."""
INITIAL_ROWS = 60
MOST_LEFT_OUT = 1_000
"""Files that are not listed and that a page names."""
FIRST_ROWS = 2_000
"""Sessions in the first reply to a page, which draws them before the others are there."""
_FIRST_LOOK = 1.5
"""Seconds that reading new logs may take until the first rows are shown; the page asks for the rest."""
_NEXT_LOOK = 0.5
_PAUSE = 4.0
"""Seconds between two looks at the folders; more, if a look takes long."""


@cache
def session_catalog() -> SessionCatalog:
    """Returns the sessions of this machine; one catalog for all lists of a kernel."""
    return SessionCatalog()


@lru_cache(maxsize=1)
def _changes_of(catalog: SessionCatalog) -> SessionChanges:
    return SessionChanges(catalog)


class SessionList:
    """Displays the sessions on this machine. Nothing is read before it is displayed or asked for."""

    def __init__(self, query: SessionFilter | None = None, rows: int = INITIAL_ROWS) -> None:
        """``rows`` is the number of sessions in the text and the HTML; -1 for all.  A page lists all."""
        self.id = uuid.uuid4().hex
        self.size = 1
        self.filter = query or SessionFilter()
        self._rows = rows
        self._catalog = session_catalog()
        self._changes = _changes_of(self._catalog)
        self._queue = ReviewQueue(self._catalog, self._changes)
        self._searches = SearchAnswers(self._catalog, self._changes)

    @property
    def sessions(self) -> list[LoggedSession]:
        """The sessions under the initial filter."""
        self._catalog.refresh()
        return self._catalog.page(query_of(self.filter))

    @method("sessions.rows")
    def rows(self, params: SessionRowsParams) -> tuple[SessionRows, Sequence[bytes]]:
        """Returns the sessions that a page does not have yet, or not as they are now."""
        catalog, changes = self._catalog, self._changes
        if params.look:
            self._look()
        changes.update()
        changed, version = changes.since(params.version)
        rows = [(row.key, row.state) for row in changed if row.state is not None]
        more = params.latest and len(rows) > FIRST_ROWS
        if more:
            rows = nlargest(FIRST_ROWS, rows, key=lambda row: row[1].changed)
        block, data = session_block(rows, catalog)
        return SessionRows(
            version=params.version if more else version,
            more=more,
            block=block,
            gone=tuple(row.key for row in changed if row.state is None),
            now=time.time(),
            left=catalog.found.left,
            left_out=left_out_count(catalog),
            folders=searched_folders(catalog),
        ), [data]

    @method("sessions.search")
    def search(self, params: SearchSessionsParams) -> tuple[FoundSessions, Sequence[bytes]]:
        """Returns the sessions that contain a text, as far as pages have them."""
        return self._searches.find(params)

    @method("sessions.totals")
    def totals(self, params: SessionTotalsParams) -> SessionTotals:
        """Returns the sums over sessions that the page has."""
        ids = self._changes.ids(params.keys)
        usage = usage_of(self._catalog.index, ids)
        used: dict[str, list[str]] = defaultdict(list)  # which no field of a row tells
        for one in usage:
            for model in one.models:
                used[model].append(session_id(one.number))
        found: dict[str, tuple[SessionTotal, ...]] = {}
        for by in TOTALS_BY:
            totals = add_up(usage, by, params.since, params.until)
            found[by] = tuple(
                total_row(one, by, self._changes.keys(used.get(one.name, ()) if by == "model" else ()))
                for one in totals
            )
        return SessionTotals(**found, prices=prices_name())

    @method("sessions.add_folder")
    def add_folder(self, params: AddFolderParams) -> AddedFolder:
        """Lists the logs of a folder from now on, in all kernels of this person."""
        try:
            folder = add_log_folder(params.folder)
        except (TraceError, OSError) as error:
            return AddedFolder(problem=str(error))
        self._catalog.refresh(_NEXT_LOOK)
        self._catalog.read_in_background()
        listed, other = self._catalog.below(folder)
        return AddedFolder(
            folder=one_line(home_relative(str(folder)), 1_000),
            listed=listed,
            other=other,
            endings=", ".join(ADDED_ENDINGS),
        )

    @method("sessions.left_out")
    def left_out(self, _: LeftOutParams) -> LeftOutFiles:
        """Returns the files in the agents' folders that are not listed, with the reasons."""
        files = left_out_files(self._catalog)
        return LeftOutFiles(
            files=tuple(
                LeftOutFile(
                    path=one_line(home_relative(str(one.path)), 1_000),
                    agent=label_of(one.agent) if one.agent != OTHER else "",
                    reason=one_line(one.reason, 300),
                )
                for one in files[:MOST_LEFT_OUT]
            ),
            total=len(files),
        )

    @method("sessions.open")
    def open(self, params: OpenSessionsParams) -> OpenedLogs:
        return open_sessions(params.ids, step=params.step)

    @method("sessions.reviews")
    def reviews(self, params: SessionReviewsParams) -> SessionReviews:
        """Returns the verdicts on the sessions, and the queue."""
        return self._queue.read(params)

    @method("sessions.review")
    def review(self, params: ReviewSessionsParams) -> SessionReviews:
        """Begins or ends the review of several sessions."""
        return self._queue.begin(params)

    @method("sessions.next")
    def next(self, params: NextReviewParams) -> ReviewedLog:
        """Opens the next session to review."""
        return self._queue.open(params, lambda one: _opened(listed_log(one)))

    def view(self) -> SessionsView:
        """Returns the initial view, after a first look at the folders."""
        self._catalog.refresh(_FIRST_LOOK)
        self._catalog.read_in_background()
        definitions = tuple(Definition(name=name, text=text) for name, text in DEFINITIONS.items())
        return SessionsView(explorer=self.id, filter=self.filter, definitions=definitions)

    def bundle(self) -> dict[str, Any]:
        """Returns a MIME bundle, like that of an explorer:
        for the extension, as a widget where needed, as HTML and as text.
        """
        EXPLORERS.add(self)
        view = self.view()
        first = self.first(self._rows)
        return {
            SESSIONS_MIME: view.model_dump(mode="json"),
            **connect_page(view),
            "text/html": sessions_html(first),
            "text/plain": sessions_text(first),
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

    def first(self, count: int) -> FirstSessions:
        """Returns the first sessions under the filter of the list."""
        catalog, query, now = self._catalog, query_of(self.filter), time.time()
        return FirstSessions(
            rows=tuple(session_row(session, now) for session in catalog.page(query, 0, count)),
            total=catalog.count(query),
            all=catalog.count(SessionQuery()),
            unread=catalog.unread(query),
            left=catalog.found.left,
            left_out=left_out_count(catalog),
            folders=searched_folders(catalog),
            numbered=not query.text,
        )


def searched_folders(catalog: SessionCatalog) -> tuple[str, ...]:
    """Returns the folders that were looked at, each once, if no session was found there."""
    if catalog.found.left or catalog.count(SessionQuery()):
        return ()
    return tuple(dict.fromkeys(home_relative(str(place.folder)) for place in catalog.found.places))


def listed_log(id: str) -> Path:  # noqa: A002 - the field's name
    """Returns the path of a log by its id. Raises ``TraceError`` if it is not among those on this machine."""
    catalog = session_catalog()
    try:
        return catalog.path_of(id)
    except TraceError:  # its tab is restored in a new kernel, an address names it, or it is new
        catalog.refresh(_FIRST_LOOK)
        return catalog.path_of(id)


def list_sessions() -> OpenedLogs:
    """Returns the list of sessions, from which a page chooses those to compare a log with."""
    sessions = SessionList()
    EXPLORERS.add(sessions)
    return OpenedLogs(sessions=sessions.view())


def _opened(path: Path, step: str = "") -> TraceView:
    """Opens a log in an explorer at a step: its number, or ``search:`` and a text. Raises ``TraceError``."""
    from nbtools.traces.explorer.explorer import (  # noqa: PLC0415 - log readers are loaded on first use
        open_trace,
    )

    is_search = step.startswith(SEARCH_PREFIX)
    explorer = open_trace(path, None if is_search else step or None)
    if is_search:
        explorer.search = step.removeprefix(SEARCH_PREFIX)
        seqs = found_steps(session_catalog().index, path, explorer.search)
        rows = enumerate(explorer.lines.rows)
        explorer.step = next((line for line, row in rows if getattr(row, "seq", None) in seqs), None)
    EXPLORERS.add(explorer)
    return explorer.view()


def open_log(path: Path, step: str = "") -> OpenedLogs:
    """Opens a log at a step: its number, or ``search:`` and a text. Raises ``TraceError``."""
    return OpenedLogs(view=_opened(path, step))


def open_sessions(ids: Sequence[str], first: Trace | None = None, step: str = "") -> OpenedLogs:
    """Opens one listed session at a step, or compares several; ``first`` is compared with them.
    Raises ``TraceError``.
    """
    paths = [listed_log(one) for one in ids]
    if len(paths) == 1 and first is None:
        return open_log(paths[0], step)
    from nbtools.traces.comparison.comparison import compare  # noqa: PLC0415 - as above
    from nbtools.traces.comparison.view import ComparisonDisplay  # noqa: PLC0415 - as above

    return OpenedLogs(
        comparison=ComparisonDisplay(compare(*([] if first is None else [first]), *paths)).opened()
    )


def query_of(wanted: SessionFilter) -> SessionQuery:
    """Returns the query of a filter."""
    return SessionQuery(
        wanted.text,
        wanted.agent,
        wanted.project,
        wanted.outcome,
        wanted.sort,
        wanted.descending,
        wanted.since,
        wanted.until,
    )
