"""Divides the time of sessions into calls, the model, and waiting for the person."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import cast

from nbtools.traces.model import Call, Event

_WORK = {"assistant_text", "thinking", "error", "compaction"}
"""Kinds of messages that belong to an answer."""


@dataclass(frozen=True, slots=True)
class TurnTime:
    """The time of a turn, in seconds. ``started`` is the time of the person's message,
    ``ended`` of the last step of the answer.

    ``tools`` is the time in which at least one call ran; ``model`` the rest of the answer, in which the model
    wrote and the agent did what it does between. ``held`` is the time that calls were not executed between
    request and result (waiting for approval, or in a queue), summed over those whose times and durations are
    both recorded. ``waiting`` is the time until the person's next message, 0 where it came earlier. None: not
    recorded.
    """

    session: str
    turn: int
    started: float | None
    ended: float | None
    tools: float | None
    model: float | None
    held: float | None
    waiting: float | None


def turn_times(events: Iterable[Event], calls: Iterable[Call]) -> list[TurnTime]:
    """Returns the turns of all sessions, in their order. Steps on rewound branches do not count."""
    turns: dict[str, dict[int, _Turn]] = defaultdict(lambda: defaultdict(_Turn))
    for event in events:
        if event.live and event.at is not None:
            turn = turns[event.session][event.turn]
            if event.kind == "user":
                turn.started = event.at if turn.started is None else min(turn.started, event.at)
            elif event.kind in _WORK:
                turn.see(event.at)
    session, number, turn = "", -1, _Turn()
    for call in calls:
        if call.live and call.level == "model":
            if call.turn != number or call.session != session:  # mostly it is the turn of the call before
                session, number = call.session, call.turn
                turn = turns[session][number]
            turn.add(call)
    return [time for session, found in turns.items() for time in _times(session, found)]


class _Turn:
    def __init__(self) -> None:
        self.started: float | None = None
        self.ended: float | None = None
        self.timed: list[Call] = []
        self.held: float | None = None
        self.all_timed = True

    def see(self, at: float) -> None:
        if self.ended is None or at > self.ended:
            self.ended = at

    def add(self, call: Call) -> None:
        start, end = call.at, call.ended
        if start is None or (end is None and call.answered):
            self.all_timed = False
        if start is None:
            return
        if end is None or end < start:
            self.see(start)
            return
        self.see(end)
        self.timed.append(call)
        if call.duration is not None:
            self.held = (self.held or 0.0) + max(end - start - call.duration, 0.0)


def _times(session: str, turns: dict[int, _Turn]) -> Iterator[TurnTime]:
    timed = (number for number, turn in turns.items() if (turn.ended, turn.started) != (None, None))
    numbers = sorted(timed)
    for place, number in enumerate(numbers):
        turn = turns[number]
        following = turns[numbers[place + 1]].started if place + 1 < len(numbers) else None
        known = turn.started is not None and turn.ended is not None and turn.ended >= turn.started
        tools = _covered(turn.timed) if turn.all_timed and (turn.timed or known) else None
        model = max(turn.ended - turn.started - tools, 0.0) if known and tools is not None else None  # type: ignore[operator]
        waiting = None
        if following is not None and turn.ended is not None:
            waiting = max(following - turn.ended, 0.0)
        yield TurnTime(session, number, turn.started, turn.ended, tools, model, turn.held, waiting)


def _covered(calls: Iterable[Call]) -> float:
    """Returns the time in which at least one of the calls ran; all have a start and an end."""
    total, reached = 0.0, float("-inf")
    for call in sorted(calls, key=attrgetter("at")):
        start, end = cast("float", call.at), cast("float", call.ended)
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total


def call_times(calls: Iterable[Call], lanes: int) -> Iterator[tuple[Call, float, float, int]]:
    """Yields the calls with a known start and end, by start, each with both and a lane:
    the lowest one that is free then, else the last.
    """
    timed = [
        call for call in calls if call.at is not None and call.ended is not None and call.ended >= call.at
    ]
    reached = [float("-inf")] * lanes
    for call in sorted(timed, key=attrgetter("at")):
        start, end = cast("float", call.at), cast("float", call.ended)
        lane = 0
        while lane < lanes - 1 and reached[lane] > start:
            lane += 1
        reached[lane] = end
        yield call, start, end, lane


def slowest(calls: Iterable[Call], count: int = 10) -> list[Call]:
    """Returns the calls that took longest, as ``seconds_of`` says."""
    timed = [(length, call) for call in calls if (length := seconds_of(call)) is not None]
    return [call for _, call in heapq.nlargest(count, timed, key=lambda one: one[0])]


def seconds_of(call: Call) -> float | None:
    """Returns how long a call took: its recorded duration, else the time from the call to its result."""
    if call.duration is not None:
        return call.duration
    if call.ended is None or call.at is None or call.ended < call.at:
        return None
    return call.ended - call.at
