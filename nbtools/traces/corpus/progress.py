"""Displays the progress of an ingest with tqdm."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from nbtools.traces.optional_libraries import import_library


@dataclass(frozen=True)
class Progress:
    """Progress of an ingest: logs and bytes, done and in total;
    ``path`` is the last finished log, ``seconds`` the time since the start.
    """

    done: int
    total: int
    bytes_done: int
    bytes_total: int
    path: str
    seconds: float = 0.0


ProgressCallback: TypeAlias = Callable[[Progress], object]


@contextmanager
def progress_display(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback]:
    """Yields the function to call with each ``Progress``.

    ``progress`` may be that function; None displays progress in notebooks and terminals only,
    True everywhere, False nowhere.
    """
    if callable(progress):
        yield progress
        return
    if progress is None:  # whether standard error is a terminal or the output of a notebook's cell
        progress = sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")
    if not progress:
        yield lambda _: None
        return
    bar: Any = None

    def show(progress: Progress) -> None:
        nonlocal bar
        if bar is None:
            # Not tqdm.auto: the widget that it uses in notebooks leaves "0%" in a saved notebook.
            bar = import_library("tqdm").tqdm(
                total=progress.bytes_total, unit="B", unit_scale=True, dynamic_ncols=True
            )
        bar.set_description(f"{progress.done:,} of {progress.total:,} logs", refresh=False)
        bar.update(progress.bytes_done - bar.n)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
