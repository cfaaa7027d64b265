"""Parameter types of Void, which passes every value as text; they validate like Void itself."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from pydantic import BeforeValidator, WithJsonSchema

from nbtools.dialects.field_map import AgentField, expressible

_TEXT: dict[str, Any] = {"type": "string"}
_EMPTY_WORDS = frozenset({"", "null", "undefined"})


def _type_name(value: object) -> str:
    """Returns JavaScript's name of the type."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "object"


def _full_value(value: object) -> str:
    return f"Full value: {json.dumps(value, ensure_ascii=False, default=str)}"


def _text(value: object) -> str:
    if value is None:
        raise ValueError("is null, and must be text")
    if not isinstance(value, str):
        raise ValueError(f"must be text, but it is a {_type_name(value)}. {_full_value(value)}")  # noqa: TRY004 - the model's mistake
    return value


def _identifier(value: object) -> str:
    """Reads text or a whole number; Void passes numbers for the ids of terminals, which are digits."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value)


def _optional_identifier(value: object) -> str | None:
    return None if _absent(value) else _identifier(value)


def _absent(value: object) -> bool:
    return not value or (isinstance(value, str) and value.strip() in _EMPTY_WORDS)


def _optional_text(value: object) -> str | None:
    return None if _absent(value) else _text(value)


def _flag(value: object) -> bool:
    """Reads True or "true" as True, everything else as False."""
    return value is True or (isinstance(value, str) and value.strip() == "true")


def _line(value: object) -> int | None:
    """Reads a leading number like JavaScript's parseInt; a number below 1, or none, is None."""
    found = (
        re.match(r"\s*(-?\d+)", str(value))
        if isinstance(value, str | int | float) and not isinstance(value, bool)
        else None
    )
    number = int(found[1]) if found else 0
    return number if number >= 1 else None


def _page(value: object) -> int:
    if _absent(value):
        return 1
    number = float(str(value)) if re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", str(value)) else 0.5
    if number != int(number):
        raise ValueError(f"must be a whole number. {_full_value(value)}")
    if number < 1:
        raise ValueError(f"must be 1 or greater. {_full_value(value)}")
    return int(number)


def _path(value: object) -> str:
    """Reads a path or a ``file://`` URL."""
    text = _text(value)
    if not text:
        raise ValueError("is empty, and must be a path")
    if "://" not in text:
        return text
    url = urlsplit(text)
    if url.scheme != "file" or url.netloc not in ("", "localhost"):
        raise ValueError(f"must be a path or a file:// address of this machine. {_full_value(value)}")
    return unquote(url.path)


def is_plain_path(path: str) -> bool:
    """Whether a path would be read as itself; a URL would not."""
    return path != "" and "://" not in path


def path_field(name: str) -> AgentField:
    return AgentField(name, from_canonical=lambda path: expressible(path, is_plain_path(path)))


def folder_field(name: str) -> AgentField:
    """Maps an optional folder, where some words mean that it is absent."""
    return AgentField(
        name, from_canonical=lambda path: expressible(path, is_plain_path(path) and not _absent(path))
    )


def page_field(name: str, size: int) -> AgentField:
    """Maps a page to the offset of its first item."""

    def page(offset: int) -> int:
        return expressible(offset // size + 1, offset % size == 0)

    return AgentField(name, lambda number: (number - 1) * size, page, is_named=False)


def _optional_path(value: object) -> str | None:
    return None if _absent(value) else _path(value)


Text: TypeAlias = Annotated[str, BeforeValidator(_text), WithJsonSchema(_TEXT)]
Identifier: TypeAlias = Annotated[str, BeforeValidator(_identifier), WithJsonSchema(_TEXT)]
OptionalIdentifier: TypeAlias = Annotated[
    str | None, BeforeValidator(_optional_identifier), WithJsonSchema(_TEXT)
]
OptionalText: TypeAlias = Annotated[str | None, BeforeValidator(_optional_text), WithJsonSchema(_TEXT)]
Flag: TypeAlias = Annotated[bool, BeforeValidator(_flag), WithJsonSchema(_TEXT)]
Line: TypeAlias = Annotated[int | None, BeforeValidator(_line), WithJsonSchema(_TEXT)]
Page: TypeAlias = Annotated[int, BeforeValidator(_page), WithJsonSchema(_TEXT)]
Path: TypeAlias = Annotated[str, BeforeValidator(_path), WithJsonSchema(_TEXT)]
OptionalPath: TypeAlias = Annotated[str | None, BeforeValidator(_optional_path), WithJsonSchema(_TEXT)]
