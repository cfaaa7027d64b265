"""Counts of a log, by rules that people can check by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from nbtools.traces.reader import Format

if TYPE_CHECKING:
    from nbtools.traces.trace_rows import TraceRows


_RECOVERED = ("records", "tool_calls", "answered", "tool_errors", "file_edits")


def facts_of(trace: TraceRows, strict: TraceRows) -> dict[str, Any]:
    """Returns the counts, times and totals of a trace as a dictionary for programs.

    The keys are those of ``trace.counts``, which mean the same everywhere, and ``format bytes records
    malformed tool_calls by_name answered tool_errors first_ts last_ts file_edits edited_paths tokens
    sessions`` and what only this format has, by the rules of the format. ``tokens`` are the sum over the
    sessions, unless the log counts its own. ``metrics`` are those of an evaluation.

    The rules of the format do not count malformed lines (``strict`` was read without them);
    where there are any, ``recovered`` has the counts with the records found in them.
    """
    (reading,) = trace.readings
    facts = {"bytes": reading.source.path.stat().st_size, **_counts(reading.format, strict)}
    facts |= {**asdict(trace.counts), "duration": trace.counts.duration}
    if trace.metrics:
        facts["metrics"] = [asdict(metric) for metric in trace.metrics]
    if trace.problems:
        recovered = _counts(reading.format, trace)
        facts["recovered"] = {key: recovered[key] for key in _RECOVERED}
    return facts


def _counts(reader: Format, trace: TraceRows) -> dict[str, Any]:
    calls = [call for call in trace.calls if call.level == "model" and call.counted]
    left_out = {
        (call.session, call.id)
        for call in trace.calls
        if not call.counted or (call.by_sub_agent and call.level != "model")
    }
    applied = [change for change in trace.file_changes if change.applied]
    applied = [change for change in applied if (change.session, change.call) not in left_out]
    # A reader need not inherit from ``Format``.
    errors = getattr(reader, "error_statuses", Format.error_statuses)
    starts = [session.started for session in trace.sessions if session.started is not None]
    ends = [session.ended for session in trace.sessions if session.ended is not None]
    return {
        "format": reader.name,
        "records": sum(session.records for session in trace.sessions),
        "malformed": len(trace.problems),
        "tool_calls": len(calls),
        "by_name": dict(sorted(Counter(call.name for call in calls).items())),
        "answered": sum(call.answered for call in calls),
        "tool_errors": sum(call.status in errors for call in calls) if reader.tells_errors else None,
        "first_ts": _iso(min(starts, default=None)),
        "last_ts": _iso(max(ends, default=None)),
        "file_edits": len(applied),
        "edited_paths": sorted({change.path for change in applied if change.path}),
        "tokens": _merge(session.native_tokens for session in trace.sessions),
        "sessions": len(trace.sessions),
        **_merge(session.counts for session in trace.sessions),
    }


def _iso(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _merge(dicts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Adds numbers, merges dictionaries, joins and sorts lists; of other values the first counts."""
    total: dict[str, Any] = {}
    for one in dicts:
        for key, value in one.items():
            before = total.get(key)
            if isinstance(value, int | float) and isinstance(before, int | float):
                total[key] = before + value
            elif isinstance(value, dict) and isinstance(before, dict):
                total[key] = _merge((before, value))
            elif isinstance(value, list) and isinstance(before, list):
                total[key] = sorted({*before, *value})
            else:
                total.setdefault(key, value)
    return total
