"""Times, counts and sizes as a person says them."""

from __future__ import annotations

import pytest

from nbtools.cards.phrases import elapsed, size
from nbtools.core.message import counted


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.034, "0.03 s"),
        (0.1, "0.1 s"),
        (12.44, "12.4 s"),
        (59.97, "1 min"),
        (125, "2 min 5 s"),
        (4200, "1 h 10 min"),
        (-1, "0 s"),
    ],
)
def test_elapsed(seconds: float, words: str) -> None:
    assert elapsed(seconds) == words


def test_counted() -> None:
    assert counted(1, "match", "matches") == "1 match"
    assert counted(1204, "line") == "1,204 lines"


@pytest.mark.parametrize(
    ("count", "words"), [(812, "812 B"), (14_200, "14.2 kB"), (3_100_000, "3.1 MB"), (5 * 10**12, "5.0 TB")]
)
def test_size(count: int, words: str) -> None:
    assert size(count) == words
