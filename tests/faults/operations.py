"""Calls that change files, each with the files it starts from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Tree: TypeAlias = dict[str, tuple[int, bytes]]
"""Mode and content of each file below a folder, by its path;
a folder has no content but a slash at its end.
"""

LEFTOVER = ".nbtools-"


@dataclass(frozen=True, slots=True)
class Operation:
    """``passing``: what a path may hold for a moment although it holds it neither before nor after:
    the whole of another file.

    ``journal``: whether there is one; ``first``: whether the operation is the first change ever, which makes
    it.  ``undoes``: the name of the operation that is made before and undone by this one.  ``away``: a path
    that has two renames between old and new: it may be missing.
    """

    tool: str
    arguments: Mapping[str, Any]
    files: Mapping[str, bytes]
    passing: Mapping[str, bytes] = field(default_factory=dict)
    journal: bool = True
    first: bool = False
    undoes: str = ""
    away: str = ""

    def fill(self, folder: Path) -> None:
        """Makes the files; with modes that no umask gives, to see that they stay."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o640)


_TEXT = b"".join(b"line %d of a file that is longer than a word\n" % number for number in range(200))
_LARGE = b"".join(b"line %d of a file %s\n" % (number, b"of long lines, " * 28) for number in range(20)) * 130
"""A megabyte; of few lines, for comparing them is not what is tested."""
_PATCH = """*** Begin Patch
*** Update File: a
@@
-alpha
+ALPHA
*** Update File: sub/b
@@
-beta
+BETA
*** Add File: new/c
+gamma
*** Delete File: d
*** Update File: e
*** Move to: moved/e
@@
-epsilon
+EPSILON
*** End Patch
"""

OPERATIONS: Mapping[str, Operation] = {
    "write new": Operation("write", {"path": "new/deep/f", "content": "new\n" * 500}, {"other": b"other\n"}),
    "write over": Operation("write", {"path": "f", "content": "new\n" * 500}, {"f": _TEXT}),
    "edit": Operation("edit", {"path": "f", "old": "line 7 of", "new": "LINE SEVEN of"}, {"f": _TEXT}),
    "first change ever": Operation(
        "edit", {"path": "f", "old": "line 7 of", "new": "LINE SEVEN of"}, {"f": _TEXT}, first=True
    ),
    "edit large": Operation(
        "edit", {"path": "f", "old": "line 7 of", "new": "LINE SEVEN of", "count": 130}, {"f": _LARGE}
    ),
    "patch": Operation(
        "patch",
        {"patch": _PATCH},
        {"a": b"alpha\n", "sub/b": b"beta\n", "d": b"delta\n", "e": b"epsilon\n"},
        {"moved/e": b"epsilon\n"},
    ),
    "move": Operation("move", {"path": "f", "to": "new/place"}, {"f": _TEXT}),
    "move over": Operation("move", {"path": "f", "to": "g", "overwrite": True}, {"f": _TEXT, "g": b"g\n"}),
    "move folder": Operation(
        "move", {"path": "folder", "to": "new/place"}, {"folder/f": _TEXT, "folder/sub/g": b"g\n"}
    ),
    "delete": Operation("delete", {"path": "f"}, {"f": _TEXT, "other": b"other\n"}),
    "delete folder": Operation(
        "delete", {"path": "folder", "recursive": True}, {"folder/f": _TEXT, "folder/sub/g": b"g\n"}
    ),
    "replace_in_files": Operation(
        "replace_in_files",
        {"pattern": "alpha", "replacement": "omega", "apply": True},
        {f"{name}.txt": b"alpha %s\n" % name.encode() for name in "abcd"},
    ),
    "replace in many": Operation(
        "replace_in_files",
        {"pattern": "alpha", "replacement": "omega", "apply": True},
        {f"{n}.txt": b"alpha %d\n" % n for n in range(70)},
    ),
    "undo of a patch": Operation("undo", {}, {}, {"moved/e": b"epsilon\n"}, undoes="patch"),
    "undo of a write": Operation("undo", {}, {}, undoes="write over"),
    "undo of a move": Operation("undo", {}, {}, undoes="move over", away="g"),
    "undo of a deletion": Operation("undo", {}, {}, undoes="delete folder"),
}


def tree(folder: Path) -> Tree:
    """Returns the files below ``folder``, with leftovers of killed calls."""
    found: Tree = {}
    for place, _, files in os.walk(folder):
        where = Path(place)
        if where != folder:
            found[f"{where.relative_to(folder)}/"] = (where.stat().st_mode, b"")
        for name in files:
            path = where / name
            found[str(path.relative_to(folder))] = (path.stat().st_mode, path.read_bytes())
    return found


def without_leftovers(found: Tree) -> Tree:
    return {name: entry for name, entry in found.items() if LEFTOVER not in name}


def without_folders(found: Tree) -> Tree:
    return {name: entry for name, entry in found.items() if not name.endswith("/")}


def broken(operation: Operation, before: Tree, after: Tree, now: Tree) -> list[str]:
    """Yields a sentence for each file that is neither old nor new.  Folders may be there or not."""
    said = []
    for name in sorted({*before, *after, *without_leftovers(now)}):
        if name.endswith("/"):
            continue
        entry = now.get(name)
        if (
            entry in (before.get(name), after.get(name))
            or (entry is None and name == operation.away)
            or (entry is not None and entry[1] == operation.passing.get(name))
        ):
            continue
        said.append(
            f"{name} {'is missing' if entry is None else f'has mode {entry[0]:o} and {len(entry[1])} bytes'}"
        )
    return said
