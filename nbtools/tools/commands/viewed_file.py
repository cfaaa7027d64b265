"""Recognises commands that only print one file, which count as reading it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nbtools.core.errors import ToolFailure
from nbtools.shell.grammar import parse_shell
from nbtools.workspace.files.read import read_bytes
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.workspace import Workspace

_SEVERAL_LINES = re.compile(r"\d+(?:,(?:\d+|\$))?p")
_COUNT = re.compile(r"-\d+|-[nc]\d+|--(?:lines|bytes)=\d+")
_WHOLE = {"cat": re.compile(r"-[nbAevtETs]+"), "nl": re.compile(r"-ba"), "bat": re.compile(r"-[pn]+|--plain")}
_PARTS = {
    "head": _COUNT,
    "tail": _COUNT,
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), re.compile(r"-[nHiwxvFEP]+|-[ABC]\d+")),
}
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg"})
_COUNTED = {
    **dict.fromkeys(("head", "tail"), frozenset({"-n", "-c"})),
    **dict.fromkeys(_SEARCHES, frozenset({"-A", "-B", "-C"})),
}


class ViewedFile(NamedTuple):
    """The file as the command names it; ``whole``: the command prints all of it."""

    path: str
    whole: bool


@dataclass(frozen=True, slots=True)
class FileView:
    """A file that a command is about to print, with its content before."""

    workspace: Workspace
    path: Path
    content: bytes
    extent: ReadExtent

    @classmethod
    def of(cls, workspace: Workspace, folder: Path, command: str) -> FileView | None:
        """Reads the file that ``command`` prints in ``folder``;
        None where it does anything else, or the file cannot be read.
        """
        viewed = viewed_file(command)
        if viewed is None:
            return None
        with contextlib.suppress(ToolFailure):
            path = workspace.resolve(str(folder / viewed.path))
            return cls(
                workspace,
                path,
                read_bytes(path, viewed.path),
                ReadExtent.WHOLE if viewed.whole else ReadExtent.RANGE,
            )
        return None

    def record(self, *, complete: bool) -> None:
        """Records that the file was read, unless it has changed meanwhile.
        ``complete``: the model gets all that was printed.
        """
        with contextlib.suppress(ToolFailure):
            if read_bytes(self.path, str(self.path)) == self.content:
                self.workspace.read_tracker.record(
                    self.path, self.content, self.extent if complete else ReadExtent.PARTIAL
                )


def viewed_file(command: str) -> ViewedFile | None:
    """Returns the one file that the command line prints;
    None for all lines that do anything else, or that it does not understand.

    The programs are those of Claude Code: ``cat``, ``nl``, ``bat``, ``head``, ``tail``, ``sed -n 'X,Yp'``,
    ``grep``, ``egrep``, ``fgrep`` and ``rg``, without pipes, redirects, variables and wildcards.
    """
    parsed = parse_shell(command)
    if parsed.parse_error or len(parsed.commands) != 1:
        return None
    only = parsed.commands[0]
    plain = only.text == command.strip() and not (
        only.redirects or only.assignments or only.dynamic or only.nested
    )
    return _viewed(only.argv) if plain and only.argv else None


def _viewed(argv: tuple[str, ...]) -> ViewedFile | None:
    program, *words = argv
    if program == "sed":
        fits = len(words) == 3 and words[0] == "-n" and _SEVERAL_LINES.fullmatch(words[1])
        return _file(words[2], whole=False) if fits else None
    options = _WHOLE.get(program) or _PARTS.get(program)
    if options is None:
        return None
    rest = _operands(words, options, _COUNTED.get(program, frozenset()))
    expected = 2 if program in _SEARCHES else 1
    return _file(rest[-1], whole=program in _WHOLE) if rest is not None and len(rest) == expected else None


def _operands(words: list[str], options: re.Pattern[str], counted: frozenset[str]) -> list[str] | None:
    """Returns the words that are no options; None if an option is not known."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        if rest[0] in counted and len(rest) > 1 and rest[1].isdecimal():
            del rest[:2]
        elif options.fullmatch(rest[0]):
            del rest[0]
        else:
            return None
    return None if any(word.startswith("-") for word in rest) else rest


def _file(path: str, *, whole: bool) -> ViewedFile | None:
    return ViewedFile(path, whole) if path and not path.startswith("-") else None
