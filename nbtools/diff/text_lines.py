"""Lines of decoded text: splitting, line endings, look-alike characters, characters that were not decoded."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_LOOK_ALIKES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad", "-"),
        **dict.fromkeys(
            "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", None),
        "\u2026": "...",
    }
)


def displayable(text: str) -> str:
    """Returns the text with U+FFFD for each byte that could not be decoded, so the length stays the same."""
    return text if is_exact(text) else _SURROGATE.sub("\ufffd", text)


def is_exact(text: str) -> bool:
    """Whether all bytes of the text could be decoded."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def split_lines(text: str) -> list[str]:
    """Splits a text into lines with their ends. Only LF ends a line, as in git; CRLF is a CR before it."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def with_all_ended(lines: list[str]) -> list[str]:
    """Ends all lines but the last, where lines of several texts are joined:
    a last line without an end may come before others.
    """
    return [*(line if line.endswith("\n") else f"{line}\n" for line in lines[:-1]), *lines[-1:]]


def with_lf(text: str) -> str:
    """Returns the text with LF for CRLF."""
    return text.replace("\r\n", "\n")


def plain_characters(text: str) -> str:
    """Replaces typographic quotes, dashes and spaces by ASCII characters; removes invisible ones."""
    return text if text.isascii() else text.translate(_LOOK_ALIKES)
