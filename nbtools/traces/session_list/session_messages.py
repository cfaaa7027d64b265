"""Wire format of the list of sessions, ``application/vnd.nbtools.sessions.v1+json``,
and of the requests of its page.

The page names a log by its id, which the kernel has listed; it never names a path.
``labextension/src/sessions/model.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nbtools.cards.card_model import Wire

SESSIONS_MIME = "application/vnd.nbtools.sessions.v1+json"


class SessionRow(Wire):
    """One session. Texts are as displayed; an empty one is not recorded, or not known yet.

    ``folder`` is the project's path and ``project`` its name. ``age`` is the time since the log's last
    change, ``times`` says when that was and when the session began. ``unread``: the log has not been read as
    a whole in its current state. ``doubt`` says why a number is unreliable, ``problem`` why the log cannot be
    read.
    """

    id: str
    title: str
    agent: str
    model: str = ""
    project: str = ""
    folder: str = ""
    age: str = ""
    times: str = ""
    duration: str = ""
    calls: str = ""
    failed: str = ""
    added: str = ""
    removed: str = ""
    tokens: str = ""
    running: bool = False
    unread: bool = False
    doubt: str = ""
    problem: str = ""


class SessionChoice(Wire):
    """A value to filter by: ``key`` goes into the filter."""

    key: str
    label: str
    count: int


class SessionFilter(Wire):
    """Selects sessions and their order; empty fields select everything."""

    text: str = Field("", max_length=1_000)
    agent: str = Field("", max_length=300)
    project: str = Field("", max_length=5_000)
    outcome: Literal["", "running", "failed", "clean", "changed"] = ""
    sort: Literal[
        "title", "agent", "model", "project", "age", "duration", "calls", "failed", "edits", "tokens"
    ] = "age"
    descending: bool = True


class SessionsTask(Wire):
    """Asks for ``count`` sessions from index ``first``.
    With ``look``, the agents' folders are looked at again first.
    """

    type: Literal["sessions"] = "sessions"
    filter: SessionFilter
    first: int
    count: int
    look: bool = False


class OpenSessionsTask(Wire):
    """Asks to open one session, or to compare several, by their ids."""

    type: Literal["open_sessions"] = "open_sessions"
    ids: tuple[Annotated[str, Field(max_length=40)], ...] = Field(min_length=1, max_length=20)


class SessionsPage(Wire):
    """Sessions under a filter, ``total`` of them; ``all`` sessions are on this machine.

    ``unread`` of those under the filter are not read as a whole yet, ``left`` logs were found and not listed
    yet. ``unreadable`` files in the agents' folders are in no known format. ``folders`` are those that were
    looked at, if there is no session at all.
    """

    type: Literal["sessions"] = "sessions"
    first: int
    total: int
    all: int
    rows: tuple[SessionRow, ...]
    agents: tuple[SessionChoice, ...] = ()
    projects: tuple[SessionChoice, ...] = ()
    unread: int = 0
    left: int = 0
    unreadable: int = 0
    folders: tuple[str, ...] = ()


class SessionsView(Wire):
    """The initial view. ``explorer`` is the list's id in the kernel, which requests name."""

    explorer: str
    filter: SessionFilter
    page: SessionsPage
