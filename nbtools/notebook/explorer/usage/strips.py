"""Overviews of a log as bars: over time, and over the tokens of its requests."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from nbtools.notebook.cards.phrases import counted, elapsed
from nbtools.notebook.explorer.timeline import Timeline
from nbtools.notebook.explorer.usage.model import StripBar, StripTick, TraceStrip
from nbtools.notebook.explorer.usage.requests import LineRequests, size_of, tokens_text
from nbtools.traces.model import RequestUsage, Session
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


@dataclass(slots=True)
class _Span:
    """Calls or turns that one bar stands for; ``source`` is the first of them."""

    start: float
    end: float
    first: int
    last: int
    failed: bool
    source: CallTime | TurnTime
    count: int = 1

    def add(self, end: float, first: int, last: int, failed: bool) -> None:
        self.count += 1
        self.failed |= failed
        if end > self.end:  # noqa: PLR1730 - runs for every call: max() takes three times as long
            self.end = end
        if first < self.first:  # noqa: PLR1730
            self.first = first
        if last > self.last:  # noqa: PLR1730
            self.last = last

    @property
    def label(self) -> str:
        length = elapsed(self.end - self.start)
        if self.count > 1:
            return f"{self.count:,} in {length}"
        return f"turn {self.source.turn}: {length}" if isinstance(self.source, TurnTime) else f"{self.source.call.name}: {length}"


class _Lane:
    """A row of bars: a span for each bar, which stands for all that begins in the same of ``MAX_BARS`` stretches of the axis."""

    def __init__(self) -> None:
        self.spans: dict[int, _Span] = {}

    def add(self, source: CallTime | TurnTime, place: int, start: float, end: float, first: int, last: int, *, failed: bool) -> None:
        if (span := self.spans.get(place)) is None:
            self.spans[place] = _Span(start, end, first, last, failed, source)
        else:
            span.add(end, first, last, failed)


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

    def stretch(self, time: float) -> int:
        """Returns in which of ``MAX_BARS`` stretches of the axis a time is."""
        return self.at(time) * MAX_BARS // AXIS

    def at(self, time: float) -> int:
        place = bisect_right(self.knots, time, 1, len(self.knots) - 1) - 1
        before, after = self.knots[place], self.knots[place + 1]
        share = 0.0 if time <= before else 1.0 if time >= after else (time - before) / (after - before)
        length = self.places[place] + share * (self.places[place + 1] - self.places[place])
        return round(AXIS * length / (self.places[-1] or 1.0))


def time_strip(trace: Trace, lines: Timeline) -> TraceStrip:
    """Returns a lane for the turns, lanes for calls that run at the same time, and lanes for sub-agents."""
    calls = [timed for timed in call_times(trace.calls) if id(timed.call) in lines.line_by_row]
    turns = [turn for turn in trace.turns if turn.started is not None and turn.ended is not None and turn.ended >= turn.started]
    timed: list[TurnTime | CallTime] = [*turns, *calls]
    starts = [one.started for one in timed if one.started is not None]
    ends = [one.ended for one in timed if one.ended is not None]
    if not starts or max(ends) <= min(starts):
        return TraceStrip(mode="time", note=_NO_TIMES)
    roots = {session.id for session in trace.sessions if not session.parent}
    axis = _Axis(min(starts), max(ends), _waits([turn for turn in turns if turn.session in roots]))
    lanes = [("turns", _turn_lane(turns, roots, lines, axis)), *_call_lanes(calls, roots, lines, axis)]
    lanes = [(name, lane) for name, lane in lanes if lane.spans]
    bars = [_bar(span, number, axis) for number, (_, lane) in enumerate(lanes) for span in lane.spans.values()]
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


def _turn_lane(turns: Sequence[TurnTime], roots: set[str], lines: Timeline, axis: _Axis) -> _Lane:
    first_lines: dict[tuple[str, int], int] = {}
    last_lines: dict[tuple[str, int], int] = {}
    key, last = ("", -1), -1
    for line, row in enumerate(lines.rows):
        if isinstance(row, Session):
            continue
        if row.turn != key[1] or row.session != key[0]:  # mostly it is the turn of the line before
            last_lines[key] = last
            key = (row.session, row.turn)
            first_lines.setdefault(key, line)
        last = line
    last_lines[key] = last
    lane = _Lane()
    for turn in turns:
        key = (turn.session, turn.turn)
        if turn.started is not None and turn.ended is not None and turn.session in roots and key in first_lines:
            lane.add(turn, axis.stretch(turn.started), turn.started, turn.ended, first_lines[key], last_lines[key], failed=False)
    return lane


def _call_lanes(calls: Sequence[CallTime], roots: set[str], lines: Timeline, axis: _Axis) -> Iterator[tuple[str, _Lane]]:
    lanes: dict[tuple[int, str], _Lane] = defaultdict(_Lane)
    agents: dict[str, int] = {}
    places, tones, next_stretch, stretch = lines.line_by_row, lines.tones, 0, 0
    for number, timed in enumerate(calls):
        call, started, ended, free = timed
        if number == next_stretch:  # the calls are sorted by their start
            stretch = axis.stretch(started)
            next_stretch = bisect_right(calls, stretch, number, key=lambda one: axis.stretch(one.started))
        line = places[id(call)]
        if call.session in roots:
            key = (min(free, _CALL_LANES - 1), "calls")
        else:
            key = (agents.setdefault(call.session, len(agents)) % _AGENT_LANES + _CALL_LANES, "sub-agents")
        lanes[key].add(timed, stretch, started, ended, line, line, failed=tones[line] == "failed")
    for (_, name), lane in sorted(lanes.items(), key=lambda entry: entry[0]):
        yield name, lane


def _bar(span: _Span, lane: int, axis: _Axis) -> StripBar:
    return StripBar(
        first=span.first,
        last=span.last,
        start=axis.at(span.start),
        end=axis.at(span.end),
        lane=lane,
        tone="failed" if span.failed else "agent" if lane == 0 else "done",
        label=span.label,
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
