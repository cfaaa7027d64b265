"""Converts agents' names of MCP tools to canonical names and back.

The canonical form is ``mcp__server__tool``, as in Claude Code.  Gemini CLI's names are ambiguous
(``mcp_a_b_c``), so they are looked up among the registered tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from nbtools.core.tool import AnyToolBuilder
from nbtools.core.toolset import ToolRegistry
from nbtools.dialects.dialect_model import ServerToolNames
from nbtools.dialects.field_map import REQUIRED

LIST_RESOURCES = {"server": ""}
"""The parameters of the tool and their defaults: its own module needs the optional MCP package."""
READ_RESOURCE = {"uri": REQUIRED, "server": ""}
"""As ``LIST_RESOURCES``."""

_MAX_NAME = 63
_END = 30
_INVALID = re.compile(r"[^A-Za-z0-9_.:-]")


def gemini_names(server: str, tool: str) -> tuple[str, ...]:
    """Returns ``mcp_server_tool`` and the ``server__tool`` of older versions;
    long names are shortened in the middle with ``...``.
    """
    return _cut(f"mcp_{server}_{tool}"), _cut(f"{server}__{tool}")


def _cut(name: str) -> str:
    valid = _INVALID.sub("_", name)
    return valid if len(valid) <= _MAX_NAME else f"{valid[:_END]}...{valid[-_END:]}"


@dataclass
class ServerNames:
    """Maps canonical names of a registry's MCP tools to an agent's names and back;
    updated when the registry changes.

    If two tools would have the same name, the alphabetically first gets it;
    the other keeps its canonical name.
    """

    registry: ToolRegistry
    names: ServerToolNames
    _version: int = -1
    _agent_names: dict[str, str] = field(default_factory=dict)
    _canonical_names: dict[str, str] = field(default_factory=dict)

    def agent_name(self, canonical: str) -> str:
        """Returns the agent's name of an MCP tool; other names unchanged."""
        self._update()
        return self._agent_names.get(canonical, canonical)

    def canonical_name(self, name: str) -> str:
        """Returns the canonical tool that the agent calls ``name``; ``name`` itself where there is none."""
        self._update()
        return name if name in self.registry else self._canonical_names.get(name, name)

    def _update(self) -> None:
        if self._version == self.registry.changes:
            return
        version, spoken, canonical = self.registry.changes, dict[str, str](), dict[str, str]()
        tools = [
            (name, server_of(self.registry.find(name)))
            for name in sorted(self.registry.names())
            if name.startswith("mcp__")
        ]
        named = [(name, names) for name, of in tools if of is not None and (names := self.names(*of))]
        for name, (first, *_) in named:
            if canonical.setdefault(first, name) == name:
                spoken[name] = first
        for name, (_, *former) in named:
            for other in former:
                canonical.setdefault(other, name)
        self._version, self._agent_names, self._canonical_names = version, spoken, canonical


def server_of(tool: AnyToolBuilder | None) -> tuple[str, str] | None:
    """Returns the server and its own name of the tool; None for a tool that is not from an MCP server."""
    origin: tuple[str, str] | None = getattr(tool, "of_server", None)
    return origin


def canonical_rule_name(name: str, lookup: Callable[[str], str] = str) -> str:
    """Returns the canonical name or pattern for any agent's name of MCP tools in a rule;
    ``lookup`` finds registered tools.

    ``mcp__docs`` and ``mcp_docs_*`` mean all tools of a server.  Other names are returned unchanged.
    """
    if not name.startswith("mcp_"):
        return lookup(name) if "__" in name else name
    if name.startswith("mcp__"):
        return name if "__" in name[5:] or "*" in name else f"{name}__*"
    if name == "mcp_*":
        return "mcp__*"
    canonical = lookup(name)
    if canonical != name:
        return canonical
    match_all = re.fullmatch(r"mcp_([^*]+)_\*", name)
    if match_all:
        return f"mcp__{match_all[1]}__*"
    match = re.fullmatch(r"mcp_([^_]+)_(.+)", name)
    return f"mcp__{match[1]}__{match[2]}" if match else name
