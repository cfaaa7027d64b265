"""Interprets SWE-agent's actions.

Each action is one text: a shell command, or a command of SWE-agent's own interface.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from nbtools.core.result import Entry, FileDiff, Match, ToolResultDisplay
from nbtools.traces.display_builders import command_output, diff_display, diff_of_texts, file_text, listing, matches
from nbtools.traces.json_access import mapping, string
from nbtools.traces.model import Op

EDITING = {"create", "edit", "insert", "append"}
EDITOR = "str_replace_editor"
CHANGING_COMMANDS = {"create", "str_replace", "insert"}
"""Commands of the editor that change a file."""
_COMMANDS_WITH_PATH = {"open", "create", EDITOR}
REFUSED = "Your proposed edit has introduced new syntax error"
_OPS: dict[str, Op] = {
    **dict.fromkeys(("open", "goto", "scroll_up", "scroll_down", "view"), "read"),
    "create": "write",
    **dict.fromkeys(("edit", "insert", "append", "undo_edit"), "edit"),
    **dict.fromkeys(("search_dir", "search_file"), "search"),
    **dict.fromkeys(("find_file", "filemap"), "list"),
    **dict.fromkeys(("submit", "exit_forfeit"), "other"),
}
_FILE = re.compile(r"^\[File: (?P<path>.+?) \((?P<total>\d{1,12}) lines? total\)\]$", re.MULTILINE)
_LINE = re.compile(r"^(?P<number>\d{1,12}):(?P<text>.*)$", re.MULTILINE)
_FOUND = re.compile(r"^(?P<path>/.*?)(?: \((?P<count>\d+) match(?:es)?\))?$")
_HIT = re.compile(r"^Line (?P<number>\d{1,12}):(?P<text>.*)$")
_RANGE = re.compile(r"edit\s+\d+:\d+\s*\n(?P<text>.*?)\n?end_of_edit", re.DOTALL)
_OPEN = re.compile(r"^\(Open file: (.+)\)\s*$", re.MULTILINE)
_OPTION = re.compile(r"--(\w+)")


def words_of(action: str) -> list[str]:
    """Splits the first line like a shell does; at blanks where its quotes do not match."""
    first = action.strip().partition("\n")[0]
    try:
        return shlex.split(first)
    except ValueError:
        return first.split()


def op_of(action: str) -> Op:
    words = action.split()
    if words[:1] == [EDITOR]:
        return {"view": "read", "create": "write"}.get("".join(words[1:2]), "edit")  # type: ignore[return-value]
    return _OPS.get("".join(words[:1]), "shell")


def named_path(action: str) -> str:
    """Returns the file that the action itself names."""
    start = action.split(maxsplit=1)
    if not start or (start[0].isidentifier() and start[0] not in _COMMANDS_WITH_PATH):
        return ""
    words = words_of(action)
    if words[:1] == [EDITOR]:
        return "".join(words[2:3])
    return "".join(words[1:2]) if words and words[0] in _COMMANDS_WITH_PATH else ""


def arguments_of(action: str, call_arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the arguments of the function call where there was one; otherwise the text, with the editor's options extracted."""
    if call_arguments:
        return call_arguments
    if not action.startswith(EDITOR):
        return {"command": action}
    try:
        words = shlex.split(action)
    except ValueError:
        return {"command": action}
    options = {words[index][2:]: words[index + 1] for index in range(3, len(words) - 1) if _OPTION.fullmatch(words[index])}
    return {"command": "".join(words[1:2]), "path": "".join(words[2:3]), **options}


def changes_of(action: str, arguments: Mapping[str, Any], path: str) -> Iterator[FileDiff]:
    """Yields the diff of an edit; the lines that ``edit 3:7`` replaces are not recorded."""
    name = "".join(action.split()[:1])
    found = _RANGE.search(action)
    change = None
    if name == EDITOR:
        change = _editor_change(arguments)
    elif name == "edit" and found:
        change = diff_of_texts(path, "", f"{found['text']}\n")
    elif name in {"edit", "insert"} and any(key in arguments for key in ("search", "replace", "text", "replacement_text")):
        new = arguments.get("replace") or arguments.get("replacement_text") or arguments.get("text")
        change = diff_of_texts(path, string(arguments.get("search")), new)
    if change is not None:
        yield change


def _editor_change(arguments: Mapping[str, Any]) -> FileDiff | None:
    path, command = string(arguments.get("path")), string(arguments.get("command"))
    if command == "create":
        return diff_of_texts(path, None, arguments.get("file_text"))
    if command in {"str_replace", "insert"}:
        return diff_of_texts(path, string(arguments.get("old_str")), arguments.get("new_str") or arguments.get("insert_text"))
    return None


def display_of(action: str, observation: str, changes: tuple[FileDiff, ...]) -> ToolResultDisplay:
    name, op = "".join(action.split()[:1]), op_of(action)
    if op == "shell":
        return command_output(observation)
    observation = observation.replace("\r\n", "\n")
    if observation.startswith(REFUSED):
        return observation
    if changes:
        return diff_display(changes, observation)
    if op == "read" and (head := _FILE.search(observation, 0, 4000)):
        lines = list(_LINE.finditer(observation, head.end()))
        if lines:
            text = "\n".join(line["text"] for line in lines)
            return file_text(head["path"], text, int(lines[0]["number"]), int(head["total"]))
    return _search_display(name, observation) or observation


def _search_display(name: str, observation: str) -> ToolResultDisplay | None:
    lines = observation.splitlines()
    if name in {"find_file", "search_dir"}:
        paths = [found["path"] for line in lines if (found := _FOUND.fullmatch(line))]
        return listing(Entry(path) for path in paths) if paths else None
    if name == "search_file":
        path = next((line.rpartition(" in ")[2].rstrip(":") for line in lines if line.startswith("Found ")), "")
        hits = [Match(path, int(hit["number"]), hit["text"]) for line in lines if (hit := _HIT.fullmatch(line))]
        return matches(hits) if hits else None
    return None


def open_file(state: Mapping[str, Any], observation: str = "") -> str:
    """Returns the open file, from the state or from the end of an observation as the model read it."""
    match = _OPEN.search(observation[-1000:]) if not state else None
    path = match[1].strip() if match else string(state.get("open_file"))
    return "" if path == "n/a" else path


def called_function(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the first tool call of a message."""
    calls = message.get("tool_calls")
    return mapping(calls[0]) if isinstance(calls, list) and calls else {}
