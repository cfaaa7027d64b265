"""Report of the benchmarks: medians over rounds that alternate between the contenders, a table with ratios,
and bars that can be missed.

A bar is a text: ``≤ 12 x`` (of the first figure, paired by round), ``≥ 0.3 x``, ``≤ 50 ms`` (the median, in
the figure's own unit), ``≤ 1 % more`` (than the first figure). Any other text must be a note in parentheses,
so that no bar is decoration. Where ``NBTOOLS_BENCH_RESULTS`` names a file, each table is appended to it as a
line of JSON; ``run.py`` makes the summary of them.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_BAR = re.compile(r"(?P<sign>[≤≥]) (?P<limit>\d[\d.]*) (?P<unit>.+?)(?P<more> more)?")


@dataclass(frozen=True)
class Figure:
    """One contender: its name, all its measurements, their unit, and its bar or a note."""

    name: str
    values: Sequence[float]
    unit: str
    bar: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def ratio(self, first: Figure) -> float | None:
        """The median of the ratios to ``first`` round by round;
        None where they were not measured together, or in other units.
        """
        if self.unit != first.unit or len(self.values) != len(first.values):
            return None
        return paired(self.values, first.values)

    def meets(self, first: Figure) -> bool | None:
        """Whether the bar is met; None without a bar.
        Raises ``ValueError`` for a bar that nothing can be compared with.
        """
        if not self.bar or (self.bar.startswith("(") and self.bar.endswith(")")):
            return None
        bar = _BAR.fullmatch(self.bar)
        if bar is None:
            raise ValueError(
                f"{self.name}: {self.bar!r} is no bar, such as '≤ 1.5 x', '≤ 50 ms' or '≤ 1 % more'"
            )
        value = self.ratio(first) if bar["unit"] == "x" else self.median
        if value is None or bar["unit"] not in {"x", self.unit}:
            raise ValueError(f"{self.name}: {self.bar!r} cannot be compared with a figure in {self.unit}")
        value -= first.median if bar["more"] else 0
        return value <= float(bar["limit"]) if bar["sign"] == "≤" else value >= float(bar["limit"])


def alternate(rounds: int, **contenders: Callable[[], float]) -> dict[str, list[float]]:
    """Runs each contender once a round, so that a machine that slows down slows them all."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            taken[name].append(run())
    return taken


def rate(run: Callable[[], object], megabytes: float) -> Callable[[], float]:
    """Returns a function that measures the rate of ``run`` over that many megabytes, in MB a second."""

    def measure() -> float:
        start = time.perf_counter()
        run()
        return megabytes / (time.perf_counter() - start)

    return measure


def paired(numerator: Sequence[float], denominator: Sequence[float]) -> float:
    """The median of the ratios round by round."""
    return statistics.median(above / below for above, below in zip(numerator, denominator, strict=True))


def table(title: str, figures: Sequence[Figure]) -> None:
    """Prints medians, spread, the ratio of each to the first, and whether its bar is met;
    records them for the summary.
    """
    print(f"\n{title}")
    first, width = figures[0], max(len(figure.name) for figure in figures)
    print(f"  {'':{width}}  {'median':>10}  {'min':>10}  {'max':>10}  {'x first':>8}  bar")
    rows = []
    for figure in figures:
        ratio, met = figure.ratio(first), figure.meets(first)
        shown = " " * 8 if ratio is None else f"{ratio:8.2f}"
        cells = "  ".join(
            f"{value:10.2f}" for value in (figure.median, min(figure.values), max(figure.values))
        )
        missed = "  MISSED" if met is False else ""
        print(
            f"  {figure.name:{width}}  {cells}  {shown}  {figure.unit} {figure.bar}{missed}".rstrip(),
            flush=True,
        )
        rows.append(
            {
                "name": figure.name,
                "median": figure.median,
                "unit": figure.unit,
                "ratio": ratio,
                "bar": figure.bar,
                "met": met,
            }
        )
    results = os.environ.get("NBTOOLS_BENCH_RESULTS")
    if results:
        with Path(results).open("a", encoding="utf-8") as file:
            script = Path(sys.argv[0]).stem
            file.write(
                json.dumps({"script": script, "title": title, "rows": rows}, ensure_ascii=False) + "\n"
            )
