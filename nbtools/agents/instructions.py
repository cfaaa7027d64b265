"""The system prompt of an agent: instructions of the caller, the workspace and its MCP servers."""

from __future__ import annotations

from collections.abc import Iterator

from nbtools.core.tool_names import server_prefix
from nbtools.session.session import Session

_MOST_CHARACTERS = 8_000
"""Maximum length of one server's instructions, in characters."""


def instructions_for(session: Session, own: str) -> str:
    """Returns the instructions, beginning with ``own``.
    Deterministic for the same tools and servers, so that providers can cache it.
    """
    names = ", ".join(name for name in session.tools.names() if not name.startswith("mcp__"))
    general = (
        f"You work in the folder {session.workspace.root}; relative paths begin there. Your tools: {names}. A"
        " person watches. A call may be denied, with a reason, or changed before it runs; its result says"
        " so. Accept a denial: do not try to achieve the same in another way."
    )
    return "\n\n".join(part for part in (own.strip(), general, *_server_instructions(session)) if part)


def _server_instructions(session: Session) -> Iterator[str]:
    for name, connection in session.mcp.connections.items():
        text = connection.server_info.instructions.strip()
        if connection.state == "connected" and text:
            cut = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
            yield f"Instructions of the MCP server {name} for its tools ({server_prefix(name)}…):\n{cut}"
