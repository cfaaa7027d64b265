"""Overviews of a log as bars: over time, and over the tokens of its requests."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from nbtools.cards.phrases import elapsed
from nbtools.core.message import counted
from nbtools.traces.explorer.explorer_view import Tone
from nbtools.traces.explorer.nesting import LineRow
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.line_requests import LineRequests, size_of, tokens_text
from nbtools.traces.explorer.usage.usage_messages import StripBar, StripTick, TraceStrip
from nbtools.traces.model import Call, Event, RequestUsage, Session
from nbtools.traces.trace import Trace
from nbtools.traces.usage.requests import input_of
from nbtools.traces.usage.timing import call_times

AXIS = 10_000
"""Length of the axis."""
MAX_BARS = 240
"""Largest number of bars of a lane."""
_CALL_LANES = 3
_AGENT_LANES = 4
_LONG_WAIT = 0.1
"""A wait longer than this share of the working time is shortened to it."""
_TICKS = 5
_TURNS = "turns"
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
    bars = (
        _token_bar(cuts[place], cuts[place + 1], len(lines), found[place], most) for place in sorted(found)
    )
    missing = requests.count - len(by_line)
    note = f"{counted(missing, 'request')} without a step in the log" if missing else ""
    return TraceStrip(mode="tokens", names=("requests",), bars=tuple(bars), note=note)


def _token_bar(first: int, end: int, total: int, requests: Sequence[RequestUsage], most: int) -> StripBar:
    largest = max(requests, key=size_of)
    tokens = largest.tokens
    cached, size, output = tokens.cache_read or 0, input_of(tokens) or 0, tokens.output or 0
    flags = {flag for request in requests for flag in request.flags}
    mark: Any = "cache" if "cache_break" in flags else ""
    mark = "compaction" if "after_compaction" in flags else mark
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
class _Lane:
    """A row of spans of time, by start, each with the first and the last line that it stands for."""

    name: str
    # Lists of numbers, because collecting garbage takes longer than the work if there is an object for each
    # of 100,000 calls.
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)

    def add(self, start: float, end: float, first: int, last: int) -> None:
        self.starts.append(start)
        self.ends.append(end)
        self.firsts.append(first)
        self.lasts.append(last)


class _Axis:
    """Maps times to the axis.  Long waits for the person are shortened."""

    def __init__(self, start: float, end: float, waits: Sequence[tuple[float, float]]) -> None:
        work = (end - start) - sum(stop - begin for begin, stop in waits)
        limit = max(work * _LONG_WAIT, 1.0)
        self.times, self.places = [start], [0.0]
        for begin, stop in waits:
            place = self.places[-1] + begin - self.times[-1]
            self.times += [begin, stop]
            self.places += [place, place + min(stop - begin, limit)]
        self.places.append(self.places[-1] + end - self.times[-1])
        self.times.append(end)
        self.shortened = [(begin, stop) for begin, stop in waits if stop - begin > limit]

    def at(self, time: float) -> int:
        return round(AXIS * _between(time, self.times, self.places) / (self.places[-1] or 1.0))

    def time(self, share: float) -> float:
        """Returns the time at a share of the axis."""
        return _between(share * self.places[-1], self.places, self.times)


def _between(value: float, known: Sequence[float], mapped: Sequence[float]) -> float:
    """Maps a value along the line through points; one outside is mapped as the nearest point."""
    after = bisect_left(known, value, 1, len(known) - 1)
    low, high = known[after - 1], known[after]
    share = min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.0
    return mapped[after - 1] + share * (mapped[after] - mapped[after - 1])


def time_strip(trace: Trace, lines: Timeline) -> TraceStrip:
    """Returns a lane for the turns, lanes for calls that run at the same time, and lanes for sub-agents."""
    roots = {session.id for session in trace.sessions if not session.parent}
    turns = _turn_lane(trace, roots, lines)
    lanes = [lane for lane in (turns, *_call_lanes(trace, roots, lines)) if lane.starts]
    start = min((lane.starts[0] for lane in lanes), default=0.0)
    end = max((max(lane.ends) for lane in lanes), default=0.0)
    if end <= start:
        return TraceStrip(mode="time", note=_NO_TIMES)
    axis = _Axis(start, end, _waits(turns))
    bars = [bar for number, lane in enumerate(lanes) for bar in _bars(lane, number, axis, lines)]
    for begin, stop in axis.shortened:
        at, label = (axis.at(begin), axis.at(stop)), f"waiting for the person: {elapsed(stop - begin)}"
        bars.append(StripBar(first=0, last=0, start=at[0], end=at[1], mark="waiting", label=label))
    note = f"{counted(len(axis.shortened), 'long wait')} shortened" if axis.shortened else ""
    names = tuple(lane.name for lane in lanes)
    return TraceStrip(
        mode="time", lanes=len(lanes), names=names, bars=tuple(bars), ticks=tuple(_ticks(axis)), note=note
    )


def _turn_lane(trace: Trace, roots: set[str], lines: Timeline) -> _Lane:
    """Returns the turns of the person's sessions."""
    firsts: dict[tuple[str, int], int] = {}
    lasts: dict[tuple[str, int], int] = {}
    for line, row in enumerate(lines.rows):
        if not isinstance(row, Session):
            key = (row.session, row.turn)
            firsts.setdefault(key, line)
            lasts[key] = line
    timed = (
        (turn.started, turn.ended, firsts[key], lasts[key])
        for turn in trace.turns
        if turn.started is not None and turn.ended is not None and turn.ended >= turn.started
        if turn.session in roots and (key := (turn.session, turn.turn)) in firsts
    )
    lane = _Lane(_TURNS)
    for span in sorted(timed):
        lane.add(*span)
    return lane


def _call_lanes(trace: Trace, roots: set[str], lines: Timeline) -> list[_Lane]:
    """Returns lanes for the person's calls, of which the last takes all that do not fit, and sub-agents."""
    own = [_Lane("calls") for _ in range(_CALL_LANES)]
    agents = [_Lane("sub-agents") for _ in range(_AGENT_LANES)]
    places = lines.line_by_row
    calls = (call for call in trace.calls if call.session in roots)
    for call, started, ended, lane in call_times(calls, _CALL_LANES):
        if (line := places.get(id(call))) is not None:
            own[lane].add(started, ended, line, line)
    numbers: dict[str, int] = {}
    calls = (call for call in trace.calls if call.session not in roots)
    for call, started, ended, _ in call_times(calls, 1):
        if (line := places.get(id(call))) is not None:
            number = numbers.setdefault(call.session, len(numbers))
            agents[number % _AGENT_LANES].add(started, ended, line, line)
    return own + agents


def _waits(turns: _Lane) -> list[tuple[float, float]]:
    """Returns the times in which no turn ran."""
    return [
        (reached, begin)
        for reached, begin in zip(accumulate(turns.ends, max), turns.starts[1:], strict=False)
        if begin > reached
    ]


def _bars(lane: _Lane, number: int, axis: _Axis, lines: Timeline) -> Iterator[StripBar]:
    """Yields a bar for all spans that begin in the same of ``MAX_BARS`` stretches of the axis."""
    cuts = [axis.time(cut / MAX_BARS) for cut in range(1, MAX_BARS)]
    begin = 0
    for cut in (*cuts, float("inf")):
        end = bisect_left(lane.starts, cut, begin)
        if begin < end:
            firsts, start, stop = lane.firsts[begin:end], lane.starts[begin], max(lane.ends[begin:end])
            is_turn = lane.name == _TURNS
            tone: Tone = "agent" if is_turn else "done"
            failed = 0 if is_turn else [*map(lines.tones.__getitem__, firsts)].count("failed")
            label = _label(lines.rows[firsts[0]], end - begin, elapsed(stop - start), is_turn=is_turn)
            yield StripBar(
                first=min(firsts),
                last=max(lane.lasts[begin:end]),
                start=axis.at(start),
                end=axis.at(stop),
                lane=number,
                tone=tone,
                failed=max(1000 * failed // (end - begin), 1) if failed else 0,
                label=label + (f", {failed:,} failed" if failed else ""),
            )
        begin = end


def _label(row: LineRow, count: int, length: str, *, is_turn: bool) -> str:
    if count > 1:
        return f"{count:,} in {length}"
    match row:
        case Call() if not is_turn:
            return f"{row.name}: {length}"
        case Call() | Event():
            return f"turn {row.turn}: {length}"
    return length


def _ticks(axis: _Axis) -> Iterator[StripTick]:
    """Yields times at even places of the axis, with the date where it changes."""
    day = ""
    for number in range(_TICKS):
        moment = datetime.fromtimestamp(axis.time(number / _TICKS), UTC)
        date = f"{moment:%Y-%m-%d} "
        yield StripTick(
            at=round(AXIS * number / _TICKS), label=f"{'' if date == day else date}{moment:%H:%M:%S}"
        )
        day = date
