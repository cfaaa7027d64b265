"""What agents call the tools of MCP servers, and what their rules mean by such names.

Inside they are ``mcp__server__tool``, as Claude Code has it.  Gemini CLI's names cannot be taken apart again (``mcp_a_b_c``), so which
tool is meant is looked up among those that there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from nbtools.core.tool import AnyToolBuilder
from nbtools.core.toolset import ToolRegistry
from nbtools.dialects.dialect import Names

_LONGEST = 63
_END = 30
_UNFIT = re.compile(r"[^A-Za-z0-9_.:-]")


def gemini_names(server: str, tool: str) -> tuple[str, ...]:
    """``mcp_server_tool``, and the ``server__tool`` of older versions; of what is too long both ends and ``...`` between them."""
    return _cut(f"mcp_{server}_{tool}"), _cut(f"{server}__{tool}")


def _cut(name: str) -> str:
    fit = _UNFIT.sub("_", name)
    return fit if len(fit) <= _LONGEST else f"{fit[:_END]}...{fit[-_END:]}"


@dataclass
class ServerNames:
    """A table of the servers' tools in a registry, made anew when there are others.

    Of two tools with one name the first by the alphabet has it; the other is called by its canonical name.
    """

    registry: ToolRegistry
    names: Names
    _made_at: int = -1
    _spoken: dict[str, str] = field(default_factory=dict)
    _canonical: dict[str, str] = field(default_factory=dict)

    def spoken(self, canonical: str) -> str:
        """What the agent's model calls it; the canonical name of what is no server's."""
        self._renew()
        return self._spoken.get(canonical, canonical)

    def canonical(self, name: str) -> str:
        """The tool that is called so; ``name`` itself where none is."""
        self._renew()
        return name if name in self.registry else self._canonical.get(name, name)

    def _renew(self) -> None:
        if self._made_at == self.registry.changes:
            return
        made_at, spoken, canonical = self.registry.changes, dict[str, str](), dict[str, str]()
        tools = [(name, server_of(self.registry.find(name))) for name in sorted(self.registry.names()) if name.startswith("mcp__")]
        named = [(name, names) for name, of in tools if of is not None and (names := self.names(*of))]
        for name, (first, *_) in named:
            if canonical.setdefault(first, name) == name:
                spoken[name] = first
        for name, (_, *former) in named:
            for other in former:
                canonical.setdefault(other, name)
        self._made_at, self._spoken, self._canonical = made_at, spoken, canonical


def server_of(tool: AnyToolBuilder | None) -> tuple[str, str] | None:
    """The server and its own name of the tool; None for what is no server's."""
    found: tuple[str, str] | None = getattr(tool, "of_server", None)
    return found


def rule_named(name: str, known: Callable[[str], str] = str) -> str:
    """Which tools a rule means by a name that any agent gives those of servers; ``known`` looks one up among the tools that there are.

    ``mcp__docs`` is all of a server's, as ``mcp_docs_*`` is.  Other names stay.
    """
    if not name.startswith("mcp_"):
        return known(name) if "__" in name else name
    if name.startswith("mcp__"):
        return name if "__" in name[5:] or "*" in name else f"{name}__*"
    if name == "mcp_*":
        return "mcp__*"
    found = known(name)
    if found != name:
        return found
    whole = re.fullmatch(r"mcp_([^*]+)_\*", name)
    if whole:
        return f"mcp__{whole[1]}__*"
    one = re.fullmatch(r"mcp_([^_]+)_(.+)", name)
    return f"mcp__{one[1]}__{one[2]}" if one else name
