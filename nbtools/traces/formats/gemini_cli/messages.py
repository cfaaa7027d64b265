"""A message of a session as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nbtools.traces.loose import items, mapping, mappings, string, whole
from nbtools.traces.model import PREVIEW, Call, Event, EventKind, FileChange, Op, Origin, Ref, Status
from nbtools.traces.shown import lines_of
from nbtools.traces.stamps import seconds
from nbtools.workspace.diff import LineDiff

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
"""Characters of texts whose changed lines are counted while reading; those of longer ones are not."""


class Place(NamedTuple):
    """Where a row stands."""

    session: str
    turn: int
    live: bool
    at: float | None
    ref: Ref


def kind_of(record: Mapping[str, Any]) -> EventKind | None:
    """None for a type that is not known."""
    return _KINDS.get(string(record.get("type")))


def text_of(content: Any) -> str:
    """Of a content: a text, a part, or a list of them; what is no text is named."""
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
    """What the model read: the texts of its function responses."""
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


def events_of(record: Mapping[str, Any], place: Place, next_: Callable[[], int], *, silent: bool) -> Iterator[Event]:
    """What it thinks and says; ``silent``: it may say nothing."""
    for thought in mappings(record.get("thoughts")):
        text = "\n".join(filter(None, (string(thought.get("subject")), string(thought.get("description")))))
        yield _event(record, place, next_(), "thinking", text, seconds(thought.get("timestamp")) or place.at, "")
    text = text_of(record.get("content")) or text_of(record.get("parts"))
    if text or not silent:
        yield _event(record, place, next_(), kind_of(record) or "system", text, place.at, string(record.get("type")))


def _event(record: Mapping[str, Any], place: Place, seq: int, kind: EventKind, text: str, at: float | None, role: str) -> Event:
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


def call_of(recorded: Mapping[str, Any], id_: str, place: Place, seq: int, origin: Origin) -> Iterator[Call | FileChange]:
    """The call, and the file that it changed.  The rules count an id once."""
    name = string(recorded.get("name")) or "?"
    arguments = mapping(recorded.get("args"))
    answer = response_of(recorded)
    state, child, native = string(recorded.get("status")), string(recorded.get("agentId")), string(recorded.get("id"))
    told = state in _STATUSES
    status = _STATUSES.get(state, "unanswered")
    call = Call(  # by place: by name it takes ten times as long
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
        seconds(recorded.get("timestamp")) or place.at,
        None,
        None,
        status,
        "flag" if told else "none",
        exit_code_of(answer) if name == "run_shell_command" else None,
        told,
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
    """The one that the answer names; newer versions leave 0 out."""
    if "Exit Code: " not in answer:
        return 0 if "Process Group PGID: " in answer and "Signal: " not in answer else None
    named = answer.rpartition("Exit Code: ")[2][:_LONGEST_CODE]
    return whole(named[: len(named) - len(named.lstrip("-0123456789"))])


def _change(call: Call, arguments: Mapping[str, Any], shown: Mapping[str, Any], answer: str) -> FileChange:
    added, removed, basis = _lines(call.name, arguments, shown)
    new = shown.get("isNewFile") is True or "created and wrote to new file" in answer[:200] or answer.startswith("Created new file")
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


def _lines(name: str, arguments: Mapping[str, Any], shown: Mapping[str, Any]) -> tuple[int | None, int | None, Any]:
    """Lines added and removed, and what they were counted in."""
    stat = mapping(shown.get("diffStat"))
    for author in ("model", "ai"):
        if whole(stat.get(f"{author}_added_lines")) is not None:
            return (whole(stat[f"{author}_added_lines"]) or 0), (whole(stat.get(f"{author}_removed_lines")) or 0), "recorded_patch"
    if isinstance(shown.get("fileDiff"), str):
        return *lines_of(shown["fileDiff"]), "recorded_patch"
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
