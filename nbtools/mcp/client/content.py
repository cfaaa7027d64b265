"""Converts a server's answer to a tool result: parts for the model, a display for people, and data."""

from __future__ import annotations

import base64
import binascii
import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import (
    FileText,
    LlmContent,
    Markdown,
    Media,
    Part,
    Several,
    ToolResult,
    ToolResultDisplay,
)

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

_MOST_ROWS = 100
_MOST_TO_PARSE = 1_000_000
"""Maximum length, in characters, of a text that is parsed as a table or JSON for the card."""
_SUFFIX_OF = {
    "application/json": ".json",
    "text/html": ".html",
    "text/x-python": ".py",
    "application/xml": ".xml",
    "text/css": ".css",
}
_SEPARATOR_OF = {"text/csv": ",", "text/tab-separated-values": "\t", ".csv": ",", ".tsv": "\t"}
_TEXT_SUFFIXES = ("", ".txt", ".log")


def display_of(blocks: Sequence[ContentBlock], structured: object = None) -> ToolResultDisplay:
    """Returns the display of content blocks, one below the other, else of structured content."""
    displays = [display for block in blocks for display in _block_displays(block)]
    if structured is not None and not displays:
        displays.append(_code("structured.json", as_json_text(structured)))
    return combine_displays(displays)


def combine_displays(displays: Sequence[ToolResultDisplay]) -> ToolResultDisplay:
    """Combines displays into one; if all are texts, the result is one text."""
    texts = [display for display in displays if isinstance(display, str)]
    if len(texts) == len(displays):
        return "\n".join(texts)
    return displays[0] if len(displays) == 1 else Several(tuple(displays))


def as_json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def count_by_kind(blocks: Iterable[ContentBlock]) -> str:
    """Counts blocks by kind: ``2 pictures, 1 sound``."""
    kinds = Counter(_NAMES.get(block.type, "part") for block in blocks)
    return (
        ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in kinds.items())
        or "no output"
    )


def size_of(blob: str) -> int:
    """Returns the number of bytes that a base64 text encodes."""
    return len(blob) * 3 // 4 - blob[-2:].count("=")


_NAMES = {"image": "picture", "audio": "sound", "resource": "resource", "resource_link": "link"}


def _block_displays(block: Any) -> Iterator[ToolResultDisplay]:
    match block.type:
        case "text":
            yield _text(block.text)
        case "image" | "audio":
            yield _media("", block.mime_type, block.data)
        case "resource_link":
            about = " · ".join(part for part in (block.mime_type, block.description) if part)
            yield f"{block.title or block.name}: {block.uri}{f' ({about})' if about else ''}"
        case "resource":
            yield from resource_displays(block.resource)
        case _:
            yield f"A {block.type} block, which cannot be displayed."


def resource_displays(resource: TextResourceContents | BlobResourceContents) -> Iterator[ToolResultDisplay]:
    """Yields a resource's URI and content: Markdown, table, code, text or a medium; else one line."""
    name = PurePosixPath(unquote(urlsplit(str(resource.uri)).path)).name
    mime = (resource.mime_type or "").partition(";")[0].strip().lower()
    if not hasattr(resource, "text"):
        yield _media(str(resource.uri), mime, resource.blob)
        return
    yield f"{resource.uri} · {mime}" if mime else str(resource.uri)
    yield _document(name, mime, resource.text)


def _document(name: str, mime: str, text: str) -> ToolResultDisplay:
    suffix = PurePosixPath(name).suffix.lower()
    separator = _SEPARATOR_OF.get(mime) or _SEPARATOR_OF.get(suffix)
    if mime == "text/markdown" or suffix in (".md", ".markdown"):
        return Markdown(text)
    if separator and (table := _table(text, separator)):
        return Markdown(table)
    if mime in _SUFFIX_OF and suffix in _TEXT_SUFFIXES:
        return _code(f"{name or 'resource'}{_SUFFIX_OF[mime]}", text)
    return text if suffix in _TEXT_SUFFIXES else _code(name, text)


def _text(text: str) -> ToolResultDisplay:
    """Formats JSON as code; other text is returned unchanged."""
    if text[:1] in ("{", "[") and len(text) <= _MOST_TO_PARSE:
        try:
            return _code("answer.json", as_json_text(json.loads(text)))
        except (ValueError, RecursionError):
            return text
    return text


def _code(name: str, text: str) -> FileText:
    lines = tuple(text.splitlines())
    return FileText(name, 1, lines, len(lines))


def _media(uri: str, mime: str, data: str) -> ToolResultDisplay:
    try:
        return Media(
            uri, mime, base64.b64decode(data, validate=True), uri and f"{uri} · {mime or 'of unknown type'}"
        )
    except (binascii.Error, ValueError):
        return f"{uri} {mime}: the data cannot be decoded (invalid base64).".lstrip()


def _table(text: str, separator: str) -> str:
    """Converts delimited text to a Markdown table; empty if it is not a table."""
    if len(text) > _MOST_TO_PARSE:
        return ""
    try:
        rows = list(islice(csv.reader(text.splitlines(), delimiter=separator), _MOST_ROWS + 2))
    except csv.Error:
        return ""
    rows = [row for row in rows if row]
    if not rows or len(rows[0]) < 2:
        return ""
    width = len(rows[0])
    lines = [_row(row, width) for row in rows[: _MOST_ROWS + 1]]
    more = f"\n\n⋯ the first {_MOST_ROWS} rows" if len(rows) > _MOST_ROWS + 1 else ""
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]) + more


def _row(cells: Sequence[str], width: int) -> str:
    padded = [*cells, *[""] * width][:width]
    return (
        "| "
        + " | ".join(" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|") for cell in padded)
        + " |"
    )


_MEDIA_TYPES = ("image/", "audio/", "application/pdf")
"""Media types that some models accept directly."""


def result_of(server: str, tool: str, answer: CallToolResult) -> ToolResult:
    """Returns the tool result; structured content is its ``data``, and text if there is no other."""
    parts = parts_of(answer.content)
    text = text_of(parts)
    structured = answer.structured_content
    if not text and structured is not None:
        text = as_json_text(structured)
        parts = (*parts, {"text": text})
    error = None
    if answer.is_error:
        error = ToolError(
            ErrorCode.MCP_TOOL_ERROR, text.strip() or f"{tool} of {server} failed without giving a reason."
        )
    first = text.strip().split("\n", 1)[0]
    return ToolResult(
        content_of(parts) or "(no output)",
        display_of(answer.content, structured),
        error,
        first[:100] or count_by_kind(answer.content),
        structured,
    )


def parts_of(blocks: Iterable[ContentBlock]) -> tuple[Part, ...]:
    """Converts each block to one part; a block of an unknown kind becomes its JSON."""
    return tuple(_part(block) for block in blocks)


def content_of(parts: Sequence[Part]) -> LlmContent:
    """Returns one text if all parts are texts, else the parts."""
    return tuple(parts) if any("inline_data" in part for part in parts) else text_of(parts)


def text_of(parts: Iterable[Part]) -> str:
    return "\n".join(part["text"] for part in parts if "text" in part)


def _part(block: Any) -> Part:
    match block.type:
        case "text":
            return {"text": block.text}
        case "image" | "audio":
            return {"inline_data": {"mime_type": block.mime_type, "data": block.data}}
        case "resource_link":
            about = f": {block.description}" if block.description else ""
            return {"text": f"[{block.title or block.name}]({block.uri}){about}"}
        case "resource":
            return resource_part(block.resource)
        case _:
            return {
                "text": json.dumps(
                    block.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False
                )
            }


def resource_part(resource: TextResourceContents | BlobResourceContents) -> Part:
    """Returns text below its URI, images, audio and PDF as media; else a line with size and type."""
    if hasattr(resource, "text"):
        return {"text": f"{resource.uri}\n{resource.text}"}
    if (resource.mime_type or "").startswith(_MEDIA_TYPES):
        return {"inline_data": {"mime_type": resource.mime_type, "data": resource.blob}}
    return {
        "text": (
            f"[{resource.uri}: {size_of(resource.blob):,} bytes of {resource.mime_type or 'unknown type'}]"
        )
    }
