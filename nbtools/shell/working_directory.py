"""Tracks the working directory through ``cd`` and resolves the paths of a command line against it."""

from __future__ import annotations

import posixpath
import re

from nbtools.shell.grammar import SimpleCommand

_MOST = 8
_MOVES = ("cd", "pushd", "popd")
_WRAPPERS = ("command", "builtin", "time")
_CD_OPTION = re.compile(r"-[LPe@]+")
_WRAPPER_OPTION = re.compile(r"-p+|--|!")


def _unwrapped(command: SimpleCommand) -> tuple[str, ...]:
    """Returns the words after ``command``, ``builtin`` and ``time``, which do not prevent ``cd``,
    and after words that may be empty.
    """
    argv, place = command.argv, 0
    for word in argv:
        if word not in _WRAPPERS and not (place and _WRAPPER_OPTION.fullmatch(word)):
            break
        place += 1
    if place in command.dynamic:
        place = next((at for at in range(place, len(argv)) if argv[at] in _MOVES), place)
    return argv[place:]


def _target(argv: tuple[str, ...]) -> str | None:
    """Returns the folder that ``cd`` or ``pushd`` changes to, ``~`` for the home folder;
    None where it is only known at run time.

    A literal folder that begins with ``~`` was quoted, so it is one of that name.
    """
    place = 1
    while argv[0] == "cd" and place < len(argv) and _CD_OPTION.fullmatch(argv[place]):
        place += 1
    operands = argv[place + (argv[place : place + 1] == ("--",)) :]
    if not operands:
        return "~" if argv[0] == "cd" else None
    if argv[0] == "popd" or len(operands) > 1 or operands[0][:1] in ("-", "+") or not operands[0]:
        return None
    return f"./{operands[0]}" if operands[0].startswith("~") else operands[0]


class WorkingDirectories:
    """The folders that a part of the line may run in, relative to where the line starts;
    ``""`` is the start itself.
    """

    def __init__(self, folders: tuple[str, ...] = ("",), *, loops: bool = False) -> None:
        """``loops``: whether a part of the line may run repeatedly."""
        self.folders = folders
        self._loops = loops
        self._before: tuple[str, ...] = ()
        self._lost = ""

    def child(self) -> WorkingDirectories:
        """Returns the folders of a shell that is started there; its ``cd`` does not affect this one."""
        return WorkingDirectories(tuple(dict.fromkeys((*self.folders, *self._before))), loops=self._loops)

    def prepare(self, command: SimpleCommand) -> None:
        """Prepares for a command: only one joined by ``&&`` certainly runs after a ``cd``."""
        follows = command.operator == "&&" or (command.operator == "" and command.nested)
        if self._before and not follows:
            self.folders = tuple(dict.fromkeys((*self.folders, *self._before)))
            self._before = ()

    def follow(self, command: SimpleCommand) -> str:
        """Follows a ``cd``.  Returns why its target is not known; empty where it is."""
        if self._lost:
            lost, self._lost = self._lost, ""
            return lost
        argv = _unwrapped(command)
        if not argv or argv[0] not in _MOVES:
            return ""
        if self._loops and command.nested:
            self._lost = "the target of cd in a loop is only known when it runs"
            return ""
        target = _target(argv)
        if target is None or command.dynamic:
            self._lost = "the target of cd is only known when it runs"
            return ""
        targets = tuple(posixpath.join(folder, target) for folder in self.folders)
        if target == "~":
            targets = ("~",)
        is_certain = command.operator in ("", "&&") and not command.nested
        self._before = (*self._before, *self.folders)
        self.folders = targets if is_certain else tuple(dict.fromkeys((*self.folders, *targets)))
        if len(self.folders) > _MOST:
            self.folders = self.folders[:_MOST]
            return "it changes to too many folders"
        return ""

    def resolve(self, paths: tuple[str, ...], folder: str = "") -> tuple[str, ...]:
        """Returns the paths relative to where the line starts; the program changes to ``folder`` itself."""
        if not paths:
            return ()
        if self.folders == ("",) and not folder:
            return tuple(dict.fromkeys(paths)) if len(paths) > 1 else paths
        places = self.resolve_folder(folder)
        return tuple(dict.fromkeys(_joined(place, path) for path in paths for place in places))

    def resolve_folder(self, folder: str) -> tuple[str, ...]:
        """Returns the folders in which a program works that changes to ``folder`` itself."""
        if not folder:
            return self.folders
        return tuple(dict.fromkeys(_joined(place, folder) for place in self.folders))


def _joined(folder: str, path: str) -> str:
    return path if re.match(r"""["']*[$`~/]""", path) or not folder else posixpath.join(folder, path)
