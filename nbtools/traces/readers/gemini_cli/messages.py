"""Converts a message of a session into rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nbtools.diff.line_diff import LineDiff
from nbtools.traces.display_builders import count_patch_lines
from nbtools.traces.json_access import epoch_seconds, integer_of, items, mapping, mappings, string
from nbtools.traces.model import PREVIEW, Call, Event, EventKind, FileChange, Op, Origin, Ref, Status

EDITS = {"write_file", "replace", "edit"}
_OPS: dict[str, Op] = {
    "run_shell_command": "shell",
    **dict.fromkeys(("read_file", "read_many_files"), "read"),
    "write_file": "write",
    **dict.fromkeys(("replace", "edit"), "edit"),
    **dict.fromkeys(("grep_search", "search_file_content", "grep"), "search"),
    **dict.fromkeys(("list_directory", "glob"), "list"),
    "web_fetch": "fetch",
    "google_web_search": "web_search",
    **dict.fromkeys(("write_todos", "enter_plan_mode", "exit_plan_mode"), "plan"),
    "ask_user": "ask",
    **dict.fromkeys(("delegate_to_agent", "codebase_investigator", "invoke_agent", "generalist"), "agent"),
    **dict.fromkeys(("read_mcp_resource", "list_mcp_resources"), "mcp"),
}
_KINDS: dict[str, EventKind] = {
    "user": "user",
    "gemini": "assistant_text",
    "model": "assistant_text",
    "info": "system",
    "warning": "system",
    "error": "error",
}
_STATUSES: dict[str, Status] = {"success": "ok", "error": "error", "cancelled": "cancelled"}
_SUBJECTS = ("command", "file_path", "absolute_path", "pattern", "query", "url", "prompt", "dir_path", "path", "task", "name")
_PATHS = ("file_path", "absolute_path", "dir_path", "path")
_LONGEST_CODE = 12
_LONGEST_COMPARED = 1 << 18
"""Largest number of characters in which changed lines are counted while reading."""


class RowPosition(NamedTuple):
    """The position of a row: its session, turn, time and record."""

    session: str
    turn: int
    live: bool
    at: float | None
    ref: Ref


def kind_of(record: Mapping[str, Any]) -> EventKind | None:
    """Returns the kind of event; None for an unknown type."""
    return _KINDS.get(string(record.get("type")))


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
    result = call.get("result")
    if isinstance(result, str):
        return result
    parts = mappings(result) if isinstance(result, list) else [mapping(result)]
    return "\n".join(filter(None, (_response(part) for part in parts)))


def _response(part: Mapping[str, Any]) -> str:
    if "functionResponse" not in part:
        return string(part.get("text"))
    answer = mapping(mapping(part["functionResponse"]).get("response"))
    return next((text_of(answer[key]) for key in ("output", "error", "content", "result") if answer.get(key) is not None), "")


def events_of(record: Mapping[str, Any], place: RowPosition, next_: Callable[[], int], *, silent: bool) -> Iterator[Event]:
    """Yields its thoughts and its message; ``silent``: the message may be empty."""
    for thought in mappings(record.get("thoughts")):
        text = "\n".join(filter(None, (string(thought.get("subject")), string(thought.get("description")))))
        yield _event(record, place, next_(), "thinking", text, epoch_seconds(thought.get("timestamp")) or place.at, "")
    text = text_of(record.get("content")) or text_of(record.get("parts"))
    if text or not silent:
        yield _event(record, place, next_(), kind_of(record) or "system", text, place.at, string(record.get("type")))


def _event(record: Mapping[str, Any], place: RowPosition, seq: int, kind: EventKind, text: str, at: float | None, role: str) -> Event:
    return Event(
        session=place.session,
        seq=seq,
        kind=kind,
        text=text[:PREVIEW],
        size=len(text),
        at=at,
        role=role,
        model=string(record.get("model")),
        turn=place.turn,
        live=place.live,
        key=string(record.get("id")),
        type=string(record.get("type")),
        ref=place.ref,
    )


def op_of(name: str) -> Op:
    return _OPS.get(name) or ("mcp" if name.startswith("mcp_") or "__" in name else "agent" if name.endswith("_agent") else "other")


def subject_of(arguments: Mapping[str, Any]) -> str:
    for key in _SUBJECTS:
        value = arguments.get(key)
        if value and isinstance(value, str):
            return value[:PREVIEW]
    return ""


def paths_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    for key in _PATHS:
        value = arguments.get(key)
        if value and isinstance(value, str):
            return (value,)
    return ()


def call_rows(recorded: Mapping[str, Any], id_: str, place: RowPosition, seq: int, origin: Origin) -> Iterator[Call | FileChange]:
    """Yields the call, and the file that it changed.  Each id is counted once."""
    name = string(recorded.get("name")) or "?"
    arguments = mapping(recorded.get("args"))
    answer = response_of(recorded)
    state, child, native = string(recorded.get("status")), string(recorded.get("agentId")), string(recorded.get("id"))
    has_result = state in _STATUSES
    status = _STATUSES.get(state, "unanswered")
    call = Call(  # positional arguments are ten times as fast as keywords
        place.session,
        id_,
        seq,
        name,
        "agent" if recorded.get("agentId") else op_of(name),
        origin,
        native,
        "model",
        "",
        subject_of(arguments),
        paths_of(arguments),
        epoch_seconds(recorded.get("timestamp")) or place.at,
        None,
        None,
        status,
        "flag" if has_result else "none",
        exit_code_of(answer) if name == "run_shell_command" else None,
        has_result,
        len(answer),
        child=child,
        turn=place.turn,
        live=place.live,
        counted=place.live and (not native or id_ == native),
        ref=place.ref,
        result_ref=place.ref,
    )
    yield call
    if name in EDITS:
        yield _change(call, arguments, mapping(recorded.get("resultDisplay")), answer)


def exit_code_of(answer: str) -> int | None:
    """Returns the exit code in the result; newer versions omit 0."""
    if "Exit Code: " not in answer:
        return 0 if "Process Group PGID: " in answer and "Signal: " not in answer else None
    named = answer.rpartition("Exit Code: ")[2][:_LONGEST_CODE]
    return integer_of(named[: len(named) - len(named.lstrip("-0123456789"))])


def _change(call: Call, arguments: Mapping[str, Any], display: Mapping[str, Any], answer: str) -> FileChange:
    added, removed, basis = _lines(call.name, arguments, display)
    new = display.get("isNewFile") is True or "created and wrote to new file" in answer[:200] or answer.startswith("Created new file")
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


def _lines(name: str, arguments: Mapping[str, Any], display: Mapping[str, Any]) -> tuple[int | None, int | None, Any]:
    """Returns the lines added and removed, and what they were counted from."""
    stat = mapping(display.get("diffStat"))
    for author in ("model", "ai"):
        if integer_of(stat.get(f"{author}_added_lines")) is not None:
            return (
                (integer_of(stat[f"{author}_added_lines"]) or 0),
                (integer_of(stat.get(f"{author}_removed_lines")) or 0),
                "recorded_patch",
            )
    if isinstance(display.get("fileDiff"), str):
        return *count_patch_lines(display["fileDiff"]), "recorded_patch"
    if name == "write_file":
        content = arguments.get("content")
        return (
            (content.count("\n") + (not content.endswith("\n")) if content else 0, None, "arguments")
            if isinstance(content, str)
            else (None, None, "none")
        )
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not (isinstance(old, str) and isinstance(new, str)) or len(old) + len(new) > _LONGEST_COMPARED:
        return None, None, "none"
    return *LineDiff(old, new).counts()[:2], "arguments"
