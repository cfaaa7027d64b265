"""The formats of logs: opens a log with the reader that recognises it,
and says whose log it is where nbtools has no reader for it, by the table ``unsupported_agents.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.decoders import converted
from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.traces.reader import FALLBACK_FORMAT, HEAD_BYTES, Format, Head, LogFile
from nbtools.traces.readers import FORMATS
from nbtools.traces.source import BYTE_ORDER_MARK, Source, open_regular
from nbtools.traces.stored_sessions import STORING_AGENT, stored_path, stored_sessions

ENTRY_POINT_GROUP = "nbtools.traces"
"""The entry point group for ``Format`` objects of other packages;
they take precedence over the built-in ones.
"""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SQLITE = b"SQLite format 3\x00"
_AIDER = re.compile(rb"\s*# aider chat started at \d")
_OTHER_DATABASES = ("*.db", "*.vscdb")
"""Files in an agent's folder whose tables tell the agent."""


def formats() -> tuple[Format, ...]:
    """Returns the readers of installed packages, followed by the built-in ones."""
    return (*_installed_formats(), *FORMATS)


@cache
def _installed_formats() -> tuple[Format, ...]:
    """Loads the readers of installed packages, once per process:
    searching all packages takes longer than reading a small log.
    """
    return tuple(point.load() for point in entry_points(group=ENTRY_POINT_GROUP))


def open_log(path: Path) -> LogFile:
    """Opens the log at ``path`` with the reader that recognises it.
    A folder may be a log, where a format writes one file per event.

    Raises ``TraceError`` where the log cannot be opened or no reader recognises it.
    """
    try:
        return _open_log(path)
    except FileNotFoundError as error:
        raise TraceError(
            f"{path}: {error.strerror}. Name a log or its folder; %trace and nbtools.traces.sessions() list"
            " the logs on this machine."
        ) from error
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}.") from error


def _open_log(path: Path) -> LogFile:
    path = stored_path(path)
    head = Head(path, b"" if path.is_dir() else beginning_of(path))
    names = ", ".join(candidate.name for candidate in formats())
    for candidate in formats():
        if candidate.name == FALLBACK_FORMAT and (agent := database_agent(head) or unsupported_agent(head)):
            raise _several_sessions(path, agent) or TraceError(
                f"{path} looks like a log of {agent}, which is not supported yet. Supported formats: {names}."
            )
        if candidate.recognises(head):
            return LogFile(Source(path, candidate.files(path)), candidate)
    if head.start.startswith(_UTF_16):
        how = (
            "iconv -f UTF-16 -t UTF-8 LOG > NEW, or in PowerShell: Get-Content LOG | Set-Content -Encoding"
            " utf8 NEW"
        )
        raise TraceError(
            f"{path} is encoded in UTF-16, as PowerShell writes output into a file. Convert it to UTF-8:"
            f" {how}."
        )
    if found := database_in(path):
        raise _several_sessions(*found) or TraceError(
            f"{path} contains {found[0].name}, which looks like a log of {found[1]} and is not supported yet."
        )
    raise TraceError(f"{path} is not recognised as a session log. Supported formats: {names}.")


def _several_sessions(database: Path, agent: str) -> TraceError | None:
    """Returns the error for a database that has to be opened session by session; None for other files."""
    try:
        names = [one.id for one in stored_sessions(database)] if agent.startswith(STORING_AGENT) else []
    except TraceError:
        return None
    if not names:
        return None
    first = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    count = counted(len(names), "session")
    return TraceError(
        f"{database} is a database with {count} of {STORING_AGENT}: {first}. Open one as"
        f" {database}/ID; nbtools trace {STORING_AGENT} lists them."
    )


def beginning_of(path: Path) -> bytes:
    """Returns the part of a file from which its format is recognised."""
    with open_regular(path) as file:
        return file.read(HEAD_BYTES).removeprefix(BYTE_ORDER_MARK)


class _Database(msgspec.Struct, frozen=True):
    """``files`` are the patterns of its files' names: a new one has its tables in a file beside it."""

    name: str
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class _Log(msgspec.Struct, frozen=True):
    name: str
    keys: tuple[str, ...]
    type: str = ""


class _Table(msgspec.Struct, frozen=True):
    databases: tuple[_Database, ...]
    logs: tuple[_Log, ...]


@cache
def _table() -> _Table:
    text = Path(__file__).with_name("unsupported_agents.toml").read_bytes()
    return converted(msgspec.toml.decode(text), _Table)


def unsupported_agent(head: Head) -> str:
    """Returns the name of the unsupported agent whose log it looks like, with what the file is;
    empty for others.
    """
    if head.start.startswith(_SQLITE):
        # the beginning of a database, with the names of its tables unquoted
        start = re.sub(rb"CREATE TABLE (?:IF NOT EXISTS )?[`\"\[]?(\w+)", rb"CREATE TABLE \1", head.start)
        known = (one for one in _table().databases if one.tables)
        names = (
            one.name for one in known if all(f"CREATE TABLE {name}".encode() in start for name in one.tables)
        )
        return next(names, "")
    if _AIDER.match(head.start):
        return "Aider (its chat history)"
    first = head.first_object
    if first.keys() == {"role", "message"}:
        return "Cursor (a transcript)"
    variants = (reader.unreadable_variant(head) for reader in FORMATS)
    logs = (one.name for one in _table().logs if _has_keys(head, first, one))
    return next(filter(None, variants), "") or next(logs, "")


def _has_keys(head: Head, first: Mapping[str, Any], log: _Log) -> bool:
    """Returns whether the first object has the type and the keys;
    where nothing of it can be decoded, whether the keys are there.
    """
    if first:
        return first.keys() >= set(log.keys) and log.type in {"", first.get("type")}
    return not log.type and head.has(*log.keys)


def database_agent(head: Head) -> str:
    """Returns the agent whose database a file is, with what is in it; empty for others."""
    if not head.start.startswith(_SQLITE):
        return ""
    known = [(pattern, one.name) for one in _table().databases for pattern in one.files]
    names = (name for pattern, name in known if fnmatch(head.path.name, pattern))
    return next(names, "") or unsupported_agent(head)


def database_in(folder: Path) -> tuple[Path, str] | None:
    """Returns the first database of an agent in a folder, with the agent's name; None where there is none."""
    if not folder.is_dir():
        return None
    patterns = [(pattern, one.name) for one in _table().databases for pattern in one.files]
    for pattern, agent in (*patterns, *((pattern, "") for pattern in _OTHER_DATABASES)):
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and (name := agent or unsupported_agent(Head(path, beginning_of(path)))):
                return path, name
    return None
