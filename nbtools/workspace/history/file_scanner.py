"""Scans the status of all files in a workspace; caches folders and ignore rules between scans."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from nbtools.workspace.search.gitignore import IGNORE_FILES, REPOSITORY, IgnoreRules, ignore_files

TIMESTAMP_TICK = 50_000_000
"""Nanoseconds: a file changed so shortly before the scan may change again without another timestamp."""
_COARSE_TICK = 2_100_000_000
"""The same for file systems with timestamps in steps of one or two seconds."""
_SECOND = 1_000_000_000
_RULE_FILES = frozenset({*IGNORE_FILES, REPOSITORY})
_SPARE = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY_PREFIX = ".nbtools-"
"""The prefix of temporary names, see ``temp_files``."""

Stamp: TypeAlias = tuple[int, int, int, int, int]
"""Size, modification and status change time (ns), inode, mode: differs if the content may differ."""


@dataclass(frozen=True, slots=True)
class FileScan:
    """A workspace's regular files by relative path, scanned ``at`` nanoseconds since the epoch."""

    files: dict[str, Stamp]
    at: int


@dataclass(frozen=True, slots=True)
class LimitExceeded:
    """The workspace exceeds the limits; ``why`` is for a person."""

    why: str


@dataclass(slots=True)
class _Folder:
    """A folder's ignore rules, the stamps of their sources, and whether git ignores each name."""

    above: IgnoreRules | None
    stamps: tuple[object, ...]
    ignores: IgnoreRules
    verdicts: dict[str, bool] = field(default_factory=dict)


class FileScanner:
    """Scans the workspace at ``root``: files that git does not ignore, no links.  Not thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: dict[str, _Folder] = {}

    # One system call for each file, and no file is read.
    # A folder above may become a link: code that reads by these paths checks that.
    def scan(self, apart: Path, count: int, size: int) -> FileScan | LimitExceeded:
        """Scans at most ``count`` files (and folders) of ``size`` bytes, without the journal in ``apart``.

        What cannot be listed, or is deleted during the scan, is left out, too.
        """
        at = time.time_ns()
        root, own = f"{self._root}/", f"{os.path.relpath(apart, self._root)}/"
        files: dict[str, Stamp] = {}
        scanned: dict[str, _Folder] = {}
        pending: list[tuple[str, IgnoreRules | None]] = [("", None)]
        bytes_left = size
        while pending:
            prefix, above = pending.pop()
            try:
                descriptor = os.open(root + prefix, _FOLDER)
            except OSError:
                continue
            try:
                entries = list(os.scandir(descriptor))
                folder = scanned[prefix] = self._cached_folder(prefix, above, entries, at)
                folders, found = _list_folder(folder, prefix, entries)
            finally:
                os.close(descriptor)
            files.update(found)
            pending += [(inner, folder.ignores) for inner in folders if inner != own]
            bytes_left -= sum([stamp[0] for stamp in found.values()])
            if len(files) > count or len(scanned) > count:
                limit = "the limit for snapshots (Settings.snapshot_files)"
                return LimitExceeded(f"the workspace has more than {count:,} files, {limit}")
            if bytes_left < 0:
                limit = "the limit for snapshots (Settings.snapshot_bytes)"
                return LimitExceeded(f"the workspace's files have more than {size:,} bytes, {limit}")
        self._folders = scanned
        return FileScan(files, at)

    def _cached_folder(
        self, prefix: str, above: IgnoreRules | None, entries: Sequence[os.DirEntry[str]], at: int
    ) -> _Folder:
        """Returns the folder of the previous scan, unless an ignore file here or above has changed."""
        rule_files = [entry.name for entry in entries if entry.name in _RULE_FILES]
        stamps: tuple[object, ...] = ()
        if rule_files or not prefix:
            stamps = tuple(
                _rule_stamps(self._root / prefix, sorted(rule_files), at)
                if prefix
                else _root_rule_stamps(self._root, at)
            )
        cached = self._folders.get(prefix)
        if cached is not None and cached.above is above and cached.stamps == stamps:
            if len(cached.verdicts) > 2 * len(entries) + _SPARE:
                cached.verdicts.clear()
            return cached
        ignores = IgnoreRules(self._root) if above is None else above.below(self._root / prefix, rule_files)
        return _Folder(above, stamps, ignores)


def stamp_of(info: os.stat_result) -> Stamp:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, stat.S_IMODE(info.st_mode)


def may_change_undetected(stamp: Stamp, at: int) -> bool:
    """Whether a file with this stamp, scanned at or after ``at``, may have changed without a new stamp."""
    _, written, changed, *_ = stamp
    return max(written, changed) >= at - (TIMESTAMP_TICK if changed % _SECOND else _COARSE_TICK)


def _list_folder(
    folder: _Folder, prefix: str, entries: Sequence[os.DirEntry[str]]
) -> tuple[list[str], dict[str, Stamp]]:
    """Returns the paths of the folders and the files that git does not ignore."""
    verdicts = folder.verdicts
    folders: list[str] = []
    files: dict[str, Stamp] = {}
    for entry in entries:
        name = entry.name
        if is_folder := entry.is_dir(follow_symlinks=False):
            name += "/"
        ignored = verdicts.get(name)
        if ignored is None:
            ignored = verdicts[name] = (
                entry.name == REPOSITORY
                or entry.name.startswith(_TEMPORARY_PREFIX)
                or folder.ignores.ignores(entry.name, folder=is_folder)
            )
        if ignored:
            continue
        if is_folder:
            folders.append(prefix + name)
            continue
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode):
            files[prefix + name] = stamp_of(info)
    return folders, files


def _rule_stamps(folder: Path, own: Iterable[str], at: int) -> Iterator[object]:
    """Yields the names and stamps of the ignore files in a folder."""
    for name in own:
        yield name
        yield _stamp(folder / name / "info" / "exclude" if name == REPOSITORY else folder / name, at)


def _root_rule_stamps(root: Path, at: int) -> Iterator[object]:
    """Yields the same for the root, with those above it and the user's own."""
    for source in ignore_files(root):
        yield source
        yield _stamp(source.path, at)


def _stamp(path: Path, at: int) -> object:
    """Returns a value that is equal to another one if the rules are the same."""
    try:
        stamp = stamp_of(os.stat(path))
    except OSError:
        return None
    return object() if may_change_undetected(stamp, at) else stamp
