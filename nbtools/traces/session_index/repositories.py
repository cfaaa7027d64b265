"""Finds the repository that a folder belongs to, also that of a linked worktree, without running git."""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath

_MAX_FILE = 4_096
"""Bytes: a ``.git`` file has one line."""
_MAX_PARENTS = 40
_WORKTREE_FOLDERS = re.compile(
    r"^(?P<repository>.+?)[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+(?:[/\\].*)?$"
)
"""Folders within a repository that agents make worktrees in: ``.claude/worktrees/NAME``,
``.worktrees/NAME``.
"""
_LINKED = re.compile(r"^(?P<repository>.+)[/\\]\.git[/\\]worktrees[/\\][^/\\]+$")


@lru_cache(maxsize=10_000)
def repository_of(folder: str) -> str:
    """Returns the main worktree of the repository that a folder is in; the folder itself where there is none.

    Where the folder no longer exists, only its name tells: see ``_WORKTREE_FOLDERS``.
    """
    named = _WORKTREE_FOLDERS.match(folder)
    if named is not None:
        return named["repository"]
    path = (
        PureWindowsPath(folder) if "\\" in folder or re.match(r"[A-Za-z]:", folder) else PurePosixPath(folder)
    )
    if not path.is_absolute() or isinstance(path, PureWindowsPath) != (os.name == "nt"):
        return folder
    for parent in [path, *path.parents][:_MAX_PARENTS]:
        found = _repository_at(str(parent))
        if found is not None:
            return found
    return folder


def _repository_at(folder: str) -> str | None:
    """Returns the repository whose worktree is this folder; None if it is none."""
    place = os.path.join(folder, ".git")  # noqa: PTH118 - many folders
    try:
        status = os.lstat(place)
        if stat.S_ISDIR(status.st_mode):
            return folder
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_FILE:
            return None
        text = _read(place)
    except (OSError, ValueError):
        return None
    target = os.path.normpath(os.path.join(folder, text.removeprefix("gitdir:").strip()))  # noqa: PTH118 - as above
    linked = _LINKED.match(target)
    if not text.startswith("gitdir:"):
        return None
    return linked["repository"] if linked is not None else folder


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, _MAX_FILE).decode("utf-8", "replace").partition("\n")[0]
    finally:
        os.close(descriptor)
