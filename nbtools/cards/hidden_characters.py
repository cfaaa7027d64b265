"""Makes invisible characters visible: control, bidirectional,
zero-width and blank characters become ``‹U+202E›``.

Long runs of combining accents are replaced by their number.  All texts of a card are processed here, so that
the text a person approves cannot differ from what will happen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from nbtools.cards.card_model import Span  # loading the models would double the time of %load_ext

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_SELECTORS = "\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef"
_PRINTABLE_BUT_INVISIBLE = re.compile(f"[{_BLANK_LETTERS}{_SELECTORS}]")
_UNUSUAL = re.compile(r"[^ -~]")
"""All that can be invisible; the rest of ASCII is not looked at one by one."""
_BREAK = re.compile(r"\s*\r?\n\s*")
_PICTURES = frozenset({"So", "Sk"})
_ACCENT_RUN = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]{7,}"
)
"""More combining accents than any language uses on one letter; they would cover the lines above."""


def seen(text: str, keep: str = "\t") -> str:
    """Returns ``text`` with every hidden character, except those in ``keep``, replaced by its code point."""
    if _is_visible(text, keep):
        return text
    return "".join(part for part, _ in reveal(text, keep=keep))


def one_line(text: str, limit: int = 500) -> str:
    """Returns ``text`` as one line of at most ``limit`` characters,
    with hidden characters visible and line breaks as ⏎.
    """
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text  # most of the 100,000 lines of a list
    short = text[: limit + 1].strip("\r\n")
    line = seen(_BREAK.sub(" ⏎ ", short) if "\n" in short else short)
    return line if len(text) <= limit else line[:limit] + "…"


def reveal(text: str, style: str = "", keep: str = "\t") -> list[Span]:
    """Returns ``text`` as spans with ``style``;
    hidden characters are spans ``‹U+…›`` with the style word ``hidden`` added.
    """
    if _is_visible(text, keep):
        return [(text, style)] if text else []
    text = _ACCENT_RUN.sub(_accent_count, text)
    spans: list[Span] = []
    start = 0
    for found in _UNUSUAL.finditer(text):
        index, character = found.start(), found[0]
        if _is_invisible(character, text[max(0, index - 2) : index], keep):
            if start < index:
                spans.append((text[start:index], style))
            spans.append((f"‹U+{ord(character):04X}›", f"{style} hidden".strip()))
            start = index + 1
    if start < len(text):
        spans.append((text[start:], style))
    return spans


def _is_visible(text: str, keep: str) -> bool:
    if text.isascii():
        return text.isprintable() or text.translate(dict.fromkeys(map(ord, keep))).isprintable()
    return text.isprintable() and not _PRINTABLE_BUT_INVISIBLE.search(text) and not _ACCENT_RUN.search(text)


def _accent_count(run: re.Match[str]) -> str:
    return f"{run[0][:2]}‹{len(run[0]) - 2} more accents›"


def _is_invisible(character: str, before: str, keep: str) -> bool:
    if character == " " or character in keep:
        return False
    if category(character) in _INVISIBLE or _PRINTABLE_BUT_INVISIBLE.match(character):
        return not _joins_picture(character, before)
    return False


def _joins_picture(character: str, before: str) -> bool:
    """Whether the character only modifies the emoji before it (coloured ``⚠``, a family of three),
    which is legitimate.
    """
    if character == "\u200d":
        before = before.removesuffix("\ufe0f")
    return character in "\ufe0e\ufe0f\u200d" and before != "" and category(before[-1]) in _PICTURES
