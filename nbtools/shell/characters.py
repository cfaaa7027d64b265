"""Finds invisible and misleading characters in a command line."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp", "Zs"}
_BLANK_LOOKING = "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SUSPECT = re.compile(rf"[^\x20-\x7e\n\t\w]|[{_BLANK_LOOKING}]")


def hidden_character(text: str) -> str:
    """Names the first control, zero-width, bidirectional, tag or strange blank character, empty when there is none."""
    if text.isascii() and text.isprintable():
        return ""
    for found in _SUSPECT.finditer(text):
        letter = found[0]
        if unicodedata.category(letter) in _HIDDEN or re.match(f"[{_BLANK_LOOKING}]", letter):
            return f"it contains an invisible character, U+{ord(letter):04X} ({unicodedata.name(letter, 'a control character')})"
    return ""
