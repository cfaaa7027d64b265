"""Finds the here-documents of a command line that a card shows as code of their language,
below the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nbtools.cards.card_model import CodeBlock
from nbtools.cards.hidden_characters import reveal, seen
from nbtools.cards.highlighting import LANGUAGES, coloured
from nbtools.shell import AnalysedCommand, CommandAnalysis
from nbtools.shell.grammar import Redirect, ShellCommand, SimpleCommand

_DELIMITER = re.compile(r"""(['"]?)(\w[\w.-]*)\1|\\(\w+)""", re.ASCII)
_SUBSTITUTES = re.compile(r"`|\$[(\[]|\$\{(?!\w+\})|\\(?![A-Za-z0-9])")
"""What may make a shell look for the delimiter elsewhere: substitutions and escaped line ends."""
_OWN_INPUT = frozenset({"xargs", "parallel"})
"""Programs that do not pass their own input on to the programs they start."""


class HereDocument(NamedTuple):
    """The text between the line of ``<<`` and the delimiter, from ``begin`` to ``end`` in the command line,
    and what it is.

    ``language`` is set for code that ``program`` runs, ``path`` for a file that is written.  ``expands``: the
    shell expands variables in it, so that the text that the program gets is not known.
    """

    begin: int
    end: int
    text: str
    language: str
    program: str = ""
    path: str = ""
    expands: bool = False


def here_documents(parsed: ShellCommand, analysis: CommandAnalysis) -> tuple[HereDocument, ...]:
    """Returns the here-documents that are code, in the order of the text.

    Only those whose end all shells find at the same line:
    the delimiter is a plain word, and no substitution may contain it.
    """
    found: list[HereDocument] = []
    position = 0
    for at, command in enumerate(parsed.commands if "<<" in parsed.text else ()):
        inputs = [redirect for redirect in command.redirects if redirect.operator[0] == "<"]
        documents = [redirect for redirect in inputs if redirect.operator in ("<<", "<<-")]
        if not documents or command.text not in parsed.text:
            continue
        follower = parsed.commands[at + 1] if at + 1 < len(parsed.commands) else None
        position = max(_line_end(parsed.text, command), position)
        for redirect in documents:
            place = _place(parsed.text, redirect, position)
            if place is None:
                break
            begin, end, position = place
            purpose = _purpose(command, follower, analysis.commands) if len(inputs) == 1 else None
            if purpose is not None:
                language, program, path = purpose
                text = parsed.text[begin:end]
                text = re.sub(r"(?m)^\t+", "", text) if redirect.operator == "<<-" else text
                found.append(
                    HereDocument(begin, end, text, language, program, path, "$" in text and redirect.expands)
                )
    return tuple(found)


def _line_end(text: str, command: SimpleCommand) -> int:
    """Returns the position after the line on which the command ends."""
    end = text.find("\n", text.find(command.text) + len(command.text))
    return len(text) if end < 0 else end + 1


def _place(text: str, redirect: Redirect, position: int) -> tuple[int, int, int] | None:
    """Returns where the here-document at ``position`` begins and ends, and the position after its delimiter.

    None where shells may differ on its end.
    """
    word = _DELIMITER.fullmatch(redirect.target)
    if word is None or (redirect.expands and _SUBSTITUTES.search(redirect.body)):
        return None
    tabs = r"\t*" if redirect.operator == "<<-" else ""
    end = re.compile(rf"(?m)^{tabs}{re.escape(word[2] or word[3])}(?:\n|\Z)").search(text, position)
    if end is None or _without_tabs(text[position : end.start()]) != _without_tabs(redirect.body):
        return None  # the grammar found another text
    return position, end.start(), end.end()


def _without_tabs(text: str) -> str:
    return re.sub(r"(?m)^\t+", "", text)


def _purpose(
    command: SimpleCommand, follower: SimpleCommand | None, acts: Sequence[AnalysedCommand]
) -> tuple[str, str, str] | None:
    """Returns the language, the program that runs the text, and the file that gets it;
    None where it is neither code nor a file.
    """
    if found := _interpreter(command, acts):
        return found
    if command.argv != ("cat",):
        return None
    written = [redirect.target for redirect in command.redirects if redirect.writes and not redirect.dynamic]
    if len(written) == 1:
        return "", "", written[0]
    if (
        follower is not None
        and follower.operator == "|"
        and not any(one.operator[0] == "<" for one in follower.redirects)
    ):
        return _interpreter(follower, acts)
    return None


def _interpreter(command: SimpleCommand, acts: Sequence[AnalysedCommand]) -> tuple[str, str, str] | None:
    """Returns the language and the name of the program that runs the command's input as code,
    started directly or by wrappers.
    """
    at = next((at for at, act in enumerate(acts) if not act.via and act.text == command.text), None)
    if at is None:
        return None
    for act in acts[at:]:
        if act is not acts[at] and not act.via:
            break
        if act.language in LANGUAGES and _OWN_INPUT.isdisjoint(act.via):
            return act.language, act.words[0].rpartition("/")[2], ""
    return None


def without(text: str, documents: Sequence[HereDocument]) -> str:
    """Returns the command line without the texts of the here-documents; their delimiters remain."""
    ends = [0, *(document.end for document in documents)]
    begins = [*(document.begin for document in documents), len(text)]
    return "".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))


def code_blocks(documents: Sequence[HereDocument]) -> Iterator[CodeBlock]:
    """Yields the here-documents, highlighted and complete."""
    for document in documents:
        lines = document.text.removesuffix("\n").split("\n") if document.text else []
        coloured_lines = coloured(document.path, lines, document.language)
        spans = tuple(
            tuple(span for text, style in line for span in reveal(text, style, keep="\t"))
            for line in coloured_lines
        )
        yield CodeBlock(
            path="",
            start=1,
            lines=spans,
            title=seen(_title(document)),
            more=_EXPANDS if document.expands else "",
        )


_EXPANDS = "The shell replaces the variables ($…) in this text first"


def _title(document: HereDocument) -> str:
    return f"{document.path} gets" if document.path else f"{document.program} runs"
