"""Canonical names of tools, and the names of MCP servers' tools."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping

MAX_LENGTH = 64
"""The most characters of a tool name that all model providers accept."""
MAX_SERVER_LENGTH = 40
PREFIX = "mcp__"
_VALID = re.compile(r"[A-Za-z0-9_.:-]+")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_HASH_LENGTH = 8


def is_valid_name(name: str) -> bool:
    """Whether models accept the name of a tool: letters, digits, ``_ . : -``, at most ``MAX_LENGTH``."""
    return len(name) <= MAX_LENGTH and _VALID.fullmatch(name) is not None


def mcp_tool_names(server: str, tools: Iterable[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """Returns the names of a server's tools, by the names that the server uses.

    Names that need no change are assigned first,
    so the result does not depend on the order of the server's list.
    """
    named: dict[str, str] = {}
    used = set(taken)
    unique_tools = list(dict.fromkeys(tools))
    for tool in sorted(unique_tools, key=lambda tool: (_sanitized(tool) != tool, tool)):
        named[tool] = mcp_tool_name(server, tool, used)
        used.add(named[tool])
    return {tool: named[tool] for tool in unique_tools}


def mcp_tool_name(server: str, tool: str, taken: Collection[str] = ()) -> str:
    """Returns ``mcp__server__tool`` with invalid characters replaced by ``_``;
    a name that is too long is cut at its end.

    A name that is cut or ``taken`` ends with a hash of the whole name, which is always the same.
    """
    whole = f"{PREFIX}{server_part(server)}__{_sanitized(tool)}"
    if len(whole) <= MAX_LENGTH and whole not in taken:
        return whole
    return _shortened(whole, MAX_LENGTH, f"{server}\0{tool}")


def server_part(server: str) -> str:
    """Returns the server's part of its tools' names."""
    fit = _sanitized(server)
    return fit if len(fit) <= MAX_SERVER_LENGTH else _shortened(fit, MAX_SERVER_LENGTH, server)


def server_prefix(server: str) -> str:
    """Returns the common prefix of the names of a server's tools."""
    return f"{PREFIX}{server_part(server)}__"


def mcp_rule(server: str, tool: str = "*") -> str:
    """Returns the rule for a server's tools: all, or by name or pattern. Patterns are not changed."""
    prefix = f"{PREFIX}{server}__" if "*" in server else server_prefix(server)
    return f"{prefix}{tool}" if "*" in tool or "*" in server else mcp_tool_name(server, tool)


def belongs_to_server(tool: str, server: str) -> bool:
    """Whether a tool of this name belongs to the server, also in Gemini CLI's form (``mcp_server_tool``,
    cut after 30).
    """
    return tool.startswith((f"{PREFIX}{server_part(server)}__", f"mcp_{_sanitized(server)}_"[:30]))


def _shortened(name: str, longest: int, whole: str) -> str:
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{name[: longest - _HASH_LENGTH - 1].rstrip('_')}_{digest}"


def _sanitized(name: str) -> str:
    return _UNFIT.sub("_", name) or "_"


CANONICAL_NAMES = (
    *("read", "read_many", "diagnostics", "ls", "tree", "glob", "grep"),
    *("edit", "write", "patch", "replace_in_files", "revise", "move", "delete"),
    *("shell", "shell_output", "shell_kill"),
    *("terminal_open", "terminal_run", "terminal_output", "terminal_kill"),
    *("fetch", "todo", "memory", "ask", "cells"),
)
"""The canonical tool names.  All other tools in a registry are custom tools."""
