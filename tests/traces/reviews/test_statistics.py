"""Intervals and agreement against published numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.traces.reviews.statistics import cohens_kappa, wilson_interval


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe (1998), table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0000),
    ],
)
def test_wilson(count: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(count, total) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_wilson_without_items() -> None:
    assert wilson_interval(0, 0) is None
    with pytest.raises(ValueError, match="not a rate"):
        wilson_interval(3, 2)


@given(
    st.integers(1, 1_000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))),
    st.floats(0.5, 0.999),
)
def test_an_interval_contains_its_rate(counts: tuple[int, int], confidence: float) -> None:
    count, total = counts
    interval = wilson_interval(count, total, confidence)
    assert interval is not None
    assert 0 <= interval[0] <= count / total <= interval[1] <= 1


def table(*rows: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(a, b) for a, row in enumerate(rows) for b, count in enumerate(row) for _ in range(count)]


def test_kappa() -> None:
    assert cohens_kappa(table((88, 14, 18), (10, 40, 10), (2, 6, 12))) == pytest.approx(
        0.492, abs=5e-4
    )  # Cohen (1960), table 1
    assert cohens_kappa(table((20, 5), (10, 15))) == pytest.approx(0.4)
    assert cohens_kappa(table((45, 15), (25, 15))) == pytest.approx(0.1304, abs=5e-5)
    assert cohens_kappa([]) is None
    assert cohens_kappa([("pass", "pass")] * 3) is None
    assert cohens_kappa([("pass", "pass"), ("fail", "fail")]) == 1


@given(st.lists(st.tuples(st.sampled_from("pfd"), st.sampled_from("pfd")), min_size=1, max_size=40))
def test_kappa_is_symmetric(pairs: list[tuple[str, str]]) -> None:
    forward, back = cohens_kappa(pairs), cohens_kappa([(b, a) for a, b in pairs])
    assert forward == (None if back is None else pytest.approx(back))
    assert forward is None or -1 <= forward <= 1
