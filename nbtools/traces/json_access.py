"""Typed accessors for untrusted JSON: a value of another type reads as empty.

Also parses timestamps in the notations that logs use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.source import decode_json

_MAX_DEPTH = 8
_TEXT_KEYS = ("text", "content", "output", "result", "value", "response", "refusal")
_INT64_END = 1 << 63


def names(text: str) -> tuple[str, ...]:
    """Returns the names in a text, which blanks separate: the notation of long tables of names."""
    return tuple(text.split())


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Returns the objects in a list."""
    return [one for one in items(value) if isinstance(one, dict)]


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def id_text(value: Any) -> str:
    """Returns a text as it is and an integer as text, because ids may be either; empty for anything else."""
    if isinstance(value, str):
        return value
    return "" if integer_of(value) is None else str(value)


def integer_of(value: Any) -> int | None:
    """Returns an integer that fits into 64 bits, also from a float without fraction or from text;
    None for anything else.
    """
    if type(value) is int:  # nearly always
        return value if -_INT64_END < value < _INT64_END else None
    if isinstance(value, str):
        digits = value[1:] if value[:1] == "-" else value
        value = int(value) if digits.isdigit() and digits.isascii() and len(value) < 20 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return (
        value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _INT64_END else None
    )


def first_string(fields: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Returns the text of the first key that has one."""
    for key in keys:
        value = fields.get(key)
        if value and isinstance(value, str):
            return value
    return ""


def first_text(fields: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Returns what ``text_of`` finds under the first key where it finds something."""
    return next((text for key in keys if (text := text_of(fields.get(key)))), "")


def counts_in(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, int]:
    """Returns the integers in ``fields`` by our names; ``names`` maps the log's names to ours."""
    found = ((ours, integer_of(fields.get(name))) for name, ours in names.items())
    return {ours: count for ours, count in found if count is not None}


def float_of(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _INT64_END:
        return float(value)
    return None


def parse_json(value: Any) -> Any:
    """Parses a text as JSON. Returns a text that is not JSON, and any other value, as it is."""
    if not isinstance(value, str) or not _may_be_json(value):
        return value
    try:
        return decode_json(value.encode("utf-8", "replace"))
    except TraceError:
        return value


_CLOSING = {"{": "}", "[": "]", '"': '"'}
_SCALAR = re.compile(r"\s*(?:true|false|null|NaN|-?Infinity|-?\d[\d.eE+-]*)\s*")
_BLANKS = " \t\r\n\ufeff"


def _may_be_json(text: str) -> bool:
    """Whether a text begins and ends like JSON;
    most results of tools do not, and trying to repair one takes long.
    """
    inner = text.strip(_BLANKS)
    closing = _CLOSING.get(inner[:1])
    return inner[-1:] == closing if closing else _SCALAR.fullmatch(inner) is not None


def arguments(value: Any) -> Mapping[str, Any]:
    """Returns the arguments of a call from an object or from JSON.

    A text that is not a JSON object becomes the argument ``input``.
    """
    decoded_value = parse_json(value)
    if isinstance(decoded_value, dict):
        return decoded_value
    return {} if decoded_value is None or decoded_value == "" else {"input": value}


def text_of(content: Any, depth: int = 0) -> str:
    """Returns the text in ``content``: a text, an object that contains one, or a list of these;
    JSON for anything else.
    """
    if isinstance(content, str):
        return content
    if content is None or depth > _MAX_DEPTH:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(one, depth + 1) for one in content)))
    if isinstance(content, dict):
        key = next((key for key in _TEXT_KEYS if isinstance(content.get(key), str | list)), None)
        if key is not None:
            return text_of(content[key], depth + 1)
        if string(content.get("type")) in _MEDIA_TYPES:
            return ""
    return to_json(content)


_MEDIA_TYPES = {
    "image",
    "image_url",
    "input_image",
    "audio",
    "video",
    "document",
    "blob",
    "file",
    "input_file",
    "tool_reference",
}


def strings(value: Any, without: Collection[str] = ()) -> Iterator[str]:
    """Yields every string value in JSON, in order, except below the keys ``without``."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            pending.extend(reversed([inner for key, inner in one.items() if key not in without]))
        elif isinstance(one, list | tuple):
            pending.extend(reversed(one))


def to_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""


_LATEST_SECONDS = 253_402_300_800
"""The end of the year 9999, the last one that ``datetime`` knows."""
_LATEST = _LATEST_SECONDS * 1000
_iso = datetime.fromisoformat


def epoch_seconds(recorded: Any) -> float | None:
    """Converts an ISO time (UTC where it names no zone), or a number of seconds or milliseconds,
    to seconds since the epoch.

    Returns None for anything else, and for times outside the calendar.
    """
    if isinstance(recorded, str):
        try:
            time = _iso(recorded)
        except ValueError:
            return None
        at = time.timestamp() if time.tzinfo else time.replace(tzinfo=UTC).timestamp()
        return at if 0 <= at < _LATEST_SECONDS else None
    if isinstance(recorded, int | float) and not isinstance(recorded, bool) and 0 <= recorded < _LATEST:
        return recorded / 1000 if recorded > 1e11 else float(recorded)
    return None
