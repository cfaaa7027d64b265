"""What a server says of a tool: that it only reads, that it destroys.  Nobody has checked it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.types import Tool


def claims_of(tool: Tool) -> Mapping[str, bool]:
    """The four hints by MCP's names; what is not said is what the specification takes it for: the worse."""
    said = tool.annotations
    reads = bool(said and said.read_only_hint)
    destroys = said.destructive_hint if said else None
    reaches = said.open_world_hint if said else None
    return {
        "readOnlyHint": reads,
        "destructiveHint": not reads and destroys is not False,
        "idempotentHint": reads or bool(said and said.idempotent_hint),
        "openWorldHint": reaches is not False,
    }


def in_words(server: str, tool: Tool) -> str:
    """One sentence for who is asked to let it run."""
    said = ", ".join(_said(tool))
    return f"{server} says that it {said}. Nobody has checked that." if said else f"{server} does not say what it does to the world."


def _said(tool: Tool) -> Iterator[str]:
    """Only what the server has said."""
    hints = tool.annotations
    if hints is None:
        return
    if hints.read_only_hint:
        yield "only reads"
    elif hints.destructive_hint is not None:
        yield "may overwrite or delete" if hints.destructive_hint else "adds and takes nothing away"
    if hints.idempotent_hint and not hints.read_only_hint:
        yield "changes nothing more when it runs again"
    if hints.open_world_hint is not None:
        yield "reaches other systems" if hints.open_world_hint else "stays within its own data"
