"""Finds the log in which a session goes on after an agent has forked or resumed it in a new file."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.formats import open_log
from nbtools.traces.json_access import epoch_seconds, mapping
from nbtools.traces.lineage import Lineage
from nbtools.traces.reader import HEAD_BYTES, Head, LogFile
from nbtools.traces.source import DECODE_ERRORS

_BUDGET = 0.02
"""Seconds after which a look ends, with at least one file judged; the next one continues."""
_UNSETTLED = 2.0
"""Seconds after its last change in which a folder is listed again:
a file may have been added within the same tick of its clock.
"""
_MOST_OPEN = 16
"""Files of which it is not known yet what they are."""


class ContinuationSearch:
    """Finds the file of the same folder and reader whose records say that it continues a session.

    That is a log that names this session as its origin, or begins with copies of its first records and has
    later ones.  As long as nothing is added to the folder, a look costs one ``stat`` of it, and one of each
    file that has only begun.
    """

    def __init__(self, log: LogFile) -> None:
        self._log, self._path = log, log.source.path
        self._listed = 0
        self._known: set[tuple[str, int]] = set()
        self._queue: list[Path] = []
        self._open: dict[Path, int] = {}
        self._found: Path | None = None
        self._mine: Lineage | None = None

    def look(self) -> Path | None:
        """Returns the last written log of those in which the session goes on; None if there is none."""
        try:
            changed = self._path.parent.stat().st_mtime_ns
            if changed != self._listed:
                self._list()
                self._listed = changed if abs(time.time() - changed / 1e9) > _UNSETTLED else 0
            self._queue += [path for path, size in self._open.items() if _size(path) != size]
            if self._queue:
                self._judge()
        except OSError:  # the folder has gone, or may no longer be read
            return self._found
        return self._found

    def _list(self) -> None:
        """Adds files that are new to the queue; the one that was written last is the last."""
        new: list[tuple[int, Path]] = []
        with os.scandir(self._path.parent) as entries:
            for entry in entries:
                key = (entry.name, entry.inode())
                is_other = entry.name != self._path.name and entry.name.endswith(self._path.suffix)
                if is_other and key not in self._known:
                    self._known.add(key)
                    if entry.is_file(follow_symlinks=False):
                        written = entry.stat(follow_symlinks=False).st_mtime_ns
                        new.append((written, self._path.with_name(entry.name)))
        self._queue = [path for _, path in sorted(new)] + self._queue

    def _judge(self) -> None:
        started = time.monotonic()
        self._mine = self._lineage(self._path)
        if self._mine is None:
            self._queue.clear()
            return
        while self._queue:
            path = self._queue.pop()
            size, verdict = _size(path), self._continues(path, self._mine)
            self._open.pop(path, None)
            if verdict is None:
                self._open[path] = size
                while len(self._open) > _MOST_OPEN:
                    del self._open[next(iter(self._open))]
            elif verdict and (self._found is None or _written(path) > _written(self._found)):
                self._found = path
            if time.monotonic() - started > _BUDGET:
                break

    def _continues(self, path: Path, mine: Lineage) -> bool | None:
        """Returns whether a log continues the session; None if it has too few records to tell."""
        other = self._lineage(path)
        if other is None:
            return None if _size(path) < HEAD_BYTES else False
        if other.origins & mine.names:
            return True
        if other.first is None:
            return None
        if other.first != mine.first or mine.origins & other.names:
            return False
        ends, my_end = _last_time(path), _last_time(self._path)
        return True if ends is not None and my_end is not None and ends > my_end else None

    def _lineage(self, path: Path) -> Lineage | None:
        try:
            with path.open("rb") as file:
                head = Head(path, file.read(HEAD_BYTES))
        except OSError:
            return None
        read = getattr(self._log.format, "lineage", None)  # a reader of others need not have it
        lineage: Lineage | None = read(head) if read and self._log.format.recognises(head) else None
        return lineage


def open_continuation(log: LogFile, path: Path) -> LogFile:
    """Opens a log that was found.  Raises ``TraceError`` if another reader reads it."""
    opened = open_log(path)
    if opened.format is not log.format:
        raise TraceError(
            f"{path.name} is read as {opened.format.name}, but the session is one of {log.format.name}. Open"
            " it on its own."
        )
    return opened


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _last_time(path: Path) -> float | None:
    """Returns the time of the last record that has one, among the last ones."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - HEAD_BYTES))
        lines = file.read(HEAD_BYTES).split(b"\n")
    for line in reversed(lines):
        with suppress(*DECODE_ERRORS):  # the first of these lines is mostly cut
            found = epoch_seconds(mapping(msgspec.json.decode(line)).get("timestamp"))
            if found is not None:
                return found
    return None
