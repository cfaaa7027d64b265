"""Suggests existing paths for a path that does not exist."""

from __future__ import annotations

import difflib
import os
import stat
from collections import deque
from collections.abc import Iterator

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, ToolName
from nbtools.workspace.files.no_follow import scan_folder, status_or_none
from nbtools.workspace.paths import printable_path
from nbtools.workspace.workspace import Workspace

_MAX_FOLDERS = 200
_MAX_NAMES = 5_000
_SHORT = 8
"""In names up to this length, one typing error weighs more."""
_MAX_DIFFERENCE = 6
"""The most characters by which similar names differ."""
_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})


def path_not_found(workspace: Workspace, path: str, what: str = "file") -> ToolFailure:
    """Returns the failure for ``path``, with up to three similar paths that exist."""
    near = nearest_paths(workspace, path)
    similar = f" Did you mean {' or '.join(map(printable_path, near))}?"
    hint = similar if near else Advice(" Use ", ToolName("ls", "glob"), " to see what exists.")
    return ToolFailure(
        ErrorCode.FILE_NOT_FOUND, Message.of(f"There is no {what} {printable_path(path)}.", hint)
    )


def nearest_paths(workspace: Workspace, path: str) -> list[str]:
    """Returns existing paths, relative to the workspace: the same name elsewhere first, then similar names.

    Looks only at the deepest folder of the path that exists,
    and at the first few thousand names of the workspace.
    """
    target = workspace.relative(workspace.resolve(path))
    name = os.path.basename(target)
    found = dict.fromkeys([*_siblings(workspace, target), *_names(str(workspace.root))])
    candidates = [
        other for other in found if not workspace.hides(other) and not workspace.hides(other, folder=True)
    ]
    same = [other for other in candidates if os.path.basename(other).casefold() == name.casefold()]
    similar = difflib.get_close_matches(
        target,
        [other for other in candidates if _may_be_similar(target, other)],
        n=3,
        cutoff=0.6 if len(target) <= _SHORT else 0.75,
    )
    return list(dict.fromkeys([*same, *similar]))[:3]


def _siblings(workspace: Workspace, target: str) -> list[str]:
    """Returns entries of the path's deepest folder, with the rest of the path where that exists."""
    head, rest = target, ""
    while head and not _is_folder(workspace.root / head):
        head, part = os.path.split(head)
        rest = os.path.join(part, rest) if rest else part
    tail = rest.partition("/")[2]
    names = [os.path.join(head, name) for name in _listed(workspace.root / head)]
    return [
        joined
        for name in names
        if _exists(workspace.root / (joined := os.path.join(name, tail) if tail else name))
    ]


def _listed(folder: os.PathLike[str]) -> list[str]:
    try:
        with scan_folder(folder) as entries:
            return sorted(entry.name for entry in entries)[:_MAX_NAMES]
    except (OSError, ToolFailure):
        return []


def _is_folder(path: os.PathLike[str]) -> bool:
    try:
        info = status_or_none(path)
    except (OSError, ToolFailure):
        return False
    return info is not None and stat.S_ISDIR(info.st_mode)


def _exists(path: os.PathLike[str]) -> bool:
    try:
        return status_or_none(path) is not None
    except (OSError, ToolFailure):
        return False


def _names(root: str) -> Iterator[str]:
    """Yields the files below ``root``, those of upper folders first."""
    folders = deque([root])
    count = opened = 0
    while folders and opened < _MAX_FOLDERS and count < _MAX_NAMES:
        opened += 1
        try:
            folder = folders.popleft()
            with scan_folder(folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    count += 1
                    path = os.path.join(folder, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        folders += [] if entry.name in _SKIPPED else [path]
                    else:
                        yield os.path.relpath(path, root)
        except (OSError, ToolFailure):
            continue


def _may_be_similar(target: str, other: str) -> bool:
    """Returns whether the expensive comparison is worth while."""
    return (
        abs(len(target) - len(other)) <= _MAX_DIFFERENCE and len(set(target) ^ set(other)) <= _MAX_DIFFERENCE
    )
