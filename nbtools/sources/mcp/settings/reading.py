"""Where servers are named: our own file, that of Claude Code for the person, and the project's own, as any of the programs writes them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.errors import ToolFailure
from nbtools.sources.mcp.settings.entries import ServerSettings, settings_of
from nbtools.workspace.state import config_folder

KEY = "mcpServers"
_MOST = 50_000_000
"""Bytes of a file; Claude Code keeps much else in its own."""
OF_PROJECT = (".nbtools/mcp.json", ".mcp.json", ".gemini/settings.json", ".cursor/mcp.json")


@dataclass(frozen=True, slots=True)
class Origin:
    """A file that may name servers.  What stands in a ``project``'s came with the project, and starts nothing before it is trusted.

    ``under``: the keys that lead to the servers' own.
    """

    path: Path
    project: bool
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A server and the file that names it; ``declared`` is what stands there, as JSON, no variable filled in."""

    server: ServerSettings
    origin: Origin
    declared: str

    @property
    def digest(self) -> str:
        """Another one for whatever else it would run, or be allowed."""
        return hashlib.sha256(self.declared.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file or, where ``name`` says so, with one of its servers."""

    name: str
    says: str


@dataclass(frozen=True, slots=True)
class Read:
    """The servers, each name once, and what is wrong with the rest."""

    servers: tuple[Named, ...]
    problems: tuple[Problem, ...]


def own_file() -> Path:
    """The person's file, to which servers are added."""
    return config_folder() / "mcp.json"


def origins(root: Path) -> tuple[Origin, ...]:
    """The files that count for a workspace, the person's first."""
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path("~").expanduser()) / ".claude.json"
    persons = (Origin(own_file(), False), Origin(claude, False, ("projects", str(root))), Origin(claude, False))
    return (*persons, *(Origin(root / name, True) for name in OF_PROJECT))


def read_servers(root: Path, environ: Mapping[str, str] | None = None) -> Read:
    """Those of the person, then those of the project at ``root``; of one name the first is taken.

    One of the person's that cannot be used keeps its name: the project's would have what rules and grants say of it.
    """
    servers: dict[str, Named] = {}
    problems: list[Problem] = []
    kept: set[str] = set()
    for origin in origins(root):
        for found in _servers(origin, os.environ if environ is None else environ):
            if isinstance(found, Problem):
                problems.append(found)
                kept |= {found.name} if not origin.project else set()
            elif not (origin.project and found.server.name in kept):
                servers.setdefault(found.server.name, found)
    return Read(tuple(servers.values()), tuple(dict.fromkeys(problems)))


def _servers(origin: Origin, environ: Mapping[str, str]) -> Iterator[Named | Problem]:
    try:
        declared = _declared(origin)
    except OSError as error:
        yield Problem("", f"{origin.path}: {error.strerror}.")
        return
    except (ValueError, RecursionError) as error:
        yield Problem("", f"{origin.path} cannot be read: {error}.")
        return
    for name, entry in declared.items():
        try:
            yield Named(settings_of(name, entry, environ), origin, json.dumps(entry, sort_keys=True, ensure_ascii=False))
        except ToolFailure as failure:
            yield Problem(name, f"{origin.path}: {failure.message}")


def _declared(origin: Origin) -> Mapping[str, Any]:
    """What stands under ``mcpServers``; nothing where there is no file.  Raises ``OSError`` or ``ValueError``."""
    if not origin.path.is_file():
        return {}
    with origin.path.open("rb") as file:
        found = parsed(file.read(_MOST))
    for step in origin.under:
        below = found.get(step)
        if not isinstance(below, dict):
            return {}
        found = below
    declared = found.get(KEY, {})
    if not isinstance(declared, dict):
        raise ValueError(f"its {KEY} is no object")  # noqa: TRY004 - told like JSON that is none
    return declared


def parsed(data: bytes) -> dict[str, Any]:
    """The object of a file of settings.  Raises ``ValueError`` that names the line."""
    try:
        read = json.loads(data or b"{}")
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno} is no JSON ({error.msg.lower()})") from None
    if not isinstance(read, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - as above
    return read
