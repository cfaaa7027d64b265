"""Text output of ``nbtools trace`` with several logs."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from nbtools.core.errors import TraceError
from nbtools.traces.comparison.comparison import Comparison, compare
from nbtools.traces.comparison.comparison_rows import ComparisonRows
from nbtools.traces.comparison.text import comparison_text
from nbtools.traces.comparison.view import ComparisonDisplay
from nbtools.traces.log_arguments import comparison_command, expanded

_OTHERS = ("search", "notebook", "follow", "html", "export")
"""Options that take one log."""
_FIELDS = ("name", "title", "log", "agents", "models", "task", "compared")
"""Fields of a run that JSON has as they are."""


def is_comparison(words: Sequence[str]) -> bool:
    """Whether the words of the command line name several logs."""
    return len(_expanded(words)) > 1


def compared(options: Namespace) -> str:
    """Returns the comparison as tables, or as JSON. Raises ``TraceError`` and ``ToolFailure``."""
    stray = next((name for name in _OTHERS if getattr(options, name)), None)
    if stray is not None:
        raise TraceError(
            f"--{stray} takes one log, and {len(options.log)} are named. A path with spaces needs quotes."
        )
    flags = {"check": options.check, "baseline": options.baseline}
    command = comparison_command(_expanded(options.log), flags)
    comparison = compare(*command.logs, baseline=command.baseline, checks=command.checks)
    if options.json:
        return json.dumps(_records(comparison), indent=2)
    return comparison_text(ComparisonDisplay(comparison).opened(), ComparisonRows(comparison))


def _expanded(words: Sequence[str]) -> list[str]:
    return [path for word in words for path in expanded(word)]


def _records(comparison: Comparison) -> dict[str, Any]:
    runs = [
        {
            **{name: getattr(run, name) for name in _FIELDS},
            **asdict(run.counts),
            "duration": run.duration,
            "cost": run.cost,
            # the names before, which go with the next release
            "failed": run.failed_calls,
            "files": run.edited_files,
            "tokens_in": run.input_tokens,
            "tokens_out": run.output_tokens,
            "seconds": run.duration,
            "parts_at": None if parting is None else comparison.number(parting.run, parting.call),
        }
        for run, parting in zip(comparison.runs, comparison.partings, strict=True)
    ]
    return {
        "baseline": comparison.runs[comparison.baseline].name,
        "shared": comparison.shared,
        "runs": runs,
        "outcomes": comparison.outcomes().records(),
    }
