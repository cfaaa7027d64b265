r"""The line of a magic: words to arguments by a tool's schema, and back.

::

    grep -i "round\(" src --glob "*.py" --limit 5     positional words in declared order, flags anywhere between them
    edit a.py --old x --new=y --no-all                 --flag value, --flag=value, a boolean alone, --no-flag for false
    grep -- -v src                                     -- ends the flags
    ask "Really?"                                      a text where an object needs nothing but a text
    shell --timeout 5 git log --oneline | head         a tool that needs only its body takes the rest of the line as it stands

Quotes are the shell's, with one kindness to patterns: a backslash escapes only a quote, a backslash or (outside quotes) a space, and
otherwise stays, so that ``"round\("`` and ``\bword\b`` reach the tool as they were written.  Nothing else is expanded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.notebook.flags import Grammar, Parameter

_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes; ``bare`` where none of it was quoted at its start, so that it may be a flag."""

    text: str
    bare: bool
    start: int
    end: int


def words(line: str, start: int = 0) -> Iterator[Word]:
    """The words of a line from ``start`` on.  Raises ``ToolFailure`` when a quote is not closed."""
    while True:
        while start < len(line) and line[start] in _SPACE:
            start += 1
        if start >= len(line):
            return
        word = _word(line, start)
        yield word
        start = word.end


def _word(line: str, start: int) -> Word:
    text, quote, at = [], "", start
    while at < len(line) and (quote or line[at] not in _SPACE):
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
        raise _refused(f"a {quote} is not closed: put the whole word into the other kind of quotes, or write \\{quote}")
    return Word("".join(text), line[start] not in "\"'\\", start, at)


def _escapable(quote: str) -> str:
    if quote == "'":
        return ""
    return '"\\' if quote else "\"'\\" + _SPACE


def parse(grammar: Grammar, line: str, body: str | None = None) -> dict[str, Any]:
    """The arguments that a line spells; ``body`` is the text of a cell, which becomes the tool's body parameter.

    Raises ``ToolFailure`` (``invalid_tool_params``) in one line that names the nearest flags.  What is missing, or wrong in its value, the
    tool itself says.
    """
    reader = _Reader(grammar, line)
    arguments = reader.read() if grammar.literal is None or body is not None else reader.read_literal(grammar.literal)
    if body is not None:
        parameter = _body_parameter(grammar, arguments)
        arguments[parameter.name] = parameter.items_from(body) if parameter.is_list else body
    return arguments


def _body_parameter(grammar: Grammar, arguments: Mapping[str, Any]) -> Parameter:
    if grammar.body is None:
        raise _refused(f"{grammar.tool} takes no text from a cell: write its arguments on the line, as in %tool {grammar.tool} …")
    if grammar.body.name in arguments:
        raise _refused(f"{grammar.tool} got {grammar.body.name} twice: on the line and as the cell's text; leave one out")
    return grammar.body


class _Reader:
    """Goes through one line once."""

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
        self._take_positional(positional)
        return self._found

    def read_literal(self, body: Parameter) -> dict[str, Any]:
        """Own flags first; what follows them is the body, character for character."""
        rest = 0
        for word in self._words():
            if word.bare and word.text == "--":
                rest = word.end
                break
            if not self._is_flag(word):
                break
            self._take_flag(word)
            rest = self._at
        text = self._line[rest:].strip()
        if text:
            self._found[body.name] = text
        return self._found

    def _words(self) -> Iterator[Word]:
        """Like ``words``, but a flag may have taken the next one."""
        while (word := next(words(self._line, self._at), None)) is not None:
            self._at = word.end
            yield word

    def _is_flag(self, word: Word) -> bool:
        if not word.bare or not word.text.startswith("-") or word.text == "-":
            return False
        return word.text.startswith("--") or word.text[1:2] in self._grammar.short or not _is_number(word.text)

    def _take_flag(self, word: Word) -> None:
        if word.text.startswith("--"):
            name, given, value = word.text[2:].partition("=")
            self._set_long(name, value if given else None)
        else:
            self._set_short(word.text[1:])

    def _set_long(self, name: str, value: str | None) -> None:
        parameter = self._grammar.long.get(name.replace("_", "-"))
        if parameter is not None:
            self._set(parameter, f"--{name}", value)
            return
        denied = self._grammar.long.get(name.replace("_", "-").removeprefix("no-"))
        if denied is None or not denied.is_switch or not name.startswith("no-"):
            raise self._unknown(f"--{name}")
        if value is not None:
            raise _refused(f"--{name} takes no value: write --{denied.flag} {value} instead")
        self._found[denied.name] = False

    def _set_short(self, letters: str) -> None:
        """``-i``, ``-in`` for two switches, ``-C 3`` and ``-C3`` for a value."""
        for at, letter in enumerate(letters):
            parameter = self._grammar.short.get(letter)
            if parameter is None:
                raise self._unknown(f"-{letter}")
            if not parameter.is_switch:
                attached = letters[at + 1 :].removeprefix("=")
                self._set(parameter, f"-{letter}", attached or None)
                return
            self._found[parameter.name] = True

    def _set(self, parameter: Parameter, spelled: str, value: str | None) -> None:
        if value is None and parameter.is_switch:
            self._found[parameter.name] = True
            return
        text = self._next_value(spelled) if value is None else value
        if parameter.is_list and not parameter.is_whole(text):
            self._found.setdefault(parameter.name, []).append(parameter.item_from(text))
        else:
            self._found[parameter.name] = parameter.value_from(text)

    def _next_value(self, spelled: str) -> str:
        word = next(words(self._line, self._at), None)
        if word is None:
            raise _refused(f"{spelled} needs a value after it")
        self._at = word.end
        return word.text

    def _take_positional(self, texts: list[str]) -> None:
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
        return _refused(
            f"{text!r} is one word too many: {self._grammar.tool} takes {names or 'no words'}. Put quotes around a text with spaces"
        )

    def _unknown(self, flag: str) -> ToolFailure:
        known = [f"--{name}" for name in self._grammar.long]
        hint = did_you_mean(flag, known) or " It takes no flags."
        return _refused(f"{self._grammar.tool} has no flag {flag}.{hint} (-- before a word says that it is no flag)")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refused(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message if message.endswith((".", ")")) else f"{message}.")


def format_line(grammar: Grammar, arguments: Mapping[str, Any]) -> str:
    """A line that ``parse`` reads as these arguments: every one as a flag, so that order does not matter; a literal body comes last."""
    literal = grammar.literal.name if grammar.literal else ""
    parts = [part for name, value in arguments.items() if name != literal for part in _spelled(grammar.named(name), value)]
    if literal in arguments:
        parts += ["--", str(arguments[literal])]
    return " ".join(parts)


def _spelled(parameter: Parameter, value: Any) -> list[str]:
    if parameter.is_switch and isinstance(value, bool):
        return [f"--{parameter.flag}" if value else f"--no-{parameter.flag}"]
    if isinstance(value, str) and parameter.value_from(value) == value:
        return [f"--{parameter.flag}={quoted(value)}"]
    return [f"--{parameter.flag}={quoted(json.dumps(value, ensure_ascii=False))}"]


def is_plain_line(text: str) -> bool:
    """Whether ``text`` may stand on the line of a magic: printable characters, spaces and tabs only.

    IPython splits a cell where ``str.splitlines`` does: at U+000B, U+000C, U+001C to U+001E, U+0085, U+2028 and U+2029 as well as at line
    feeds and carriage returns.  What follows such a character would run as a line of its own.  ``isPlainLine`` in
    ``labextension/src/trace/launch.ts`` is the same rule.
    """
    return text.replace("\t", " ").isprintable()


def magic_line(name: str, line: str) -> str:
    """The source of a cell that runs ``%name line``; the call of a function where the line could not stand in a cell as it is."""
    source = f"%{name} {line}"
    return source if is_plain_line(source) else f"get_ipython().run_line_magic({name!r}, {line!r})"


def quoted(text: str) -> str:
    """A word that reads as ``text``, in quotes only where it needs them."""
    if text and not any(char in _SPACE + "\"'\\" for char in text) and not text.startswith("-"):
        return text
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
