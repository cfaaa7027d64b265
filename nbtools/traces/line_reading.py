"""Reads a log whose lines are its records, in steps, so that reading can continue when the log has grown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nbtools.traces.model import Problem, Ref, Row
from nbtools.traces.source import Source


@dataclass(slots=True)
class LineReading:
    """The state of a reader between two lines of the log's first file.

    ``rows`` is the list to which ``add``, ``add_problem`` and ``end`` add. ``end`` adds what is known only at
    the end, as it is now: the calls without a result, and the sessions. It changes nothing else, because
    lines may follow. ``is_stale`` returns whether a line has changed what earlier rows should be, so that the
    log must be read from its start. ``needs_all_files``: the same holds if another file of the log appears.
    """

    rows: list[Row]
    decode: Callable[[bytes], Any]
    add: Callable[[Any, Ref], None]
    end: Callable[[], None]
    add_problem: Callable[[Problem], None] = field(default=lambda _: None)
    is_stale: Callable[[], bool] = field(default=lambda: False)
    needs_all_files: bool = False

    def read(self, source: Source) -> Iterator[Row]:
        """Yields the rows of the whole log."""
        rows, add = self.rows, self.add
        for item in source.lines(self.decode):
            if type(item) is Problem:
                self.problem(item)
            else:
                add(item[1], item[0])  # type: ignore[index]
            if rows:
                yield from rows
                rows.clear()
        self.end()
        yield from rows
        rows.clear()

    def problem(self, problem: Problem) -> None:
        """Adds a line that could not be decoded."""
        self.add_problem(problem)
        self.rows.append(problem)
