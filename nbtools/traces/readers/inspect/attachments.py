"""Resolves references to attachments: texts that Inspect stores elsewhere in the log."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.source import DECODE_ERRORS, decode_json

_REFERENCE = re.compile(r"attachment://([0-9a-zA-Z]{1,64})")
_MAX_DEPTH = 100


class Attachments:
    """The attachments of a sample; each is decoded on access."""

    def __init__(self, raw: msgspec.Raw) -> None:
        try:
            self._raw = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except DECODE_ERRORS:
            self._raw = {}

    def resolve(self, value: Any, depth: int = 0) -> Any:
        """Returns the value with all references replaced by their texts; a reference to a missing attachment stays."""
        if isinstance(value, str):
            return _REFERENCE.sub(self._text, value) if "attachment://" in value else value
        if depth < _MAX_DEPTH and isinstance(value, list):
            return [self.resolve(one, depth + 1) for one in value]
        if depth < _MAX_DEPTH and isinstance(value, dict):
            return {key: self.resolve(one, depth + 1) for key, one in value.items()}
        return value

    def _text(self, reference: re.Match[str]) -> str:
        raw = self._raw.get(reference[1])
        try:
            text = decode_json(bytes(raw)) if raw is not None else None
        except TraceError:
            text = None
        return text if isinstance(text, str) else reference[0]
