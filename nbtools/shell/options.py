"""Parses a program's words like its own option parser, and reports options that are not in the table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nbtools.shell.command_model import StartedProgram

if TYPE_CHECKING:
    from nbtools.shell.program_table import Entry

_NUMBER = re.compile(r"-\d+")


class Option(NamedTuple):
    """An option.  ``value`` is None for a flag;
    ``position`` is that of the word with its value, else its own.
    """

    name: str
    value: str | None
    position: int


class ParsedOptions(NamedTuple):
    """The parsed words.  ``strange``: the first unlisted option; ``unclear``: a word that may be one."""

    options: list[Option]
    operands: list[int]
    strange: str = ""
    unclear: str = ""

    def has(self, names: frozenset[str]) -> bool:
        """Whether one of the options is present; true for ``always``."""
        return "always" in names or any(option.name in names for option in self.options)

    def values(self, names: frozenset[str]) -> list[Option]:
        return [option for option in self.options if option.name in names and option.value is not None]


def read_options(
    started: StartedProgram, entry: Entry, first: int = 1, *, stop: bool = False
) -> ParsedOptions:
    """Parses the words from the one at ``first``.  ``stop``: the first operand ends the options."""
    parser = _Parser(started, entry)
    words, position = started.words, first
    stop = stop or entry.style.endswith("first")
    if entry.style == "text":
        return ParsedOptions([], list(range(first, len(words))))
    while position < len(words):
        word = words[position]
        if word == "--" and started.is_literal(position):
            if entry.through:
                position += 1
                continue
            parser.operands.extend(range(position + 1, len(words)))
            parser.after_dashes(position + 1)
            break
        if started.dynamic and not entry.free and started.may_be_option(position):
            parser.unclear = parser.unclear or word
        if word[:1] != "-" or word == "-":
            if stop:
                parser.operands.extend(range(position, len(words)))
                break
            parser.operands.append(position)
            position += 1
        else:
            position = parser.option(position, word)
    return ParsedOptions(parser.options, parser.operands, parser.strange, parser.unclear)


class _Parser:
    def __init__(self, started: StartedProgram, entry: Entry) -> None:
        self.started = started
        self.words = started.words
        self.entry = entry
        self.options: list[Option] = []
        self.operands: list[int] = []
        self.strange = ""
        self.unclear = ""

    def option(self, position: int, word: str) -> int:
        """Parses the option at ``position`` and returns the next position."""
        entry = self.entry
        if word in entry.flags:
            self.options.append(Option(word, None, position))
        if word in entry.flags or (entry.numbers and _NUMBER.fullmatch(word)):
            return position + 1
        if word in entry.values:
            return self._with_next(word, position)
        name, equals, value = word.partition("=")
        long = word.startswith("--")
        if name in entry.optional | entry.values and (not equals or long or entry.style.startswith("words")):
            return self._add(name, value if equals else None, position)
        if long:
            return self._unknown(word, position)
        if not entry.style.startswith("words"):
            return self._cluster(position, word)
        return self._attached(position, word)

    def after_dashes(self, position: int) -> None:
        """A program with its own option parser may still take a word behind ``--`` for an option."""
        if self.entry.style.startswith(("words", "letters")):
            dashed = (word for word in self.words[position:] if word[:1] == "-" and word != "-")
            self.strange = self.strange or next(dashed, "")

    def _attached(self, position: int, word: str) -> int:
        name = word[:2]
        if name in self.entry.values or name in self.entry.optional:
            return self._add(name, word[2:], position)
        return self._unknown(word, position)

    def _cluster(self, position: int, word: str) -> int:
        entry = self.entry
        if entry.style == "letters":
            return self._letters(position, word)
        for place, letter in enumerate(word[1:], 2):
            name, rest = "-" + letter, word[place:]
            if name in entry.values:
                return self._add(name, rest, position) if rest else self._with_next(name, position)
            if name in entry.optional:
                return self._add(name, rest or None, position)
            if name not in entry.flags:
                return self._unknown(word, position)
            self.options.append(Option(name, None, position))
        return position + 1

    def _letters(self, position: int, word: str) -> int:
        """Parses letters whose values are the next words, in their order: ``tree -LI 1 x``."""
        after = position + 1
        for letter in word[1:]:
            name = "-" + letter
            if name in self.entry.values:
                after = self._with_next(name, after - 1)
            elif name in self.entry.flags:
                self.options.append(Option(name, None, position))
            else:
                return self._unknown(word, position)
        return after

    def _with_next(self, name: str, position: int) -> int:
        if position + 1 >= len(self.words):
            # Where a value is missing, some programs take an operand for it.
            return self._unknown(name, position)
        value = self.words[position + 1]
        if position + 1 in self.started.splits:
            self.unclear = self.unclear or value
        self.options.append(Option(name, value, position + 1))
        return position + 2

    def _unknown(self, word: str, position: int) -> int:
        self.strange = self.strange or word
        return position + 1

    def _add(self, name: str, value: str | None, position: int) -> int:
        if position in self.started.splits and not self.entry.free:
            self.unclear = self.unclear or self.words[position]
        self.options.append(Option(name, value, position))
        return position + 1


def word_set(text: str) -> frozenset[str]:
    """Returns the words of ``text`` as a set."""
    return frozenset(text.split())


def not_listed(entry: Entry, parsed: ParsedOptions) -> str:
    """Returns why the options are not known to be harmless; empty where they are."""
    if parsed.strange:
        return f"{parsed.strange} is not a known harmless option of {entry.name}"
    return f"{parsed.unclear} is only known when it runs, and may be an option" if parsed.unclear else ""
