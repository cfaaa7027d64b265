"""What a server answers, for a person to look at."""

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

from nbtools.core.result import FileText, Markdown, Media, Several, ToolResultDisplay

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, ContentBlock, TextResourceContents

_MOST_ROWS = 100
_MOST_TO_PARSE = 1_000_000
"""Characters of a text in which a card looks for a table or JSON."""
_ENDINGS = {"application/json": ".json", "text/html": ".html", "text/x-python": ".py", "application/xml": ".xml", "text/css": ".css"}
_TABLES = {"text/csv": ",", "text/tab-separated-values": "\t", ".csv": ",", ".tsv": "\t"}
_PROSE = ("", ".txt", ".log")


def shown_of(blocks: Sequence[ContentBlock], structured: object = None) -> ToolResultDisplay:
    """Each block as what it is, one below the other.  Structured content is shown where no text of the answer is the same."""
    shown = [one for block in blocks for one in _shown(block)]
    if structured is not None and not shown:
        shown.append(_code("structured.json", as_json_text(structured)))
    return together(shown)


def together(shown: Sequence[ToolResultDisplay]) -> ToolResultDisplay:
    """Texts alone are one text."""
    texts = [one for one in shown if isinstance(one, str)]
    if len(texts) == len(shown):
        return "\n".join(texts)
    return shown[0] if len(shown) == 1 else Several(tuple(shown))


def as_json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def counted(blocks: Iterable[ContentBlock]) -> str:
    """``2 pictures, 1 sound``."""
    kinds = Counter(_NAMES.get(block.type, "part") for block in blocks)
    return ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in kinds.items()) or "no output"


def size_of(blob: str) -> int:
    """Bytes of what is said in base64."""
    return len(blob) * 3 // 4 - blob[-2:].count("=")


_NAMES = {"image": "picture", "audio": "sound", "resource": "resource", "resource_link": "link"}


def _shown(block: Any) -> Iterator[ToolResultDisplay]:
    match block.type:
        case "text":
            yield _text(block.text)
        case "image" | "audio":
            yield _media("", block.mime_type, block.data)
        case "resource_link":
            yield _link(block)
        case "resource":
            yield from shown_resource(block.resource)
        case _:
            yield f"A {block.type}, which cannot be shown."


def shown_resource(resource: TextResourceContents | BlobResourceContents) -> Iterator[ToolResultDisplay]:
    """Its address, and below it markdown, a table, code or plain text as its type or its name says; a picture or a sound; else a line."""
    name = PurePosixPath(unquote(urlsplit(str(resource.uri)).path)).name
    mime = (resource.mime_type or "").partition(";")[0].strip().lower()
    if not hasattr(resource, "text"):
        yield _media(str(resource.uri), mime, resource.blob)
        return
    yield f"{resource.uri} · {mime}" if mime else str(resource.uri)
    yield _document(name, mime, resource.text)


def _document(name: str, mime: str, text: str) -> ToolResultDisplay:
    ending = PurePosixPath(name).suffix.lower()
    separator = _TABLES.get(mime) or _TABLES.get(ending)
    if mime == "text/markdown" or ending in (".md", ".markdown"):
        return Markdown(text)
    if separator and (table := _table(text, separator)):
        return Markdown(table)
    if mime in _ENDINGS and ending in _PROSE:
        return _code(f"{name or 'resource'}{_ENDINGS[mime]}", text)
    return text if ending in _PROSE else _code(name, text)


def _text(text: str) -> ToolResultDisplay:
    """JSON is shown as code, in lines."""
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
        return Media(uri, mime, base64.b64decode(data, validate=True), uri and f"{uri} · {mime or 'of an unknown type'}")
    except (binascii.Error, ValueError):
        return f"{uri} {mime}: what was sent cannot be read (no base64).".lstrip()


def _link(link: Any) -> str:
    about = " · ".join(part for part in (link.mime_type, link.description) if part)
    return f"{link.title or link.name}: {link.uri}{f' ({about})' if about else ''}"


def _table(text: str, separator: str) -> str:
    """As markdown; empty for what is no table."""
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
    return "| " + " | ".join(" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|") for cell in padded) + " |"
