"""Void's three approval types, each a switch for a set of allow rules."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from nbtools.core.errors import PolicyError
from nbtools.core.message import did_you_mean

Switch: TypeAlias = Literal["edits", "terminal", "MCP tools"]

_RULES: dict[str, tuple[str, ...]] = {
    "edits": ("edit", "write", "patch", "replace_in_files", "revise", "cells", "delete", "move"),
    "terminal": ("shell", "shell_kill", "terminal_open", "terminal_run", "terminal_kill"),
    "MCP tools": ("mcp__*",),
}


def approval_rules(switch: str) -> tuple[str, ...]:
    """Returns the allow rules of a switch (``edits``, ``terminal``, ``MCP tools``).
    Raises ``PolicyError`` for an unknown switch.
    """
    if switch not in _RULES:
        known = get_args(Switch)
        raise PolicyError(f"There is no switch {switch!r}.{did_you_mean(switch, known)}")
    return _RULES[switch]
