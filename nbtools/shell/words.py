"""Parses words that dash, bash and busybox read identically, and the characters between them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from nbtools.shell.grammar_nodes import may_expand

BLANKS = " \t"
ENDS = frozenset(" \t\n;&|<>()")
"""Characters that end a word."""
_QUOTED = re.compile(r'[^"$`\\]*')
_PLAIN = re.compile(r"[A-Za-z0-9_./:,%+@^=!#-]+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"[?$!@*#1-9]")
_PARAMETER = re.compile(
    r"\{(?:#?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9])"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9])(?:(?P<operator>:?[-=+?])[A-Za-z0-9_./,@+-]*|(?:%%?|##?)[A-Za-z0-9_./,@+*?-]+))\}"
)
_BRACES = re.compile(r"\{[A-Za-z0-9_-]*\}")


class NotUnderstoodError(Exception):
    """The line uses something outside the common language; the message names it."""


@dataclass(slots=True)
class Word:
    text: str
    dynamic: bool
    splits: bool
    """Whether something outside quotes is expanded, so that it may become several words or none."""


class WordReader(ABC):
    """Parses words at ``at``; a subclass parses the commands inside their substitutions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.substitutions = 0
        self.waits_for_text = False
        """Whether a here-document was opened and its text has not begun."""
        self.variables: list[str] = []
        self.operator = ""
        """The operator between the next simple command and the one before."""

    @abstractmethod
    def list_until(self, ends: Callable[[], bool]) -> None:
        """Parses commands until ``ends`` is true."""

    @abstractmethod
    def here_texts(self) -> None:
        """Parses the texts of here-documents, which begin after a newline."""

    def word(self) -> Word:
        """Parses the word that begins here."""
        text, begin = self.text, self.at
        value: list[str] = []
        bare: list[str] = []
        dynamic = splits = loose = False
        first = text[begin : begin + 1]
        names_program = first == "=" and not re.match(r"=+(?=[ \t\n;]|\Z)", text[begin:])  # zsh: =ls
        if not first or first in "^#" or names_program:
            raise NotUnderstoodError(f"{self.snippet()} is not read alike by all shells")
        while self.at < len(text) and (letter := text[self.at]) not in ENDS:
            plain = _PLAIN.match(text, self.at)
            if plain:
                self.at = plain.end()
                value.append(plain[0])
                bare.append(plain[0])
            elif letter == "'":
                value.append(self.single_quoted())
            elif letter == '"':
                content, expands, several = self.double_quoted()
                value.append(content)
                dynamic, splits = dynamic or expands, splits or several
            elif letter == "\\":
                value.append(self.escaped())
            elif letter == "$":
                self.expansion()
                dynamic = splits = True
            else:
                loose = True
                piece = self.bare_character(letter, begin)
                value.append(piece)
                bare.append(piece)
        source = text[begin : self.at]
        is_descriptor = source.isdigit() and self.peek() in ("<", ">")
        if not source or is_descriptor or (self.waits_for_text and "\n" in source):
            raise NotUnderstoodError(f"{self.snippet()} is not read alike by all shells")
        globs = loose and may_expand("".join(bare))
        return Word(source, True, splits or globs) if dynamic or globs else Word("".join(value), False, False)

    def single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise NotUnderstoodError("a quote is not closed")
        begin, self.at = self.at + 1, end + 1
        return self.text[begin:end]

    def escaped(self) -> str:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in ("", "\n"):
            raise NotUnderstoodError("a backslash at the end of a line is inside a word")
        self.at += 2
        return letter

    def bare_character(self, letter: str, begin: int) -> str:
        """Parses a special character outside quotes, where it means the same to all shells."""
        following = self.text[self.at + 1 : self.at + 2]
        braces = _BRACES.match(self.text, self.at)
        if letter == "{" and braces:
            self.at = braces.end()
            return braces[0]
        home = letter == "~" and self.text[self.at - 1 : self.at] not in ("=", ":")
        if home and self.at == begin:
            home = not following or following == "/" or following in ENDS
        if letter in "*?[]" or home or (letter > "\x7f" and letter.isprintable()):
            self.at += 1
            return letter
        raise NotUnderstoodError(f"{letter!r} is not read alike by all shells")

    def double_quoted(self) -> tuple[str, bool, bool]:
        """Parses a double-quoted text.  Returns it, whether something in it is expanded,
        and whether it may become several words.
        """
        text = self.text
        self.at += 1
        value: list[str] = []
        dynamic = several = False
        while True:
            if found := _QUOTED.match(text, self.at):
                value.append(found[0])
                self.at = found.end()
            letter, following = text[self.at : self.at + 1], text[self.at + 1 : self.at + 2]
            if letter == '"':
                self.at += 1
                return "".join(value), dynamic, several
            if letter == "\\" and following == "\n":
                raise NotUnderstoodError("a backslash at the end of a line is inside a word")
            if letter == "\\" and following:
                value.append(following if following in '$`"\\' else letter + following)
                self.at += 2
            elif letter == "$" and following in ('"', " ", ")", "|"):
                value.append(letter)
                self.at += 1
            elif letter == "$":
                several = several or bool(re.match(r"\$(?:[@*]|\{[@*])", text[self.at :]))
                self.expansion()
                dynamic = True
            else:
                backquotes = "backquotes are not read alike by all shells"
                raise NotUnderstoodError(backquotes if letter else "a quote is not closed")

    def expansion(self) -> None:
        """Parses an expansion: a variable, a parameter with a literal word, or a command substitution."""
        text = self.text
        self.at += 1
        if self.peek() == "(":
            self.substitution()
            return
        name = NAME.match(text, self.at)
        parameter = None if name else _PARAMETER.match(text, self.at)
        special = None if name or parameter else _SPECIAL.match(text, self.at)
        found = name or parameter or special
        if not found:
            raise NotUnderstoodError(f"{self.snippet(-1)} is not read alike by all shells")
        if parameter and parameter["name"] and "=" in (parameter["operator"] or ""):
            self.variables.append(parameter["name"])
        self.at = found.end()
        following = self.peek()
        modified = following == ":" and re.match(r":[A-Za-z&]", text[self.at :])
        named = special and re.match(r"[\w{(]", following)
        if following == "[" or modified or named or following > "\x7f":
            raise NotUnderstoodError(f"{text[self.at - 1 : self.at + 2]!r} is not read alike by all shells")

    def substitution(self) -> None:
        if self.text[self.at : self.at + 2] == "((":
            raise NotUnderstoodError("'$((' is not read alike by all shells")
        self.at += 1
        if self.waits_for_text:
            raise NotUnderstoodError("a substitution is between a here-document and its text")
        self.substitutions += 1
        operator, self.operator = self.operator, ""
        self.skip_lines()
        self.list_until(lambda: self.peek() == ")")
        self.at += 1
        self.operator = operator
        self.substitutions -= 1
        if self.waits_for_text:
            raise NotUnderstoodError("a here-document has no end")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def at_keyword(self, word: str) -> bool:
        following = self.text[self.at + len(word) : self.at + len(word) + 1]
        return self.text.startswith(word, self.at) and (not following or following in ENDS)

    def keyword(self, word: str) -> None:
        if not self.at_keyword(word):
            raise NotUnderstoodError(f"{word!r} is missing")
        self.at += len(word)
        self.skip_lines()

    def skip_blanks(self) -> None:
        """Skips blanks, line continuations after a blank, and a comment up to the end of its line."""
        text = self.text
        while self.at < len(text) and (letter := text[self.at]) in " \t\\#":
            before = text[self.at - 1] if self.at else "\n"
            if letter in BLANKS:
                self.at += 1
            elif letter == "\\" and text[self.at + 1 : self.at + 2] == "\n" and before in BLANKS:
                self.at += 2
                if text[self.at : self.at + 1] in "\n\\#;&|<>()0123456789":
                    raise NotUnderstoodError("a backslash at the end of a line joins operators")
            elif letter == "#" and before in " \t\n":
                if self.substitutions:
                    raise NotUnderstoodError("a comment in a substitution is not read alike by all shells")
                end = text.find("\n", self.at)
                self.at = end if end >= 0 else len(text)
            else:
                return

    def skip_lines(self) -> None:
        """Skips blanks, comments and newlines, and parses the texts of here-documents that begin there."""
        self.skip_blanks()
        while self.peek() == "\n":
            self.at += 1
            self.here_texts()
            self.skip_blanks()

    def snippet(self, shift: int = 0) -> str:
        begin = max(self.at + shift, 0)
        return repr(self.text[begin : begin + 12])
