"""Adds the messages and calls of Gemini CLI to a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nbtools.diff.line_diff import LineDiff
from nbtools.traces.conversation import tokens_of
from nbtools.traces.display_builders import count_patch_lines
from nbtools.traces.json_access import (
    epoch_seconds,
    first_string,
    integer_of,
    items,
    mapping,
    mappings,
    names,
    string,
)
from nbtools.traces.known_tools import ops_by_name
from nbtools.traces.model import Call, EventKind, FileChange, Op, Ref, Status, Tokens
from nbtools.traces.readers.gemini_cli.records import Record, Recorded
from nbtools.traces.session_builder import SessionBuilder
from nbtools.traces.source import DECODE_ERRORS

EDITS = {"write_file", "replace", "edit"}
_OPS = ops_by_name(
    {
        "shell": "run_shell_command",
        "read": "read_file read_many_files",
        "write": "write_file",
        "edit": "replace edit",
        "search": "grep_search search_file_content grep",
        "list": "list_directory glob",
        "fetch": "web_fetch",
        "web_search": "google_web_search",
        "plan": "write_todos enter_plan_mode exit_plan_mode",
        "ask": "ask_user",
        "agent": "delegate_to_agent codebase_investigator invoke_agent generalist",
        "mcp": "read_mcp_resource list_mcp_resources",
    }
)
_KINDS: dict[str, EventKind] = {
    "user": "user",
    "gemini": "assistant_text",
    "model": "assistant_text",
    "qwen": "assistant_text",
    "info": "system",
    "warning": "system",
    "error": "error",
}
_CONTEXT = "<session_context>"
"""The beginning of the first message, which describes the system and the workspace."""
_STATUSES: dict[str, Status] = {"success": "ok", "error": "error", "cancelled": "cancelled"}
_SUBJECTS = names("command file_path absolute_path pattern query url prompt dir_path path task name")
_PATHS = ("file_path", "absolute_path", "dir_path", "path")
_LONGEST_CODE = 12
_LONGEST_COMPARED = 1 << 18
"""Largest number of characters in which changed lines are counted while reading."""


def kind_of(record: Record) -> EventKind | None:
    """Returns the kind of event; None for an unknown type.
    Results and the context of the session are recorded as the user's.
    """
    kind = _KINDS.get(record.type)
    if kind != "user":
        return kind
    parts = items(record.content)
    if parts and all("functionResponse" in mapping(part) for part in parts):
        return "tool_result"
    return "system" if text_of(record.content).startswith(_CONTEXT) else "user"


def text_of(content: Any) -> str:
    """Returns the text of a content: a text, a part, or a list of them; other parts are named."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _part(content)
    return "\n".join(part if isinstance(part, str) else _part(mapping(part)) for part in items(content))


def _part(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return string(part["text"])
    kinds = [name for name in part if name != "thoughtSignature"]
    return f"[{kinds[0]}]" if kinds else ""


def response_of(call: Mapping[str, Any]) -> str:
    """Returns what the model read: the texts of its function responses."""
    return text_of_result(call.get("result"))


def text_of_result(result: Any) -> str:
    """Returns the texts of function responses."""
    if isinstance(result, str):
        return result
    if type(result) is list and len(result) == 1 and type(result[0]) is dict:  # nearly always
        return _response(result[0])
    parts = mappings(result) if isinstance(result, list) else [mapping(result)]
    texts = [text for part in parts if (text := _response(part))]
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def _response(part: Mapping[str, Any]) -> str:
    if "functionResponse" not in part:
        return string(part.get("text"))
    answer = mapping(mapping(part["functionResponse"]).get("response"))
    for key in ("output", "error", "content", "result"):
        if answer.get(key) is not None:
            return text_of(answer[key])
    return ""


def add_events(
    session: SessionBuilder, record: Record, kind: EventKind | None, at: float | None, ref: Ref
) -> None:
    """Adds its thoughts and its message, which may be empty where it has calls."""
    model, type_, key = record.model, record.type, record.id
    for thought in record.thoughts:
        subject, description = thought.subject, thought.description
        text = f"{subject}\n{description}" if subject and description else subject or description
        session.event("thinking", text, ref, epoch_seconds(thought.timestamp) or at, "", model, type_, key)
    content = record.content
    if kind == "tool_result":
        text = text_of_result(content)
    else:
        text = (content if type(content) is str else text_of(content)) or text_of(record.parts)
    if text or not record.tool_calls:
        session.event(kind or "system", text, ref, at, type_, model, type_, key)


def op_of(name: str) -> Op:
    if name in _OPS:
        return _OPS[name]
    if name.startswith("mcp_") or "__" in name:
        return "mcp"
    return "agent" if name.endswith("_agent") else "other"


def subject_of(arguments: Mapping[str, Any]) -> str:
    return first_string(arguments, _SUBJECTS)


def paths_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    path = first_string(arguments, _PATHS)
    return (path,) if path else ()


def tokens_of_native(counts: dict[str, int]) -> Tokens:
    """Returns the token usage; the ``input`` of Gemini's API includes cached tokens."""
    ours = {"input": "input", "cached": "cache_read", "output": "output", "thoughts": "reasoning"}
    return tokens_of({name: counts[native] for native, name in ours.items() if native in counts})


def add_call(session: SessionBuilder, recorded: Recorded, id_: str, at: float | None, ref: Ref) -> None:
    """Adds the call, and the file that it changed.  Each id is counted once."""
    name, native, child = recorded.name or "?", recorded.id, recorded.agent_id
    arguments = mapping(recorded.args)
    answer = text_of_result(recorded.result)
    status = _STATUSES.get(recorded.status)
    call = session.call(
        id_,
        name,
        ref,
        op="agent" if child else op_of(name),
        native_id=native,
        subject=subject_of(arguments),
        paths=paths_of(arguments),
        at=epoch_seconds(recorded.timestamp) or at,
        status=status or "unanswered",
        status_source="flag" if status else "none",
        exit_code=exit_code_of(answer) if name == "run_shell_command" else None,
        answered=status is not None,
        result_size=len(answer),
        child=child,
        counted=session.live and (not native or id_ == native),
        result_ref=ref,
    )
    changes: tuple[FileChange, ...] = ()
    if name in EDITS:
        try:
            display = mapping(msgspec.json.decode(recorded.result_display))
        except DECODE_ERRORS:
            display = {}
        changes = (change_of(call, arguments, display, answer),)
    session.complete(call, changes=changes)


def exit_code_of(answer: str) -> int | None:
    """Returns the exit code in the result; newer versions omit 0."""
    if "Exit Code: " not in answer:
        return 0 if "Process Group PGID: " in answer and "Signal: " not in answer else None
    named = answer.rpartition("Exit Code: ")[2][:_LONGEST_CODE]
    return integer_of(named[: len(named) - len(named.lstrip("-0123456789"))])


def change_of(
    call: Call, arguments: Mapping[str, Any], display: Mapping[str, Any], answer: str
) -> FileChange:
    """Returns what an edit changed: by what was displayed, else by its arguments."""
    added, removed, basis = _lines(call.name, arguments, display)
    new = (
        display.get("isNewFile") is True
        or "created and wrote to new file" in answer[:200]
        or answer.startswith("Created new file")
    )
    return FileChange(
        session=call.session,
        call=call.id,
        path=string(arguments.get("file_path")),
        kind="add" if new else "modify",
        added=added,
        removed=removed if added is None or not new else 0,
        basis=basis,
        applied=call.status == "ok",
    )


def _lines(
    name: str, arguments: Mapping[str, Any], display: Mapping[str, Any]
) -> tuple[int | None, int | None, Any]:
    """Returns the lines added and removed, and what they were counted from."""
    stat = mapping(display.get("diffStat"))
    for author in ("model", "ai"):
        if (added := integer_of(stat.get(f"{author}_added_lines"))) is not None:
            return added, integer_of(stat.get(f"{author}_removed_lines")) or 0, "recorded_patch"
    if isinstance(display.get("fileDiff"), str):
        return *count_patch_lines(display["fileDiff"]), "recorded_patch"
    if name == "write_file":
        content = arguments.get("content")
        if not isinstance(content, str):
            return None, None, "none"
        return content.count("\n") + (not content.endswith("\n")) if content else 0, None, "arguments"
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not (isinstance(old, str) and isinstance(new, str)) or len(old) + len(new) > _LONGEST_COMPARED:
        return None, None, "none"
    return *LineDiff(old, new).counts()[:2], "arguments"
