"""What a server answers, as a result: parts for a model, something to look at for a person, data for a program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import LlmContent, Part, ToolResult
from nbtools.sources.mcp.offers.showing import as_json_text, counted, shown_of, size_of

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

_READABLE = ("image/", "audio/", "application/pdf")
"""Types that some models take as they are."""


def result_of(server: str, tool: str, answer: CallToolResult) -> ToolResult:
    """``data`` is the structured content where there is some; a model reads it where there is nothing else to read."""
    parts = parts_of(answer.content)
    text = text_of(parts)
    structured = answer.structured_content
    if not text and structured is not None:
        text = as_json_text(structured)
        parts = (*parts, {"text": text})
    error = None
    if answer.is_error:
        error = ToolError(ErrorCode.MCP_TOOL_ERROR, text.strip() or f"{tool} of {server} failed and did not say why.")
    return ToolResult(content_of(parts) or "(no output)", shown_of(answer.content, structured), error, _summary(text, answer), structured)


def parts_of(blocks: Iterable[ContentBlock]) -> tuple[Part, ...]:
    """One part a block; a kind that is newer than we are becomes its JSON."""
    return tuple(_part(block) for block in blocks)


def content_of(parts: Sequence[Part]) -> LlmContent:
    """A text where there is nothing else."""
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
            return {"text": json.dumps(block.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False)}


def resource_part(resource: TextResourceContents | BlobResourceContents) -> Part:
    """Its text under its address; pictures, sounds and PDF as they are; of other data what and how much it is."""
    if hasattr(resource, "text"):
        return {"text": f"{resource.uri}\n{resource.text}"}
    if (resource.mime_type or "").startswith(_READABLE):
        return {"inline_data": {"mime_type": resource.mime_type, "data": resource.blob}}
    return {"text": f"[{resource.uri}: {size_of(resource.blob):,} bytes of {resource.mime_type or 'an unknown type'}]"}


def _summary(text: str, answer: CallToolResult) -> str:
    first = text.strip().split("\n", 1)[0]
    return first[:100] if first else counted(answer.content)
