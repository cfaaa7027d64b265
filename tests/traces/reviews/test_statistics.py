"""Intervals and agreement against published numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.traces.reviews.statistics import cohens_kappa, kappa_interval, wilson_interval


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


def test_the_interval_of_kappa() -> None:
    fleiss = table(
        (75, 1, 4), (5, 4, 1), (0, 0, 10)
    )  # Fleiss, Levin, Paik (2003), table 18.1: 0.68, SE 0.087
    assert cohens_kappa(fleiss) == pytest.approx(0.676, abs=5e-4)
    low, high = kappa_interval(fleiss) or (0, 0)
    assert (high - low) / 2 / 1.959964 == pytest.approx(0.0877, abs=5e-5)
    assert kappa_interval([]) is None
    assert kappa_interval([("pass", "pass")] * 3) is None
    assert kappa_interval([("pass", "pass"), ("fail", "fail")]) is None
    assert kappa_interval([("pass", "pass"), ("fail", "pass")] * 20) is None, "κ is 0 for any number of items"


@given(
    st.lists(st.tuples(st.sampled_from("pfd"), st.sampled_from("pfd")), min_size=2, max_size=40).filter(
        lambda pairs: kappa_interval(pairs) is not None
    )
)
def test_the_interval_of_kappa_is_that_of_the_delta_method(pairs: list[tuple[str, str]]) -> None:
    """Computes the standard error again: from derivatives of κ by the cells of the table, taken numerically."""
    low, high = kappa_interval(pairs) or (math.nan, math.nan)
    cells = [pairs.count((a, b)) / len(pairs) for a in "pfd" for b in "pfd"]
    error = delta_method_error(cells, len(pairs))
    kappa = cohens_kappa(pairs) or 0.0
    assert low == pytest.approx(max(kappa - 1.959964 * error, -1), abs=2e-4)
    assert high == pytest.approx(min(kappa + 1.959964 * error, 1), abs=2e-4)


def delta_method_error(cells: list[float], total: int) -> float:
    def kappa(shares: list[float]) -> float:
        rows = [shares[first : first + 3] for first in (0, 3, 6)]
        chance = sum(sum(rows[k]) * sum(row[k] for row in rows) for k in range(3))
        return (sum(rows[k][k] for k in range(3)) - chance) / (1 - chance)

    step = 1e-6
    slopes = []
    for number in range(9):
        above, below = cells.copy(), cells.copy()
        above[number] += step
        below[number] -= step
        slopes.append((kappa(above) - kappa(below)) / (2 * step))
    mean = sum(slope * cell for slope, cell in zip(slopes, cells, strict=True))
    square = sum(slope**2 * cell for slope, cell in zip(slopes, cells, strict=True))
    return math.sqrt(max(square - mean**2, 0) / total)
