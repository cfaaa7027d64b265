"""Paths that stand in the words of a command, whatever its program makes of them.

Nobody knows all programs: what a rule protects and a command names (``--file=a``, ``@a``, ``HEAD:a``, ``'read a'``) is asked.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtools.shell import Act

_BETWEEN = re.compile(r"[\s=:@,;|<>(){}\"'`$]+")
_BEFORE = re.compile(r"(?i:file:/*)?\$(?:PWD|\{PWD\})/+|~\+/+|(?i:\bfile://(?:localhost)?)(?=/)")
_WHOLE = re.compile(r"[\w./][\w./+-]*")
"""A word that is one piece."""
_PLAIN = re.compile(r"[\w./*?\[\]-]*")
_NO_PATH = re.compile(r"--[\w-]*|-\w?|\d+")
_BLANK = re.compile(r"\s")
_HERE = ("",)
_ONLY_SAY = frozenset({"echo", "printf"})
_HAVE_MESSAGES = frozenset({"git", "gh", "hg", "svn"})


def mentioned(act: Act) -> Iterable[str]:
    """What may be a path, from where the command line starts."""
    pieces = dict.fromkeys(piece for word in _words(act) for piece in ((word,) if _WHOLE.fullmatch(word) else _pieces(word)) if piece)
    if act.folders == _HERE:
        return pieces
    return [posixpath.join(folder, piece) if folder else piece for piece in pieces for folder in act.folders]


def _words(act: Act) -> Iterable[str]:
    """Without what is only said, and without the texts of messages."""
    program, words = act.words[:1], act.words[1:]
    if program and program[0] in _ONLY_SAY:
        words = ()
    elif program and program[0] in _HAVE_MESSAGES:
        words = tuple(word for word in words if not _BLANK.search(word))
    return (*(assignment.partition("=")[2] for assignment in act.assignments), *words) if act.assignments else words


def _pieces(word: str) -> Iterator[str]:
    if _NO_PATH.fullmatch(word):
        return
    if _PLAIN.fullmatch(word) and not word.startswith("-"):
        yield word
        return
    text = _BEFORE.sub("", word)
    for piece in (text, *_BETWEEN.split(text)):
        yield from filter(None, (piece, piece[2:] if piece.startswith("-") else ""))
