"""The recorded working directory of a call's session."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from posixpath import isabs, join, normpath, relpath

from nbtools.traces.model import Call, Session
from nbtools.traces.reader import LogFile


def recorded_folder(call: Call, sessions: Mapping[str, Session] | None = None) -> str:
    """Returns the absolute path of the folder in which a call's session worked; empty if it is not recorded.

    A sub-agent inherits it from its parents.  Without ``sessions`` the log is read again, once.
    """
    recorded = next((one.cwd for one in with_ancestors(call, sessions) if one.cwd), "") or call.detail.cwd
    folder = recorded and normpath(recorded)
    return folder if isabs(folder) else ""


@lru_cache(maxsize=1 << 14)
def relative_path(path: str, cwd: str) -> str:
    """Returns the path relative to ``cwd``, where it is inside."""
    is_inside = cwd and (path == cwd or path.startswith(f"{cwd.rstrip('/')}/"))
    return relpath(path, cwd) if is_inside else path


@lru_cache(maxsize=1 << 14)
def file_key(path: str, folder: str) -> str:
    """Returns one key for a file, however its path is written; inside the session's ``folder`` relative."""
    return relative_path(normpath(join(folder, path)), folder)


def with_ancestors(call: Call, sessions: Mapping[str, Session] | None = None) -> list[Session]:
    """Returns the session of a call and its ancestors; cycles end the list."""
    if sessions is None:
        sessions = _sessions(call.origin) if isinstance(call.origin, LogFile) else {}
    chain: list[Session] = []
    session = call.session
    while (found := sessions.get(session)) is not None and found not in chain:
        chain.append(found)
        session = found.parent
    return chain


@lru_cache(maxsize=4)
def _sessions(origin: LogFile) -> dict[str, Session]:
    return {row.id: row for row in origin.rows() if isinstance(row, Session)}
