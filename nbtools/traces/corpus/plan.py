"""Decides which logs an ingest must read: those that are new or changed, and which are gone."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.catalogue import VERSION, Log, Part
from nbtools.traces.formats import formats, open_log
from nbtools.traces.reader import Format

SMALL_PART = 8 << 20
"""Bytes of logs below which a part is small: half of the smallest batch."""
MAX_SMALL_PARTS = 24
"""Number of small parts up to which they stay: a query opens every file."""


@dataclass(frozen=True)
class Plan:
    """Says what an ingest does.

    The logs ``changed`` are read, the rows of the paths ``gone`` are removed, ``same`` have not changed, and
    ``odd`` are paths that are not valid UTF-8 and cannot be stored.
    """

    changed: tuple[Log, ...]
    gone: tuple[str, ...]
    same: Mapping[str, Log]
    odd: tuple[str, ...]

    def to_renew(self, parts: Iterable[Part], workers: int) -> list[Log]:
        """Returns unchanged logs that are read again, so that queries need not open many files with few
        current rows: those in parts with mostly outdated rows, and in small parts where there are many.
        """
        leaving = {*self.gone, *(log.path for log in self.changed)}
        small: list[list[str]] = []
        mostly_outdated: list[list[str]] = []
        for part in parts:
            staying = [log.path for log in part.logs if log.path not in leaving]
            if staying and all(path in self.same for path in staying):
                if len(part.paths) > 2 * len(staying):
                    mostly_outdated.append(staying)
                elif sum(self.same[path].size for path in staying) < SMALL_PART:
                    small.append(staying)
        # Fewer small parts than this may again become as many: an ingest writes at least one for each worker.
        if len(small) <= max(MAX_SMALL_PARTS, 2 * workers + 2):
            small.clear()
        return [self.same[path] for paths in (*mostly_outdated, *small) for path in paths]


def plan_ingest(paths: str | Path | Iterable[str | Path], known: Mapping[str, Log], *, keep: bool) -> Plan:
    """Compares ``paths`` with ``known``, the logs in the corpus by path.

    A file that belongs to another log (a sub-agent's) is not a log of its own.
    """
    readers = {known_format.name: known_format for known_format in formats()}
    candidates = dict.fromkeys(_expand_folders(expand_paths(paths), known))
    # Paths with undecodable bytes have lone surrogates, which ``encode`` replaces.
    odd = tuple(path for path in candidates if path.encode("utf-8", "replace").decode() != path)
    found = {
        path: log
        for path in candidates
        if path not in odd and (log := _log(path, known.get(path), readers)) is not None
    }
    secondary_files = {file for log in (*known.values(), *found.values()) for file in log.files[1:]}
    logs = {path: log for path, log in found.items() if path not in secondary_files}
    same = {path: log for path, log in logs.items() if path in known and known[path].key == log.key}
    gone = {path for path in known if path in secondary_files or (not keep and not Path(path).exists())}
    changed = tuple(log for path, log in logs.items() if path not in same)
    return Plan(changed, tuple(sorted(gone)), same, odd)


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
    state = repr((VERSION, name or sorted(readers), states))
    return Log(
        path,
        files,
        hashlib.sha256(state.encode("utf-8", "surrogateescape")).hexdigest()[:32],
        size,
        name,
        why,
    )
