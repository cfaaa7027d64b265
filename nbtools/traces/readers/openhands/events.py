"""Accessors for OpenHands events that work for both versions, and the detail of a call.

Version 0 has ``action`` or ``observation`` with ``args``, ``content`` and ``extras``;
version 1 names its ``kind``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.core.result import DiffStat, Entry, FileDiff, FileText, Media, ToolResultDisplay
from nbtools.traces.display_builders import (
    command_output,
    count_patch_lines,
    diff_display,
    diff_of_texts,
    listing,
    media_of_data_url,
    todo_list,
)
from nbtools.traces.display_builders import detail_of as detail_from_texts
from nbtools.traces.json_access import (
    arguments,
    id_text,
    integer_of,
    items,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.model import Call, Detail, EventKind, Op, Status, StatusSource

_OPS: dict[str, Op] = {
    **dict.fromkeys(("run", "execute_bash", "terminal", "bash", "execute"), "shell"),
    **dict.fromkeys(("run_ipython", "execute_ipython_cell"), "notebook"),
    "read": "read",
    "write": "write",
    **dict.fromkeys(("edit", "str_replace_editor", "file_editor", "edit_file"), "edit"),
    **dict.fromkeys(("grep", "search"), "search"),
    "glob": "list",
    **dict.fromkeys(("browse", "browse_interactive", "browser", "fetch"), "fetch"),
    **dict.fromkeys(("task_tracking", "task_tracker"), "plan"),
    **dict.fromkeys(("delegate", "delegate_to_browsing_agent", "delegate_to_agent", "task"), "agent"),
    **dict.fromkeys(("mcp", "call_tool_mcp"), "mcp"),
}
_COMMANDS: dict[str, Op] = {"view": "read", "create": "write"}
_NON_CALL_ACTIONS = {
    "message",
    "system",
    "recall",
    "change_agent_state",
    "null",
    "condensation",
    "condensation_request",
    "start",
    "pause",
    "stop",
}
"""Actions that are not tool calls."""
_KINDS: dict[str, EventKind] = {
    "error": "error",
    "ConversationErrorEvent": "error",
    "condensation": "compaction",
    "Condensation": "compaction",
    "CondensationSummaryEvent": "compaction",
}


def is_call(event: Mapping[str, Any]) -> bool:
    if "kind" in event:
        return string(event["kind"]) in {"ActionEvent", "ACPToolCallEvent"}
    action = event.get("action")
    return action is not None and (
        bool(event.get("tool_call_metadata")) or string(action) not in _NON_CALL_ACTIONS
    )


def is_counted(event: Mapping[str, Any]) -> bool:
    """Returns whether the counting rules include the event: the model called a function."""
    return "kind" in event or bool(event.get("tool_call_metadata"))


def is_call_of_acp(event: Mapping[str, Any]) -> bool:
    """Returns whether it is a call by another agent, which OpenHands runs over the Agent Client Protocol;
    one record has its result.
    """
    return event.get("kind") == "ACPToolCallEvent"


def has_ended(event: Mapping[str, Any]) -> bool:
    """Returns whether such a call has ended."""
    return string(event.get("status")) in {"completed", "failed"} or event.get("is_error") is True


def is_answer(event: Mapping[str, Any]) -> bool:
    if "kind" in event:
        return string(event["kind"]) in {"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"}
    return event.get("observation") is not None and event.get("cause") is not None


def name_of_call(event: Mapping[str, Any]) -> str:
    name = (
        event.get("tool_name")
        or event.get("tool_kind")
        or mapping(event.get("tool_call_metadata")).get("function_name")
        or event.get("action")
    )
    return string(name) or "?"


def native_id(event: Mapping[str, Any]) -> str:
    return id_text(event.get("tool_call_id") or mapping(event.get("tool_call_metadata")).get("tool_call_id"))


def arguments_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    if "kind" not in event:
        return mapping(event.get("args"))
    if is_call_of_acp(event):
        return arguments(event.get("raw_input"))
    action = mapping(event.get("action"))
    return {key: value for key, value in action.items() if key != "kind"} or arguments(
        mapping(event.get("tool_call")).get("arguments")
    )


def op_of(event: Mapping[str, Any]) -> Op:
    name, action = name_of_call(event), string(event.get("action"))
    op = _OPS.get(action) or _OPS.get(name) or ("fetch" if name.startswith("browser_") else "other")
    if op == "other" and "MCP" in string(mapping(event.get("action")).get("kind")):
        return "mcp"
    return _COMMANDS.get(string(arguments_of(event).get("command")), op) if op == "edit" else op


def result_of(event: Mapping[str, Any]) -> str:
    """Returns the text that the model read."""
    if "kind" not in event:
        return text_of(event.get("content"))
    if is_call_of_acp(event):
        return text_of(event.get("raw_output")) or text_of(
            [mapping(one.get("content")) for one in mappings(event.get("content"))]
        )
    observation = mapping(event.get("observation"))
    for text in (
        event.get("error"),
        event.get("rejection_reason"),
        observation.get("content"),
        observation.get("output"),
    ):
        if text:
            return text_of(text)
    return text_of(observation.get("error"))


def extras_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(event.get("observation") if "kind" in event else event.get("extras"))


@dataclass(frozen=True)
class Outcome:
    status: Status
    source: StatusSource
    exit_code: int | None = None


def outcome_of(event: Mapping[str, Any]) -> Outcome:
    """Returns the outcome of a call. A command with the exit code -1 was still running."""
    extras = extras_of(event)
    code = integer_of(mapping(extras.get("metadata")).get("exit_code"))
    code = integer_of(extras.get("exit_code")) if code is None else code
    kind = type_of(event)
    if kind in {"UserRejectObservation", "user_rejected"}:
        return Outcome("denied", "flag")
    if is_call_of_acp(event):
        return Outcome(
            "error" if event.get("is_error") is True or event.get("status") == "failed" else "ok", "flag"
        )
    if kind in {"AgentErrorEvent", "error"} or extras.get("error") is True or extras.get("is_error") is True:
        return Outcome("error", "flag", code)
    if result_of(event).startswith("ERROR:"):
        return Outcome("error", "text", code)
    if code is not None:
        return (
            Outcome("unknown", "none", code)
            if code == -1
            else Outcome("error" if code else "ok", "exit_code", code)
        )
    return Outcome("ok", "flag")


def kind_of(event: Mapping[str, Any]) -> EventKind:
    """Returns the kind of an event that is neither a call nor a result."""
    source = event.get("source")
    if event.get("kind") == "MessageEvent" or event.get("action") == "message":
        return "user" if source == "user" else "assistant_text"
    return _KINDS.get(
        string(event.get("kind")) or string(event.get("action")) or string(event.get("observation")), "system"
    )


def type_of(event: Mapping[str, Any]) -> str:
    return string(event.get("kind")) or string(event.get("action")) or string(event.get("observation"))


def text_of_event(event: Mapping[str, Any]) -> str:
    if event.get("kind") == "MessageEvent":
        return text_of(mapping(event.get("llm_message")).get("content"))
    if "kind" in event:
        text = event.get("summary") or event.get("system_prompt") or event.get("error") or event.get("detail")
        return text_of(text)
    return text_of(mapping(event.get("args")).get("content") or event.get("content") or event.get("message"))


def thought_of(event: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the model's reasoning and its message before a call."""
    if "kind" in event:
        return string(event.get("reasoning_content")), "\n".join(
            text_of(part) for part in items(event.get("thought"))
        )
    args = mapping(event.get("args"))
    return "", "" if event.get("action") == "think" else string(args.get("thought"))


_ADDED_ARGUMENTS = {"thought", "security_risk", "confirmation_state", "hidden"}
"""Arguments that the agent adds to the model's."""


def detail_of(call: Call, request: Mapping[str, Any], answer: Mapping[str, Any]) -> Detail:
    arguments = {key: value for key, value in arguments_of(request).items() if key not in _ADDED_ARGUMENTS}
    result, extras, op = result_of(answer), extras_of(answer), op_of(request)
    changes = tuple(changes_of(arguments, extras)) if op in {"edit", "write"} else ()
    pictures = tuple(_media(answer, extras))
    shell = op == "shell"
    return Detail(
        args=arguments,
        result=result,
        display=_display(call, arguments, answer, changes, pictures),
        command=string(arguments.get("command")) if shell else "",
        cwd=(
            (string(arguments.get("cwd")) or string(mapping(extras.get("metadata")).get("working_dir")))
            if shell
            else ""
        ),
        stdout=result if shell else "",
        changes=changes,
        media=pictures,
        full=string(extras.get("full_output_save_dir")),
        extra={
            "function": name_of_call(request),
            "tool_call_id": native_id(request),
            "security_risk": request.get("security_risk"),
        },
    )


def changes_of(arguments: Mapping[str, Any], extras: Mapping[str, Any]) -> Iterator[FileDiff]:
    """Yields the file change of a call: from the recorded texts, the recorded diff, or else the arguments."""
    path = string(arguments.get("path")) or string(extras.get("path"))
    command = string(arguments.get("command"))
    change = None
    if isinstance(extras.get("new_content"), str):
        old = None if extras.get("prev_exist") is False else string(extras.get("old_content"))
        change = diff_of_texts(path, old, extras["new_content"])
    elif string(extras.get("diff")):
        change = FileDiff(extras["diff"], path, None, "", DiffStat(*count_patch_lines(extras["diff"])))
    elif command == "create":
        change = diff_of_texts(path, None, arguments.get("file_text"))
    elif command in {"str_replace", "insert"}:
        change = diff_of_texts(path, string(arguments.get("old_str")), arguments.get("new_str"))
    elif not command:
        change = diff_of_texts(path, "", arguments.get("content"))
    if change is not None:
        yield change


def _display(
    call: Call,
    arguments: Mapping[str, Any],
    answer: Mapping[str, Any],
    changes: tuple[FileDiff, ...],
    pictures: tuple[Media, ...],
) -> ToolResultDisplay:
    result, extras = result_of(answer), extras_of(answer)
    if call.op == "shell" and answer:
        outcome = outcome_of(answer)
        status = (
            "still running" if outcome.exit_code == -1 else "denied" if outcome.status == "denied" else ""
        )
        return command_output(result, None if outcome.exit_code == -1 else outcome.exit_code, status=status)
    if call.status != "ok":
        return result
    if changes or pictures:
        return diff_display(changes, result) if changes else pictures[0]
    return _list_display(call, arguments, extras) or _file_display(call, arguments, result) or result


def _list_display(
    call: Call, arguments: Mapping[str, Any], extras: Mapping[str, Any]
) -> ToolResultDisplay | None:
    if call.op == "plan":
        tasks = mappings(extras.get("task_list")) or mappings(arguments.get("task_list"))
        return todo_list(_task(task) for task in tasks) if tasks else None
    found = [
        path for path in (*items(extras.get("files")), *items(extras.get("matches"))) if isinstance(path, str)
    ]
    return listing(Entry(path) for path in found) if call.op in {"list", "search"} and found else None


def _file_display(call: Call, arguments: Mapping[str, Any], result: str) -> FileText | None:
    """Returns the lines of a file, without the introductory sentence and the line numbers."""
    if call.op != "read":
        return None
    head, _, body = result.partition("\n")
    display = detail_from_texts(
        call, {"file_path": arguments.get("path")}, body if head.startswith("Here's the result") else result
    ).display
    return display if isinstance(display, FileText) else None


def _task(task: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"title": task.get("title") or task.get("description"), "status": task.get("status")}


def _media(answer: Mapping[str, Any], extras: Mapping[str, Any]) -> Iterator[Media]:
    urls: list[Any] = [extras.get("screenshot"), extras.get("set_of_marks"), *items(extras.get("image_urls"))]
    for part in mappings(extras.get("content") if "kind" in answer else None):
        urls += items(part.get("image_urls"))
    if isinstance(extras.get("screenshot_data"), str):
        urls.append(f"data:image/png;base64,{extras['screenshot_data']}")
    for url in urls:
        found = media_of_data_url(url) if isinstance(url, str) else None
        if found is not None:
            yield found
