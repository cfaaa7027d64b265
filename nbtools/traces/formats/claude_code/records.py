"""Lines of a log as they are written, decoded once each; what no row needs is passed over."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from nbtools.traces.mending import mended
from nbtools.traces.source import UNREADABLE
from nbtools.traces.stamps import seconds

S = TypeVar("S", bound=Struct)


class Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class Part(Struct, gc=False):
    """A piece of a tool's result."""

    type: str = ""
    text: str | None = None


class Input(Struct, gc=False):
    """Of a call's arguments what a line of the timeline says; their types are the tools' own affair."""

    command: Any = None
    file_path: Any = None
    notebook_path: Any = None
    path: Any = None
    pattern: Any = None
    url: Any = None
    query: Any = None
    description: Any = None
    prompt: Any = None
    skill: Any = None
    subject: Any = None
    taskId: Any = None  # noqa: N815 - as it is written
    content: Any = None


Result: TypeAlias = str | list[Part] | None


class Block(Struct, gc=False):
    """``content`` is a tool's result."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    input: Input | None = None
    text: str | None = None
    thinking: str | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: Result = None


class Message(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    content: str | list[Block] | None = None


class Hunk(Struct, gc=False):
    lines: list[str] = []


class Outcome(Struct, rename="camel", gc=False):
    """Of ``toolUseResult`` what a row says; ``type`` is ``create`` or ``update`` for Write."""

    type: Any = None
    agent_id: str | None = None
    interrupted: bool | None = None
    structured_patch: list[Hunk] | None = None
    duration_ms: float | None = None
    total_duration_ms: float | None = None
    persisted_output_path: str | None = None


class Echo(Struct, gc=False):
    type: str = ""
    message: Message | None = None


class Progress(Struct, rename="camel", gc=False):
    type: str = ""
    agent_id: str | None = None
    message: Echo | None = None


class Attachment(Struct, gc=False):
    type: str = ""


class Line(Struct, rename="camel", gc=False):
    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    message: Message | None = None
    tool_use_result: Outcome | str | list[Raw] | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    subtype: str | None = None
    data: Progress | None = None
    attachment: Attachment | None = None
    content: Any = None
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    summary: str | None = None
    ai_title: str | None = None
    custom_title: str | None = None


_typed = msgspec.json.Decoder(Line).decode


def line(data: bytes) -> Line:
    """Raises ``msgspec.MsgspecError`` where ``data`` is no JSON object."""
    try:
        return _typed(data)
    except UNREADABLE:
        return read(data, _typed, Line)


def read(data: bytes, typed: Callable[[bytes], S], kind: type[S]) -> S:
    """``typed(data)``; where fields have unexpected types, the rest of them all the same."""
    try:
        return typed(data)
    except msgspec.ValidationError:
        return _as_far_as_it_fits(msgspec.json.decode(data), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _as_far_as_it_fits(_what_python_reads(data, error), kind)


def _what_python_reads(data: bytes, error: Exception) -> Any:
    """NaN and half surrogates are no JSON, but agents write them and nobody minds."""
    try:
        json.loads(data.decode())
        return msgspec.json.decode(mended(data))
    except (ValueError, RecursionError):
        raise msgspec.DecodeError(str(error)) from None


_NESTED: dict[str, Any] = {
    "message": Message,
    "toolUseResult": Outcome,
    "tool_use_result": Outcome,
    "data": Progress,
    "usage": Usage,
    "input": Input,
}
"""Keys whose objects are kept where only a field of them does not fit."""


def _as_far_as_it_fits(record: Any, kind: type[S]) -> S:
    if not isinstance(record, dict):
        raise msgspec.DecodeError("JSON, but no object")
    found = {
        field.name: _fitting(record[field.encode_name], field) for field in msgspec.structs.fields(kind) if field.encode_name in record
    }
    return kind(**{name: value for name, value in found.items() if value is not None})


def _fitting(value: Any, field: msgspec.structs.FieldInfo) -> Any:
    try:
        return msgspec.convert(value, field.type)
    except (msgspec.ValidationError, ValueError):
        pass
    if field.name == "timestamp":
        return _time(value)
    if isinstance(value, dict) and field.encode_name in _NESTED:
        return _as_far_as_it_fits(value, Echo if field.type == (Echo | None) else _NESTED[field.encode_name])
    if isinstance(value, list) and field.name == "content":
        kind: type[Struct] = Part if field.type == Result else Block
        return [_as_far_as_it_fits(one, kind) for one in value if isinstance(one, dict)]
    return None


def _time(value: Any) -> datetime | None:
    at = seconds(value)
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return None
