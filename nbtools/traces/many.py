"""Several logs: which of them are read, and by how many processes."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.format import Reading, reading
from nbtools.traces.model import Call, Event, FileChange, Origin, Problem, Row, Session


class _Told(Struct, array_like=True):
    """Rows on their way from one process to another, by type: pickled they take longer than reading them again."""

    sessions: list[Session] = []
    events: list[Event] = []
    calls: list[Call] = []
    changes: list[FileChange] = []
    problems: list[Problem] = []


def readings(paths: str | Path | Iterable[str | Path]) -> list[Reading]:
    """Of each log one, in the order given: a path that comes twice, or belongs to another of the logs, is not read again.

    Raises ``TraceError`` for one that cannot be opened or is in no format that is known, and is nobody's.
    """
    logs: dict[Path, Reading | TraceError] = {}
    for path in _matching(paths) if isinstance(paths, str | Path) else paths:
        here = Path(path).expanduser()
        if here.resolve() not in logs:
            logs[here.resolve()] = _tried(here)
    owners: dict[Path, Path] = {}
    for path, log in logs.items():
        if path not in owners and isinstance(log, Reading):
            owners |= dict.fromkeys((file.resolve() for file in log.source.files[1:]), path)
    return [_sound(log) for path, log in logs.items() if path not in owners]


def told_by(workers: int, logs: Sequence[Reading]) -> Iterator[Iterable[Row]]:
    """The rows of each log, in this order, read by so many processes; those of one type are in reading order."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor  # noqa: PLC0415 - of no use where one process reads
    from multiprocessing import get_all_start_methods, get_context  # noqa: PLC0415 - as above

    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    with ProcessPoolExecutor(min(workers, len(logs)), get_context(method)) as pool:
        largest = sorted(logs, key=lambda log: -sum(file.stat().st_size for file in log.source.files if file.is_file()))
        told = {log.source.path: pool.submit(_read, log.source.path) for log in largest}
        for log in logs:
            try:
                written = told.pop(log.source.path).result()
            except BrokenExecutor as error:
                raise TraceError("a process that reads logs died; in a script, load below `if __name__ == '__main__':`.") from error
            yield log.rows() if written is None else _rows(written, log)


def _read(path: Path) -> bytes | None:
    """In a process of its own.  None where there is something in a row that cannot be sent."""
    told = _Told()
    homes: dict[type, list[Any]] = {
        Session: told.sessions,
        Event: told.events,
        Call: told.calls,
        FileChange: told.changes,
        Problem: told.problems,
    }
    for row in reading(path).rows():
        homes[type(row)].append(row)
    try:
        return msgspec.msgpack.encode(told, enc_hook=lambda _: None)
    except (msgspec.MsgspecError, UnicodeError, OverflowError, TypeError, ValueError):
        return None


def _rows(written: bytes, origin: Origin) -> Iterator[Row]:
    told = msgspec.msgpack.decode(written, type=_Told, dec_hook=lambda *_: origin)
    for rows in (told.sessions, told.events, told.calls, told.changes, told.problems):
        yield from rows


def _tried(path: Path) -> Reading | TraceError:
    try:
        return reading(path)
    except TraceError as error:
        return error


def _sound(log: Reading | TraceError) -> Reading:
    if isinstance(log, TraceError):
        raise log
    return log


def _matching(pattern: str | Path) -> list[str]:
    """A path as it is, also one that looks like a pattern."""
    expanded = Path(pattern).expanduser()
    return [str(expanded)] if expanded.exists() else sorted(glob.glob(str(expanded), recursive=True))  # noqa: PTH207 - it may be absolute
