"""Converts calls of our tools, and their results (``toolUseResult``), to the notation of Claude Code."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from nbtools.core.result import (
    CommandOutput,
    FileDiff,
    FileText,
    Listing,
    Matches,
    Media,
    TodoList,
    ToolResultDisplay,
)
from nbtools.diff.line_diff import LineDiff
from nbtools.traces.display_json import diffs_of
from nbtools.traces.json_access import integer_of, mappings, string
from nbtools.traces.model import Call, Detail

Arguments = Mapping[str, Any]


class ClaudeCall(NamedTuple):
    """A call with Claude Code's tool name and input."""

    name: str
    input: dict[str, Any]


def to_claude_call(tool: str, args: Arguments, cwd: str) -> ClaudeCall:
    """Returns Claude Code's name and input for a call;
    unchanged for a tool that Claude Code does not have.
    """
    convert = _CONVERTERS.get(tool)
    return ClaudeCall(tool, dict(args)) if convert is None else convert(args, cwd)


def absolute_path(path: str, cwd: str) -> str:
    """Returns an absolute path, as Claude Code writes them, where the working directory is known."""
    return posixpath.normpath(posixpath.join(cwd, path)) if cwd else path


def _bash(args: Arguments, _: str) -> ClaudeCall:
    seconds, background = args.get("timeout"), args.get("background")
    timeout = {"timeout": int(seconds * 1000)} if isinstance(seconds, int | float) else {}
    return ClaudeCall(
        "Bash",
        {
            "command": string(args.get("command")),
            **timeout,
            **({"run_in_background": True} if background else {}),
        },
    )


def _read(args: Arguments, cwd: str) -> ClaudeCall:
    start, end = integer_of(args.get("start")), integer_of(args.get("end"))
    offset = {"offset": start} if start else {}
    limit = {"limit": end - (start or 1) + 1} if end and (start or 1) > 0 else {}
    return ClaudeCall("Read", {"file_path": absolute_path(string(args.get("path")), cwd), **offset, **limit})


def _write(args: Arguments, cwd: str) -> ClaudeCall:
    return ClaudeCall(
        "Write",
        {"file_path": absolute_path(string(args.get("path")), cwd), "content": string(args.get("content"))},
    )


def _edit(args: Arguments, cwd: str) -> ClaudeCall:
    path = {"file_path": absolute_path(string(args.get("path")), cwd)}
    steps = mappings(args.get("edits"))
    if steps:
        return ClaudeCall("MultiEdit", {**path, "edits": [_replacement(step) for step in steps]})
    return ClaudeCall("Edit", {**path, **_replacement(args)})


def _replacement(step: Arguments) -> dict[str, Any]:
    every = {"replace_all": True} if step.get("count") == "all" else {}
    return {"old_string": string(step.get("old")), "new_string": string(step.get("new")), **every}


def _grep(args: Arguments, cwd: str) -> ClaudeCall:
    mode = {"lines": "content", "files": "files_with_matches", "count": "count"}.get(
        string(args.get("mode")), "content"
    )
    copied = {name: args[name] for name in ("pattern", "glob", "type", "multiline") if name in args}
    flags = {flag: args[name] for flag, name in (("-i", "ignore_case"), ("-C", "context")) if args.get(name)}
    return ClaudeCall("Grep", {**copied, **_within(args, cwd), "output_mode": mode, "-n": True, **flags})


def _glob(args: Arguments, cwd: str) -> ClaudeCall:
    return ClaudeCall("Glob", {"pattern": string(args.get("pattern")), **_within(args, cwd)})


def _ls(args: Arguments, cwd: str) -> ClaudeCall:
    return ClaudeCall("LS", {"path": absolute_path(string(args.get("path")) or ".", cwd)})


def _within(args: Arguments, cwd: str) -> dict[str, Any]:
    return {"path": absolute_path(string(args["path"]), cwd)} if string(args.get("path")) else {}


def _todo(args: Arguments, _: str) -> ClaudeCall:
    items = mappings(args.get("items"))
    return ClaudeCall(
        "TodoWrite",
        {"todos": [{"content": one.get("text"), "status": one.get("status", "pending")} for one in items]},
    )


def _fetch(args: Arguments, _: str) -> ClaudeCall:
    urls = args.get("urls")
    first = urls[0] if isinstance(urls, list | tuple) and urls else urls
    return ClaudeCall("WebFetch", {"url": string(first), "prompt": ""})


_CONVERTERS: dict[str, Callable[[Arguments, str], ClaudeCall]] = {
    "shell": _bash,
    "read": _read,
    "write": _write,
    "edit": _edit,
    "grep": _grep,
    "glob": _glob,
    "ls": _ls,
    "todo": _todo,
    "fetch": _fetch,
}


FAILED = frozenset({"error", "denied", "cancelled"})


def is_error(call: Call) -> bool:
    """Returns whether Claude Code would record the call as an error,
    which includes commands with a non-zero exit code.
    """
    return call.status in FAILED or (call.op == "shell" and call.exit_code not in {0, None})


def content_of(call: Call, detail: Detail) -> str | list[dict[str, Any]]:
    """Returns what the model read: text, or images."""
    if detail.media and not detail.result.strip():
        return [_image(one) for one in detail.media]
    if (
        call.op == "shell"
        and call.exit_code not in {0, None}
        and is_error(call)
        and not detail.result.startswith("Exit code")
    ):
        return f"Exit code {call.exit_code}\n{detail.result}"
    return detail.result


def tool_use_result(call: Call, detail: Detail, claude_call: ClaudeCall, cwd: str) -> Any:
    """Returns the value of ``toolUseResult``: a text for an error, otherwise an object specific to the tool.

    Returns None where there is nothing to store.
    """
    display = detail.display
    if isinstance(display, CommandOutput):
        return {
            "stdout": display.text,
            "stderr": "",
            "interrupted": call.status == "interrupted",
            "isImage": False,
        }
    if is_error(call):
        return f"Error: {detail.result}"
    diffs = diffs_of(display)
    return _edit_result(diffs[0], claude_call, cwd) if len(diffs) == 1 else _display_result(display, cwd)


def _display_result(display: ToolResultDisplay, cwd: str) -> dict[str, Any] | None:
    match display:
        case FileText():
            return {"type": "text", "file": _file_result(display, cwd)}
        case Media():
            return {
                "type": "image",
                "file": {
                    "base64": _base64(display),
                    "type": display.mime_type,
                    "originalSize": len(display.data),
                },
            }
        case Matches():
            return _matches_result(display)
        case Listing():
            names = [f"{entry.path}{'/' if entry.folder else ''}" for entry in display.entries]
            return {"filenames": names, "numFiles": display.total, "truncated": bool(display.more)}
        case TodoList():
            return {
                "oldTodos": [],
                "newTodos": [{"content": item.text, "status": item.status} for item in display.items],
            }
    return None


def _file_result(file: FileText, cwd: str) -> dict[str, Any]:
    path = {"filePath": absolute_path(file.path, cwd), "content": "\n".join(file.lines)}
    return {**path, "numLines": len(file.lines), "startLine": file.start, "totalLines": file.total}


def _matches_result(found: Matches) -> dict[str, Any]:
    lines = [
        ("-" if one.context else ":").join(
            [one.path, *([str(one.cell)] if one.cell else []), str(one.line), one.text]
        )
        for one in found.matches
    ]
    names = list(dict.fromkeys(one.path for one in found.matches))
    fields = {"mode": "content", "numFiles": found.files, "filenames": names, "numLines": len(lines)}
    return {**fields, "content": "\n".join(lines)}


def _edit_result(diff: FileDiff, claude_call: ClaudeCall, cwd: str) -> dict[str, Any]:
    path = {"filePath": absolute_path(diff.file_name, cwd)}
    stat = diff.diff_stat
    modified = bool(stat.user_added_lines or stat.user_removed_lines)
    patch = {"structuredPatch": _hunks(diff), "originalFile": diff.original_content, "userModified": modified}
    if claude_call.name == "Write" or diff.original_content is None:
        kind = "create" if diff.original_content is None else "update"
        return {
            "type": kind,
            **path,
            "content": diff.new_content,
            **patch,
            **({"structuredPatch": []} if kind == "create" else {}),
        }
    old, new = claude_call.input.get("old_string", ""), claude_call.input.get("new_string", "")
    return {
        **path,
        "oldString": old,
        "newString": new,
        **patch,
        "replaceAll": claude_call.input.get("replace_all", False),
    }


def _hunks(diff: FileDiff) -> list[dict[str, Any]]:
    return [
        {
            "oldStart": hunk.old_start,
            "oldLines": hunk.old_lines,
            "newStart": hunk.new_start,
            "newLines": hunk.new_lines,
            "lines": list(hunk.lines),
        }
        for hunk in LineDiff(diff.original_content, diff.new_content).hunks()
    ]


def _image(media: Media) -> dict[str, Any]:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media.mime_type, "data": _base64(media)},
    }


def _base64(media: Media) -> str:
    return base64.b64encode(media.data).decode()
