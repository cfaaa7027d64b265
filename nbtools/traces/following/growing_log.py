"""A log whose rows are read as they are written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nbtools.core.errors import TraceError
from nbtools.traces.following.row_identity import is_same, row_keys
from nbtools.traces.formats import open_log
from nbtools.traces.line_reading import LineReading
from nbtools.traces.model import Call, Event, Problem, Ref, Row
from nbtools.traces.parallel_reading import RowBatch, batch_of, gc_paused, read_rows
from nbtools.traces.reader import HEAD_BYTES, LogFile, is_step
from nbtools.traces.source import Source, decode_json

T = TypeVar("T")
_MARK = 1 << 10
"""Bytes at the start and before the position that must still be the same for reading to continue."""
_MAX_DEFERRALS = 20
"""How often a document with new problems is not taken over."""


@dataclass(frozen=True)
class Pace:
    """Limits how much work following is.

    ``rest``: after a log was read as a whole, it is not read again for this many times as long. ``listing``:
    seconds after which the files that belong to a log are listed again, although its own file is the same.
    ``settling``: seconds after its last change in which a document with new problems may be half written.
    """

    rest: float = 2.0
    listing: float = 1.0
    settling: float = 2.0


_PACE = Pace()


@dataclass(frozen=True)
class FileState:
    """Identifies a file and its content: differs once the file was written, replaced or truncated."""

    device: int
    inode: int
    size: int
    modified: int


def file_states(paths: Sequence[Path]) -> tuple[FileState | None, ...]:
    """Returns the state of each file; None for one that does not exist."""
    return tuple(map(_state, paths))


def _state(path: Path) -> FileState | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class GrowingSource(Source):
    """A log that is being written: an unfinished last line is left out."""

    def lines(
        self, decode: Callable[[bytes], T], file: int = 0, *, offset: int = 0, after: int = 0
    ) -> Iterator[tuple[Ref, T] | Problem]:
        for item in super().lines(decode, file, offset=offset, after=after):
            if type(item) is Problem and not self.bytes_of(item.ref).endswith(b"\n"):
                return
            yield item


class GrowingLog:
    """The rows of a log, as of the last ``update``.

    Logs of lines are read on from where reading stopped. A log is read again as a whole if its format is a
    document or needs the whole, if it was truncated, replaced or changed before that position, and while it
    is smaller than ``whole_below`` bytes, because the beginning decides what it is read as.
    """

    def __init__(
        self, log: LogFile, rows: RowBatch | None = None, *, whole_below: int = HEAD_BYTES, pace: Pace = _PACE
    ) -> None:
        """``rows`` are those that were read already, while the files were as they are now."""
        self.log = log
        self._whole_below, self._pace = whole_below, pace
        self._files = log.source.files
        self._states = file_states(self._files)
        self._reading: _Continuation | None = None
        self._whole = RowBatch() if rows is None else rows
        self._listed = self._not_before = 0.0
        self._deferrals = 0
        if rows is None:
            self._read_again(self._files, self._states)

    @classmethod
    def since(cls, log: LogFile, rows: RowBatch, states: Sequence[FileState | None]) -> GrowingLog:
        """Returns a log of which ``rows`` were read when its files had these states."""
        growing = cls(log, rows)
        growing._states = tuple(states)
        return growing

    @property
    def rows(self) -> RowBatch:
        """The rows in the order of a log that is read as a whole."""
        return self._reading.rows if self._reading else self._whole

    @property
    def reads_on(self) -> bool:
        """Whether reading continues when the log grows; False where it is read again as a whole."""
        return self._reading is not None

    @property
    def states(self) -> tuple[FileState | None, ...]:
        """The states of the log's files when they were read."""
        return self._states

    def update(self) -> list[Row]:
        """Reads what has changed and returns the rows that are new or different, in reading order.

        Where the log cannot be read now, its rows stay; it is read once its files have changed again.
        """
        now = time.monotonic()
        if now < self._not_before:
            return []
        files = self._list_files(now)
        states = file_states(files)
        try:
            if (files, states) == (self._files, self._states):
                # A last line without a line break is complete if nobody has added to it between two looks.
                has_rest = self._reading and states[0] and self._reading.has_rest(states[0])
                return self._reading.read_rest() if self._reading and has_rest else []
            if states[0] is None:
                return []
            if self._reading and self._reading.can_continue(states[0], files):
                self.log.source.files = files
                if (changed := self._reading.read_on()) is not None:
                    self._files, self._states = files, states
                    return changed
            return self._read_again(files, states)
        except (TraceError, OSError):  # it was moved or truncated just now
            self._reading, self._whole = None, self.rows
            return []

    def _list_files(self, now: float) -> tuple[Path, ...]:
        """Returns the log's files, which are listed again where one has changed, or from time to time."""
        path = self.log.source.path
        if now < self._listed and _state(path) == self._states[0]:
            return self._files
        try:
            files = (path, *self.log.format.files(path))
        except (TraceError, OSError):
            return self._files
        # Listing takes at most a fiftieth of the time: a folder may have thousands of files.
        self._listed = time.monotonic() + max(self._pace.listing, 50 * (time.monotonic() - now))
        return files

    def _read_again(self, files: tuple[Path, ...], states: tuple[FileState | None, ...]) -> list[Row]:
        """Reads the whole log; ``states`` are those of ``files`` before that."""
        started = time.monotonic()
        try:
            opened = open_log(self.log.source.path)
        except TraceError:  # empty, or not yet more than its first bytes
            self._files, self._states = files, states
            return []
        log = LogFile(GrowingSource(opened.source.path, opened.source.files[1:]), opened.format)
        with gc_paused():
            reading = self._begin(log)
            rows = reading.rows if reading else read_rows(log)
        self._not_before = time.monotonic() + self._pace.rest * (time.monotonic() - started)
        if not reading and self._is_half_written(rows):
            return []
        before, known = self.rows, dict(zip(files, states, strict=True))
        self.log, self._reading, self._deferrals = log, reading, 0
        self._whole = RowBatch() if reading else rows
        self._files = log.source.files
        self._states = tuple(known.get(file) for file in self._files)
        return changed_rows(before, rows)

    def _begin(self, log: LogFile) -> _Continuation | None:
        state = _state(log.source.path)
        if state is None or state.size < self._whole_below:
            return None
        lines = log.begin()
        if lines is None:
            return None
        reading = _Continuation(log, lines)
        if reading.read_on() is None or not (reading.rows.calls or any(map(is_step, reading.rows.events))):
            return None
        return reading

    def _is_half_written(self, rows: RowBatch) -> bool:
        """Returns whether the rows may be those of a document that is being written:
        it has new problems, and was changed just now.
        """
        before = self.rows
        worse = len(rows.problems) > len(before.problems) or not (rows.events or rows.calls)
        doubtful = worse and bool(before.events or before.calls)
        state = _state(self.log.source.path)
        if not doubtful or state is None or self._deferrals >= _MAX_DEFERRALS:
            return False
        is_fresh = abs(time.time() - state.modified / 1e9) <= self._pace.settling
        self._deferrals += is_fresh
        return is_fresh


class _Continuation:
    """Reads a log of lines in steps. ``rows`` are those so far, with those that the end adds for now."""

    def __init__(self, log: LogFile, lines: LineReading) -> None:
        self._log, self._lines = log, lines
        self._settled, self._open = RowBatch(), RowBatch()
        self._offset = self._number = 0
        self._inode: tuple[int, int] | None = None
        self._marks: tuple[bytes, bytes] = (b"", b"")
        self._took_rest = False

    @property
    def rows(self) -> RowBatch:
        return _joined(self._settled, self._open)

    def can_continue(self, state: FileState, files: tuple[Path, ...]) -> bool:
        """Returns whether the file is the same, and still has what was read of it."""
        if self._lines.needs_all_files and files != self._log.source.files:
            return False
        if self._inode != (state.device, state.inode) or state.size < self._offset:
            return False
        return not self._took_rest and self._read_marks() == self._marks

    def has_rest(self, state: FileState) -> bool:
        """Returns whether the file has bytes after the last line that was read."""
        return state.size > self._offset

    def read_on(self) -> list[Row] | None:
        """Reads the complete lines; returns rows that are new or different, None to read the whole log."""
        return self._read(self._end_of_lines())

    def read_rest(self) -> list[Row]:
        """Reads a last line without a line break,
        where nothing has been added to it since it was seen and it is complete.
        """
        with self._log.source.open_file(0) as opened:
            opened.seek(self._offset)
            rest = opened.read()
        if self._took_rest or not rest.strip():
            return []
        try:
            decode_json(rest)
        except TraceError:
            return []
        self._took_rest = True
        return self._read(self._offset + len(rest)) or []

    def _read(self, end: int) -> list[Row] | None:
        lines, source = self._lines, self._log.source
        source.forget()
        state = _state(source.path)
        last = Ref(self._offset, 0, self._number)
        new: list[Row] = []
        found = source.lines(lines.decode, offset=self._offset, after=self._number)
        for item in found if end > self._offset else ():
            ref = item.ref if isinstance(item, Problem) else item[0]
            if ref.offset >= end:
                break
            if isinstance(item, Problem):
                lines.problem(item)
            else:
                lines.add(item[1], item[0])
            new += lines.rows
            lines.rows.clear()
            last = max(last, ref, key=_end)
        if lines.is_stale():
            return None
        self._number = last.line + self._count_breaks(_end(last), end)
        self._offset, self._inode = end, (state.device, state.inode) if state else None
        self._marks = self._read_marks()
        return self._add(batch_of(new))

    def _add(self, new: RowBatch) -> list[Row]:
        """Adds settled rows, and replaces those that the end added before."""
        before = self._open
        for mine, more in zip(_tables(self._settled), _tables(new), strict=True):
            mine.extend(more)
        self._lines.end()
        self._open = batch_of(self._lines.rows)
        self._lines.rows.clear()
        return changed_rows(before, _joined(new, self._open))

    def _end_of_lines(self) -> int:
        """Returns the offset after the last line break; the position where there is none after it."""
        with self._log.source.open_file(0) as opened:
            end = opened.seek(0, 2)
            while end > self._offset:
                start = max(self._offset, end - (1 << 16))
                opened.seek(start)
                found = opened.read(end - start).rfind(b"\n")
                if found >= 0:
                    return int(start + found + 1)
                end = start
        return self._offset

    def _count_breaks(self, start: int, end: int) -> int:
        with self._log.source.open_file(0) as opened:
            opened.seek(start)
            return int(opened.read(max(0, end - start)).count(b"\n"))

    def _read_marks(self) -> tuple[bytes, bytes]:
        with self._log.source.open_file(0) as opened:
            start = opened.read(min(_MARK, self._offset))
            opened.seek(max(0, self._offset - _MARK))
            return start, opened.read(min(_MARK, self._offset))


def _end(ref: Ref) -> int:
    return ref.offset + ref.length


def _tables(batch: RowBatch) -> tuple[list[Any], ...]:
    return batch.sessions, batch.events, batch.calls, batch.file_changes, batch.problems, batch.usage


def _joined(one: RowBatch, other: RowBatch) -> RowBatch:
    joined = RowBatch(*(a + b for a, b in zip(_tables(one), _tables(other), strict=True)))
    joined.calls.sort(key=lambda call: call.seq)
    return joined


def changed_rows(before: RowBatch, after: RowBatch) -> list[Row]:
    """Returns the rows of ``after`` that ``before`` does not have, or has otherwise."""
    changed: list[Row] = []
    for old, new in zip(_tables(before), _tables(after), strict=True):
        known = dict(zip(row_keys(old), old, strict=True))
        keyed = zip(row_keys(new), new, strict=True)
        changed += [row for key, row in keyed if key not in known or not is_same(known[key], row)]
    return in_reading_order(batch_of(changed))


def in_reading_order(rows: RowBatch) -> list[Row]:
    """Returns events and calls in the log's order, then changes, problems, requests and sessions."""
    steps: list[Event | Call] = [*rows.events, *rows.calls]
    steps.sort(key=lambda row: row.seq)
    return [*steps, *rows.file_changes, *rows.problems, *rows.usage, *rows.sessions]
