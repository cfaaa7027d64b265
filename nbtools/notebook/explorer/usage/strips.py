"""Overviews of a log as bars: over time, and over the tokens of its requests."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from nbtools.notebook.cards.phrases import counted, elapsed
from nbtools.notebook.explorer.timeline import Timeline
from nbtools.notebook.explorer.usage.model import StripBar, StripTick, TraceStrip
from nbtools.notebook.explorer.usage.requests import LineRequests, size_of, tokens_text
from nbtools.traces.model import Call, Event, RequestUsage
from nbtools.traces.trace import Trace
from nbtools.traces.usage.requests import input_of
from nbtools.traces.usage.timing import CallTime, TurnTime, call_times

AXIS = 10_000
"""Length of the axis."""
MAX_BARS = 240
"""Largest number of bars of a lane."""
_CALL_LANES = 3
_AGENT_LANES = 4
_LONG_WAIT = 0.1
"""A wait longer than this share of the working time is shortened to it."""
_TICKS = 5
_NO_TOKENS = "This log does not record the tokens of its requests."
_NO_TIMES = "This log does not record when its calls began and ended."


def tokens_strip(lines: Timeline, requests: LineRequests) -> TraceStrip:
    """Returns bars at the lines of the list: each shows the largest request that begins in its lines."""
    by_line, count = requests.by_line, min(MAX_BARS, len(lines))
    if not by_line:
        return TraceStrip(mode="tokens", note=_NO_TOKENS)
    cuts = [number * len(lines) // count for number in range(count + 1)]
    found: dict[int, list[RequestUsage]] = {}
    for line, request in by_line.items():
        found.setdefault(bisect_right(cuts, line) - 1, []).append(request)
    most = max(map(size_of, by_line.values())) or 1
    bars = (_token_bar(cuts[place], cuts[place + 1], len(lines), found[place], most) for place in sorted(found))
    return TraceStrip(mode="tokens", names=("requests",), bars=tuple(bars), note=_left_out(len(by_line), lines, requests))


def _left_out(count: int, lines: Timeline, requests: LineRequests) -> str:
    missing = requests.count - count
    return f"{counted(missing, 'request')} without a step in the log" if missing and len(lines) else ""


def _token_bar(first: int, end: int, total: int, requests: Sequence[RequestUsage], most: int) -> StripBar:
    largest = max(requests, key=size_of)
    tokens = largest.tokens
    cached, size, output = tokens.cache_read or 0, input_of(tokens) or 0, tokens.output or 0
    flags = {flag for request in requests for flag in request.flags}
    mark: Any = "compaction" if "after_compaction" in flags else "cache" if "cache_break" in flags else ""
    notes = (
        tokens_text(largest),
        f"the largest of {len(requests):,} requests" if len(requests) > 1 else "",
        {"compaction": "after a compaction", "cache": "less was cached than before"}.get(mark, ""),
    )
    return StripBar(
        first=first,
        last=end - 1,
        start=first * AXIS // total,
        end=end * AXIS // total,
        parts=tuple(max(round(1000 * part / most), 0) for part in (size - cached, cached, output)),
        mark=mark,
        label=", ".join(filter(None, notes)),
    )


@dataclass
class _Span:
    """Calls or turns that one bar stands for."""

    start: float
    end: float
    first: int
    last: int
    failed: bool
    text: str
    count: int = 1

    def add(self, other: _Span) -> None:
        self.end, self.count = max(self.end, other.end), self.count + 1
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.failed |= other.failed


class _Axis:
    """Maps times to the axis.  Long waits for the person are shortened."""

    def __init__(self, start: float, end: float, waits: Sequence[tuple[float, float]]) -> None:
        work = (end - start) - sum(stop - begin for begin, stop in waits)
        limit = max(work * _LONG_WAIT, 1.0)
        self.knots, self.places = [start], [0.0]
        for begin, stop in waits:
            place = self.places[-1] + begin - self.knots[-1]
            self.knots += [begin, stop]
            self.places += [place, place + min(stop - begin, limit)]
        self.knots.append(end)
        self.places.append(self.places[-1] + end - self.knots[-2])
        self.shortened = [(begin, stop) for begin, stop in waits if stop - begin > limit]

    def at(self, time: float) -> int:
        place = min(max(bisect_right(self.knots, time) - 1, 0), len(self.knots) - 2)
        before, after = self.knots[place], self.knots[place + 1]
        share = (min(max(time, before), after) - before) / (after - before) if after > before else 0.0
        length = self.places[place] + share * (self.places[place + 1] - self.places[place])
        return round(AXIS * length / (self.places[-1] or 1.0))


def time_strip(trace: Trace, lines: Timeline) -> TraceStrip:
    """Returns a lane for the turns, lanes for calls that run at the same time, and lanes for sub-agents."""
    calls = [timed for timed in call_times(trace.calls) if id(timed.call) in lines.line_by_row]
    turns = [turn for turn in trace.turns if turn.started is not None and turn.ended is not None and turn.ended >= turn.started]
    times = [time for turn in turns for time in (turn.started, turn.ended)] + [
        time for call in calls for time in (call.started, call.ended)
    ]
    known = [time for time in times if time is not None]
    if not known or max(known) <= min(known):
        return TraceStrip(mode="time", note=_NO_TIMES)
    roots = {session.id for session in trace.sessions if not session.parent}
    axis = _Axis(min(known), max(known), _waits([turn for turn in turns if turn.session in roots]))
    lanes = [("turns", _turn_spans(turns, roots, lines)), *_call_lanes(calls, roots, lines)]
    lanes = [(name, spans) for name, spans in lanes if spans]
    bars = [bar for lane, (_, spans) in enumerate(lanes) for bar in _bars(spans, lane, axis)]
    bars += [
        StripBar(
            first=0,
            last=0,
            start=axis.at(begin),
            end=axis.at(stop),
            mark="waiting",
            label=f"waiting for the person: {elapsed(stop - begin)}",
        )
        for begin, stop in axis.shortened
    ]
    note = f"{counted(len(axis.shortened), 'long wait')} shortened" if axis.shortened else ""
    return TraceStrip(
        mode="time", lanes=len(lanes), names=tuple(name for name, _ in lanes), bars=tuple(bars), ticks=tuple(_ticks(axis)), note=note
    )


def _waits(turns: Sequence[TurnTime]) -> list[tuple[float, float]]:
    """Returns the times in which no turn of the person's sessions ran."""
    waits: list[tuple[float, float]] = []
    reached = float("-inf")
    for begin, stop in sorted((turn.started or 0.0, turn.ended or 0.0) for turn in turns):
        if begin > reached > float("-inf"):
            waits.append((reached, begin))
        reached = max(reached, stop)
    return waits


def _turn_spans(turns: Sequence[TurnTime], roots: set[str], lines: Timeline) -> list[_Span]:
    first_lines: dict[tuple[str, int], int] = {}
    last_lines: dict[tuple[str, int], int] = {}
    for line, row in enumerate(lines.rows):
        if type(row) is Call or type(row) is Event:
            key = (row.session, row.turn)
            first_lines.setdefault(key, line)
            last_lines[key] = line
    return [
        _Span(turn.started, turn.ended, first_lines[key], last_lines[key], False, f"turn {turn.turn}: {elapsed(turn.ended - turn.started)}")
        for turn in turns
        if turn.started is not None
        and turn.ended is not None
        and turn.session in roots
        and (key := (turn.session, turn.turn)) in first_lines
    ]


def _call_lanes(calls: Sequence[CallTime], roots: set[str], lines: Timeline) -> Iterator[tuple[str, list[_Span]]]:
    lanes: dict[tuple[int, str], list[_Span]] = {}
    agents: dict[str, int] = {}
    for timed in calls:
        call, line = timed.call, lines.line_by_row[id(timed.call)]
        if call.session in roots:
            key = (min(timed.lane, _CALL_LANES - 1), "calls")
        else:
            key = (agents.setdefault(call.session, len(agents)) % _AGENT_LANES + _CALL_LANES, "sub-agents")
        text = f"{call.name}: {elapsed(timed.ended - timed.started)}"
        span = _Span(timed.started, timed.ended, line, line, lines.tones[line] == "failed", text)
        lanes.setdefault(key, []).append(span)
    for (_, name), spans in sorted(lanes.items()):
        yield name, spans


def _bars(spans: Sequence[_Span], lane: int, axis: _Axis) -> Iterator[StripBar]:
    """Yields a bar for each span, or for all that begin in the same of ``MAX_BARS`` stretches of the axis."""
    merged: dict[int, _Span] = {}
    for span in spans:
        place = axis.at(span.start) * MAX_BARS // AXIS
        if place in merged:
            merged[place].add(span)
        else:
            merged[place] = span
    for span in merged.values():
        label = span.text if span.count == 1 else f"{span.count:,} in {elapsed(span.end - span.start)}"
        yield StripBar(
            first=span.first,
            last=span.last,
            start=axis.at(span.start),
            end=axis.at(span.end),
            lane=lane,
            tone="failed" if span.failed else "agent" if lane == 0 else "done",
            label=label,
        )


def _ticks(axis: _Axis) -> Iterator[StripTick]:
    """Yields times at even places of the axis, with the date where it changes."""
    day = ""
    for number in range(_TICKS):
        place = (axis.places[-1] or 1.0) * number / _TICKS
        time = _time_at(axis, place)
        moment = datetime.fromtimestamp(time, UTC)
        date = f"{moment:%Y-%m-%d} "
        yield StripTick(at=round(AXIS * number / _TICKS), label=f"{'' if date == day else date}{moment:%H:%M:%S}")
        day = date


def _time_at(axis: _Axis, place: float) -> float:
    for (before, after), (low, high) in zip(pairwise(axis.knots), pairwise(axis.places), strict=True):
        if place <= high:
            return before + (after - before) * ((place - low) / (high - low) if high > low else 0.0)
    return axis.knots[-1]
