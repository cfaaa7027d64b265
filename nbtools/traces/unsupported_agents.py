"""Recognises logs of agents that nbtools does not read, by the table ``unsupported_agents.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from nbtools.traces.json_access import mapping
from nbtools.traces.json_document import open_document
from nbtools.traces.reader import Head, read_head
from nbtools.traces.readers import FORMATS

_SQLITE = b"SQLite format 3\x00"
_AIDER = re.compile(rb"\s*# aider chat started at \d")
_OTHER_DATABASES = ("*.db", "*.vscdb")
"""Files in an agent's folder whose tables tell the agent."""


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
    return msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Table)


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
    first = _first_object(head)
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


def _first_object(head: Head) -> Mapping[str, Any]:
    """Returns the first object of a file, or what its beginning has of it; empty where it has none."""
    value = head.first
    if value is None and head.is_json:
        value = open_document(head.start, Any).value
    return mapping(next(iter(value), None) if isinstance(value, list) else value)


def database_in(folder: Path) -> tuple[Path, str] | None:
    """Returns the first database of an agent in a folder, with the agent's name; None where there is none."""
    if not folder.is_dir():
        return None
    patterns = [(pattern, one.name) for one in _table().databases for pattern in one.files]
    for pattern, agent in (*patterns, *((pattern, "") for pattern in _OTHER_DATABASES)):
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and (name := agent or unsupported_agent(Head(path, read_head(path)))):
                return path, name
    return None
