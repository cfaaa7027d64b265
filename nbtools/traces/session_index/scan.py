"""Lists the log files below the places where agents store them, without reading them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from functools import cache
from pathlib import Path
from re import Pattern
from re import compile as compile_pattern

from msgspec import Struct

from nbtools.traces.readers.openhands import EVENT_FILE, event_files
from nbtools.traces.session_index.places import OTHER, Place

_MAX_DEPTH = 8
"""Folders below a place that ``**`` matches."""
_MAX_FOLDERS = 50_000
"""Folders listed in one place."""
_MAX_LOGS = 200_000


class LogStat(Struct, frozen=True):
    """A log file, or a folder that is a log, as it was when its folder was listed."""

    path: str
    place: Place
    size: int
    mtime_ns: int
    inode: int


def find_logs(places: Iterable[Place]) -> dict[str, LogStat]:
    """Returns the logs by path, each file once.

    Unreadable folders, links that lead out of their place, and what is not a file are left out.
    """
    found: dict[str, LogStat] = {}
    seen: set[tuple[int, int]] = set()
    for place in places:
        listed: dict[str, list[os.DirEntry[str]]] = {}
        for pattern in place.logs:
            for entry, status in _Walk(place, pattern, listed):
                file = status.st_dev, status.st_ino
                if file not in seen and len(found) < _MAX_LOGS:
                    seen.add(file)
                    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
                    found[entry.path] = LogStat(entry.path, place, size, status.st_mtime_ns, status.st_ino)
    return _without_events(found)


def is_log_path(path: Path, places: Iterable[Place]) -> bool:
    """Returns whether a path is that of a log in one of the places, by its name alone."""
    return any(_is_in(path, place) for place in places)


def _is_in(path: Path, place: Place) -> bool:
    try:
        parts = path.relative_to(place.folder).parts
    except ValueError:
        return False
    if any(_pattern(pattern).fullmatch(path.name) for pattern in place.excluded):
        return False
    is_stored = any(_fits(parts[:-1], pattern.split("/")) for pattern in place.databases)
    return is_stored or any(_fits(parts, pattern.split("/")) for pattern in place.logs)


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern or not parts:
        return not pattern and not parts
    if pattern[0] == "**":
        return _fits(parts, pattern[1:]) or _fits(parts[1:], pattern)
    return _pattern(pattern[0]).fullmatch(parts[0]) is not None and _fits(parts[1:], pattern[1:])


def _without_events(found: dict[str, LogStat]) -> dict[str, LogStat]:
    """Returns the logs without the files of those that are folders, in folders that the person added."""
    added = (path for path, log in found.items() if log.place.folders and log.place.agent == OTHER)
    folders = {folder for folder in added if _holds_events(folder)}
    if not folders:
        return found
    return {
        path: log
        for path, log in found.items()
        if os.path.dirname(path) not in folders or not EVENT_FILE.fullmatch(os.path.basename(path))  # noqa: PTH119, PTH120 - thousands of paths
    }


def _holds_events(folder: str) -> bool:
    try:
        return bool(event_files(Path(folder)))
    except OSError:
        return False


class _Walk:
    """Yields the entries that match one pattern of a place, with their status.
    ``listed`` are the folders that were listed already.

    The place's folder and the fixed beginning of the pattern may be links;
    below them, folders that are links are not followed.
    """

    def __init__(self, place: Place, pattern: str, listed: dict[str, list[os.DirEntry[str]]]) -> None:
        parts = pattern.split("/")
        fixed = next(number for number, part in enumerate(parts) if "*" in part)
        self._folder, self._parts = (
            os.path.join(place.folder, *parts[:fixed]),  # noqa: PTH118 - thousands of paths
            parts[fixed:],
        )
        self._root = os.path.realpath(self._folder)
        self._wanted = stat.S_ISDIR if place.folders else stat.S_ISREG
        self._excluded = [_pattern(name) for name in place.excluded]
        self._listed = listed

    def __iter__(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        return self._matches(self._folder, self._parts, 0)

    def _matches(
        self, folder: str, parts: list[str], depth: int
    ) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self._matches(folder, rest, depth)
            if depth < _MAX_DEPTH:
                for entry in self._list(folder):
                    if _is_folder(entry):
                        yield from self._matches(entry.path, parts, depth + 1)
            return
        match = _pattern(part).fullmatch
        for entry in self._list(folder):
            if not match(entry.name):
                continue
            if rest:
                if _is_folder(entry):
                    yield from self._matches(entry.path, rest, depth)
            elif (status := self._status(entry)) is not None:
                yield entry, status

    def _list(self, folder: str) -> list[os.DirEntry[str]]:
        entries = self._listed.get(folder)
        if entries is None:
            if len(self._listed) >= _MAX_FOLDERS:
                return []
            try:
                with os.scandir(folder) as found:
                    entries = list(found)
            except OSError:
                entries = []
            self._listed[folder] = entries
        return entries

    def _status(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """Returns the status of a log; None if it is none."""
        if any(pattern.fullmatch(entry.name) for pattern in self._excluded):
            return None
        try:
            if entry.is_symlink() and not os.path.realpath(entry.path).startswith(self._root + os.sep):
                return None  # it leads out of the place
            status = entry.stat()
        except OSError:
            return None
        return status if self._wanted(status.st_mode) else None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


@cache
def _pattern(name: str) -> Pattern[str]:
    return compile_pattern(translate(name))
