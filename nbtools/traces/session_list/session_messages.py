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
SessionId: TypeAlias = Annotated[str, Field(max_length=40)]


class SessionFilter(Wire):
    """Selects sessions and their order; empty fields select everything.  ``since`` is the earliest last
    change, in seconds since the epoch.
    """

    text: str = Field("", max_length=1_000)
    agent: str = Field("", max_length=300)
    project: str = Field("", max_length=5_000)
    outcome: Literal["", "running", "failed", "clean", "changed"] = ""
    sort: Literal[
        "title", "agent", "model", "project", "age", "duration", "calls", "failed", "edits", "tokens"
    ] = "age"
    descending: bool = True
    since: float = 0.0


class SessionsView(Wire):
    """The list as it is displayed at first.  ``explorer`` is its id in the kernel, which requests name."""

    explorer: str
    filter: SessionFilter


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
    ``now`` is the kernel's time in seconds.  ``left`` logs were found and not listed yet, ``unreadable``
    files in the agents' folders are in no known format.  ``folders`` are those that were looked at, if there
    is no session at all.
    """

    version: int
    more: bool
    block: ColumnBlock
    gone: tuple[int, ...] = ()
    now: float
    left: int = 0
    unreadable: int = 0
    folders: tuple[str, ...] = ()


class SearchSessionsParams(Wire):
    """Asks which sessions contain words that begin with those of ``text``."""

    explorer: str
    text: str = Field(max_length=1_000)


class FoundSessions(Wire):
    """The keys of the sessions that contain a text."""

    keys: tuple[int, ...]


class OpenSessionsParams(Wire):
    """Asks to open one session, or to compare several."""

    explorer: str
    ids: tuple[SessionId, ...] = Field(min_length=1, max_length=20)
