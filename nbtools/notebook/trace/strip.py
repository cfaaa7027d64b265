"""The whole of a session as a row of bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbtools.notebook.trace.outcomes import Tone

BARS = 120
_RANK: tuple[Tone, ...] = ("failed", "stopped", "changed", "person")
"""Which line gives a bar its tone that stands for several: the first of these that there is."""
_SHARE = 8
"""One in so many lines must have it: where a bar stands for hundreds, one failure among them says nothing."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Lines ``first`` … ``last`` (from 0, inclusive); ``height`` is from 0.1 to 1, by how much text the largest of them brought."""

    first: int
    last: int
    height: float
    tone: Tone


def bars(tones: Sequence[Tone], weights: Sequence[int], count: int = BARS) -> list[Bar]:
    """At most ``count`` bars, each for about as many lines; of each line its tone and how much text it brought."""
    count = min(count, len(tones))
    most = math.log1p(max(weights, default=0)) or 1.0
    cuts = [number * len(tones) // count for number in range(count + 1)] if count else []
    return [Bar(first, end - 1, _height(max(weights[first:end]), most), _loudest(tones[first:end])) for first, end in pairwise(cuts)]


def _height(weight: int, most: float) -> float:
    return round(max(0.1, math.log1p(weight) / most), 2)


def _loudest(tones: Sequence[Tone]) -> Tone:
    there = Counter(tones)
    return next((tone for tone in _RANK if there[tone] * _SHARE >= len(tones)), "quiet")
