"""What a server answers, as a result: parts for a model, something to look at for a person, data for a program."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import LlmContent, Media, Part, ToolResult, ToolResultDisplay

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def result_of(server: str, tool: str, answer: CallToolResult) -> ToolResult:
    """``data`` is the structured content where there is some."""
    parts = tuple(part for block in answer.content for part in _parts(block))
    text = "\n".join(part["text"] for part in parts if "text" in part)
    if not text and answer.structured_content is not None:
        text = json.dumps(answer.structured_content, ensure_ascii=False, indent=2)
        parts = (*parts, {"text": text})
    content: LlmContent = parts if any("inline_data" in part for part in parts) else text
    error = (
        ToolError(ErrorCode.MCP_TOOL_ERROR, text.strip() or f"{tool} of {server} failed and did not say why.") if answer.is_error else None
    )
    return ToolResult(content or "(no output)", _display(answer, text), error, _summary(text, parts), answer.structured_content)


def _parts(block: ContentBlock) -> Iterable[Part]:
    match block.type:
        case "text":
            yield {"text": block.text}
        case "image" | "audio":
            yield {"inline_data": {"mime_type": block.mime_type, "data": block.data}}
        case "resource_link":
            about = f": {block.description}" if block.description else ""
            yield {"text": f"[{block.title or block.name}]({block.uri}){about}"}
        case "resource":
            yield from _resource(block.resource)


def _resource(resource: Any) -> Iterable[Part]:
    text = getattr(resource, "text", None)
    if text is not None:
        yield {"text": f"{resource.uri}\n{text}"}
    elif (resource.mime_type or "").startswith(("image/", "audio/", "application/pdf")):
        yield {"inline_data": {"mime_type": resource.mime_type, "data": resource.blob}}
    else:
        yield {"text": f"[{resource.uri}: {len(resource.blob) * 3 // 4:,} bytes of {resource.mime_type or 'an unknown type'}]"}


def _display(answer: CallToolResult, text: str) -> ToolResultDisplay:
    """The first picture, with the text as its note where it is one; else the text."""
    for block in answer.content:
        if block.type == "image" and block.mime_type in _PICTURES:
            try:
                return Media("", block.mime_type, base64.b64decode(block.data, validate=True), text)
            except binascii.Error:
                continue
    return text


def _summary(text: str, parts: tuple[Part, ...]) -> str:
    first = text.strip().split("\n", 1)[0]
    return first[:100] if first else f"{len(parts)} parts"
