"""A line of a rollout, decoded once.

Two generations: ``{timestamp, type, payload}``, and early ones the bare item: the first line is then the session's, and some are
``{"record_type": "state"}``.
What a field holds is not trusted: only its place is.
"""

from __future__ import annotations

from typing import Any

import msgspec

NOTHING = msgspec.Raw(b"null")
ENVELOPES = frozenset(
    (
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    )
)


class Payload(msgspec.Struct, gc=False):
    """The fields of all kinds of records that rows are made of; long ones that few need stay bytes."""

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
    summary: msgspec.Raw = NOTHING
    message: msgspec.Raw = NOTHING
    info: Any = None
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
    result: msgspec.Raw = NOTHING
    new_thread_id: Any = None
    reason: Any = None
    num_turns: Any = None
    thread_name: Any = None
    started_at: Any = None
    timestamp: Any = None
    cwd: Any = None
    git: Any = None
    cli_version: Any = None
    forked_from_id: Any = None
    parent_thread_id: Any = None
    model: Any = None
    approval_policy: Any = None
    sandbox_policy: Any = None


class Line(msgspec.Struct, gc=False):
    type: Any = ""
    timestamp: Any = None
    payload: Payload | msgspec.UnsetType | None = msgspec.UNSET
    record_type: Any = None


class _Loose(msgspec.Struct):
    type: Any = ""
    timestamp: Any = None


_line = msgspec.json.Decoder(Line).decode
_loose = msgspec.json.Decoder(_Loose).decode
_item = msgspec.json.Decoder(Payload).decode
_any = msgspec.json.Decoder().decode


def decode(data: bytes) -> Line:
    """Raises ``msgspec.MsgspecError`` for what is no JSON object."""
    try:
        line = _line(data)
    except msgspec.ValidationError:
        loose = _loose(data)
        return Line(loose.type, loose.timestamp, None)
    if line.payload is not msgspec.UNSET:
        return line
    return _bare(data, line)


def _bare(data: bytes, line: Line) -> Line:
    if line.record_type is not None:
        return Line("state", line.timestamp, None)
    if isinstance(line.type, str) and line.type in ENVELOPES:
        return Line(line.type, line.timestamp, None)
    item = _item(data)
    return Line("response_item" if line.type else "session_meta", line.timestamp, item)


def value(raw: msgspec.Raw) -> Any:
    """What bytes of a line hold, that was valid when it was read; None where a number in them is beyond measure."""
    try:
        return _any(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def text(found: Any) -> str:
    """A text, or the texts in a list of parts, one below the other."""
    if isinstance(found, str):
        return found
    if isinstance(found, list):
        return "\n".join(one for part in found if isinstance(part, dict) and isinstance(one := part.get("text", ""), str))
    return ""


def word(found: Any) -> str:
    """A text that names something; empty for all else."""
    return found if isinstance(found, str) else ""


def table(found: Any) -> dict[str, Any]:
    """An object; empty for all else."""
    return found if isinstance(found, dict) else {}
