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
    first_string,
    id_text,
    integer_of,
    items,
    mapping,
    mappings,
    names,
    string,
    text_of,
)
from nbtools.traces.known_tools import ops_by_name
from nbtools.traces.model import Call, Detail, EventKind, Op, Status, StatusSource
from nbtools.traces.session_builder import status_of_exit_code

_OPS = ops_by_name(
    {
        "shell": "run execute_bash terminal bash execute",
        "notebook": "run_ipython execute_ipython_cell",
        "read": "read",
        "write": "write",
        "edit": "edit str_replace_editor file_editor edit_file",
        "search": "grep search",
        "list": "glob",
        "fetch": "browse browse_interactive browser fetch",
        "plan": "task_tracking task_tracker",
        "agent": "delegate delegate_to_browsing_agent delegate_to_agent task",
        "mcp": "mcp call_tool_mcp",
    }
)
_COMMANDS: dict[str, Op] = {"view": "read", "create": "write"}
_NON_CALL_ACTIONS = names(
    "message system recall change_agent_state null condensation condensation_request start pause stop"
)
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
    name = event.get("tool_name") or event.get("tool_kind")
    name = name or mapping(event.get("tool_call_metadata")).get("function_name") or event.get("action")
    return string(name) or "?"


def native_id(event: Mapping[str, Any]) -> str:
    return id_text(event.get("tool_call_id") or mapping(event.get("tool_call_metadata")).get("tool_call_id"))


def response_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns version 0's record of the provider's response that a call was in."""
    return mapping(mapping(event.get("tool_call_metadata")).get("model_response"))


def response_id(event: Mapping[str, Any]) -> str:
    return string(event.get("llm_response_id")) or string(response_of(event).get("id"))


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
        contents = [mapping(one.get("content")) for one in mappings(event.get("content"))]
        return text_of(event.get("raw_output")) or text_of(contents)
    observation = mapping(event.get("observation"))
    text = event.get("error") or event.get("rejection_reason")
    text = text or observation.get("content") or observation.get("output") or observation.get("error")
    return text_of(text)


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
        failed = event.get("is_error") is True or event.get("status") == "failed"
        return Outcome("error" if failed else "ok", "flag")
    if kind in {"AgentErrorEvent", "error"} or extras.get("error") is True or extras.get("is_error") is True:
        return Outcome("error", "flag", code)
    if result_of(event).startswith("ERROR:"):
        return Outcome("error", "text", code)
    if code is None:
        return Outcome("ok", "flag")
    return Outcome("unknown", "none", code) if code == -1 else Outcome(*status_of_exit_code(code), code)


def kind_of(event: Mapping[str, Any]) -> EventKind:
    """Returns the kind of an event that is neither a call nor a result."""
    source = event.get("source")
    if event.get("kind") == "MessageEvent" or event.get("action") == "message":
        return "user" if source == "user" else "assistant_text"
    return _KINDS.get(type_of(event), "system")


def type_of(event: Mapping[str, Any]) -> str:
    return first_string(event, ("kind", "action", "observation"))


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
        thought = "\n".join(map(text_of, items(event.get("thought"))))
        return string(event.get("reasoning_content")), thought
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
    cwd = string(arguments.get("cwd")) or string(mapping(extras.get("metadata")).get("working_dir"))
    return Detail(
        args=arguments,
        result=result,
        display=_display(call, arguments, answer, changes, pictures),
        command=string(arguments.get("command")) if shell else "",
        cwd=cwd if shell else "",
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
        if outcome.exit_code == -1:
            return command_output(result, status="still running")
        status = "denied" if outcome.status == "denied" else ""
        return command_output(result, outcome.exit_code, status=status)
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
        entries = (
            {"title": task.get("title") or task.get("description"), "status": task.get("status")}
            for task in tasks
        )
        return todo_list(entries) if tasks else None
    listed = (*items(extras.get("files")), *items(extras.get("matches")))
    found = [path for path in listed if isinstance(path, str)]
    return listing(Entry(path) for path in found) if call.op in {"list", "search"} and found else None


def _file_display(call: Call, arguments: Mapping[str, Any], result: str) -> FileText | None:
    """Returns the lines of a file, without the introductory sentence and the line numbers."""
    if call.op != "read":
        return None
    head, _, body = result.partition("\n")
    text = body if head.startswith("Here's the result") else result
    display = detail_from_texts(call, {"file_path": arguments.get("path")}, text).display
    return display if isinstance(display, FileText) else None


def _media(answer: Mapping[str, Any], extras: Mapping[str, Any]) -> Iterator[Media]:
    urls: list[Any] = [extras.get("screenshot"), extras.get("set_of_marks"), *items(extras.get("image_urls"))]
    for part in mappings(extras.get("content") if "kind" in answer else None):
        urls += items(part.get("image_urls"))
    if isinstance(extras.get("screenshot_data"), str):
        urls.append(f"data:image/png;base64,{extras['screenshot_data']}")
    yield from filter(None, (media_of_data_url(url) for url in urls if isinstance(url, str)))
