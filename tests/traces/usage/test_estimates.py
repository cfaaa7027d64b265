"""Estimates of the tokens of single parts keep within what the log counts."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.usage.estimates import ANSWERS, Addition, Growth, estimates
from nbtools.traces.usage.requests import input_of
from tests.traces.recorded import LOGS, SAMPLES


def test_the_growth_is_divided_by_characters() -> None:
    parts = [Addition("file", 3000, 1, None), Addition("command", 1000, 1, None)]
    assert estimates(parts, [Growth(5000), Growth(1010, 10), Growth(None)]) == [750, 250]


def test_the_answer_takes_its_own_tokens_first() -> None:
    parts = [
        Addition("text", 100, 1, None),
        Addition("arguments", 300, 1, None),
        Addition("file", 800, 1, None),
    ]
    assert estimates(parts, [Growth(5000), Growth(300, 100)]) == [25, 75, 200]


def test_an_image_takes_what_texts_do_not_usually_take() -> None:
    parts = [
        Addition("file", 4000, 1, None),
        Addition("result", 1000, 2, None),
        Addition("attachment", None, 2, None),
    ]
    assert estimates(parts, [Growth(5000), Growth(1000, 0), Growth(1900, 0)]) == [1000, 250, None]
    assert estimates(parts[1:], [Growth(5000), Growth(1000, 0), Growth(1900, 0)]) == [None, None]


def test_texts_that_are_not_logged_get_what_the_first_request_leaves() -> None:
    parts = [
        Addition("unlogged", None, 0, 5000),
        Addition("person", 400, 0, None),
        Addition("file", 4000, 1, None),
    ]
    assert estimates(parts, [Growth(5000), Growth(1000, 0)]) == [4900, 100, 1000]


def test_unknown_growth_has_no_estimate() -> None:
    assert estimates([Addition("file", 100, 1, None)], [Growth(10), Growth(None)]) == [None]
    parts = [Addition("file", 4000, 1, None), Addition("file", 80, 2, 15), Addition("file", 80, 3, None)]
    growths = [Growth(5000), Growth(1000, 0), Growth(None, 0), Growth(None)]
    assert estimates(parts, growths) == [1000, 15, None]
    assert estimates([Addition("file", 100, 7, None)], [Growth(10)]) == [None]
    assert estimates([], []) == []


COUNTS = st.none() | st.integers(0, 10_000)


@given(
    st.lists(
        st.builds(
            Addition,
            st.sampled_from(["text", "thinking", "arguments", "file", "person", "attachment", "unlogged"]),
            COUNTS,
            st.integers(0, 4),
            COUNTS,
        ),
        max_size=12,
    ),
    st.lists(st.builds(Growth, COUNTS, COUNTS, COUNTS), max_size=5),
)
def test_estimates_are_within_bounds_and_growth(additions: list[Addition], growths: list[Growth]) -> None:
    found = estimates(additions, growths)
    sums: dict[tuple[int, bool], int] = defaultdict(int)
    for one, estimate in zip(additions, found, strict=True):
        if estimate is not None:
            assert estimate >= 0
            assert one.high is None or estimate <= one.high or one.part in {*ANSWERS, "unlogged"}
            sums[one.start, one.part in ANSWERS] += estimate
    for (start, is_answer), total in sums.items():
        growth = growths[start]
        if not is_answer:
            assert growth.tokens is None or total <= growth.tokens


@pytest.mark.parametrize("log", LOGS)
def test_estimates_of_samples_are_within_bounds_and_growth(log: str) -> None:
    trace = traces.load(SAMPLES / log)
    largest = max((input_of(row.tokens) or 0 for row in trace.usage), default=0)
    for part in trace.context:
        if part.tokens_estimate is not None and part.tokens_min is not None and part.tokens_max is not None:
            assert (
                part.tokens_min <= part.tokens_estimate <= part.tokens_max <= largest or part.part in ANSWERS
            )
