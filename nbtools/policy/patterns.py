"""Patterns in rules: words with stars, and regular expressions with bounded matching time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import factorial

from nbtools.core.errors import PolicyError

MAX_LENGTH = 2_048
"""The most characters of a regular expression in a rule."""
_MOST_STEPS = 20_000_000
"""The most steps that a match may take in the worst case: a fraction of a second."""
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)(]*?[:=!>]|[()|]|\{\d*,?\d*\}|[*+?]|.", re.DOTALL)


_PATH_PATTERN = re.compile(
    r"!?(?:[^\\\[\0\r\n]|\\[^/]|\[[!^]?(?:[^\[\]\\/&|~^!-]|(?<=\w)-(?=\w))+\])+", re.DOTALL
)
_CLASS = re.compile(r"\[[^\]]*\]")
_RANGE = re.compile(r"(\w)-(\w)")


class TextTooLong(Exception):  # noqa: N818 - an answer, not an error
    """The text is too long to be matched in bounded time."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression; ``longest`` is the most characters of a text that it is matched with."""

    pattern: re.Pattern[str]
    longest: int

    def matches_start(self, text: str) -> bool:
        """Whether it matches at the beginning of ``text``.  Raises ``TextTooLong``."""
        return self._check_length(text, 0) and self.pattern.match(text) is not None

    def matches_anywhere(self, text: str) -> bool:
        """Whether it matches anywhere in ``text``.  Raises ``TextTooLong``."""
        return self._check_length(text, 1) and self.pattern.search(text) is not None

    def _check_length(self, text: str, more: int) -> bool:
        if len(text) > self.longest or (more and len(text) > _longest(_loops(self.pattern.pattern) + more)):
            raise TextTooLong
        return True


@lru_cache(maxsize=4096)
def expression(text: str) -> Expression:
    """Compiles a regular expression. Raises ``PolicyError`` if invalid or its time is not bounded."""
    if len(text) > MAX_LENGTH:
        raise PolicyError(
            f"The regular expression has {len(text):,} characters; rules allow at most {MAX_LENGTH:,}."
            " Shorten it."
        )
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise PolicyError(f"{text!r} is not a valid regular expression: {error}.") from None
    if re.search(r"\\[1-9]|\(\?P=", text):
        raise PolicyError(
            f"{text!r} has a back-reference, which can make matching endless. Write it without."
        )
    return Expression(pattern, _longest(_loops(text)))


@lru_cache(maxsize=4096)
def _loops(text: str) -> int:
    """Counts repetitions. Raises ``PolicyError`` where one repeats a repetition or branches."""
    loops, open_groups, closed = 0, [False], False
    for part in (found[0] for found in _TOKEN.finditer(text)):
        if part.startswith("(") and not part.startswith("\\"):
            open_groups.append(False)
        elif part == ")":
            closed = open_groups.pop() if len(open_groups) > 1 else False
            open_groups[-1] = open_groups[-1] or closed
            continue
        elif part == "|":
            open_groups[-1] = True
        elif part in ("*", "+") or (part.startswith("{") and part.endswith("}") and len(part) > 2):
            if closed:
                raise PolicyError(
                    f"{text!r} has a nested repetition, which can make matching endless. Write it without."
                )
            loops, open_groups[-1] = loops + 1, True
        closed = False
    return loops


@lru_cache(maxsize=64)
def _longest(loops: int) -> int:
    return int((_MOST_STEPS * factorial(min(loops, 100))) ** (1 / loops)) if loops else _MOST_STEPS


def is_path_pattern(text: str) -> bool:
    """Whether the text is a gitignore pattern whose brackets and backslashes have one certain meaning."""
    ordered = all(first <= last for first, last in _RANGE.findall("".join(_CLASS.findall(text))))
    return ordered and text != "!" and _PATH_PATTERN.fullmatch(text) is not None


def literal_pattern(text: str) -> str:
    """Returns a readable regular expression that matches exactly this text."""
    return re.escape(text).replace("\\ ", " ").replace("\\-", "-")


def matches_pieces(pieces: tuple[str, ...], word: str) -> bool:
    """Whether ``word`` consists of the pieces with any text between them; takes linear time."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return word == first
    if len(word) < len(first) + len(last) or not (word.startswith(first) and word.endswith(last)):
        return False
    position, end = len(first), len(word) - len(last)
    for piece in pieces[1:-1]:
        found = word.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True
