"""Lines of decoded text: splitting, line endings and characters that could not be decoded."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def displayable(text: str) -> str:
    """Returns the text with U+FFFD for each byte that could not be decoded, so the length stays the same."""
    return text if is_exact(text) else _SURROGATE.sub("\ufffd", text)


def is_exact(text: str) -> bool:
    """Whether all bytes of the text could be decoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def split_lines(text: str) -> list[str]:
    """Splits a text into lines with their ends.  Only LF ends a line, as in grep, git and patch; CRLF is a CR before it."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def with_lf(text: str) -> str:
    """Returns the text with LF for CRLF."""
    return text.replace("\r\n", "\n")
