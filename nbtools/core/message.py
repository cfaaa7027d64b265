"""Messages that name tools and parameters, so that every dialect can name its own.

A ``Message`` is a text with references.  As a string it contains the canonical names.  ``Message.worded``
replaces the references by a dialect's names, and leaves out advice that refers to what the dialect lacks::

    Message.of(f"{name} is a folder, not a file.", Advice(" Use ", ToolName("ls"), " to see what is in it."))

An f-string or ``str.join`` with a message yields a plain string, whose names stay canonical: ``Message.of``
and ``joined`` keep references. Results of ``Session.call`` have plain strings; messages occur in what tools
return and raise.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias


class Vocabulary(Protocol):
    """A dialect's words for one call.  A method returns None where the dialect has no counterpart."""

    def tool(self, name: str) -> str | None:
        """Returns the dialect's tool that does what a canonical tool does."""
        ...

    def called(self) -> str:
        """Returns the name of the called tool."""
        ...

    def parameter(self, steps: tuple[str | int, ...]) -> str | None:
        """Returns the dialect's name of a parameter of the called tool, or of a value inside a parameter."""
        ...

    def change(self, arguments: Mapping[str, Any]) -> str | None:
        """Returns ``with name=value …``: how the call has these canonical arguments; None removes one."""
        ...


class ToolName:
    """A tool that a message recommends, by its canonical name;
    ``others`` are named where a dialect lacks the first.
    """

    __slots__ = ("names",)

    def __init__(self, name: str, *others: str) -> None:
        self.names = (name, *others)

    def __str__(self) -> str:
        return self.names[0]

    def worded(self, vocabulary: Vocabulary) -> str | None:
        return next(filter(None, map(vocabulary.tool, self.names)), None)


class CalledTool:
    """The tool whose call the message is about, by its canonical name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def worded(self, vocabulary: Vocabulary) -> str:
        return vocabulary.called()


class Parameter:
    """A parameter of the called tool, or a value inside it: ``Parameter("items", 0, "text")``."""

    __slots__ = ("steps",)

    def __init__(self, *steps: str | int) -> None:
        self.steps = steps

    def __str__(self) -> str:
        return ".".join(map(str, self.steps))

    def worded(self, vocabulary: Vocabulary) -> str | None:
        return vocabulary.parameter(self.steps)


@dataclass(frozen=True, slots=True)
class SameCall:
    """Repeats the call with other canonical arguments; None removes one.
    Its text is like ``with offset=1000``.
    """

    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return with_arguments(self.arguments)

    def worded(self, vocabulary: Vocabulary) -> str | None:
        return vocabulary.change(self.arguments)


@dataclass(frozen=True, slots=True)
class Rule:
    """A policy rule, which has canonical names and no counterpart in a dialect."""

    text: str

    def __str__(self) -> str:
        return self.text

    def worded(self, _: Vocabulary) -> None:
        return None


Reference: TypeAlias = ToolName | CalledTool | Parameter | SameCall | Rule


class Advice:
    """A part of a message that is left out where one of its references has no counterpart."""

    __slots__ = ("parts",)

    def __init__(self, *parts: str | Reference) -> None:
        self.parts = parts

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def worded(self, vocabulary: Vocabulary) -> str:
        words = [part if isinstance(part, str) else part.worded(vocabulary) for part in self.parts]
        return "".join(word for word in words if word is not None) if None not in words else ""


Piece: TypeAlias = str | Reference | Advice


class Message(str):
    """A text with references.  It is equal to the string with the canonical names."""

    __slots__ = ("pieces",)

    pieces: tuple[Piece, ...]

    def __new__(cls, text: str, pieces: tuple[Piece, ...] = ()) -> Self:
        message = super().__new__(cls, text)
        message.pieces = pieces or (text,)
        return message

    @classmethod
    def of(cls, *pieces: Piece) -> Message:
        """Returns the message of these pieces, one after the other."""
        return cls("".join(map(str, pieces)), tuple(pieces))

    def worded(self, vocabulary: Vocabulary) -> str:
        """Returns the text in a dialect's words.
        A reference outside of advice that has no counterpart keeps its canonical name.
        """
        return "".join(worded(piece, vocabulary) for piece in self.pieces)

    def mapped(self, change: Callable[[str], str]) -> Message:
        """Returns the message with ``change`` applied to its texts; its references stay."""

        def changed(piece: Piece) -> Piece:
            if isinstance(piece, Message):
                return piece.mapped(change)
            return change(piece) if isinstance(piece, str) else piece

        return Message.of(*map(changed, self.pieces))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.pieces


def worded(text: Piece, vocabulary: Vocabulary) -> str:
    """Returns a text in a dialect's words; a plain string is unchanged."""
    if isinstance(text, str) and not isinstance(text, Message):
        return text
    word = text.worded(vocabulary)
    return str(text) if word is None else word


def joined(separator: str, texts: Iterable[str]) -> str:
    """Joins texts like ``str.join``; keeps the references of messages among them."""
    parts = list(texts)
    if not any(isinstance(part, Message) for part in parts):
        return separator.join(parts)
    return Message.of(*[piece for part in parts for piece in (separator, part)][1:])


def with_arguments(arguments: Mapping[str, Any]) -> str:
    """Returns ``with a=1 and b="x" and without c``; None removes an argument.  A very long value is cut."""
    values = [f"{name}={_as_json(value)}" for name, value in arguments.items() if value is not None]
    removed = [name for name, value in arguments.items() if value is None]
    parts = {"with": values, "without": removed}
    return " and ".join(f"{word} {' and '.join(names)}" for word, names in parts.items() if names)


def _as_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"


_MAX_VALUE = 2_000
"""Characters."""


def in_brackets(text: str) -> str:
    """Returns the text in square brackets; nothing for an empty one."""
    return joined("", ("[", text, "]")) if text else ""


def next_page(offset: int, total: int) -> tuple[Advice, ...]:
    """Returns the advice to read on at ``offset``; empty where that is the end."""
    if offset >= total:
        return ()
    return (Advice("; the call ", SameCall({"offset": offset}), " returns the next page"),)


def changed_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of ``after`` that ``before`` lacks or has with other values;
    None for those that it lacks itself.
    """
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    return {**changed, **dict.fromkeys(name for name in before if name not in after)}


_SIMILAR = 0.6
"""The least similarity of a suggestion, as ``difflib`` measures it:
*gerp* and *grep* have 0.75, *save* and *delete* 0.4.
"""
_FEW = 5
"""So many names are listed where none is similar."""


def nearest(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Returns the names that are similar to ``word``, best first; often none."""
    folded = {name.casefold(): name for name in known}
    similar = difflib.get_close_matches(word.casefold(), folded, n=count, cutoff=_SIMILAR)
    return [folded[name] for name in similar]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns a sentence that suggests similar names, or lists all where they are few; else empty."""
    names = list(dict.fromkeys(known))
    close = nearest(word, names)
    if close:
        return f" Did you mean {' or '.join(close)}?"
    return f" Use {' or '.join(names)}." if 0 < len(names) <= _FEW else ""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Formats a number with its noun: ``1 line``, ``1,204 lines``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
