"""Reads the full texts of rows from the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nbtools.traces.json_access import strings
from nbtools.traces.model import Call, Event
from nbtools.traces.reader import LogFile

CALL_TEXTS = ("args", "command", "cwd", "result", "stdout", "stderr")
EVENT_TEXTS = ("full_text",)
_METADATA_KEYS = frozenset({"type", "id", "timestamp", "role"})
"""Keys of strings that occur between the parts of a text but do not belong to it."""
_SEPARATORS = ("\n", "", "\n\n")


def texts_of_call(call: Call) -> tuple[str, ...]:
    """Returns the texts of the columns ``CALL_TEXTS``; ``args`` is JSON."""
    detail = call.origin.texts(call)
    return (_json(detail.args), detail.command, detail.cwd, detail.result, detail.stdout, detail.stderr)


def text_of_event(event: Event, reading: LogFile | None) -> str:
    """Returns the full text of an event.

    That is the strings of its record, one or several in sequence, that begin like the row's text and have its
    size. Where there are none, returns the longest string that begins like it, or else the beginning that the
    row has.
    """
    if event.size <= len(event.text) or reading is None or not event.ref.length:
        return event.text
    texts = [text for text in strings(reading.record(event.ref), _METADATA_KEYS) if text]
    for start, first in enumerate(texts):
        if event.text.startswith((first[: len(event.text)], first.lstrip()[: len(event.text)] or first)):
            for separator in _SEPARATORS:
                joined = _join(texts[start:], separator, event.size)
                if len(joined) == event.size and _begins_with(joined, event.text):
                    return joined
    return max((text for text in texts if _begins_with(text, event.text)), key=len, default=event.text)


def _begins_with(text: str, begin: str) -> bool:
    """A row's text leaves out so much whitespace at the beginning that nothing else would be in it."""
    return text.startswith(begin) or (text[:1].isspace() and text.lstrip().startswith(begin))


def _join(texts: Sequence[str], separator: str, size: int) -> str:
    """Joins texts until they have at least this length."""
    parts: list[str] = []
    length = -len(separator)
    for text in texts:
        if length >= size:
            break
        parts.append(text)
        length += len(separator) + len(text)
    return separator.join(parts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
