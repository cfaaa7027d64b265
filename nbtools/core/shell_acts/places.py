"""Where the paths of a line lead, after ``cd``."""

from __future__ import annotations

import posixpath
import re

from nbtools.core.shell_syntax import SimpleCommand

_MOST = 8


class Places:
    """The folders that a part of the line may run in, relative to where the line starts; ``""`` is that place itself."""

    def __init__(self) -> None:
        self.folders: tuple[str, ...] = ("",)
        self._before: tuple[str, ...] = ()
        self._lost = ""

    @property
    def moved(self) -> bool:
        return self.folders != ("",) or bool(self._lost)

    def before(self, command: SimpleCommand) -> None:
        """Only what ``&&`` joins to a ``cd`` surely runs behind it."""
        if self._before and (command.operator != "&&" and not (command.operator == "" and command.nested)):
            self.folders = tuple(dict.fromkeys((*self.folders, *self._before)))
            self._before = ()

    def after(self, command: SimpleCommand) -> str:
        """Follows a ``cd``; says why nobody knows where it leads."""
        if self._lost:
            lost, self._lost = self._lost, ""
            return lost
        if not command.argv or command.argv[0] not in ("cd", "pushd", "popd"):
            return ""
        target = [word for word in command.argv[1:] if word not in ("-P", "-L", "-e", "--")]
        if command.argv[0] == "popd" or len(target) > 1 or command.dynamic or target[:1] == ["-"] or re.match(r"[-+]\d", "".join(target)):
            self._lost = "where it goes with cd is only known when it runs"
            return ""
        led = tuple(
            posixpath.join(folder, target[0] if target else "~") if not (target or ["~"])[0].startswith("~") else (target or ["~"])[0]
            for folder in self.folders
        )
        sure = command.operator in ("", "&&") and not command.nested
        self._before = (*self._before, *self.folders)
        self.folders = led if sure else tuple(dict.fromkeys((*self.folders, *led)))
        if len(self.folders) > _MOST:
            self.folders = self.folders[:_MOST]
            return "it goes to too many folders"
        return ""

    def seen(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """The paths from where the line starts."""
        if not paths:
            return ()
        if self.folders == ("",):
            return tuple(dict.fromkeys(paths))
        return tuple(dict.fromkeys(self._joined(folder, path) for path in paths for folder in self.folders))

    def _joined(self, folder: str, path: str) -> str:
        return path if re.match(r"""["']*[$`~/]""", path) or not folder else posixpath.join(folder, path)
