r"""Parses the line of a magic into the arguments of a tool, and formats arguments as a line.

::

    grep -i "round\(" src --glob "*.py" --limit 5  positional words in declared order, flags between them
    edit a.py --old x --new=y --no-all             --flag value, --flag=value, a boolean alone, --no-flag
    grep -- -v src                                 -- ends the flags
    ask "Really?"                                  a text for an object whose only required property is a text
    shell --timeout 5 git log --oneline | head     a tool that requires only its body gets the rest unchanged
    terminal_run 1 cd src && ls                    so does one that runs commands, after what else it requires
    grep TODO src    # every TODO                  # starts a comment, unless a shell reads the line

Quotes work as in a shell, except that a backslash escapes only a quote, a backslash or (outside quotes) a
space or #; otherwise it is kept, so that patterns such as ``"round\("`` and ``\bword\b`` reach the tool
unchanged.  Nothing is expanded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.cards.magic_source import BLANKS, quoted
from nbtools.core.errors import ToolFailure
from nbtools.core.message import did_you_mean
from nbtools.notebook.magics.flags import Grammar, Parameter, refused


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes; ``bare`` if it does not start with a quote, so that it can be a flag."""

    text: str
    bare: bool
    start: int
    end: int


class HelpRequested(Exception):  # noqa: N818 - no error: the line asks for the help page
    """Raised by ``parse`` for ``--help``, and for ``-h`` unless the tool has such a flag."""


def words(line: str, start: int = 0) -> Iterator[Word]:
    """Yields the words of a line from ``start`` on, up to its comment.
    Raises ``ToolFailure`` when a quote is not closed.
    """
    while (start := _word_start(line, start)) < len(line) and line[start] != "#":
        word = _word(line, start)
        yield word
        start = word.end


def comment_start(line: str, start: int = 0) -> int:
    """Returns the index of the ``#`` that begins the comment of a line; its length if it has none.

    A quote that is not closed is taken as an apostrophe: nothing after it is a comment.
    """
    try:
        for word in words(line, start):
            start = word.end
    except ToolFailure:
        return len(line)
    return _word_start(line, start)


def _word_start(line: str, start: int) -> int:
    while start < len(line) and line[start] in BLANKS:
        start += 1
    return start


def _word(line: str, start: int) -> Word:
    text, quote, at = [], "", start
    while at < len(line) and (quote or line[at] not in BLANKS):
        char, after = line[at], line[at + 1 : at + 2]
        if char == "\\" and after and after in _escapable(quote):
            text.append(after)
            at += 1
        elif char == quote:
            quote = ""
        elif char in "\"'" and not quote:
            quote = char
        else:
            text.append(char)
        at += 1
    if quote:
        raise refused(
            f"the quote {quote} is not closed: close it, use the other kind of quotes, or write \\{quote}"
        )
    return Word("".join(text), line[start] not in "\"'\\", start, at)


def _escapable(quote: str) -> str:
    if quote == "'":
        return ""
    return '"\\' if quote else "\"'\\#" + BLANKS


def parse(grammar: Grammar, line: str, body: str | None = None) -> dict[str, Any]:
    """Returns the arguments of a line; ``body`` is the text of a cell,
    which becomes the tool's body parameter.

    Raises ``ToolFailure`` (``invalid_tool_params``) with the most similar flags.
    Missing and invalid values are left to the tool.
    """
    reader = _Reader(grammar, line)
    arguments = (
        reader.read() if grammar.literal is None or body is not None else reader.read_literal(grammar.literal)
    )
    if body is not None:
        parameter = _body_parameter(grammar, arguments)
        arguments[parameter.name] = parameter.items_from(body) if parameter.is_list else body
    return arguments


def _body_parameter(grammar: Grammar, arguments: Mapping[str, Any]) -> Parameter:
    if grammar.body is None:
        raise refused(
            f"{grammar.tool} has no parameter for a cell's text: write its arguments on the line, as in %tool"
            f" {grammar.tool} …"
        )
    if grammar.body.name in arguments:
        raise refused(
            f"{grammar.tool} got {grammar.body.name} twice, on the line and as the cell's text: remove one of"
            " them"
        )
    return grammar.body


class _Reader:
    """Parses one line; single use."""

    def __init__(self, grammar: Grammar, line: str) -> None:
        self._grammar = grammar
        self._line = line
        self._at = 0
        self._found: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        positional: list[str] = []
        flags_end = False
        for word in self._words():
            if word.bare and word.text == "--" and not flags_end:
                flags_end = True
            elif not flags_end and self._is_flag(word):
                self._take_flag(word)
            else:
                positional.append(word.text)
                flags_end = flags_end or bool(
                    self._grammar.ends_flags and self._grammar.ends_flags(positional)
                )
        self._take_positional(positional)
        return self._found

    def read_literal(self, body: Parameter) -> dict[str, Any]:
        """Parses the flags and the words before the body; the rest of the line, unchanged, is the body.

        After such words, a body that is one quoted word is taken without its quotes.
        """
        rest = 0
        lead = list(self._grammar.lead)
        for word in self._words():
            if word.bare and word.text == "--":
                rest = word.end
                break
            lead = [parameter for parameter in lead if parameter.name not in self._found]
            if self._is_flag(word):
                self._take_flag(word)
            elif lead:
                self._found[lead[0].name] = lead[0].value_from(word.text)
            else:
                if self._grammar.lead and word.end == len(self._line.rstrip()):
                    self._found[body.name] = word.text
                    return self._found
                break
            rest = self._at
        end = len(self._line) if self._grammar.for_shell else comment_start(self._line, rest)
        text = self._line[rest:end].strip()
        if text:
            self._found[body.name] = text
        return self._found

    def _words(self) -> Iterator[Word]:
        """Yields words like ``words``, without those that were consumed as the value of a flag."""
        while (word := next(words(self._line, self._at), None)) is not None:
            self._at = word.end
            yield word

    def _is_flag(self, word: Word) -> bool:
        if not word.bare or not word.text.startswith("-") or word.text == "-":
            return False
        return (
            word.text.startswith("--") or word.text[1:2] in self._grammar.short or not _is_number(word.text)
        )

    def _take_flag(self, word: Word) -> None:
        if word.text.startswith("--"):
            name, equals, value = word.text[2:].partition("=")
            self._set_long(name, value if equals else None)
        else:
            self._set_short(word.text[1:])

    def _set_long(self, name: str, value: str | None) -> None:
        parameter = self._grammar.long.get(name.replace("_", "-"))
        if parameter is not None:
            self._set(parameter, f"--{name}", value)
            return
        if name == "help":
            raise HelpRequested
        negated = self._grammar.long.get(name.replace("_", "-").removeprefix("no-"))
        if negated is None or not negated.is_switch or not name.startswith("no-"):
            raise self._unknown(f"--{name}")
        if value is not None:
            raise refused(f"--{name} takes no value: write --{negated.flag}={value} instead")
        self._found[negated.name] = False

    def _set_short(self, letters: str) -> None:
        """Sets short flags: ``-i``, ``-in`` for two switches, ``-C 3`` and ``-C3`` for a value."""
        for at, letter in enumerate(letters):
            parameter = self._grammar.short.get(letter)
            if parameter is None and letters == "h":
                raise HelpRequested
            if parameter is None:
                raise self._unknown(f"-{letter}")
            if not parameter.is_switch:
                attached = letters[at + 1 :].removeprefix("=")
                self._set(parameter, f"-{letter}", attached or None)
                return
            self._found[parameter.name] = True

    def _set(self, parameter: Parameter, flag: str, value: str | None) -> None:
        if value is None and parameter.is_switch:
            self._found[parameter.name] = True
            return
        text = self._next_value(flag) if value is None else value
        if parameter.is_list and not parameter.is_whole(text):
            self._found.setdefault(parameter.name, []).append(parameter.item_from(text))
        else:
            self._found[parameter.name] = parameter.value_from(text)

    def _next_value(self, flag: str) -> str:
        word = next(words(self._line, self._at), None)
        if word is None:
            raise refused(f"{flag} needs a value{comment_hint(self._line)}")
        self._at = word.end
        return word.text

    def _take_positional(self, texts: list[str]) -> None:
        try:
            self._assign(texts)
        except ToolFailure as failure:
            hint = self._grammar.hint
            raise refused(f"{self._grammar.tool} {hint}") if hint else failure from None

    def _assign(self, texts: list[str]) -> None:
        """Assigns the words in declared order."""
        for parameter in self._grammar.positional:
            if not texts:
                return
            if parameter.name in self._found:
                continue
            if parameter.is_list and not parameter.is_whole(texts[0]):
                self._found[parameter.name] = [parameter.item_from(text) for text in texts]
                return
            self._found[parameter.name] = parameter.value_from(texts.pop(0))
        if texts:
            raise self._too_many(texts[0])

    def _too_many(self, text: str) -> ToolFailure:
        names = ", ".join(parameter.name for parameter in self._grammar.positional)
        return refused(
            f"{text!r} is one argument too many: {self._grammar.tool} takes {names or 'no arguments'}. Put"
            " quotes around a text with spaces"
        )

    def _unknown(self, flag: str) -> ToolFailure:
        known = [f"--{name}" for name in self._grammar.long]
        hint = did_you_mean(flag, known) if known else " It has no flags."
        if hint.startswith(" Use "):
            hint = f" Flags: {', '.join(known)}."
        return refused(
            f"{self._grammar.tool} has no flag {flag}.{hint} (Write -- before words that are not flags.)"
        )


def parse_declared(grammar: Grammar, line: str) -> dict[str, Any]:
    """Returns the arguments of a declared line.
    Raises ``ToolFailure`` also where a word is missing or none of its choices.
    """
    found = parse(grammar, line)
    for parameter in grammar.positional:
        value = found.get(parameter.name)
        missing = parameter.required and not value
        if missing or (value is not None and parameter.choices and value not in parameter.choices):
            raise refused(f"{grammar.tool} {grammar.hint or f'takes {grammar.usage}'}")
    return found


def complete_declared(grammar: Grammar, before: list[str], fragment: str) -> Iterator[tuple[str, str]]:
    """Yields completions of ``fragment`` after the words ``before``, each with its kind."""
    if fragment.startswith("-"):
        for name, parameter in grammar.long.items():
            if parameter.is_list or f"--{name}" not in before:
                yield f"--{name}", "param"
        return
    last: Parameter | None = None
    spoken: list[str] = []
    for text in before:
        if last is not None:  # this word is the value of the flag before it
            last = None
        elif text.startswith("-"):
            named = grammar.flag(text)
            last = None if named is None or named.is_switch else named
        else:
            spoken.append(text)
    words = grammar.positional
    if last is None and words:
        at = min(len(spoken), len(words) - 1) if words[-1].is_list else len(spoken)
        last = words[at] if at < len(words) else None
    if last is not None:
        yield from last.offered(spoken, fragment)


def comment_hint(line: str) -> str:
    """Returns how to pass a word that begins with ``#``, for the error of a line with a comment;
    empty for a line without one.
    """
    comment = line[comment_start(line) :].split(maxsplit=1)
    return (
        f". (A word that begins with # starts a comment: put it in quotes, as in {comment[0]!r})"
        if comment
        else ""
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def format_line(grammar: Grammar, arguments: Mapping[str, Any]) -> str:
    """Returns a line that ``parse`` reads as these arguments: flags in any order, then a literal body."""
    literal = grammar.literal.name if grammar.literal else ""
    parts = [
        part
        for name, value in arguments.items()
        if name != literal
        for part in _spelled(grammar.named(name), value)
    ]
    if literal in arguments:
        parts += ["--", str(arguments[literal])]
    return " ".join(parts)


def _spelled(parameter: Parameter, value: Any) -> list[str]:
    if parameter.is_switch and isinstance(value, bool):
        return [f"--{parameter.flag}" if value else f"--no-{parameter.flag}"]
    if isinstance(value, str) and parameter.value_from(value) == value:
        return [f"--{parameter.flag}={quoted(value)}"]
    return [f"--{parameter.flag}={quoted(json.dumps(value, ensure_ascii=False))}"]
