"""MCP servers as a sheet: what they are, how they stand, and what is to be done about those that do not run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.redact import Redactor
from nbtools.notebook.sheets import Sheet
from nbtools.sources.mcp.catalogue import Standing, would
from nbtools.sources.mcp.settings.entries import Address
from nbtools.sources.mcp.settings.reading import Named, own_file
from nbtools.workspace.commands.environment import secret_variables

if TYPE_CHECKING:
    from nbtools.session import Session
    from nbtools.sources.mcp.wire.connection import Connection

HEAD = ("server", "state", "tools", "runs or reaches", "named in")
_STATES = {"disconnected": "not connected", "connecting": "connecting…", "connected": "connected", "failed": "failed"}
_UNTRUSTED = (Standing.UNKNOWN, Standing.CHANGED)


def sheet_of(session: Session, title: str = "", only: Collection[str] = ()) -> Sheet:
    """All servers, or ``only`` those."""
    shown = [one for one in session.mcp.connections.values() if not only or one.server.name in only]
    lines = [line for one in shown for line in _to_do(session, one)]
    if not only:
        lines += [f"✕ {problem.says}" for problem in session.mcp.catalogue.problems]
        lines.append(_NONE if not shown else "%tools mcp help lists what can be done with them.")
    return Sheet(title, tuple(_row(session, one) for one in shown), tuple(lines), HEAD if shown else (), frozenset({0, 3}))


_NONE = "No MCP server is known. %tools mcp add NAME -- COMMAND adds one, as in: %tools mcp add time -- uvx mcp-server-time"


def servers_row(session: Session) -> list[tuple[str, str]]:
    """All of them in one row of the session's own sheet; none where there are none."""
    states = [f"{name} {state_of(session, one)}" for name, one in session.mcp.connections.items()]
    return [("MCP servers", f"{', '.join(states)}: %tools mcp")] if states else []


def state_of(session: Session, connection: Connection) -> str:
    """In a word or two."""
    if connection.server.disabled:
        return "off"
    standing = standing_of(session, connection)
    if standing in _UNTRUSTED and not connection.is_alive:
        return "not trusted" if standing is Standing.UNKNOWN else "changed, not trusted"
    return _STATES[connection.state]


def standing_of(session: Session, connection: Connection) -> Standing:
    named = named_of(session, connection)
    return Standing.OWN if named is None else session.mcp.catalogue.standing(named)


def named_of(session: Session, connection: Connection) -> Named | None:
    """None for one that code has added."""
    return session.mcp.catalogue.named.get(connection.server.name)


def starts_unasked(session: Session, connection: Connection) -> bool:
    """Whether looking at it may connect it: never one that has just failed, is off, or must be asked about."""
    return connection.state == "disconnected" and state_of(session, connection) == "not connected"


def file_of(session: Session, named: Named | None) -> str:
    """Where it is named, in the person's words."""
    if named is None:
        return "code"
    path = named.origin.path
    if path == own_file():
        return "your own file"
    if not named.origin.project:
        return "Claude Code"
    return path.relative_to(session.workspace.root).as_posix()


def where_of(session: Session, connection: Connection) -> str:
    """The command line or the address, variables by their names."""
    named = named_of(session, connection)
    said = dict(would(named)) if named else {}
    transport = connection.server.transport
    where = said.get("runs") or connection.server.where
    redacted = Redactor.of(secret_variables(os.environ)).text(where)
    return f"{redacted} (SSE)" if isinstance(transport, Address) and transport.sse else redacted


def _row(session: Session, connection: Connection) -> tuple[str, ...]:
    tools = f"{len(connection.tools):,}" if connection.state == "connected" else ""
    where, named = where_of(session, connection), named_of(session, connection)
    return (connection.server.name, state_of(session, connection), tools, where, file_of(session, named))


def _to_do(session: Session, connection: Connection) -> Iterator[str]:
    name, state = connection.server.name, state_of(session, connection)
    if state == "off":
        yield f"{name} is off here: %tools mcp enable {name}"
    elif state in ("not trusted", "changed, not trusted"):
        why = "came with this project" if state == "not trusted" else "has changed since you trusted it"
        yield f"{name} {why}, so it does not start: %tools mcp trust {name} shows what it would run."
    elif state == "failed":
        problem = connection.problem.rstrip(".")
        again = "" if "%tools mcp" in problem else f" {_advice(problem)}%tools mcp restart {name} tries again."
        yield f"✕ {name}: {problem}.{again}"


def _advice(problem: str) -> str:
    program = problem.removeprefix("there is no program ").split(" ")[0].rstrip(".,;") if "there is no program" in problem else ""
    return f"{_HOW.get(Path(program).name, 'Install it, or give its full path.')} " if program else ""


_HOW = {
    "uvx": "It comes with uv: pip install uv.",
    "npx": "It comes with Node.js (https://nodejs.org).",
    "node": "It is Node.js (https://nodejs.org).",
    "docker": "Install Docker, or start the server another way.",
}
