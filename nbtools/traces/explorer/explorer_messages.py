"""Parameters and results of the methods that are about the lines and the log of an explorer.

``labextension/src/explorer/model.ts`` is generated from this file and ``explorer_view``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nbtools.cards.card_model import Card, Wire
from nbtools.traces.comparison.comparison_messages import ComparisonView
from nbtools.traces.explorer.explorer_view import TraceView
from nbtools.traces.session_list.session_messages import SessionsView


class TraceLineParams(Wire):
    """The parameters of methods that are about one line."""

    explorer: str
    line: int


class TraceShareParams(Wire):
    """The options of a file to share; ``write``: it is written into the kernel's working directory.
    ``format`` is ``html`` for a page, or the name of a format of other tools (``TraceExportFormat``).

    ``patterns`` are regular expressions of further secrets, ``keep`` the ids of secrets that stay; ``home``:
    home folders become ``~``. ``notes``: the review's notes, labels and verdicts are in the file.
    """

    explorer: str
    patterns: tuple[Annotated[str, Field(max_length=1_000)], ...] = Field((), max_length=100)
    keep: tuple[Annotated[str, Field(max_length=100)], ...] = Field((), max_length=10_000)
    home: bool = True
    notes: bool = False
    format: str = Field("html", max_length=20)
    write: bool = False


class TraceFileParams(Wire):
    """The key of a file that the session changed."""

    explorer: str
    path: str = Field(max_length=10_000)


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
    ``place`` the log's path relative to the folder of the kernel's notebook, empty if there is none,
    ``session`` its id in the list of sessions, empty if it is not looked for; ``raw`` is the position of its
    bytes in the log.
    """

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
    session: str = ""


class TraceRaw(Wire):
    """The bytes as text; ``note`` says what was left out."""

    text: str
    note: str = ""


class TraceCell(Wire):
    """The source of a cell, for the person to complete or edit."""

    source: str


class TraceExport(Wire):
    """The notebook that was written.

    ``path`` is absolute; ``place`` is relative to the folder of the requesting notebook,
    empty if there is no relative path.
    """

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


class TraceExportFormat(Wire):
    """A format of other tools. ``about`` says what it is and what it loses; ``notes``: it can have the labels
    of the review.
    """

    name: str
    label: str
    about: str
    notes: bool


class TraceShare(Wire):
    """The content of a shared file: its size in bytes, 0 for one that is not a page, and what was removed.
    ``path`` is the file that was written.

    ``notes`` counts the notes, labels and verdicts that can be in it.
    """

    size: int
    formats: tuple[TraceExportFormat, ...] = ()
    secrets: tuple[TraceSecret, ...]
    notes: int = 0
    path: str = ""


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
    """The first of ``total`` changed files."""

    files: tuple[TraceChangedFile, ...]
    total: int


class OpenedLogs(Wire):
    """The view of one log that was opened, of the comparison of several, or of the list of sessions."""

    view: TraceView | None = None
    comparison: ComparisonView | None = None
    sessions: SessionsView | None = None


class ReviewedLog(Wire):
    """The view of a session that was opened to be reviewed, with its id in the list and the reviewer's name;
    None if no session is left.  ``skipped`` says why others before it could not be opened.
    """

    view: TraceView | None = None
    session: str = ""
    reviewer: str = ""
    skipped: tuple[str, ...] = ()


class LogParams(Wire):
    """Asks a kernel of log tabs to open one log, or to compare several; none: for the list of all sessions.

    A log is a path relative to the kernel's working directory, or ``session:`` and the id of a listed
    session.  ``step`` is the number of the step at which a single log begins, or ``search:`` and a text: the
    explorer searches for it, and begins at the first step that contains it.
    """

    logs: tuple[Annotated[str, Field(min_length=1, max_length=4096)], ...] = Field(max_length=20)
    step: str = Field(default="", max_length=1_010)
