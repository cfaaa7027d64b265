"""The tools of Void that nbtools does not support, with reasons."""

from __future__ import annotations

from nbtools.dialects.dialect import UnsupportedTool

UNSUPPORTED = (
    UnsupportedTool(
        "read_lint_errors", "It needs the editor's language servers, which nbtools does not include; run a linter with run_command."
    ),
)
