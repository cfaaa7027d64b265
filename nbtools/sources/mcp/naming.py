"""Names of servers' tools: what rules, models and people call them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

LONGEST = 64
"""Characters that every model's service takes."""
PREFIX = "mcp__"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8


def name_of(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """``mcp__server__tool``, made fit: other characters become ``_``, what is too long keeps both ends.

    Names that would be ``taken``, or have been cut, end with a mark made of the whole name: the same each time, whatever else there is.
    """
    whole = f"{PREFIX}{_fit(server)}__{_fit(tool)}"
    if len(whole) <= LONGEST and whole not in taken:
        return whole
    mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_MARK]
    return f"{whole[: LONGEST - _MARK - 1]}_{mark}"


def rule_of(server: str) -> str:
    """The rule that speaks of all of a server's tools."""
    return f"{PREFIX}{_fit(server)}__*"


def belongs(tool: str, server: str) -> bool:
    """Whether a tool of this name would be one of that server's, also as Gemini CLI spells it (``mcp_server_tool``)."""
    fit = _fit(server)
    return tool.startswith((f"{PREFIX}{fit}__"[: LONGEST - _MARK - 1], f"mcp_{fit}_"[: LONGEST - _MARK - 1]))


def _fit(name: str) -> str:
    return _UNFIT.sub("_", name) or "_"
