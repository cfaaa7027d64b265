"""The requests that an explorer's page sends to the kernel, and the replies.

``labextension/src/explorer/model.ts`` is generated from this file and ``explorer_view``.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from nbtools.cards.card_model import Card, Wire
from nbtools.traces.comparison.comparison_messages import ComparisonView
from nbtools.traces.explorer.explorer_view import TraceFilter, TracePage, TraceView
from nbtools.traces.explorer.reviewing.review_messages import ReviewTask, TraceReview
from nbtools.traces.explorer.row_messages import TraceMove
from nbtools.traces.explorer.saved_filters import SavedFilters, SavedFiltersTask
from nbtools.traces.explorer.usage.usage_messages import (
    SamplesTask,
    StripTask,
    TraceStrip,
    TraceUsage,
    UsageTask,
)
from nbtools.traces.session_list.session_messages import SessionsView


class PageTask(Wire):
    """Asks for ``count`` lines from index ``first`` (from 0) of those that match the filter."""

    type: Literal["page"] = "page"
    filter: TraceFilter
    first: int
    count: int


class PositionTask(Wire):
    """Asks for the index, under the filter, of a line or of the first one after it."""

    type: Literal["place"] = "place"
    filter: TraceFilter
    line: int


class TraceLineParams(Wire):
    """The parameters of methods that are about one line."""

    explorer: str
    line: int


class OpenTask(Wire):
    """Asks for the detail view of one line."""

    type: Literal["open"] = "open"
    line: int


class RawTask(Wire):
    """Asks for the bytes of a line's record."""

    type: Literal["raw"] = "raw"
    line: int


class CellTask(Wire):
    """Asks for the source of a cell that queries the log with SQL."""

    type: Literal["cell"] = "cell"


class ExportTask(Wire):
    """Asks to write the log as a notebook beside it."""

    type: Literal["story"] = "story"


class FollowTask(Wire):
    """Asks what was written to the log since ``version``, which the page shows.

    ``log`` is the name of the file in which the session goes on, if the person goes on to it.
    """

    type: Literal["follow"] = "follow"
    version: int
    log: str = Field(default="", max_length=300)


class ShareFields(Wire):
    """The options of a file to share; ``write``: it is written into the kernel's working directory.

    ``patterns`` are regular expressions of further secrets, ``keep`` the ids of secrets that stay; ``home``:
    home folders become ``~``. ``notes``: the review's notes, labels and verdicts are in the file.
    """

    patterns: tuple[Annotated[str, Field(max_length=1_000)], ...] = Field((), max_length=100)
    keep: tuple[Annotated[str, Field(max_length=100)], ...] = Field((), max_length=10_000)
    home: bool = True
    notes: bool = False
    write: bool = False


class ShareTask(ShareFields):
    """Asks what would be removed from a file to share, or to write it."""

    type: Literal["share"] = "share"


class TraceShareParams(ShareFields):
    """The options of a file to share; ``write``: it is written into the kernel's working directory.

    ``patterns`` are regular expressions of further secrets, ``keep`` the ids of secrets that stay; ``home``:
    home folders become ``~``. ``notes``: the review's notes, labels and verdicts are in the file.
    """

    explorer: str


class ChangesTask(Wire):
    """Asks for the files that the session changed."""

    type: Literal["changes"] = "changes"


class TraceFileParams(Wire):
    """The key of a file that the session changed."""

    explorer: str
    path: str = Field(max_length=10_000)


class FileDiffTask(Wire):
    """Asks for the diff of one of these files over the session; the reply is ``TraceOpened``."""

    type: Literal["file_diff"] = "file_diff"
    path: str = Field(max_length=10_000)


TraceTask: TypeAlias = Annotated[
    PageTask
    | PositionTask
    | OpenTask
    | RawTask
    | CellTask
    | ExportTask
    | FollowTask
    | StripTask
    | UsageTask
    | SamplesTask
    | ChangesTask
    | FileDiffTask
    | ReviewTask
    | SavedFiltersTask
    | ShareTask,
    Field(discriminator="type"),
]


class TraceRequest(Wire):
    id: int
    explorer: str
    task: TraceTask


class TracePosition(Wire):
    """Reply to ``PositionTask``."""

    type: Literal["place"] = "place"
    number: int


class TraceLink(Wire):
    """Text that links to a ``line``, or to all steps of the file whose key among the filter's is ``path``."""

    text: str
    line: int | None = None
    path: str = ""


class TraceContext(Wire):
    """One entry of a step's context. ``label``: Why, Before, Approved …; ``parts`` are shown in one line."""

    label: str
    parts: tuple[TraceLink, ...]


class TraceOpened(Wire):
    """The detail view of a line: the card that a live call would have, its context,
    the position of its record; ``number`` is its step.

    ``replay`` is the cell that runs the call again in a copy, empty if that is impossible; ``obstacle`` then
    says why.  ``tool`` is the call as a ``%tool`` cell, ``link`` the cell that opens the log at this step,
    ``place`` the log's path relative to the folder of the kernel's notebook, empty if there is none; ``raw``
    is the position of its bytes in the log.
    """

    type: Literal["opened"] = "opened"
    line: int
    number: str = ""
    card: Card
    foot: str
    around: tuple[TraceContext, ...] = ()
    raw: str = ""
    replay: str = ""
    obstacle: str = ""
    tool: str = ""
    link: str = ""
    place: str = ""


class TraceRaw(Wire):
    """The bytes as text; ``note`` says what was left out."""

    type: Literal["raw"] = "raw"
    text: str
    note: str = ""


class TraceCell(Wire):
    """The source of a cell, for the person to complete or edit."""

    type: Literal["cell"] = "cell"
    source: str


class TraceExport(Wire):
    """The notebook that was written.

    ``path`` is absolute; ``place`` is relative to the folder of the requesting notebook,
    empty if there is no relative path.
    """

    type: Literal["story"] = "story"
    path: str
    place: str = ""


class TraceSecret(Wire):
    """A secret that is removed, or stays if ``kept``:
    its kind, its beginning, how many steps contain it, and the first of these.
    """

    id: str
    kind: str
    shown: str
    count: int
    places: str
    kept: bool = False


class TraceShare(Wire):
    """The content of a shared file: its size in bytes, and what was removed.
    ``path`` is the file that was written.

    ``notes`` counts the notes, labels and verdicts that can be in it.
    """

    type: Literal["share"] = "share"
    size: int
    secrets: tuple[TraceSecret, ...]
    notes: int = 0
    path: str = ""


class TraceFollow(Wire):
    """Reply to ``FollowTask``.  ``view`` is None if nothing has changed; its page has no lines.

    ``moves`` say where the lines of the page's version are now; other lines are new, or gone.  ``changed``
    are lines, as numbered now, that say something else, such as calls that have got their result.
    ``restarted``: it is not known where the lines are.  ``fresh``: the log was written in the last minutes.
    ``continuation`` is the name of the file in which the session goes on, empty if there is none.
    """

    type: Literal["follow"] = "follow"
    version: int
    fresh: bool
    view: TraceView | None = None
    moves: tuple[TraceMove, ...] = ()
    changed: tuple[int, ...] = ()
    restarted: bool = False
    continuation: str = ""


class TraceChangedFile(Wire):
    """A file that was changed.

    ``path`` is its key, ``kind`` empty, or new, deleted or renamed.  ``added`` and ``removed`` are lines,
    None if the log does not tell; ``complete``: they count all changes.
    """

    path: str
    label: str
    kind: str = ""
    changes: int
    added: int | None = None
    removed: int | None = None
    complete: bool = True
    steps: tuple[TraceLink, ...] = ()


class TraceChanges(Wire):
    """Reply to ``ChangesTask``: the first of ``total`` files."""

    type: Literal["changes"] = "changes"
    files: tuple[TraceChangedFile, ...]
    total: int


class TraceProblem(Wire):
    """Why there is no reply, and what to do."""

    type: Literal["problem"] = "problem"
    text: str


class TracePending(Wire):
    """The reply is still being computed: a moment later, the same request gets it."""

    type: Literal["pending"] = "pending"


class OpenedLogs(Wire):
    """The view of one session that was opened, of the comparison of several, or of the list of sessions."""

    view: TraceView | None = None
    comparison: ComparisonView | None = None
    sessions: SessionsView | None = None


TraceReply: TypeAlias = Annotated[
    TracePage
    | TracePosition
    | TraceOpened
    | TraceRaw
    | TraceCell
    | TraceExport
    | TraceFollow
    | TraceChanges
    | TraceStrip
    | TraceUsage
    | TraceReview
    | SavedFilters
    | TraceShare
    | TraceProblem
    | TracePending,
    Field(discriminator="type"),
]


class TraceAnswer(Wire):
    """``reply`` to the request ``id``; ``gone``: the kernel was restarted and does not know the explorer."""

    id: int
    gone: bool = False
    reply: TraceReply | None = None


class LogRequest(Wire):
    """Asks a kernel of log tabs to open one log, or to compare several; none: for the list of all sessions.

    A log is a path relative to the kernel's working directory, or ``session:`` and the id of a listed
    session.  ``step`` is the number of the step at which a single log begins.
    """

    logs: tuple[Annotated[str, Field(min_length=1, max_length=4096)], ...] = Field(max_length=20)
    step: str = Field(default="", max_length=100)


class LogAnswer(Wire):
    """The view of one log, the comparison of several, the list of all sessions, or what is wrong."""

    view: TraceView | None = None
    sessions: SessionsView | None = None
    comparison: ComparisonView | None = None
    problem: str = ""
