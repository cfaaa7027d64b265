"""Wire format of the list of sessions, ``application/vnd.nbtools.sessions.v1+json``,
and of the methods of its page.

The page gets all sessions once, as columns, and then those that have changed; it sorts and filters them.
It names a log by its id, which the kernel has listed; it never names a path.
``labextension/src/sessions/model.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from nbtools.cards.card_model import Wire
from nbtools.traces.columns import ColumnBlock

SESSIONS_MIME = "application/vnd.nbtools.sessions.v1+json"
MAX_SESSIONS = 1_000_000
"""Sessions that a request may name: more than are ever listed."""
MAX_TEXT = 1_000
"""Characters of a text that sessions are searched for."""
SessionId: TypeAlias = Annotated[str, Field(max_length=40)]


class SessionFilter(Wire):
    """Selects sessions and their order; empty fields select everything.  ``since`` is the earliest last
    change and ``until`` the latest beginning, in seconds since the epoch; 0 for any.
    """

    text: str = Field("", max_length=MAX_TEXT)
    agent: str = Field("", max_length=300)
    project: str = Field("", max_length=5_000)
    outcome: Literal["", "running", "failed", "clean", "changed"] = ""
    sort: Literal[
        "title",
        "agent",
        "model",
        "project",
        "started",
        "age",
        "duration",
        "calls",
        "failed",
        "edits",
        "tokens",
        "cost",
    ] = "age"
    descending: bool = True
    since: float = 0.0
    until: float = 0.0


class Definition(Wire):
    """Says what a number means; ``name`` is its name in ``counts.DEFINITIONS``."""

    name: str
    text: str


class SessionsView(Wire):
    """The list as it is displayed at first.  ``explorer`` is its id in the kernel, which requests name."""

    explorer: str
    filter: SessionFilter
    definitions: tuple[Definition, ...] = ()


class SessionRowsParams(Wire):
    """Asks for the sessions that have changed since ``version``, 0 for all of them, or for the ``latest``
    ones only.  With ``look``, the agents' folders are looked at again first.
    """

    explorer: str
    version: int = 0
    latest: bool = False
    look: bool = False


class SessionRows(Wire):
    """Sessions that are new or have changed up to ``version``; ``more``: only the latest ones.

    ``block`` has their columns (``session_list.rows``), ``gone`` the keys of those that are no longer there.
    ``now`` is the kernel's time in seconds.  ``left`` logs were found and not listed yet, ``left_out``
    files in the agents' folders are not listed.  ``folders`` are those that were looked at, if there is no
    session at all.
    """

    version: int
    more: bool
    block: ColumnBlock
    gone: tuple[int, ...] = ()
    now: float
    left: int = 0
    left_out: int = 0
    folders: tuple[str, ...] = ()


class LeftOutParams(Wire):
    """Asks which files are not listed."""

    explorer: str


class LeftOutFile(Wire):
    """A file in the folder of an agent, and why it is not listed; ``agent`` is empty in an added folder."""

    path: str
    agent: str
    reason: str


class LeftOutFiles(Wire):
    """The first of ``total`` files that are not listed, by path."""

    files: tuple[LeftOutFile, ...]
    total: int


class SearchSessionsParams(Wire):
    """Asks which sessions contain a text: in titles, projects and prompts words that begin with those of
    ``text``, if ``titles`` are wanted, and in the contents steps with all its words.

    ``search`` and ``known`` are those of the last answer for this text; 0 without one.
    """

    explorer: str
    text: str = Field(max_length=MAX_TEXT)
    search: int = 0
    known: int = 0
    titles: bool = True


class SessionTotalsParams(Wire):
    """Asks for the sums over sessions, of what they did from ``since`` to ``until``, in seconds since the
    epoch; 0 for any time.
    """

    explorer: str
    keys: tuple[int, ...] = Field(max_length=MAX_SESSIONS)
    since: float = 0.0
    until: float = 0.0


class SessionTotal(Wire):
    """The sums over the sessions of a day, a project, a model or an agent: ``usage.totals.Total``.
    ``label`` is its name for people, ``unpriced`` the number of requests that have no price, ``keys`` are the
    sessions of a model.  ``lower_bound``: the cost would be more.
    """

    name: str
    label: str
    sessions: int
    calls: int | None = None
    failed: int | None = None
    tokens: int = 0
    cost: float | None = None
    unpriced: int = 0
    lower_bound: bool = False
    keys: tuple[int, ...] = ()


class SessionTotals(Wire):
    """Sums by day, in the order of time, and by project, model and agent, the most expensive first.
    ``prices`` names the price lists; empty where none are installed.
    """

    day: tuple[SessionTotal, ...]
    project: tuple[SessionTotal, ...]
    model: tuple[SessionTotal, ...]
    agent: tuple[SessionTotal, ...]
    prices: str = ""


class AddFolderParams(Wire):
    """Asks to list the logs of a folder from now on."""

    explorer: str
    folder: str = Field(min_length=1, max_length=4_096)


class AddedFolder(Wire):
    """The folder that was added; ``problem`` says why none was.  ``listed`` sessions in it are listed,
    ``other`` files are not.  ``endings`` are those of the names of files that may be logs.
    """

    folder: str = ""
    problem: str = ""
    listed: int = 0
    other: int = 0
    endings: str = ""


class FoundSessions(Wire):
    """The sessions in which a text was found, as far as they were searched: the page asks again while
    ``left`` sessions are not.

    ``keys`` are those with the text in title, project or prompts, if these were wanted.  ``block`` has a row
    for each session with the text in its contents that the page does not know, or whose hits have changed:
    its key, the number of ``hits``, and an ``excerpt`` of the first one.  ``known`` counts these rows since
    the beginning of the search.

    ``missing`` sessions are not in the index of contents yet, ``changed`` ones have changed since they were
    indexed, ``incomplete`` ones cannot be searched completely.  Without ``has_contents``, contents are not
    searched at all.
    """

    search: int
    known: int
    keys: tuple[int, ...]
    block: ColumnBlock
    left: int = 0
    missing: int = 0
    changed: int = 0
    incomplete: int = 0
    has_contents: bool = True


class OpenSessionsParams(Wire):
    """Asks to open one session, or to compare several.  ``step`` is where a single one begins, as in
    ``LogParams``.
    """

    explorer: str
    ids: tuple[SessionId, ...] = Field(min_length=1, max_length=20)
    step: str = Field("", max_length=1_010)


class SessionReviewsParams(Wire):
    """Asks for the verdicts on listed sessions, unless they are still those of ``version``; first sets the
    reviewer's name and whether the reader is blind, where they are not None.
    """

    explorer: str
    version: str = Field("", max_length=100)
    reviewer: str | None = Field(None, max_length=200)
    blind: bool | None = None


class SessionVerdicts(Wire):
    """The verdicts on the session with this key: the reviewer's own one, if there is one, and those of others
    with their names, as far as they are not hidden.
    """

    key: int
    mine: str = ""
    others: str = ""
    disagree: bool = False


class ReviewerAgreement(Wire):
    """The agreement of the reviewer with another one on ``items`` sessions of the queue: Cohen's κ, if it is
    defined, and the limits of its 95 % interval, if there is one.
    """

    reviewer: str
    items: int
    kappa: float | None = None
    low: float | None = None
    high: float | None = None


class SessionReviews(Wire):
    """The verdicts on listed sessions, and the queue: the ``keys`` of its sessions, of which ``done`` have a
    verdict of the reviewer.  ``gone`` sessions of the queue are no longer there.

    ``changed`` is False, and nothing but the ``version`` counts, where the page has this version already.
    """

    version: str
    changed: bool = True
    reviewer: str = ""
    blind: bool = False
    verdicts: tuple[SessionVerdicts, ...] = ()
    keys: tuple[int, ...] = ()
    done: int = 0
    gone: int = 0
    agreements: tuple[ReviewerAgreement, ...] = ()


class ReviewSessionsParams(Wire):
    """Makes these sessions the queue, in this order, or a ``sample`` of them; none ends the review."""

    explorer: str
    ids: tuple[SessionId, ...] = Field(max_length=MAX_SESSIONS)
    sample: int | None = Field(None, ge=1, le=5_000)
    seed: int = Field(0, ge=0, lt=2**31)


class NextReviewParams(Wire):
    """Asks to open a session of the queue: the one with this ``id``, else the next unreviewed one after
    ``after``, or the first one if it is empty.
    """

    explorer: str
    id: str = Field("", max_length=40)
    after: str = Field("", max_length=40)
