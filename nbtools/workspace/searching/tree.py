"""All that is in a folder at any depth, counted, and as much of it as there is room for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from nbtools.core.errors import ToolFailure
from nbtools.workspace import nofollow
from nbtools.workspace.halting import Halt
from nbtools.workspace.nofollow import scan

_CLOSED = frozenset(
    (
        *("node_modules", "bower_components", "vendor", "target", "dist", "build", "out", "bin", "obj", "coverage", "__pycache__"),
        *("env", "venv", "tmp", "temp", "artifacts", "logs", "cache", "resource", "resources"),
    )
)
"""What programs fill: folders of such a name, and those that begin with a dot, are shown and not looked into."""


@dataclass(slots=True)
class Node:
    """An entry; of a folder that is not ``open`` all that is known is the number of entries directly in it, -1 if it may not be read.

    ``to`` is where a link leads, as it is written; a link is not followed.
    """

    name: str
    folder: bool = False
    open: bool = True
    count: int = 0
    to: str = ""
    children: list[Node] = field(default_factory=list)
    shown: int = 0
    """How many of the children there is room for."""
    hidden: int = 0
    """How many of the entries directly in it policy leaves out."""


Hides: TypeAlias = Callable[[str, bool], bool]
"""Whether the entry at an absolute path, a folder or not, is left out."""


def look(path: str, depth: int | None, halt: Halt, hides: Hides = lambda _path, _folder: False) -> Node:
    """The tree below a folder, ``depth`` levels of it.  A folder that may not be read is one that is not open, without entries.

    Raises ``OSError`` for ``path`` itself, and ``ToolFailure`` where that became a link.
    """
    root = Node(os.path.basename(path), folder=True)
    level = [(path, root)]
    left = depth
    with scan(path):
        pass
    while level:
        below: list[tuple[str, Node]] = []
        for place, node in level:
            halt.check()
            node.children = _children(place, node, hides)
            below += [(f"{place}/{child.name}", child) for child in node.children if child.folder and child.open]
        left = None if left is None else left - 1
        if left == 0:
            _close(below, hides)
            return root
        level = below
    return root


def make_room(root: Node, limit: int) -> None:
    """Shares ``limit`` entries out: level by level, and where a level does not fit, the same to each folder of it."""
    level = [root]
    while level and limit > 0:
        sizes = [len(node.children) for node in level]
        for node, share in zip(level, shares(sizes, limit), strict=True):
            node.shown = share
        limit -= sum(node.shown for node in level)
        level = [child for node in level for child in node.children[: node.shown] if child.children]


def shares(sizes: Sequence[int], limit: int) -> list[int]:
    """What each gets of ``limit`` when nobody gets more than they can take, and those who can take more get the same, but for one."""
    given = [0] * len(sizes)
    for position, place in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        fair = -(-limit // (len(sizes) - position))
        given[place] = min(sizes[place], fair)
        limit -= given[place]
    return given


def walk(node: Node) -> Iterator[tuple[str, Node]]:
    """All entries below a node with their paths, each folder before what is in it."""
    todo = [("", node)]
    while todo:
        way, folder = todo.pop()
        for child in folder.children:
            yield f"{way}{child.name}", child
        todo += [(f"{way}{child.name}/", child) for child in reversed(folder.children) if child.children]


def _children(path: str, node: Node, hides: Hides) -> list[Node]:
    found: list[Node] = []
    try:
        with scan(path) as entries:
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
    """By its own name, or by that of what it leads to."""
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
        with scan(path) as entries:
            hidden = [_is_hidden(path, entry, hides) for entry in entries]
    except (OSError, ToolFailure):
        node.count = -1
    else:
        node.hidden = sum(hidden)
        node.count = len(hidden) - node.hidden


def _target(path: str) -> str:
    above, name = os.path.split(path)
    try:
        with nofollow.folder(above) as there:
            return os.readlink(name, dir_fd=there)
    except (OSError, ToolFailure):
        return "?"
