"""Exports sessions in the log formats of other tools."""

from __future__ import annotations

from nbtools.traces.export.atif import write_atif
from nbtools.traces.export.claude_code import write_claude_code

__all__ = ["write_atif", "write_claude_code"]
