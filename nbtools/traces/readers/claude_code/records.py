"""Decodes the lines of a log into the fields that rows need, and maps tool names to operations."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from nbtools.core.decoders import converted
from nbtools.traces.json_access import epoch_seconds
from nbtools.traces.known_tools import ops_by_name
from nbtools.traces.model import PREVIEW, Op
from nbtools.traces.source import DECODE_ERRORS, repair_json

S = TypeVar("S", bound=Struct)


class Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class Part(Struct, gc=False):
    """A part of a tool's result."""

    type: str = ""
    text: str | None = None


class Input(Struct, gc=False):
    """The arguments that rows need; their types depend on the tool."""

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
    """A content block; ``content`` is a tool's result."""

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
    """The fields of ``toolUseResult`` that rows need; ``type`` is ``create`` or ``update`` for Write."""

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


class Sender(Struct, gc=False):
    """The sender of a message; a person is ``human``."""

    kind: str = ""


class Attachment(Struct, rename="camel", gc=False):
    """A text that the application adds to a conversation; one field or another has it."""

    type: str = ""
    command_mode: str | None = None
    origin: Sender | None = None
    prompt: Any = None
    text: Any = None
    content: Any = None
    stdout: Any = None
    system_prompt: Any = None
    added_blocks: Any = None


class Rendered(Struct, gc=False):
    """The text of an attachment as the model reads it."""

    content: Any = None


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
    rendered: list[Rendered] | None = None
    origin: Sender | None = None
    content: Any = None
    request_ref: str | None = None
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    summary: str | None = None
    ai_title: str | None = None
    custom_title: str | None = None
    total_cost: float | None = msgspec.field(default=None, name="totalCostUSD")


_typed = msgspec.json.Decoder(Line).decode


def decode_line(data: bytes) -> Line:
    """Decodes a line.  Raises ``msgspec.MsgspecError`` if ``data`` is not a JSON object."""
    try:
        return _typed(data)
    except DECODE_ERRORS:
        return decode_leniently(data, _typed, Line)


def decode_leniently(data: bytes, typed: Callable[[bytes], S], kind: type[S]) -> S:
    """Returns ``typed(data)``; if fields have unexpected types, returns the fields that fit."""
    try:
        return typed(data)
    except msgspec.ValidationError:
        return _fields_that_fit(msgspec.json.decode(data), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            json.loads(data.decode())  # accepts NaN and lone surrogates, which occur in logs
            record = msgspec.json.decode(repair_json(data))
        except (ValueError, RecursionError):
            raise msgspec.DecodeError(str(error)) from None
        return _fields_that_fit(record, kind)


_NESTED: dict[str, Any] = {
    "message": Message,
    "toolUseResult": Outcome,
    "tool_use_result": Outcome,
    "data": Progress,
    "usage": Usage,
    "input": Input,
    "attachment": Attachment,
    "origin": Sender,
}
"""Keys whose objects are decoded field by field if they do not fit as a whole."""


def _fields_that_fit(record: Any, kind: type[S]) -> S:
    if not isinstance(record, dict):
        raise msgspec.DecodeError("not a JSON object")
    found = {
        field.name: _converted(record[field.encode_name], field)
        for field in msgspec.structs.fields(kind)
        if field.encode_name in record
    }
    return kind(**{name: value for name, value in found.items() if value is not None})


def _converted(value: Any, field: msgspec.structs.FieldInfo) -> Any:
    try:
        return converted(value, field.type)
    except (msgspec.ValidationError, ValueError):
        pass
    if field.name == "timestamp":
        return _time(value)
    if isinstance(value, dict) and field.encode_name in _NESTED:
        return _fields_that_fit(value, Echo if field.type == (Echo | None) else _NESTED[field.encode_name])
    if isinstance(value, list) and field.name == "content":
        kind: type[Struct] = Part if field.type == Result else Block
        return [_fields_that_fit(one, kind) for one in value if isinstance(one, dict)]
    return None


def _time(value: Any) -> datetime | None:
    at = epoch_seconds(value)
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return None


AGENTS = frozenset({"Task", "Agent"})
EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_OPS = ops_by_name(
    {
        "shell": "Bash BashOutput KillShell KillBash PowerShell Monitor",
        "read": "Read NotebookRead",
        "edit": "Edit MultiEdit",
        "write": "Write",
        "notebook": "NotebookEdit",
        "search": "Grep",
        "list": "Glob LS",
        "fetch": "WebFetch",
        "web_search": "WebSearch",
        "plan": "TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet EnterPlanMode ExitPlanMode",
        "ask": "AskUserQuestion",
        "agent": "Task Agent TaskOutput AgentOutputTool TaskStop SendMessage Workflow",
        "mcp": "ListMcpResourcesTool ReadMcpResourceTool",
    }
)


def op_of(name: str) -> Op:
    return _OPS.get(name) or ("mcp" if name.startswith("mcp__") else "other")


def subject_of(arguments: Input, *, agent: bool) -> str:
    """Returns the argument that distinguishes one call from the next."""
    first = arguments.command or arguments.file_path or arguments.pattern
    if isinstance(first, str) and first:
        return first if len(first) <= PREVIEW else first[:PREVIEW]
    # A sub-agent's task is named by its description; elsewhere that is a remark.
    several = (arguments.description,) if agent else ()
    several += (arguments.notebook_path, arguments.url, arguments.query, arguments.path, arguments.skill)
    several += (arguments.subject, arguments.taskId, arguments.description, arguments.prompt)
    return next((value[:PREVIEW] for value in several if value and isinstance(value, str)), "")


def paths_of(arguments: Input) -> tuple[str, ...]:
    path = arguments.file_path or arguments.notebook_path or arguments.path
    return (path,) if path and isinstance(path, str) else ()
