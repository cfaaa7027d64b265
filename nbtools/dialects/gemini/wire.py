"""Reads and writes function calls and function responses of the Gemini API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.core.result import Part, ToolResult
from nbtools.core.schema import Json, convert_to_function_response
from nbtools.dialects.wire import WireCall, WireResult


def read_call(part: Mapping[str, Any]) -> WireCall:
    """Reads a ``functionCall`` part, or the call in it.  Raises ``TypeError`` for anything else."""
    call = part.get("functionCall", part)
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise TypeError("a function call has a name, and its arguments in args")
    return WireCall(str(call.get("id") or ""), call["name"], call.get("args") or {})


def write_call(call: WireCall) -> Json:
    named: Json = {"name": call.name, "args": dict(call.arguments)}
    return {"functionCall": {"id": call.id, **named} if call.id else named}


def write_result(call: WireCall, result: ToolResult) -> Json:
    """Returns a ``functionResponse`` part: text as ``output``, an error as ``error``, images and documents as separate parts."""
    return convert_to_function_response(call.id, call.name, result, "gemini")


def read_result(part: Mapping[str, Any]) -> WireResult:
    """Reads what ``write_result`` writes.  Raises ``TypeError`` for anything else."""
    response = part.get("functionResponse")
    if not isinstance(response, Mapping):
        raise TypeError("a result is a part with a functionResponse")
    body = response.get("response") or {}
    failed = "error" in body
    text = str(body["error"] if failed else body.get("output", ""))
    binary = tuple(_part(item["inlineData"]) for item in response.get("parts") or () if "inlineData" in item)
    content = ({"text": text}, *binary) if binary and text else binary or text
    return WireResult(str(response.get("id") or ""), content, failed)


def _part(data: Mapping[str, Any]) -> Part:
    return {"inline_data": {"mime_type": data["mimeType"], "data": data["data"]}}
