"""Finds what a learner has submitted: notebooks, files that may be session logs, and what is not looked at.

The folders are those of strangers. No link is followed, and every entry is either found or named with the
reason why it is not.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.reader import LogFile
from nbtools.traces.session_index.left_out import LeftOut
from nbtools.traces.session_index.places import OTHER

MAX_ENTRIES = 5_000
"""Files, folders and links of one learner that are looked at."""
_MAX_DEPTH = 16
_NOT_SEARCHED = frozenset(
    (".git", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".venv", "__pycache__", "node_modules")
)
"""Names of folders that programs fill."""
_LOG_ENDINGS = (".jsonl", ".json", ".ndjson", ".eval", ".traj")
_ID_LENGTH = 16
"""Shorter names of folders, such as data, are words that may occur in any log."""
LINK = "It is a link, and links are not followed."


class LearnerFolder(Struct, frozen=True):
    """The folder of one learner, which has the learner's name.  ``size`` is that of its files in bytes."""

    name: str
    path: Path
    notebooks: tuple[Path, ...]
    files: tuple[Path, ...]
    links: tuple[Path, ...]
    left_out: tuple[LeftOut, ...]
    size: int


def learner_folders(folder: Path) -> tuple[list[LearnerFolder], list[LeftOut]]:
    """Returns the folders of the learners, by name, and the entries beside them that are none.
    Raises ``TraceError`` where the folder cannot be read.
    """
    try:
        entries = _entries(folder)
    except OSError as error:
        raise TraceError(f"{folder} cannot be read: {error.strerror or error}.") from error
    learners, others = [], []
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink():
            others.append(left_out(path, LINK))
        elif not entry.is_dir(follow_symlinks=False):
            others.append(left_out(path, "It is in no learner's folder."))
        elif entry.name.startswith(".") or entry.name in _NOT_SEARCHED:
            others.append(left_out(path, "A folder with such a name is no learner's."))
        else:
            learners.append(_Walk(path).found())
    return learners, others


def left_out(path: Path, reason: str) -> LeftOut:
    return LeftOut(path, OTHER, reason)


class _Walk:
    """Looks at the entries of one learner's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._notebooks: list[Path] = []
        self._files: list[Path] = []
        self._links: list[Path] = []
        self._left_out: list[LeftOut] = []
        self._size = 0
        self._entries = 0

    def found(self) -> LearnerFolder:
        for entry in self._walk(self._folder, 0):
            path = Path(entry.path)
            self._size += entry.stat(follow_symlinks=False).st_size
            (self._notebooks if path.suffix.lower() == ".ipynb" else self._files).append(path)
        if self._entries > MAX_ENTRIES:
            reason = f"It has more than {MAX_ENTRIES:,} entries, and the others were not looked at."
            self._left_out.append(left_out(self._folder, reason))
        return LearnerFolder(
            self._folder.name,
            self._folder,
            tuple(self._notebooks),
            tuple(self._files),
            tuple(self._links),
            tuple(self._left_out),
            self._size,
        )

    def _walk(self, folder: Path, depth: int) -> Iterator[os.DirEntry[str]]:
        """Yields the files below a folder."""
        try:
            entries = _entries(folder)
        except OSError as error:
            self._left_out.append(left_out(folder, f"It cannot be read: {error.strerror or error}."))
            return
        for entry in entries:
            self._entries += 1
            if self._entries > MAX_ENTRIES:
                return
            try:
                reason = self._reason(entry, depth)
            except OSError as error:  # it is gone, or its folder may be listed and not entered
                reason = f"It cannot be read: {error.strerror or error}."
            if reason:
                self._left_out.append(left_out(Path(entry.path), reason))
            elif entry.is_dir(follow_symlinks=False):
                yield from self._walk(Path(entry.path), depth + 1)
            else:
                yield entry

    def _reason(self, entry: os.DirEntry[str], depth: int) -> str:
        """Returns why an entry is not looked at; empty for others."""
        if entry.is_symlink():
            self._links.append(Path(entry.path))
            return LINK
        if entry.is_dir(follow_symlinks=False):
            if entry.name in _NOT_SEARCHED:
                return "Programs fill folders with such a name: it was not looked into."
            return "It is too deep in the folder: it was not looked into." if depth >= _MAX_DEPTH else ""
        is_file = stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode)
        return "" if is_file else "It is not a file: a device, a pipe or a socket."


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return sorted(found, key=lambda entry: entry.name)


class Links:
    """The links in a learner's folder, of which none is followed."""

    def __init__(self, links: Iterable[Path]) -> None:
        # There may be thousands of links and of files: what belongs together is looked up.
        self._logs: dict[Path, str] = {}
        self._folders: dict[str, set[Path]] = defaultdict(set)
        for link in links:
            if link.suffix.lower() in _LOG_ENDINGS:
                self._logs[link.parent] = link.name
            self._folders[link.name].update(link.parents)

    def refuse_beside(self, path: Path, start: bytes) -> None:
        """Raises ``TraceError`` where readers would follow a link from the log at ``path``: a link with the
        ending of a log in its folder or the one above, or one with the name of the log or of its session, as
        folders of sub-agents have, or of a database's log. ``start`` is the beginning of the log.
        """
        name = self._logs.get(path.parent) or self._logs.get(path.parent.parent) or ""
        if not name and self._folders:
            quoted = (part.decode("utf-8", "surrogateescape") for part in start.split(b'"'))
            names = {path.stem, "subagents", f"{path.name}-wal", *(p for p in quoted if len(p) >= _ID_LENGTH)}
            name = next((one for one in names if path.parent in self._folders.get(one, ())), "")
        if name:
            raise TraceError(f"Beside it is a link that its reader would follow: {name}.")


def refuse_outside(log: LogFile, folder: Path) -> None:
    """Raises ``TraceError`` for a log with files that are not below ``folder``."""
    root = folder.resolve()
    outside = next((file for file in log.source.files if not file.resolve().is_relative_to(root)), None)
    if outside is not None:
        raise TraceError(f"A file that belongs to it is not in the learner's folder: {outside.name}.")
