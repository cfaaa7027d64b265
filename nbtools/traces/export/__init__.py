"""Exports sessions in the log formats of other tools."""

from __future__ import annotations

from nbtools.traces.export.atif import write_atif
from nbtools.traces.export.claude_code import write_claude_code
from nbtools.traces.export.tables import write_csv, write_parquet

__all__ = ["write_atif", "write_claude_code", "write_csv", "write_parquet"]
