"""The tools of Void that have no counterpart here, and why."""

from __future__ import annotations

from nbtools.dialects.dialect import Unspoken

UNSPOKEN = (
    Unspoken("read_lint_errors", "It asks the editor's language servers, of which none is part of nbtools; run a linter with run_command."),
)
