"""Which logs are new, which grew, which are gone."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.traces.format import Format, formats, reading

LAYOUT = 1
"""Of the parts; another one makes all of them again."""


@dataclass(frozen=True)
class Log:
    """A log to be read: its files, itself first, and a key of what they are now.  Where no format knows it, ``why`` says so."""

    path: str
    files: tuple[str, ...]
    key: str
    size: int
    format: str
    why: str = ""


@dataclass(frozen=True)
class Plan:
    """``logs`` to be read, ``gone`` paths whose rows go, ``same`` logs that need nothing, ``odd`` names that cannot be kept: no UTF-8."""

    logs: tuple[Log, ...]
    gone: tuple[str, ...]
    same: int
    odd: tuple[str, ...] = ()


def plan(paths: str | Path | Iterable[str | Path], known: Mapping[str, Log], *, keep: bool) -> Plan:
    """``known`` are the logs in the corpus by path.  A file that belongs to another log (a sub-agent's) is no log of its own."""
    named = {known_format.name: known_format for known_format in formats()}
    spread = dict.fromkeys(_spread(matching(paths), known))
    odd = tuple(path for path in spread if not _is_text(path))
    found = {path: log for path in spread if path not in odd and (log := _log(path, known.get(path), named)) is not None}
    owned = {file for log in (*known.values(), *found.values()) for file in log.files[1:]}
    logs = [log for path, log in found.items() if path not in owned]
    fresh = tuple(log for log in logs if path_key(known, log.path) != log.key)
    gone = {path for path in known if path in owned or (not keep and not Path(path).exists())}
    return Plan(fresh, tuple(sorted(gone)), len(logs) - len(fresh), odd)


def path_key(known: Mapping[str, Log], path: str) -> str:
    return known[path].key if path in known else ""


def matching(paths: str | Path | Iterable[str | Path]) -> list[str]:
    """Absolute paths, each once; what is one path may be a glob pattern, ``**`` for folders in folders."""
    if isinstance(paths, str | Path):
        pattern = str(Path(paths).expanduser())
        one = Path(pattern).exists()
        found: Iterable[str | Path] = [pattern] if one else glob.glob(pattern, recursive=True)  # noqa: PTH207 - it may be absolute
    else:
        found = paths
    return list(dict.fromkeys(str(Path(path).expanduser().absolute()) for path in found))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _spread(paths: Iterable[str], known: Mapping[str, Log]) -> Iterator[str]:
    """A folder that is no log itself stands for the logs below it; what begins with a dot is not looked into."""
    for path in paths:
        if path in known or not Path(path).is_dir() or _is_log(path):
            yield path
        else:
            yield from _spread(sorted(entry.path for entry in os.scandir(path) if not entry.name.startswith(".")), known)


def _is_log(folder: str) -> bool:
    try:
        reading(Path(folder))
    except TraceError:
        return False
    return True


def _log(path: str, before: Log | None, named: Mapping[str, Format]) -> Log | None:
    """As it is now; None where it is not there, or is a folder that is no log.  The format that is known is not asked for again."""
    if before is not None and (before.format in named or before.why):
        others = named[before.format].files(Path(path)) if before.format in named else ()
        now = _stated(path, (path, *map(str, others)), before.format, named, before.why)
        if now is None or now.key == before.key:
            return now
    try:
        read = reading(Path(path))
    except TraceError as error:
        return None if Path(path).is_dir() else _stated(path, (path,), "", named, str(error))
    return _stated(path, tuple(map(str, read.source.files)), read.format.name, named)


def _stated(path: str, files: tuple[str, ...], name: str, named: Mapping[str, Format], why: str = "") -> Log | None:
    """None where the log is not there.  A file that no format knows is asked again when the formats are others."""
    states = []
    size = 0
    for file in files:
        try:
            stat = Path(file).stat()
        except OSError:
            if file == path:
                return None
            continue
        states.append((file, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))  # the last one changes with any byte
        size += stat.st_size
    told = repr((LAYOUT, name or sorted(named), states))
    return Log(path, files, hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32], size, name, why)
