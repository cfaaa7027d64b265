"""Decides which logs an ingest must read: those that are new or changed, and which are gone."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.traces.reader import Format, formats, open_log

LAYOUT_VERSION = 1
"""Version of the parts' layout; another one makes every log be read again."""


@dataclass(frozen=True)
class Log:
    """A log to read: its files, itself first, and a key of their current state.
    ``why`` is the reason where no reader recognises it.
    """

    path: str
    files: tuple[str, ...]
    key: str
    size: int
    format: str
    why: str = ""


@dataclass(frozen=True)
class Plan:
    """The changes that an ingest makes to the corpus.

    ``logs`` are read, the rows of the paths ``gone`` are removed, ``same`` counts unchanged logs, and ``odd``
    are paths that are not valid UTF-8 and cannot be stored.
    """

    logs: tuple[Log, ...]
    gone: tuple[str, ...]
    same: int
    not_utf8: tuple[str, ...] = ()


def plan_ingest(paths: str | Path | Iterable[str | Path], known: Mapping[str, Log], *, keep: bool) -> Plan:
    """Compares ``paths`` with ``known``, the logs in the corpus by path.

    A file that belongs to another log (a sub-agent's) is not a log of its own.
    """
    readers = {known_format.name: known_format for known_format in formats()}
    candidates = dict.fromkeys(_expand_folders(expand_paths(paths), known))
    odd = tuple(path for path in candidates if not _is_text(path))
    found = {
        path: log
        for path in candidates
        if path not in odd and (log := _log(path, known.get(path), readers)) is not None
    }
    secondary_files = {file for log in (*known.values(), *found.values()) for file in log.files[1:]}
    logs = [log for path, log in found.items() if path not in secondary_files]
    changed = tuple(log for log in logs if stored_key(known, log.path) != log.key)
    gone = {path for path in known if path in secondary_files or (not keep and not Path(path).exists())}
    return Plan(changed, tuple(sorted(gone)), len(logs) - len(changed), odd)


def stored_key(known: Mapping[str, Log], path: str) -> str:
    """Returns the stored key of a log; empty where it is not in the corpus."""
    return known[path].key if path in known else ""


def expand_paths(paths: str | Path | Iterable[str | Path]) -> list[str]:
    """Returns absolute paths, each once;
    a single path may be a glob pattern (``**`` matches folders at any depth).
    """
    if isinstance(paths, str | Path):
        pattern = str(Path(paths).expanduser())
        exists = Path(pattern).exists()
        found: Iterable[str | Path] = [pattern] if exists else glob.glob(pattern, recursive=True)  # noqa: PTH207 - it may be absolute
    else:
        found = paths
    return list(dict.fromkeys(str(Path(path).expanduser().absolute()) for path in found))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _expand_folders(paths: Iterable[str], known: Mapping[str, Log]) -> Iterator[str]:
    """Replaces a folder that is not itself a log with the logs below it;
    skips names that begin with a dot.
    """
    for path in paths:
        if path in known or not Path(path).is_dir() or _is_log(path):
            yield path
        else:
            yield from _expand_folders(
                sorted(entry.path for entry in os.scandir(path) if not entry.name.startswith(".")), known
            )


def _is_log(folder: str) -> bool:
    try:
        open_log(Path(folder))
    except TraceError:
        return False
    return True


def _log(path: str, before: Log | None, readers: Mapping[str, Format]) -> Log | None:
    """Returns the log's current state; None where it does not exist, or is a folder but not a log.

    A known format is not determined again.
    """
    if before is not None and (before.format in readers or before.why):
        others = readers[before.format].files(Path(path)) if before.format in readers else ()
        current = _with_key(path, (path, *map(str, others)), before.format, readers, before.why)
        if current is None or current.key == before.key:
            return current
    try:
        log_file = open_log(Path(path))
    except TraceError as error:
        return None if Path(path).is_dir() else _with_key(path, (path,), "", readers, str(error))
    return _with_key(path, tuple(map(str, log_file.source.files)), log_file.format.name, readers)


def _with_key(
    path: str, files: tuple[str, ...], name: str, readers: Mapping[str, Format], why: str = ""
) -> Log | None:
    """Returns the log with a key of its files' state; None where it does not exist.

    A file that no reader recognises is tried again when the readers change.
    """
    states = []
    size = 0
    for file in files:
        try:
            stat = Path(file).stat()
        except OSError:
            if file == path:
                return None
            continue
        states.append(
            (file, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        )  # st_ctime changes with any byte
        size += stat.st_size
    state = repr((LAYOUT_VERSION, name or sorted(readers), states))
    return Log(
        path,
        files,
        hashlib.sha256(state.encode("utf-8", "surrogateescape")).hexdigest()[:32],
        size,
        name,
        why,
    )
