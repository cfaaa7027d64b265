"""Yields the rows of a log as they are written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event as Signal

from nbtools.core.errors import TraceError
from nbtools.traces.following.growing_log import GrowingLog, in_reading_order
from nbtools.traces.formats import open_log
from nbtools.traces.model import Row
from nbtools.traces.reader import HEAD_BYTES, LogFile
from nbtools.traces.stored_sessions import stored_path

_BUSY_INTERVAL = 0.2
_IDLE_INTERVAL = 0.5
_IDLE_AFTER = 10.0
"""Seconds without a change after which the files are looked at less often."""


def follow(path: str | Path, *, stop: Signal | None = None, quiet: float | None = None) -> Iterator[Row]:
    """Yields the rows of the log at ``path``, then every row that is new or different,
    until the generator is closed.

    A row that has changed comes again with the same id: a call when its result is known, a session with new
    totals. It ends when ``stop`` is set, and with ``quiet`` after so many seconds in which nothing was
    written. Raises ``TraceError`` where the log cannot be opened or its format is not known; a file without a
    complete line is waited for.
    """
    changes = _changes(Path(path).expanduser(), stop or Signal(), quiet)
    return (row for rows in changes for row in rows)


def _changes(path: Path, stop: Signal, quiet: float | None) -> Iterator[list[Row]]:
    last = time.monotonic()
    log: GrowingLog | None = None
    while True:
        rows: list[Row] = []
        if log is not None:
            rows = log.update()
        elif (opened := open_begun_log(path)) is not None:
            log = GrowingLog(opened)
            rows = in_reading_order(log.rows)
        if rows:
            last = time.monotonic()
            yield rows
        idle = time.monotonic() - last
        interval = _BUSY_INTERVAL if idle < _IDLE_AFTER else _IDLE_INTERVAL
        if (quiet is not None and idle >= quiet) or stop.wait(interval):
            return


def open_begun_log(path: Path) -> LogFile | None:
    """Returns the log; None while it has no complete line.  Raises ``TraceError``."""
    has_begun = _has_only_begun(path)  # before opening, during which its first line may be completed
    try:
        return open_log(path)
    except TraceError:
        if has_begun:
            return None
        raise


def _has_only_begun(path: Path) -> bool:
    """Returns whether the file is empty, or only has the beginning of a first line of JSON."""
    path = stored_path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(HEAD_BYTES)
    return len(start) < HEAD_BYTES and b"\n" not in start and start.lstrip()[:1] in (b"", b"{", b"[")
