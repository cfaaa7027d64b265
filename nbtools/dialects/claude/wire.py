"""Reads and writes Claude Code's calls and results: blocks of the Anthropic API and transcript lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import LlmContent, Part, ToolResult
from nbtools.core.schema import Json, describe_media
from nbtools.dialects.claude.tool_use_result import Structured
from nbtools.dialects.wire import WireCall, WireResult


def read_call(block: Mapping[str, Any] | str) -> WireCall:
    """Reads a ``tool_use`` block, decoded or as text.  Raises ``ToolFailure`` for anything else."""
    call = _object(block, "a tool_use block")
    name, arguments = call.get("name"), call.get("input", {})
    if call.get("type", "tool_use") != "tool_use" or not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise _wrong("a tool_use block", 'such as {"type": "tool_use", "id": "…", "name": "Read", "input": {"file_path": "a.py"}}')
    return WireCall(str(call.get("id") or ""), name, arguments)


def read_calls(message: Mapping[str, Any] | str) -> tuple[WireCall, ...]:
    """Reads all calls of an assistant's message or a transcript line, in order."""
    return tuple(read_call(block) for block in _content(message) if block.get("type") == "tool_use")


def write_call(call: WireCall) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}


def write_result(call: WireCall, result: ToolResult) -> Json:
    """Returns the ``tool_result`` block for a result in this dialect; ``is_error`` is present only when true, as in transcripts."""
    content = result.llm_content if isinstance(result.llm_content, str) else [_block(part) for part in result.llm_content]
    block: Json = {"type": "tool_result", "tool_use_id": call.id, "content": content}
    return block if result.ok else {**block, "is_error": True}


def write_line(call: WireCall, result: ToolResult) -> Json:
    """Returns a transcript line: a user message with ``toolUseResult``.  The writer of a transcript adds ids and times."""
    line: Json = {"type": "user", "message": {"role": "user", "content": [write_result(call, result)]}}
    data = result.data.as_json() if isinstance(result.data, Structured) else result.data
    return {**line, "toolUseResult": data} if isinstance(data, str | dict | list) else line


def read_result(message: Mapping[str, Any] | str) -> WireResult:
    """Reads a ``tool_result`` block or a transcript line with one.  Raises ``ToolFailure`` for anything else."""
    outer = _object(message, "a tool_result block")
    block = outer if outer.get("type") == "tool_result" else next((b for b in _content(outer) if b.get("type") == "tool_result"), None)
    if block is None:
        raise _wrong("a tool_result block", 'such as {"type": "tool_result", "tool_use_id": "…", "content": "done"}')
    content = _read_content(block.get("content", ""))
    return WireResult(str(block.get("tool_use_id") or ""), content, bool(block.get("is_error")), outer.get("toolUseResult"))


def _block(part: Part) -> Json:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    media = part["inline_data"]
    if media["mime_type"].startswith("audio/"):
        return {"type": "text", "text": describe_media(media)}
    kind = "image" if media["mime_type"].startswith("image/") else "document"
    return {"type": kind, "source": {"type": "base64", "media_type": media["mime_type"], "data": media["data"]}}


def _read_content(content: object) -> LlmContent:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return tuple(_part(block) for block in content)


def _part(block: Json) -> Part:
    """Converts a block; images and documents keep their data, unknown blocks become JSON text."""
    source = block.get("source", {})
    if block.get("type") in {"image", "document"} and source.get("type") == "base64":
        return {"inline_data": {"mime_type": source["media_type"], "data": source["data"]}}
    return {"text": block["text"] if block.get("type") == "text" else json.dumps(block, ensure_ascii=False)}


def _content(message: Mapping[str, Any] | str) -> list[Json]:
    outer = _object(message, "a message")
    inner = outer.get("message", outer)
    content = inner.get("content") if isinstance(inner, Mapping) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _object(value: Mapping[str, Any] | str, expected: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    try:
        read = json.loads(value)
    except ValueError as error:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"This is not JSON: {error}. Give {expected} of the Anthropic API.") from None
    if not isinstance(read, dict):
        raise _wrong(expected, "a JSON object")
    return read


def _wrong(expected: str, example: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"This is not {expected} of the Anthropic API. Give one {example}.")
