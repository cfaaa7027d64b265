"""Packs the blocks of a card for a notebook's file: JSON, compressed, in base64.

nbformat writes one JSON value a line, so that the highlighted lines of a file would take ten times their
characters. ``labextension/src/cards/packing.ts`` unpacks the same.
"""

from __future__ import annotations

import base64
import zlib

MAX_JSON = 32_000_000
"""Bytes of JSON up to which blocks are unpacked, because a notebook is written by anybody."""


def pack(json: bytes) -> str:
    return base64.b64encode(zlib.compress(json, 9)).decode("ascii")


def unpack(packed: str) -> bytes:
    """Returns the JSON.  Raises ``ValueError`` if the text was not made by ``pack``,
    or its JSON is longer than ``MAX_JSON``.
    """
    stream = zlib.decompressobj()
    try:
        json = stream.decompress(base64.b64decode(packed, validate=True), MAX_JSON)
    except zlib.error as error:
        raise ValueError(f"the blocks of a card cannot be unpacked: {error}") from None
    if not stream.eof:
        raise ValueError(f"the blocks of a card are incomplete or longer than {MAX_JSON:,} bytes")
    return json
