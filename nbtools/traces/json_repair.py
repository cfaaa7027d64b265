"""Repairs invalid JSON without changing its length, so that byte offsets stay valid."""

from __future__ import annotations

import re

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|-?Infinity', re.DOTALL)
_ESCAPE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_INVALID_BYTE = re.compile("[\udc80-\udcff]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def repair_json(data: bytes) -> bytes:
    """Returns as many bytes that are more likely to be valid JSON.

    Replaces bytes that are not UTF-8 with ``?``, a byte order mark and control characters in strings with blanks, unpaired surrogates with
    U+FFFD, and numbers that JSON does not have (``NaN``) with an empty text.
    """
    text = _INVALID_BYTE.sub("?", data.decode("utf-8", "surrogateescape")).encode()
    if text.startswith(_BYTE_ORDER_MARK):
        text = b"   " + text[3:]
    return _TOKEN.sub(_repair_token, text)


def _repair_token(found: re.Match[bytes]) -> bytes:
    token = found[0]
    if token[:1] != b'"':
        return b'""'.ljust(len(token))
    return _ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], _CONTROL.sub(b" ", token))
