"""Splits a command line into the parts that a card shows:
simple commands, operators, effects and the programs they start.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from nbtools.cards.card_model import CodeBlock, CommandBlock, CommandPart, Span
from nbtools.cards.here_documents import HereDocument, code_blocks, here_documents, without
from nbtools.cards.hidden_characters import reveal, seen
from nbtools.cards.highlighting import text_of
from nbtools.shell import AnalysedCommand, analyse
from nbtools.shell.grammar import ShellCommand, SimpleCommand, parse_shell
from nbtools.shell.reader import parse_strictly

STARTED = "↳"
"""The operator of a part that is started by the part above it."""
MAX_STARTED = 30


def with_acts(parts: Sequence[CommandPart], acts: Sequence[AnalysedCommand]) -> Iterator[CommandPart]:
    """Yields the parts of a command, each followed by the programs it starts.
    Acts and parts are in the order of the text.
    """
    groups = _grouped(acts)
    for part in parts:
        group = next((group for group in groups if _is_same_command(group[0], part)), None)
        if group is None:
            yield part
            continue
        groups.remove(group)
        yield _with_warning(part, group[0])
        yield from _started_parts(group)
    for group in groups:
        yield from _started_parts(group)


def _grouped(acts: Sequence[AnalysedCommand]) -> list[list[AnalysedCommand]]:
    """Groups the acts: each one that the shell starts, followed by those that it starts itself."""
    groups: list[list[AnalysedCommand]] = []
    for act in acts:
        if act.via and groups:
            groups[-1].append(act)
        else:
            groups.append([act])
    return groups


def _is_same_command(act: AnalysedCommand, part: CommandPart) -> bool:
    return _without_blanks(seen(act.text)) == _without_blanks(text_of(part.spans))


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _with_warning(part: CommandPart, act: AnalysedCommand) -> CommandPart:
    """Returns the part with a note on what its program does, and a warning where that is critical."""
    note = ", ".join(filter(None, [act.note, part.note, seen(act.critical)]))
    return part.model_copy(update={"note": note, "warning": part.warning or act.warn or bool(act.critical)})


def _started_parts(group: Sequence[AnalysedCommand]) -> Iterator[CommandPart]:
    """Yields the started programs; wrappers that only start another program are named in its note."""
    started = [act for act in group if act.via and not act.transparent]
    for act in started[:MAX_STARTED]:
        notes = [f"started by {seen(', '.join(act.via))}", *_notes(act)]
        warning = bool(act.risk or act.critical or act.warn)
        yield CommandPart(
            operator=STARTED,
            spans=tuple(reveal(act.text, keep="\t\n")),
            note=", ".join(notes),
            warning=warning,
        )
    if len(started) > MAX_STARTED:
        yield CommandPart(
            operator=STARTED, spans=(), note=f"and {len(started) - MAX_STARTED:,} more", warning=True
        )


def _notes(act: AnalysedCommand) -> Iterator[str]:
    """Yields the most severe remark on the act, if there is one."""
    remark = act.critical or act.note or act.risk
    if remark:
        yield seen(remark)


MAX_PARTS = 60
"""Simple commands that are shown individually."""
_KEEP = "\t\n"


def command_blocks(
    command: str, directory: str = ".", root: str = "/", *, sandbox: str = ""
) -> tuple[CommandBlock | CodeBlock, ...]:
    """Returns the parts of ``command``, which would run in ``directory`` (relative to ``root``,
    the workspace's absolute path).

    ``sandbox`` describes the sandbox.  Here-documents with code follow as blocks of their own.  Nothing is
    left out: where the parts and these do not add up to the whole command (loops, other here-documents,
    comments), the whole command precedes the parts.
    """
    parsed, acts = parse_shell(command), analyse(command)
    strictly = parse_strictly(command)
    if not strictly.problem:
        parsed = replace(parsed, commands=strictly.commands, parse_error="")
    if parsed.parse_error:
        return (
            CommandBlock(
                parts=(_whole(command, seen(parsed.parse_error), warning=True),), sandbox=seen(sandbox)
            ),
        )
    documents = here_documents(parsed, acts)
    text = without(command, documents)
    parts = list(_parts(parsed, directory, root))
    head = (
        ()
        if _complete(parsed, text, documents) and len(parts) == len(parsed.commands)
        else (_whole(text, _list_heading(parsed)),)
    )
    problem = acts.doubt or (f"could not be fully analysed: {acts.unverified}" if acts.unverified else "")
    doubt = (_whole("", seen(problem), warning=True),) if problem else ()
    block = CommandBlock(parts=(*doubt, *head, *with_acts(parts, acts.commands)), sandbox=seen(sandbox))
    return (block, *code_blocks(documents))


def _whole(command: str, note: str, *, warning: bool = False) -> CommandPart:
    return CommandPart(operator="", spans=_spans(command), note=note, warning=warning)


def _list_heading(parsed: ShellCommand) -> str:
    listed = min(len(parsed.commands), MAX_PARTS)
    if not listed:
        return ""
    rest = len(parsed.commands) - listed
    return "runs:" if not rest else f"runs (the first {listed} of {len(parsed.commands)}):"


def _complete(parsed: ShellCommand, text: str, documents: Sequence[HereDocument]) -> bool:
    """Whether the parts add up to ``text``, the command without the here-documents that are shown as code,
    ignoring blanks.

    The line of a delimiter belongs to its here-document,
    and the command on the next line follows without an operator.
    """
    for end in reversed(_delimiter_lines(text, documents)):
        text = text[: end[0]] + ";" + text[end[1] :]
    joined = "".join(f"{command.operator}{command.text}" for command in parsed.commands)
    return (
        _without_blanks(joined) == _without_blanks(text).rstrip(";" if documents else "")
        and "\n" not in text.strip()
    )


def _delimiter_lines(text: str, documents: Sequence[HereDocument]) -> list[tuple[int, int]]:
    """Returns where the delimiters of the removed here-documents are in ``text``:
    from the line end before them to their own.
    """
    lines, removed = [], 0
    for document in documents:
        begin = document.begin - removed
        removed += document.end - document.begin
        end = text.find("\n", begin)
        lines.append((begin - 1, len(text) if end < 0 else end + 1))
    return lines


def _parts(parsed: ShellCommand, directory: str, root: str) -> Iterator[CommandPart]:
    folder = Folder(directory, root)
    for command in parsed.commands[:MAX_PARTS]:
        effects = [folder.writing(target) for target in dict.fromkeys(written_by(command))]
        yield CommandPart(
            operator=command.operator,
            spans=_marked(command, folder),
            note=", ".join(item.note for item in effects),
            warning=any(item.warning for item in effects),
        )
        folder = folder.after(command)


def written_by(command: SimpleCommand) -> Iterator[str]:
    """Yields the files that are certainly written:
    by redirections, ``tee``, and the last operand of ``cp`` and ``mv``.
    """
    yield from (redirect.target for redirect in command.redirects if redirect.writes)
    program, *words = command.argv or ("",)
    files = [word for word in words if not word.startswith("-")]
    if program == "tee":
        yield from files
    elif program in ("cp", "mv") and len(files) > 1:
        yield files[-1]


class Effect(NamedTuple):
    """A note on what a command does; ``warning`` marks it as dangerous."""

    note: str
    warning: bool = False


class Folder:
    """A command's working directory: ``path`` is relative to the workspace or absolute, None when unknown."""

    def __init__(self, path: str | None, root: str) -> None:
        self.path = path
        self.root = root

    def after(self, command: SimpleCommand) -> Folder:
        """Returns the working directory of the next command:
        another one after ``cd``, unknown if its target is.
        """
        if not command.argv or command.argv[0] not in ("cd", "pushd", "popd"):
            return self
        is_literal = (
            len(command.argv) == 2 and not command.dynamic and not command.nested and command.argv[1] != "-"
        )
        return Folder(self._joined(command.argv[1]) if is_literal else None, self.root)

    def _joined(self, target: str) -> str | None:
        if target.startswith("~"):
            return "/" + target
        if target.startswith("/"):
            return target
        return None if self.path is None else posixpath.join(self.path, target)

    def outside(self, target: str) -> bool:
        """Whether ``target`` is certainly outside the workspace; symbolic links are not followed."""
        joined = self._joined(target)
        if joined is None or _expands(target):
            return False
        whole = posixpath.normpath(posixpath.join(self.root, joined))
        return whole != self.root and not whole.startswith(self.root.rstrip("/") + "/")

    def writing(self, target: str) -> Effect:
        if self.outside(target):
            return Effect(f"writes {seen(target)} outside the workspace", True)
        if _expands(target) or self._joined(target) is None:
            return Effect(f"writes {seen(target)}, a location known only at run time", True)
        return Effect(f"writes {seen(target)}")


def _expands(word: str) -> bool:
    return "$" in word or "`" in word


def _marked(command: SimpleCommand, folder: Folder) -> tuple[Span, ...]:
    """Returns the command's text; files written outside the workspace have the style ``warn``."""
    outside = {target for target in written_by(command) if folder.outside(target) and target in command.text}
    if not outside:
        return _spans(command.text)
    pattern = "|".join(re.escape(target) for target in sorted(outside, key=len, reverse=True))
    pieces = re.split(f"({pattern})", command.text)
    return tuple(
        span for piece in pieces for span in reveal(piece, "warn" if piece in outside else "", keep=_KEEP)
    )


def _spans(text: str) -> tuple[Span, ...]:
    return tuple(reveal(text, keep=_KEEP))
