"""Decodes lines of a rollout.

There are two generations: ``{timestamp, type, payload}``, and early ones with the bare item, whose first line
is the session's and some lines are ``{"record_type": "state"}``.  Field values are not trusted to have a
type.  Completed items of later logs are converted to the events that they replace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nbtools.traces.json_access import mapping, names, string
from nbtools.traces.json_document import NULL
from nbtools.traces.source import DECODE_ERRORS

ENVELOPES = frozenset(
    names(
        "session_meta turn_context response_item event_msg compacted world_state token_usage_record"
        " inter_agent_communication inter_agent_communication_metadata"
    )
)


class Payload(msgspec.Struct, gc=False):
    """The fields of all kinds of records that rows need; long ones that few rows need stay undecoded."""

    type: Any = ""
    id: Any = None
    call_id: Any = None
    turn_id: Any = None
    name: Any = None
    namespace: Any = None
    arguments: Any = None
    input: Any = None
    output: Any = None
    action: Any = None
    status: Any = None
    role: Any = None
    content: Any = None
    summary: msgspec.Raw = NULL
    message: msgspec.Raw = NULL
    info: Any = None
    usage: Any = None
    thread_token_usage: Any = None
    response_id: Any = None
    item: Any = None
    changes: Any = None
    success: Any = None
    exit_code: Any = None
    duration: Any = None
    command: Any = None
    parsed_cmd: Any = None
    source: Any = None
    invocation: Any = None
    tool: Any = None
    result: msgspec.Raw = NULL
    new_thread_id: Any = None
    reason: Any = None
    num_turns: Any = None
    thread_name: Any = None
    started_at: Any = None
    timestamp: Any = None
    cwd: Any = None
    git: Any = None
    base_instructions: Any = None
    instructions: Any = None
    cli_version: Any = None
    forked_from_id: Any = None
    parent_thread_id: Any = None
    model: Any = None
    approval_policy: Any = None
    sandbox_policy: Any = None
    kind: Any = None
    author: Any = None
    recipient: Any = None
    review_output: Any = None
    passthrough: Any = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")


class Line(msgspec.Struct, gc=False):
    type: Any = ""
    timestamp: Any = None
    payload: Payload | msgspec.UnsetType | None = msgspec.UNSET
    record_type: Any = None


class _LineHeader(msgspec.Struct):
    type: Any = ""
    timestamp: Any = None


_line = msgspec.json.Decoder(Line).decode
_line_header = msgspec.json.Decoder(_LineHeader).decode
_item = msgspec.json.Decoder(Payload).decode
_any = msgspec.json.Decoder().decode


def decode(data: bytes) -> Line:
    """Decodes a line.  Raises ``msgspec.MsgspecError`` if it is not a JSON object."""
    try:
        line = _line(data)
    except msgspec.ValidationError:
        header = _line_header(data)
        return Line(header.type, header.timestamp, None)
    if line.payload is not msgspec.UNSET:
        return line
    if line.record_type is not None:
        return Line("state", line.timestamp, None)
    if isinstance(line.type, str) and line.type in ENVELOPES:
        return Line(line.type, line.timestamp, None)
    item = _item(data)
    return Line("response_item" if line.type else "session_meta", line.timestamp, item)


def decode_raw(raw: msgspec.Raw | bytes) -> Any:
    """Returns what bytes contain; None where they are not valid, or a number in them is out of range."""
    try:
        return _any(raw)
    except DECODE_ERRORS:
        return None


def text_of(found: Any) -> str:
    """Returns a text, or the texts of a list of parts joined by newlines."""
    if isinstance(found, str):
        return found
    if isinstance(found, list):
        texts = (part.get("text", "") for part in found if isinstance(part, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return ""


_SAME_FIELDS = ("duration", "command", "parsed_cmd", "source", "tool", "arguments")
"""Fields that a completed item and the event that it replaces have alike."""
_FAILED = msgspec.Raw(b'{"Err":""}')
_DONE = msgspec.Raw(b'{"Ok":{}}')
_ENDS = {
    "commandexecution": "exec_command_end",
    "filechange": "patch_apply_end",
    "mcptoolcall": "mcp_tool_call_end",
    "dynamictoolcall": "dynamic_tool_call_response",
}


def completed_event(item: Mapping[str, Any]) -> Payload | None:
    """Converts a completed item to an event; None if it is not a call: messages, reasoning, plans."""
    kind = _ENDS.get(string(item.get("type")).replace("_", "").lower())
    status = string(item.get("status")).lower()
    if kind is None or not string(item.get("id")):
        return None
    success, result = status not in ("failed", "declined"), NULL
    if status != "in_progress":
        result = _FAILED if item.get("error") or not success else _DONE
    same: dict[str, Any] = {name: item.get(name) for name in _SAME_FIELDS}
    return Payload(
        **same,
        type=kind,
        call_id=item["id"],
        status=status,
        exit_code=item.get("exit_code", item.get("exitCode")),
        success=success,
        changes=changes_by_path(item.get("changes")),
        invocation={**same, "server": item.get("server"), "arguments": mapping(item.get("arguments"))},
        result=result,
    )


def changes_by_path(changes: Any) -> Mapping[str, Any]:
    """Converts a list of changes that name their path to an object with paths as keys."""
    if not isinstance(changes, list):
        return mapping(changes)
    return {
        string(one.get("path")): {**one, "type": _kind(one), "unified_diff": one.get("diff")}
        for one in changes
        if isinstance(one, dict)
    }


def _kind(change: Mapping[str, Any]) -> str:
    kind = change.get("kind", change.get("type"))
    return string(kind.get("type")) if isinstance(kind, dict) else string(kind)
