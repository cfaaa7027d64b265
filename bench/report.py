"""What the benchmarks share: medians over rounds that alternate between the contenders, and a table with ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One contender: its name, all its measurements, the bar it is to stay under (a ratio to the first, or a value) and the unit."""

    name: str
    values: Sequence[float]
    unit: str
    bar: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


def alternate(rounds: int, **contenders: Callable[[], float]) -> dict[str, list[float]]:
    """Runs each contender once a round, so that a machine that slows down slows them all."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            taken[name].append(run())
    return taken


def rate(run: Callable[[], object], megabytes: float) -> Callable[[], float]:
    """What ``run`` does of so many megabytes, in MB a second."""

    def measure() -> float:
        start = time.perf_counter()
        run()
        return megabytes / (time.perf_counter() - start)

    return measure


def paired(numerator: Sequence[float], denominator: Sequence[float]) -> float:
    """The median of the ratios round by round."""
    return statistics.median(above / below for above, below in zip(numerator, denominator, strict=True))


def table(title: str, figures: Sequence[Figure]) -> None:
    """Prints medians, spread, and the ratio of each to the first."""
    print(f"\n{title}")
    width = max(len(figure.name) for figure in figures)
    print(f"  {'':{width}}  {'median':>10}  {'min':>10}  {'max':>10}  {'x first':>8}  bar")
    for figure in figures:
        same = figure.unit == figures[0].unit and len(figure.values) == len(figures[0].values)
        ratio = f"{paired(figure.values, figures[0].values):8.2f}" if same else " " * 8
        cells = "  ".join(f"{value:10.2f}" for value in (figure.median, min(figure.values), max(figure.values)))
        print(f"  {figure.name:{width}}  {cells}  {ratio}  {figure.unit} {figure.bar}".rstrip())
