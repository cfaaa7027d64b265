"""Builds the full detail of a Gemini CLI call, with displays like those of our tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nbtools.core.result import DiffStat, Entry, FileDiff, Match, Media, ToolResultDisplay
from nbtools.traces.display_builders import (
    command_output,
    count_patch_lines,
    diff_display,
    diff_of_texts,
    file_text,
    inline_media,
    listing,
    matches,
    todo_list,
)
from nbtools.traces.json_access import first_string, integer_of, items, mapping, mappings, string
from nbtools.traces.model import Detail
from nbtools.traces.readers.gemini_cli.messages import EDITS, exit_code_of, response_of

_OUTPUT = re.compile(
    r"(?:^|\n)(?:Output|Stdout): (?P<out>.*?)(?=\n(?:Error|Stderr|Exit Code|Signal|Background PIDs|Process"
    r" Group PGID): |\Z)",
    re.DOTALL,
)
_ERROR = re.compile(
    r"\n(?:Error|Stderr): (?P<err>.*?)(?=\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): |\Z)",
    re.DOTALL,
)
_LINE_RANGE = re.compile(r"Showing lines (\d+)-(\d+) of (\d+) total lines")
_CONTENT = re.compile(r"^--- FILE CONTENT \(truncated\) ---\n", re.MULTILINE)
_ENTRY = re.compile(r"(?P<name>.+?)(?: \((?P<size>\d+) bytes\))?")
_LINE = re.compile(r"L(?P<line>\d+)(?P<sign>[:-]) ?(?P<text>.*)")
_EXTRA = ("displayName", "description", "agentId", "renderOutputAsMarkdown")
_NOTHING = {"(none)", "(empty)"}


def detail_of(recorded: Mapping[str, Any]) -> Detail:
    arguments = mapping(recorded.get("args"))
    answer = response_of(recorded)
    name = string(recorded.get("name"))
    display = mapping(recorded.get("resultDisplay"))
    changes = tuple(_changes(name, arguments, display, answer)) if name in EDITS else ()
    shell = name == "run_shell_command"
    out, err = _streams(answer) if shell else ("", "")
    return Detail(
        args=arguments,
        result=answer,
        display=_display(recorded, name, arguments, answer, changes),
        command=string(arguments.get("command")) if shell else "",
        cwd=first_string(arguments, ("dir_path", "directory", "cwd")) if shell else "",
        stdout=out,
        stderr=err,
        changes=changes,
        media=tuple(_media(recorded, arguments)),
        extra={key: recorded[key] for key in _EXTRA if key in recorded},
    )


def _display(
    recorded: Mapping[str, Any],
    name: str,
    arguments: Mapping[str, Any],
    answer: str,
    changes: tuple[FileDiff, ...],
) -> ToolResultDisplay:
    text = displayed_text(recorded.get("resultDisplay"))
    status = string(recorded.get("status"))
    if name == "run_shell_command" and status == "success":
        return command_output(text or _streams(answer)[0], exit_code_of(answer))
    if status != "success":
        return text or answer
    if changes:
        return diff_display(changes, answer)
    if name in {"write_todos", "todo_write"}:
        return todo_list(
            mappings(mapping(recorded.get("resultDisplay")).get("todos")) or mappings(arguments.get("todos"))
        )
    if answer and (build := _BUILDERS.get(name)):
        return build(name, arguments, answer)
    return next(_media(recorded, arguments), None) or text or answer


def displayed_text(display: Any) -> str:
    """Returns the text displayed to a person; a terminal screen's lines lose their colours."""
    if isinstance(display, str):
        return display
    lines = ("".join(string(piece.get("text")) for piece in mappings(line)) for line in items(display))
    return "\n".join(line.rstrip() for line in lines)


def _streams(answer: str) -> tuple[str, str]:
    out, err = _OUTPUT.search(answer), _ERROR.search(answer)
    if out is None and err is None:
        return ("" if answer in _NOTHING else answer), ""
    printed, reported = out["out"] if out else "", err["err"] if err else ""
    return ("" if printed in _NOTHING else printed), ("" if reported in _NOTHING else reported)


def _changes(
    name: str, arguments: Mapping[str, Any], display: Mapping[str, Any], answer: str
) -> Iterator[FileDiff]:
    path = string(arguments.get("file_path")) or first_string(display, ("filePath", "fileName"))
    new = display.get("newContent")
    if isinstance(new, str):
        old = None if display.get("isNewFile") is True else string(display.get("originalContent"))
        change = diff_of_texts(path, old, new)
    elif isinstance(display.get("fileDiff"), str):
        change = FileDiff(display["fileDiff"], path, None, "", _stat(display))
    elif name == "write_file":
        change = diff_of_texts(path, None if "new file" in answer[:200] else "", arguments.get("content"))
    else:
        change = diff_of_texts(path, string(arguments.get("old_string")), arguments.get("new_string"))
    if change is not None:
        yield change


def _stat(display: Mapping[str, Any]) -> DiffStat:
    recorded = mapping(display.get("diffStat"))
    if integer_of(recorded.get("model_added_lines")) is None:
        return DiffStat(*count_patch_lines(display["fileDiff"]))
    return DiffStat(**{name: integer_of(recorded.get(name)) or 0 for name in DiffStat.__dataclass_fields__})


def _read(_: str, arguments: Mapping[str, Any], answer: str) -> ToolResultDisplay:
    path = first_string(arguments, ("file_path", "absolute_path", "path"))
    head = _CONTENT.search(answer, 0, 2000)
    lines = _LINE_RANGE.search(answer, 0, 2000) if head else None
    if head and lines:
        return file_text(path, answer[head.end() :], int(lines[1][:15]), int(lines[3][:15]))
    start = integer_of(arguments.get("start_line")) or ((integer_of(arguments.get("offset")) or 0) + 1)
    return file_text(path, answer, max(start, 1))


def _list(name: str, _: Mapping[str, Any], answer: str) -> ToolResultDisplay:
    entries: list[Entry] = []
    for line in answer.split("\n")[1:]:
        if not line.strip() or line.startswith(("(", "[LIMIT")):
            continue
        if line.startswith("[DIR] "):
            entries.append(Entry(line[6:], folder=True))
        elif name == "list_directory" and (found := _ENTRY.fullmatch(line)):
            entries.append(Entry(found["name"], size=int(found["size"][:18]) if found["size"] else None))
        else:
            entries.append(Entry(line))
    return listing(entries)


def _search(_: str, __: Mapping[str, Any], answer: str) -> ToolResultDisplay:
    path, found = "", []
    for line in answer.split("\n"):
        if line.startswith("File: "):
            path = line[6:]
        elif path and (hit := _LINE.fullmatch(line)):
            found.append(Match(path, int(hit["line"][:15]), hit["text"], context=hit["sign"] == "-"))
    return matches(found)


_BUILDERS: dict[str, Callable[[str, Mapping[str, Any], str], ToolResultDisplay]] = {
    "read_file": _read,
    **dict.fromkeys(("list_directory", "glob"), _list),
    **dict.fromkeys(("grep_search", "search_file_content", "grep"), _search),
}
"""Builders of displays from a result that is not empty."""


def _media(recorded: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[Media]:
    path = first_string(arguments, ("file_path", "absolute_path"))
    for part in mappings(recorded.get("result")):
        inner = (part, *mappings(mapping(part.get("functionResponse")).get("parts")))
        yield from filter(None, (inline_media(one, path) for one in inner))
