"""Everything an entry point of ``nbtools.tools`` may lead to."""

from __future__ import annotations

from nbtools import Toolset, tool
from nbtools.workspace.workspace import Workspace


@tool(kind="think")
def shout(text: str) -> str:
    """Says it louder.

    Args:
        text: what to say
    """
    return text.upper() + "!"


@tool(kind="think")
def reverse(text: str) -> str:
    """Says it backwards."""
    return text[::-1]


@tool(kind="search")
def grep(text: str) -> str:
    """Has the name of a built-in tool."""
    return text


TOOLS = Toolset([reverse, grep])


def made_for(workspace: Workspace) -> list[object]:
    """Tools that know the workspace."""

    @tool(kind="read")
    def count() -> int:
        """Counts the files of the workspace."""
        return sum(path.is_file() for path in workspace.root.rglob("*"))

    return [count]
