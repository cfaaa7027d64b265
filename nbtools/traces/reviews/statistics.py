"""Statistics of reviews: rates with confidence intervals, and the agreement of two reviewers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

_LEAST_ERROR = 1e-6
"""A standard error below it is 0, computed with rounding errors."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` of ``total`` items; ``low`` and ``high`` are the limits of the confidence interval.
    Without items they are None.
    """

    value: str
    count: int
    total: int
    rate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two reviewers on ``items`` that both have judged.

    ``observed`` is the share of items with the same value, ``kappa`` is Cohen's κ: 1 is perfect agreement, 0
    is what chance alone gives. ``kappa`` is None where it is not defined: without items, or where both gave
    every item one and the same value. ``low`` and ``high`` are the limits of its confidence interval, None
    where ``kappa_interval`` has none.
    """

    a: str
    b: str
    items: int
    observed: float | None
    kappa: float | None
    low: float | None = None
    high: float | None = None


def wilson_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Returns the limits of Wilson's score interval for a rate of ``count`` in ``total``;
    None where ``total`` is 0.

    Raises ``ValueError`` for impossible counts.
    """
    if not 0 <= count <= total or not 0 < confidence < 1:
        raise ValueError(f"{count} of {total} at a confidence of {confidence} is not a rate.")
    if total == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, share = count / total, z * z / total
    centre = (rate + share / 2) / (1 + share)
    half = z * math.sqrt(rate * (1 - rate) / total + share / (4 * total)) / (1 + share)
    return (0.0 if count == 0 else centre - half), (1.0 if count == total else centre + half)


def rate_of(value: str, count: int, total: int, confidence: float = 0.95) -> Rate:
    interval = wilson_interval(count, total, confidence)
    if interval is None:
        return Rate(value, count, total, None, None, None)
    return Rate(value, count, total, count / total, *interval)


def cohens_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """Returns Cohen's κ for items that two reviewers judged; None where it is not defined.

    Cohen, J. (1960), A coefficient of agreement for nominal scales.
    """
    judged: Sequence[tuple[Hashable, Hashable]] = list(pairs)
    if not judged:
        return None
    first, second = Counter(a for a, _ in judged), Counter(b for _, b in judged)
    by_chance = sum(first[value] * second[value] for value in first) / len(judged) ** 2
    if by_chance == 1:
        return None
    return (sum(a == b for a, b in judged) / len(judged) - by_chance) / (1 - by_chance)


def kappa_interval(
    pairs: Iterable[tuple[Hashable, Hashable]], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Returns the limits of the confidence interval of Cohen's κ, from its large-sample standard error.

    None where κ is not defined, and where that error is 0, however few items there are: where the reviewers
    agree on every item, or one of them gave all items the same value. With fewer than about 30 items the
    interval is a rough one.

    Fleiss, J. L., Cohen, J., Everitt, B. S. (1969), Large sample standard errors of kappa and weighted kappa,
    Psychological Bulletin 72(5), equation 13; also Fleiss, Levin, Paik (2003), Statistical Methods for Rates
    and Proportions, equations 18.13 to 18.16.
    """
    judged: Sequence[tuple[Hashable, Hashable]] = list(pairs)
    kappa = cohens_kappa(judged)
    if kappa is None:
        return None
    total = len(judged)
    cells = {cell: count / total for cell, count in Counter(judged).items()}
    first, second = Counter(a for a, _ in judged), Counter(b for _, b in judged)
    by_chance = sum(first[value] * second[value] for value in first) / total**2
    spread = 0.0
    for (a, b), share in cells.items():
        if a == b:
            spread += share * (1 - (first[a] + second[a]) / total * (1 - kappa)) ** 2
        else:
            spread += share * ((second[a] + first[b]) / total * (1 - kappa)) ** 2
    spread -= (kappa - by_chance * (1 - kappa)) ** 2
    error = math.sqrt(max(spread, 0) / total) / (1 - by_chance)
    if error < _LEAST_ERROR:
        return None
    half = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return max(kappa - half, -1.0), min(kappa + half, 1.0)


def agreement_of(
    a: str, b: str, pairs: Iterable[tuple[Hashable, Hashable]], confidence: float = 0.95
) -> Agreement:
    """Returns the agreement of the reviewers ``a`` and ``b``, whose values for each item are a pair."""
    judged: Sequence[tuple[Hashable, Hashable]] = list(pairs)
    observed = sum(first == second for first, second in judged) / len(judged) if judged else None
    limits = kappa_interval(judged, confidence) or (None, None)
    return Agreement(a, b, len(judged), observed, cohens_kappa(judged), *limits)
