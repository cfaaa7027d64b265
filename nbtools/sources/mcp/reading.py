"""Where servers are named: our own files, and those of Claude Code, Gemini CLI and Cursor."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.errors import ToolFailure
from nbtools.sources.mcp.settings import ServerSettings, settings_of
from nbtools.workspace.state import config_folder

_MOST = 5_000_000
_OF_PROJECT = (".nbtools/mcp.json", ".mcp.json", ".gemini/settings.json", ".cursor/mcp.json")


@dataclass(frozen=True, slots=True)
class Origin:
    """A file that may name servers.  What stands in a ``project``'s came with the project, and starts nothing before it is trusted."""

    path: Path
    project: bool


@dataclass(frozen=True, slots=True)
class Named:
    """A server and the file that names it."""

    server: ServerSettings
    origin: Origin


@dataclass(frozen=True, slots=True)
class Read:
    """The servers, each name once, and what is wrong with the rest, a line each."""

    servers: tuple[Named, ...]
    problems: tuple[str, ...]


def own_file() -> Path:
    """The person's file, to which servers are added."""
    return config_folder() / "mcp.json"


def read_servers(root: Path, environ: Mapping[str, str] | None = None) -> Read:
    """Those of the person, then those of the project at ``root``; of one name the first is taken."""
    servers: dict[str, Named] = {}
    problems: list[str] = []
    for origin in (Origin(own_file(), project=False), *(Origin(root / name, project=True) for name in _OF_PROJECT)):
        for found in _servers(origin, os.environ if environ is None else environ):
            if isinstance(found, str):
                problems.append(found)
            else:
                servers.setdefault(found.name, Named(found, origin))
    return Read(tuple(servers.values()), tuple(problems))


def _servers(origin: Origin, environ: Mapping[str, str]) -> Iterator[ServerSettings | str]:
    try:
        declared = _declared(origin.path)
    except (OSError, ValueError) as error:
        yield f"{origin.path}: {error.strerror if isinstance(error, OSError) else f'no JSON ({error})'}."
        return
    for name, entry in declared.items():
        try:
            yield settings_of(name, entry, environ)
        except ToolFailure as failure:
            yield f"{origin.path}: {failure.message}"


def _declared(path: Path) -> Mapping[str, Any]:
    """What stands under ``mcpServers``; nothing where there is no file.  Raises ``OSError`` or ``ValueError``."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        read = json.loads(file.read(_MOST))
    found = read.get("mcpServers", {}) if isinstance(read, dict) else {}
    if not isinstance(found, dict):
        raise ValueError("mcpServers is no object")  # noqa: TRY004 - told like JSON that is none
    return found
