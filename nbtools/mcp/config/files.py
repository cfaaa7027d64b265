"""Reads and edits the files that configure MCP servers: nbtools' own, Claude Code's, and the project's."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.mcp.config.entries import ServerSettings, parse_server
from nbtools.storage.folder_lock import folder_lock
from nbtools.storage.state_folder import config_folder, private_folder
from nbtools.workspace.files.atomic_write import write_durable

SERVERS_KEY = "mcpServers"
_MOST_BYTES = 50_000_000
"""Maximum size of a file in bytes; Claude Code stores much else in its own."""
PROJECT_FILES = (".nbtools/mcp.json", ".mcp.json", ".gemini/settings.json", ".cursor/mcp.json")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file that may configure servers.  Servers from a ``project`` file must be trusted before they start.

    ``under`` is the path of keys to the object that contains ``mcpServers``.
    """

    path: Path
    project: bool
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfiguredServer:
    """A server and the file that configures it; ``declared``: its entry as JSON, not expanded."""

    server: ServerSettings
    origin: ConfigFile
    declared: str

    @property
    def digest(self) -> str:
        """The SHA-256 of the entry: it changes with everything that the server would run or be allowed."""
        return hashlib.sha256(self.declared.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """A problem of a file, or of the server ``name`` in it if that is not empty."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ConfiguredServers:
    """The configured servers, each name once, and the problems of the rest."""

    servers: tuple[ConfiguredServer, ...]
    problems: tuple[ConfigProblem, ...]


def own_file() -> Path:
    """Returns the person's file, to which servers are added."""
    return config_folder() / "mcp.json"


def config_files(root: Path) -> tuple[ConfigFile, ...]:
    """Returns the files that apply to a workspace, the person's first."""
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path("~").expanduser()) / ".claude.json"
    persons = (
        ConfigFile(own_file(), False),
        ConfigFile(claude, False, ("projects", str(root))),
        ConfigFile(claude, False),
    )
    return (*persons, *(ConfigFile(root / name, True) for name in PROJECT_FILES))


def read_servers(root: Path, environ: Mapping[str, str] | None = None) -> ConfiguredServers:
    """Reads the person's servers, then those of the project at ``root``; the first of each name wins."""
    servers: dict[str, ConfiguredServer] = {}
    problems: list[ConfigProblem] = []
    # An invalid server of the person keeps its name, or rules and grants for it would apply to the project's.
    reserved: set[str] = set()
    for origin in config_files(root):
        for found in _servers(origin, os.environ if environ is None else environ):
            if isinstance(found, ConfigProblem):
                problems.append(found)
                reserved |= {found.name} if not origin.project else set()
            elif not (origin.project and found.server.name in reserved):
                servers.setdefault(found.server.name, found)
    return ConfiguredServers(tuple(servers.values()), tuple(dict.fromkeys(problems)))


def _servers(origin: ConfigFile, environ: Mapping[str, str]) -> Iterator[ConfiguredServer | ConfigProblem]:
    try:
        declared = _declared(origin)
    except OSError as error:
        yield ConfigProblem("", f"{origin.path}: {error.strerror}.")
        return
    except (ValueError, RecursionError) as error:
        yield ConfigProblem("", f"{origin.path} cannot be read: {error}.")
        return
    for name, entry in declared.items():
        try:
            yield ConfiguredServer(
                parse_server(name, entry, environ),
                origin,
                json.dumps(entry, sort_keys=True, ensure_ascii=False),
            )
        except ToolFailure as failure:
            yield ConfigProblem(name, f"{origin.path}: {failure.message}")


def _declared(origin: ConfigFile) -> Mapping[str, Any]:
    """Returns the entries under ``mcpServers``, if any. Raises ``OSError`` or ``ValueError``."""
    if not origin.path.is_file():
        return {}
    with origin.path.open("rb") as file:
        content = parse_object(file.read(_MOST_BYTES))
    for key in origin.under:
        child = content.get(key)
        if not isinstance(child, dict):
            return {}
        content = child
    declared = content.get(SERVERS_KEY, {})
    if not isinstance(declared, dict):
        raise ValueError(f"its {SERVERS_KEY} is not an object")  # noqa: TRY004 - reported like invalid JSON
    return declared


def parse_object(data: bytes) -> dict[str, Any]:
    """Parses a settings file as a JSON object.  Raises ``ValueError`` that names the line."""
    try:
        content = json.loads(data or b"{}")
    except json.JSONDecodeError as error:
        raise ValueError(
            f"invalid JSON at line {error.lineno}, column {error.colno} ({error.msg.lower()})"
        ) from None
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - as above
    return content


_INDENT = re.compile(r"^\{\s*\n([ \t]+)")


def add_server(path: Path, name: str, entry: Mapping[str, Any], *, replace: bool = False) -> None:
    """Adds a server to a file. Raises ``ToolFailure``, also if the name exists and not ``replace``."""

    def change(servers: dict[str, Any]) -> None:
        if name in servers and not replace:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, f"{path} already has an MCP server {name!r}. Remove it first."
            )
        servers[name] = dict(entry)

    _rewrite(path, change)


def remove_server(path: Path, name: str) -> None:
    """Removes a server from a file, if there. Raises ``ToolFailure`` if it cannot be changed."""
    _rewrite(path, lambda servers: servers.pop(name, None))


def write_atomically(path: Path, text: str) -> None:
    """Replaces a file atomically, through links; a new one is private. Raises ``OSError``."""
    real = path.resolve()
    temporary = real.with_name(f".{real.name}.{uuid.uuid4().hex}.tmp")
    try:
        write_durable(temporary, text.encode())
        if real.exists():
            shutil.copymode(real, temporary)
        temporary.replace(real)
    finally:
        temporary.unlink(missing_ok=True)


def _rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    try:
        if not path.parent.is_dir():
            private_folder(path.parent)
        with folder_lock(path.parent):
            data = path.read_bytes() if path.exists() else b""
            content = parse_object(data)
            servers = content.setdefault(SERVERS_KEY, {})
            if not isinstance(servers, dict):
                raise ValueError(f"its {SERVERS_KEY} is not an object")  # noqa: TRY004, TRY301 - reported like invalid JSON
            change(servers)
            indent = _INDENT.search(data.decode(errors="replace"))
            write_atomically(
                path, json.dumps(content, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"
            )
    except OSError as error:
        raise from_os_error(error, str(path), ErrorCode.FILE_WRITE_FAILURE) from None
    except ValueError as error:
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"{path} was not changed: {error}. Correct the file, then try again.",
        ) from None
