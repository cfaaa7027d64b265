"""Lists a folder's entries and counts what is below a path."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import ToolFailure, from_os_error
from nbtools.core.result import Entry
from nbtools.workspace.cancellation import CancellationFlag
from nbtools.workspace.files.no_follow import scan_folder, status, status_or_none
from nbtools.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The entries of a folder, folders first, then by name; ``hidden`` counts what the policy hides."""

    entries: tuple[Entry, ...]
    hidden: int = 0


def list_folder(path: Path, workspace: Workspace) -> FolderListing:
    """Lists a folder; only files have a size, in bytes.

    Raises ``OSError``, and ``ToolFailure`` if ``path`` became a link.
    """
    prefix = "" if path == workspace.root else f"{workspace.relative(path)}/"
    with scan_folder(path) as entries:
        found = [
            (
                _linked(prefix + entry.name, workspace)
                if entry.is_symlink()
                else _entry(entry, prefix, workspace)
            )
            for entry in entries
        ]
    visible = [entry for entry in found if entry is not None]
    visible.sort(key=lambda entry: (not entry.folder, entry.path.casefold(), entry.path))
    return FolderListing(tuple(visible), len(found) - len(visible))


def _entry(entry: os.DirEntry[str], prefix: str, workspace: Workspace) -> Entry | None:
    """Returns an entry, or None if the policy hides it; one without permission has no size."""
    name = prefix + entry.name
    folder = entry.is_dir(follow_symlinks=False)
    if workspace.hides(name, folder=folder):
        return None
    if folder or not entry.is_file(follow_symlinks=False):
        return Entry(name, folder=folder)
    try:
        return Entry(name, size=entry.stat(follow_symlinks=False).st_size)
    except OSError:
        return Entry(name)


def _linked(name: str, workspace: Workspace) -> Entry | None:
    """Returns a link as its target; one that leads nowhere or outside counts as a file of unknown size."""
    if workspace.hides(name):
        return None
    try:
        target = workspace.resolve(name)
        info = status_or_none(target)
    except (OSError, ToolFailure):
        return Entry(name, link=True)
    folder = info is not None and stat.S_ISDIR(info.st_mode)
    if workspace.hides(str(target), folder=folder):
        return None
    return Entry(
        name,
        size=info.st_size if info is not None and stat.S_ISREG(info.st_mode) else None,
        folder=folder,
        link=True,
    )


_MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class ContentCounts:
    """Numbers of files (and links) and of folders below a path, including a file at the path itself.

    ``first`` names some of them, folders with a slash; ``sizes`` has the bytes of these, 0 for folders.
    """

    folder: bool
    files: int
    folders: int
    bytes: int
    first: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


def count_contents(path: Path, cancellation: CancellationFlag) -> ContentCounts:
    """Counts what is below a path, without following links.

    Raises ``ToolFailure`` for a folder that cannot be read, ``OSError`` if the path does not exist.
    """
    info = status(path)
    if not stat.S_ISDIR(info.st_mode):
        return ContentCounts(False, 1, 0, info.st_size)
    files = folders = size = 0
    first, sizes = list[str](), list[int]()
    pending = [str(path)]
    while pending:
        cancellation.raise_if_cancelled()
        for entry in _entries(pending.pop(), path):
            folders, files = folders + entry.folder, files + (not entry.folder)
            size += entry.bytes
            pending += [entry.path] if entry.folder else []
            if len(first) < _MOST_NAMED:
                first.append(os.path.relpath(entry.path, path) + "/" * entry.folder)
                sizes.append(entry.bytes)
    return ContentCounts(True, files, folders, size, tuple(first), tuple(sizes))


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    path: str
    folder: bool
    bytes: int


def _entries(folder: str, below: Path) -> list[_Entry]:
    try:
        with scan_folder(folder) as entries:
            return sorted(_counted_entry(folder, entry) for entry in entries)
    except OSError as error:
        raise from_os_error(error, os.path.relpath(folder, below.parent)) from None


def _counted_entry(folder: str, entry: os.DirEntry[str]) -> _Entry:
    is_folder = entry.is_dir(follow_symlinks=False)
    return _Entry(
        os.path.join(folder, entry.name),
        is_folder,
        0 if is_folder else entry.stat(follow_symlinks=False).st_size,
    )
