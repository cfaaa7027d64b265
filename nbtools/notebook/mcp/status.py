"""Shows MCP servers in a table: what they run, their state, and what to do about those that do not run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.cards.tables import Sheet
from nbtools.core.redaction import Redactor
from nbtools.core.secret_variables import secret_variables
from nbtools.mcp.config.catalog import TrustState, start_summary
from nbtools.mcp.config.entries import Address
from nbtools.mcp.config.files import ConfiguredServer, own_file

if TYPE_CHECKING:
    from nbtools.mcp.client.connection import Connection
    from nbtools.session import Session

COLUMNS = ("server", "state", "tools", "command or URL", "configured in")
_STATES = {
    "disconnected": "not connected",
    "connecting": "connecting…",
    "connected": "connected",
    "failed": "failed",
}
_UNTRUSTED = (TrustState.UNKNOWN, TrustState.CHANGED)


def servers_table(session: Session, title: str = "", only: Collection[str] = ()) -> Sheet:
    """Returns a table of all servers, or of ``only`` those."""
    connections = [one for one in session.mcp.connections.values() if not only or one.server.name in only]
    lines = [line for one in connections for line in _actions(session, one)]
    if not only:
        lines += [f"✕ {problem.text}" for problem in session.mcp.catalogue.problems]
        lines.append(_NO_SERVERS if not connections else "%tools mcp help lists the commands.")
    return Sheet(
        title,
        tuple(_row(session, one) for one in connections),
        tuple(lines),
        COLUMNS if connections else (),
        frozenset({0, 3}),
    )


_NO_SERVERS = (
    "No MCP servers are configured. Add one with %tools mcp add NAME -- COMMAND, as in %tools mcp add time --"
    " uvx mcp-server-time"
)


def servers_row(session: Session) -> list[tuple[str, str]]:
    """Returns one row with all servers, for the session's overview; none without servers."""
    states = [f"{name} {state_of(session, one)}" for name, one in session.mcp.connections.items()]
    return [("MCP servers", f"{', '.join(states)}: %tools mcp")] if states else []


def state_of(session: Session, connection: Connection) -> str:
    """Returns the state in one or two words."""
    if connection.server.disabled:
        return "off"
    trust = trust_of(session, connection)
    if trust in _UNTRUSTED and not connection.is_alive:
        return "not trusted" if trust is TrustState.UNKNOWN else "changed, not trusted"
    return _STATES[connection.state]


def trust_of(session: Session, connection: Connection) -> TrustState:
    named = entry_of(session, connection)
    return TrustState.OWN if named is None else session.mcp.catalogue.trust_state(named)


def entry_of(session: Session, connection: Connection) -> ConfiguredServer | None:
    """Returns the server's configuration entry; None for a server added by code."""
    return session.mcp.catalogue.servers.get(connection.server.name)


def may_connect_automatically(session: Session, connection: Connection) -> bool:
    """Returns whether listing the server may connect it:
    not if it has failed, is disabled, or needs approval.
    """
    return connection.state == "disconnected" and state_of(session, connection) == "not connected"


def config_file_of(session: Session, named: ConfiguredServer | None) -> str:
    """Describes where the server is configured."""
    if named is None:
        return "code"
    path = named.origin.path
    if path == own_file():
        return "your own file"
    if not named.origin.project:
        return "Claude Code"
    return path.relative_to(session.workspace.root).as_posix()


def target_of(session: Session, connection: Connection) -> str:
    """Returns the command line or the URL, with variables by their names."""
    named = entry_of(session, connection)
    description = dict(start_summary(named)) if named else {}
    transport = connection.server.transport
    target = description.get("runs") or connection.server.location
    redacted = Redactor.of(secret_variables(os.environ)).text(target)
    return f"{redacted} (SSE)" if isinstance(transport, Address) and transport.sse else redacted


def _row(session: Session, connection: Connection) -> tuple[str, ...]:
    tools = f"{len(connection.tools):,}" if connection.state == "connected" else ""
    file = config_file_of(session, entry_of(session, connection))
    target = target_of(session, connection)
    return (connection.server.name, state_of(session, connection), tools, target, file)


def _actions(session: Session, connection: Connection) -> Iterator[str]:
    name, state = connection.server.name, state_of(session, connection)
    if state == "off":
        yield f"{name} is disabled in this workspace. Enable it with: %tools mcp enable {name}"
    elif state in ("not trusted", "changed, not trusted"):
        why = "came with this project" if state == "not trusted" else "has changed since you trusted it"
        yield f"{name} {why}, so it is not started. %tools mcp trust {name} shows what it would run."
    elif state == "failed":
        problem = connection.problem.rstrip(".")
        advice = ""
        if "there is no program" in problem:
            program = problem.removeprefix("there is no program ").split(" ")[0].rstrip(".,;")
            advice = f" {_INSTALL_HINTS.get(Path(program).name, 'Install it, or give its full path.')}"
        if "%tools mcp" in problem:  # it says itself what to do
            yield f"✕ {name}: {problem}."
        else:
            yield f"✕ {name}: {problem}.{advice} %tools mcp restart {name} tries again."


_INSTALL_HINTS = {
    "uvx": "It is part of uv: pip install uv.",
    "npx": "It is part of Node.js (https://nodejs.org).",
    "node": "Install Node.js (https://nodejs.org).",
    "docker": "Install Docker, or start the server another way.",
}
