"""Connects the lines of a log with the requests that they belong to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from functools import cached_property

from nbtools.traces.explorer.summary import short_number
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, RequestUsage, Session
from nbtools.traces.trace import Trace
from nbtools.traces.usage.requests import input_of
from nbtools.traces.usage.timing import seconds_of


class LineRequests:
    """The requests of a log by line.  A request stands at the first line of its answer."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._trace, self._lines = trace, lines

    @cached_property
    def by_line(self) -> dict[int, RequestUsage]:
        """The request of each line that begins an answer."""
        found: dict[int, RequestUsage] = {}
        for request in self._trace.usage:
            if request.seq is not None and (line := self._first_line(request)) is not None:
                found.setdefault(line, request)
        return found

    def at_line(self, line: int) -> RequestUsage | None:
        """Returns the request whose answer contains the line."""
        row = self._lines.rows[line]
        if isinstance(row, Session):
            return None
        requests = self._requests.get(row.session, [])
        place = bisect_right(requests, row.seq, key=lambda request: request.seq or 0) - 1
        request = requests[place] if place >= 0 else None
        return request if request is not None and row.seq <= (request.last or -1) else None

    @property
    def count(self) -> int:
        return sum(request.scope != "rest" for request in self._trace.usage)

    @cached_property
    def tokens(self) -> dict[int, int]:
        """The input and output tokens of the request that begins at each line."""
        return {line: size_of(request) for line, request in self.by_line.items()}

    @cached_property
    def seconds(self) -> dict[int, float]:
        """The duration of the call at each line, where it is known."""
        rows = enumerate(self._lines.rows)
        return {
            line: length
            for line, row in rows
            if type(row) is Call and (length := seconds_of(row)) is not None
        }

    @cached_property
    def _requests(self) -> dict[str, list[RequestUsage]]:
        found: dict[str, list[RequestUsage]] = defaultdict(list)
        for request in self._trace.usage:
            if request.seq is not None:
                found[request.session].append(request)
        for requests in found.values():
            requests.sort(key=lambda request: request.seq or 0)
        return found

    @cached_property
    def _places(self) -> dict[str, tuple[list[int], list[int]]]:
        """The positions of each session's rows, in order, and their lines."""
        rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for line, row in enumerate(self._lines.rows):
            if not isinstance(row, Session):
                rows[row.session].append((row.seq, line))
        return {
            session: ([seq for seq, _ in sorted(found)], [line for _, line in sorted(found)])
            for session, found in rows.items()
        }

    def _first_line(self, request: RequestUsage) -> int | None:
        seqs, lines = self._places.get(request.session, ([], []))
        place = bisect_left(seqs, request.seq or 0)
        return lines[place] if place < len(seqs) and seqs[place] <= (request.last or 0) else None


def size_of(request: RequestUsage) -> int:
    """Returns the input and output tokens of a request."""
    return max((input_of(request.tokens) or 0) + (request.tokens.output or 0), 0)


def tokens_text(request: RequestUsage) -> str:
    """Describes the tokens of a request: ``12 k in (11 k cached), 320 out``."""
    tokens, size = request.tokens, input_of(request.tokens)
    cached = f" ({short_number(tokens.cache_read)} cached)" if tokens.cache_read else ""
    parts = [f"{short_number(size)} in{cached}"] if size is not None else []
    if tokens.output is not None:
        doubt = "at least " if "placeholder" in request.flags else ""
        parts.append(f"{doubt}{short_number(tokens.output)} out")
    return ", ".join(parts)
