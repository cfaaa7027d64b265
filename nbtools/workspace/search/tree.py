"""Reads a folder tree and limits the number of displayed entries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from nbtools.core.errors import ToolFailure
from nbtools.workspace.cancellation import CancellationFlag
from nbtools.workspace.files import no_follow
from nbtools.workspace.files.no_follow import scan_folder

_CLOSED_NAMES = (
    "node_modules bower_components vendor target dist build out bin obj coverage __pycache__ env venv tmp"
    " temp artifacts logs cache resource resources"
)
_CLOSED = frozenset(_CLOSED_NAMES.split())
"""Folders usually filled by programs: displayed, but like those that begin with a dot, not opened."""


@dataclass(slots=True)
class Node:
    """An entry of the tree. Of a folder not ``open`` only ``count`` is known, -1 if it is unreadable.

    ``to`` is the target of a link as written; links are not followed.
    """

    name: str
    folder: bool = False
    open: bool = True
    count: int = 0
    to: str = ""
    children: list[Node] = field(default_factory=list)
    displayed: int = 0
    """How many of the children are displayed."""
    hidden: int = 0
    """How many of its direct entries the policy hides."""


Hides: TypeAlias = Callable[[str, bool], bool]
"""Tells whether the policy hides an absolute path; the second argument is whether it is a folder."""


def read_tree(
    path: str, depth: int | None, halt: CancellationFlag, hides: Hides = lambda _path, _folder: False
) -> Node:
    """Returns the tree below a folder, ``depth`` levels deep; an unreadable folder is not open and empty.

    Raises ``OSError`` if ``path`` itself is unreadable, and ``ToolFailure`` if it has become a link.
    """
    root = Node(os.path.basename(path), folder=True)
    level = [(path, root)]
    levels_left = depth
    with scan_folder(path):
        pass
    while level:
        below: list[tuple[str, Node]] = []
        for folder, node in level:
            halt.raise_if_cancelled()
            node.children = _children(folder, node, hides)
            below += [
                (f"{folder}/{child.name}", child) for child in node.children if child.folder and child.open
            ]
        levels_left = None if levels_left is None else levels_left - 1
        if levels_left == 0:
            _close(below, hides)
            return root
        level = below
    return root


def limit_entries(root: Node, limit: int) -> None:
    """Selects ``limit`` entries level by level; folders of a level that does not fit share the rest."""
    level = [root]
    while level and limit > 0:
        sizes = [len(node.children) for node in level]
        for node, share in zip(level, shares(sizes, limit), strict=True):
            node.displayed = share
        limit -= sum(node.displayed for node in level)
        level = [child for node in level for child in node.children[: node.displayed] if child.children]


def shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Divides ``limit`` fairly: no share exceeds its size, the others differ by at most one."""
    result = [0] * len(sizes)
    for position, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        fair = -(-limit // (len(sizes) - position))
        result[index] = min(sizes[index], fair)
        limit -= result[index]
    return result


def walk(node: Node) -> Iterator[tuple[str, Node]]:
    """Yields all entries below a node with their paths, each folder before its entries."""
    todo = [("", node)]
    while todo:
        prefix, folder = todo.pop()
        for child in folder.children:
            yield f"{prefix}{child.name}", child
        todo += [(f"{prefix}{child.name}/", child) for child in reversed(folder.children) if child.children]


def _children(path: str, node: Node, hides: Hides) -> list[Node]:
    found: list[Node] = []
    try:
        with scan_folder(path) as entries:
            for entry in entries:
                if _is_hidden(path, entry, hides):
                    node.hidden += 1
                else:
                    found.append(_node(path, entry, hides))
    except (OSError, ToolFailure):
        node.open, node.count = False, -1
        return []
    return sorted(found, key=lambda child: (not child.folder, child.name.casefold(), child.name))


def _is_hidden(path: str, entry: os.DirEntry[str], hides: Hides) -> bool:
    """Returns whether the entry is hidden by its own path, or by that of its link target."""
    below = f"{path}/{entry.name}"
    if hides(below, entry.is_dir(follow_symlinks=False)):
        return True
    return entry.is_symlink() and hides(os.path.realpath(below), os.path.isdir(below))


def _node(path: str, entry: os.DirEntry[str], hides: Hides) -> Node:
    below = f"{path}/{entry.name}"
    if entry.is_symlink():
        return Node(entry.name, to=_target(below))
    if not entry.is_dir(follow_symlinks=False):
        return Node(entry.name)
    if entry.name.startswith(".") or entry.name.casefold() in _CLOSED:
        node = Node(entry.name, folder=True, open=False)
        _count(below, node, hides)
        return node
    return Node(entry.name, folder=True)


def _close(level: Sequence[tuple[str, Node]], hides: Hides) -> None:
    for path, node in level:
        node.open = False
        _count(path, node, hides)


def _count(path: str, node: Node, hides: Hides) -> None:
    try:
        with scan_folder(path) as entries:
            hidden = [_is_hidden(path, entry, hides) for entry in entries]
    except (OSError, ToolFailure):
        node.count = -1
    else:
        node.hidden = sum(hidden)
        node.count = len(hidden) - node.hidden


def _target(path: str) -> str:
    above, name = os.path.split(path)
    try:
        with no_follow.open_folder(above) as descriptor:
            return os.readlink(name, dir_fd=descriptor)
    except (OSError, ToolFailure):
        return "?"
