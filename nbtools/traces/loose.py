"""Decoded JSON of which nothing is certain: the value where it has the type that is wanted, else an empty one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.source import decoded

_DEEPEST = 8
_TEXTS = ("text", "content", "output", "result", "value", "response", "refusal")
_WIDEST = 1 << 63


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list."""
    return [one for one in items(value) if isinstance(one, dict)]


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def name_of(value: Any) -> str:
    """A text, or a number as one: ids are both."""
    return value if isinstance(value, str) else str(value) if whole(value) is not None else ""


def whole(value: Any) -> int | None:
    """A number without a fraction that a database takes, also one written as text."""
    if type(value) is int:  # nearly always
        return value if -_WIDEST < value < _WIDEST else None
    if isinstance(value, str) and value.lstrip("-").isascii() and value.lstrip("-").isdigit() and len(value) < 20:
        value = int(value) if not value.startswith("--") else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WIDEST else None


def number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _WIDEST:
        return float(value)
    return None


def parsed(value: Any) -> Any:
    """What a text that is JSON says; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return decoded(value.encode("utf-8", "replace"))
    except TraceError:
        return value


def arguments(value: Any) -> Mapping[str, Any]:
    """Of a call, given as an object or as its JSON; a text that is none is the argument ``input``."""
    read = parsed(value)
    if isinstance(read, dict):
        return read
    return {} if read is None or read == "" else {"input": value}


def text_of(content: Any, depth: int = 0) -> str:
    """The words in content: a text, an object with one, or a list of such; else JSON."""
    if isinstance(content, str):
        return content
    if content is None or depth > _DEEPEST:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(one, depth + 1) for one in content)))
    if isinstance(content, dict):
        key = next((key for key in _TEXTS if isinstance(content.get(key), str | list)), None)
        if key is not None:
            return text_of(content[key], depth + 1)
        if string(content.get("type")) in _SEEN:
            return ""
    return as_json(content)


_SEEN = {"image", "image_url", "input_image", "audio", "video", "document", "blob", "file", "input_file", "tool_reference"}


def as_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""
