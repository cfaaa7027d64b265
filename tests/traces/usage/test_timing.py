"""The distribution of the time of a session."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.model import NOWHERE, Call, Event
from nbtools.traces.usage.timing import call_times, turn_times
from tests.traces.recorded import SAMPLES


def call(seq: int, start: float | None, end: float | None, **more: object) -> Call:
    return Call("s", str(seq), seq, "Bash", "shell", None, at=start, ended=end, answered=True, turn=1, **more)  # type: ignore[arg-type]


def message(seq: int, kind: str, at: float | None, turn: int = 1) -> Event:
    return Event("s", seq, kind, at=at, turn=turn, ref=NOWHERE)  # type: ignore[arg-type]


def test_waiting_for_the_person_is_apart_from_work() -> None:
    events = [
        message(0, "user", 10.0),
        message(3, "assistant_text", 30.0),
        message(4, "user", 90.0, 2),
        message(5, "assistant_text", 95.0, 2),
    ]
    first, second = turn_times(events, [call(1, 12.0, 20.0, duration=6.0), call(2, 15.0, 22.0)])
    assert (first.tools, first.model, first.waiting, first.held) == (10.0, 10.0, 60.0, 2.0)
    assert (second.tools, second.model, second.waiting, second.held) == (0.0, 5.0, None, None)


def test_a_message_that_came_while_the_agent_worked_was_not_waited_for() -> None:
    events = [message(0, "user", 10.0), message(1, "assistant_text", 30.0), message(2, "user", 20.0, 2)]
    assert [turn.waiting for turn in turn_times(events, [])] == [0.0, None]


def test_times_that_are_not_recorded_are_none() -> None:
    (turn,) = turn_times(
        [message(0, "user", 10.0), message(2, "assistant_text", 12.0)], [call(1, None, None)]
    )
    assert (turn.started, turn.ended, turn.tools, turn.model, turn.waiting) == (10.0, 12.0, None, None, None)
    assert turn_times([message(0, "user", None)], []) == []
    gemini = traces.load(SAMPLES / "gemini-cli/session-2025-12-24T21-37-2ccb51c5.json")
    assert all(
        turn.tools is None for turn in gemini.turns if any(call.turn == turn.turn for call in gemini.calls)
    )


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 50)), max_size=30))
def test_calls_of_a_lane_do_not_overlap_but_in_the_last_one(spans: list[tuple[float, float]]) -> None:
    timed = list(
        call_times([call(number, start, start + length) for number, (start, length) in enumerate(spans)], 3)
    )
    assert sorted((start, end) for _, start, end, _ in timed) == sorted(
        (start, start + length) for start, length in spans
    )
    reached = [0.0, 0.0, 0.0]
    for _, started, ended, lane in timed:
        assert all(end > started for end in reached[:lane])  # a lower one was not free
        assert lane == 2 or started >= reached[lane]
        reached[lane] = ended


def test_the_slowest_calls_come_first() -> None:
    trace = traces.load(SAMPLES / "pi/made--tree.jsonl")
    assert [call.name for call in trace.slowest(2)] == ["bash", "read"]
