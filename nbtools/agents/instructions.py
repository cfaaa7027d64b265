"""What an agent is told beside the prompt: the person's instructions, where it works, and what MCP servers say of their tools."""

from __future__ import annotations

from collections.abc import Iterator

from nbtools.core.server_names import prefix_of
from nbtools.session import Session

_LONGEST = 8_000
"""Characters that one server may say."""


def instructions_for(session: Session, own: str) -> str:
    """``own`` comes first.  It is the same text as long as tools and servers are the same: providers keep what they have read before."""
    names = ", ".join(name for name in session.tools.names() if not name.startswith("mcp__"))
    ours = (
        f"You work in the folder {session.workspace.root}; relative paths begin there. Your tools: {names}. "
        "A person watches. A call may be refused, with a reason, or changed before it runs; you are told so. "
        "Take a refusal as meant: do not try the same in another way."
    )
    return "\n\n".join(part for part in (own.strip(), ours, *_of_servers(session)) if part)


def _of_servers(session: Session) -> Iterator[str]:
    for name, connection in session.mcp.connections.items():
        said = connection.greeting.instructions.strip()
        if connection.state == "connected" and said:
            cut = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
            yield f"The MCP server {name} says of its tools ({prefix_of(name)}…):\n{cut}"
