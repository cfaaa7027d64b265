"""A command line as its parts: every simple command, the operator before it, and what is worth knowing of it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from nbtools.core.shell_syntax import ShellCommand, SimpleCommand, parse_shell
from nbtools.notebook.command_acts import with_acts
from nbtools.notebook.visible import reveal, seen
from nbtools.notebook.wire import CommandBlock, CommandPart, Span
from nbtools.shell import understand

MAX_PARTS = 60
"""Simple commands that are shown one by one."""
_KEEP = "\t\n"


def command_block(command: str, directory: str = ".", root: str = "/", *, sandbox: str = "") -> CommandBlock:
    """The parts of ``command``, which would run in ``directory`` (relative to the workspace ``root``, an absolute path), in a ``sandbox``.

    Nothing of the command is left out: where the parts alone do not make up the whole (loops, here-documents, comments), the whole
    stands before them.
    """
    parsed, acts = parse_shell(command), understand(command)
    if parsed.parse_error:
        return CommandBlock(parts=(_whole(command, seen(parsed.parse_error), warning=True),), sandbox=seen(sandbox))
    parts = list(_parts(parsed, directory, root))
    head = () if _complete(parsed) and len(parts) == len(parsed.commands) else (_whole(command, _counted(parsed)),)
    problem = acts.doubt or (f"not understood completely: {acts.unverified}" if acts.unverified else "")
    doubt = (_whole("", seen(problem), warning=True),) if problem else ()
    return CommandBlock(parts=(*doubt, *head, *with_acts(parts, acts.acts)), sandbox=seen(sandbox))


def _whole(command: str, note: str, *, warning: bool = False) -> CommandPart:
    return CommandPart(operator="", spans=_spans(command), note=note, warning=warning)


def _counted(parsed: ShellCommand) -> str:
    shown = min(len(parsed.commands), MAX_PARTS)
    if not shown:
        return ""
    rest = len(parsed.commands) - shown
    return "runs:" if not rest else f"runs (the first {shown} of {len(parsed.commands)}):"


def _complete(parsed: ShellCommand) -> bool:
    """Whether the parts, one after the other, are the whole command: compared without blanks."""
    told = "".join(f"{command.operator}{command.text}" for command in parsed.commands)
    return re.sub(r"\s+", "", told) == re.sub(r"\s+", "", parsed.text) and "\n" not in parsed.text.strip()


def _parts(parsed: ShellCommand, directory: str, root: str) -> Iterator[CommandPart]:
    place = Folder(directory, root)
    for command in parsed.commands[:MAX_PARTS]:
        effects = [place.writing(target) for target in dict.fromkeys(written_by(command))]
        yield CommandPart(
            operator=command.operator,
            spans=_marked(command, place),
            note=", ".join(item.note for item in effects),
            warning=any(item.warning for item in effects),
        )
        place = place.after(command)


def written_by(command: SimpleCommand) -> Iterator[str]:
    """The files that are written for certain: by ``>`` and its kin, by ``tee``, by ``cp`` and ``mv`` into their last word."""
    yield from (redirect.target for redirect in command.redirects if redirect.writes)
    program, *words = command.argv or ("",)
    files = [word for word in words if not word.startswith("-")]
    if program == "tee":
        yield from files
    elif program in ("cp", "mv") and len(files) > 1:
        yield files[-1]


class Effect(NamedTuple):
    """A note on a command; ``warning``: look twice."""

    note: str
    warning: bool = False


class Folder:
    """Where a command runs, as far as that is known: ``path`` is relative to the workspace or absolute, None when unknown."""

    def __init__(self, path: str | None, root: str) -> None:
        self.path = path
        self.root = root

    def after(self, command: SimpleCommand) -> Folder:
        """Where the next command runs: elsewhere after ``cd``, unknown when the target is."""
        if not command.argv or command.argv[0] not in ("cd", "pushd", "popd"):
            return self
        fixed = len(command.argv) == 2 and not command.dynamic and not command.nested and command.argv[1] != "-"
        return Folder(self._joined(command.argv[1]) if fixed else None, self.root)

    def _joined(self, target: str) -> str | None:
        if target.startswith("~"):
            return "/" + target
        return target if target.startswith("/") else None if self.path is None else posixpath.join(self.path, target)

    def outside(self, target: str) -> bool:
        """Whether ``target`` is known to lie outside the workspace; links are not followed."""
        joined = self._joined(target)
        if joined is None or _expands(target):
            return False
        whole = posixpath.normpath(posixpath.join(self.root, joined))
        return whole != self.root and not whole.startswith(self.root.rstrip("/") + "/")

    def writing(self, target: str) -> Effect:
        if self.outside(target):
            return Effect(f"writes {seen(target)} outside the workspace", True)
        if _expands(target) or self._joined(target) is None:
            return Effect(f"writes {seen(target)}, where that is shows only when it runs", True)
        return Effect(f"writes {seen(target)}")


def _expands(word: str) -> bool:
    return "$" in word or "`" in word


def _marked(command: SimpleCommand, place: Folder) -> tuple[Span, ...]:
    """The text, with what is written outside the workspace marked ``warn``."""
    wary = {target for target in written_by(command) if place.outside(target) and target in command.text}
    if not wary:
        return _spans(command.text)
    pattern = "|".join(re.escape(target) for target in sorted(wary, key=len, reverse=True))
    pieces = re.split(f"({pattern})", command.text)
    return tuple(span for piece in pieces for span in reveal(piece, "warn" if piece in wary else "", keep=_KEEP))


def _spans(text: str) -> tuple[Span, ...]:
    return tuple(reveal(text, keep=_KEEP))
