"""Names of servers' tools: what rules, models and people call them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping

LONGEST = 64
"""Characters that every model's service takes."""
LONGEST_SERVER = 40
PREFIX = "mcp__"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8


def names_of(server: str, tools: Iterable[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """What the server's tools are called here, by its own names.

    A name that fits as it is goes first: which tool has it does not depend on the order in which the server lists them.
    """
    named: dict[str, str] = {}
    used = set(taken)
    listed = list(dict.fromkeys(tools))
    for tool in sorted(listed, key=lambda tool: (_fit(tool) != tool, tool)):
        named[tool] = name_of(server, tool, used)
        used.add(named[tool])
    return {tool: named[tool] for tool in listed}


def name_of(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """``mcp__server__tool``, made fit: other characters become ``_``; what is too long is cut, and the server's part stays whole.

    Names that would be ``taken``, or have been cut, end with a mark made of the whole name: the same each time, whatever else there is.
    """
    whole = f"{PREFIX}{part_of(server)}__{_fit(tool)}"
    return whole if len(whole) <= LONGEST and whole not in taken else _cut(whole, LONGEST, f"{server}\0{tool}")


def part_of(server: str) -> str:
    """The server's part of its tools' names."""
    fit = _fit(server)
    return fit if len(fit) <= LONGEST_SERVER else _cut(fit, LONGEST_SERVER, server)


def prefix_of(server: str) -> str:
    """How the names of all of a server's tools begin."""
    return f"{PREFIX}{part_of(server)}__"


def rule_of(server: str, tool: str = "*") -> str:
    """The rule that speaks of a server's tools, all or those of that name or pattern.  Of a pattern nothing is made fit."""
    prefix = f"{PREFIX}{server}__" if "*" in server else prefix_of(server)
    return f"{prefix}{tool}" if "*" in tool or "*" in server else name_of(server, tool)


def belongs(tool: str, server: str) -> bool:
    """Whether a tool of this name would be one of that server's, also as Gemini CLI spells it (``mcp_server_tool``, cut after 30)."""
    return tool.startswith((f"{PREFIX}{part_of(server)}__", f"mcp_{_fit(server)}_"[:30]))


def _cut(name: str, longest: int, whole: str) -> str:
    mark = hashlib.sha256(whole.encode()).hexdigest()[:_MARK]
    return f"{name[: longest - _MARK - 1].rstrip('_')}_{mark}"


def _fit(name: str) -> str:
    return _UNFIT.sub("_", name) or "_"
