"""Builds the displays of our own tools from calls that other agents recorded."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from nbtools.core.result import (
    CommandOutput,
    DiffStat,
    Entry,
    FileDiff,
    FileDiffs,
    FileText,
    Listing,
    Match,
    Matches,
    Media,
    TodoItem,
    TodoList,
    TodoStatus,
    ToolResultDisplay,
)
from nbtools.diff.line_diff import LineDiff, file_diff
from nbtools.diff.text_lines import split_lines
from nbtools.traces.json_access import integer_of, mapping, mappings, parse_json, string
from nbtools.traces.known_tools import Edit, command_of, edits_of, exit_code_in
from nbtools.traces.model import Call, Detail, FileChange

_STATES: dict[str, TodoStatus] = {
    "pending": "pending",
    "todo": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "done": "completed",
    "cancelled": "cancelled",
    "blocked": "blocked",
}
_TODO_KEYS = ("description", "content", "step", "text", "title")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)


def command_output(
    text: str, exit_code: int | None = None, *, status: str = "", full_output: str = ""
) -> CommandOutput:
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    return CommandOutput(text, lines, exit_code, full_output=full_output, status=status)


def diff_of_texts(path: str, old: Any, new: Any) -> FileDiff | None:
    """Returns the diff between two texts; ``old`` is None for a new file.
    Returns None where the new text is not recorded.
    """
    if not isinstance(new, str) or not (old is None or isinstance(old, str)):
        return None
    return file_diff(path, old, new)


def diff_display(changes: Sequence[FileDiff], otherwise: ToolResultDisplay) -> ToolResultDisplay:
    if len(changes) == 1:
        return changes[0]
    return FileDiffs(tuple(changes)) if changes else otherwise


def count_patch_lines(patch: str) -> tuple[int, int]:
    """Counts the lines that a unified diff adds and removes."""
    first = _HUNK.search(patch)
    body = patch[first.start() :].splitlines() if first else []
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in body)
    return added, sum(line.startswith("-") and not line.startswith("--- ") for line in body)


def file_text(path: str, text: str, start: int = 1, total: int | None = None) -> FileText:
    lines = tuple(text.removesuffix("\n").split("\n")) if text else ()
    return FileText(path, start, lines, max(total or 0, start - 1 + len(lines)))


def listing(entries: Iterable[Entry], more: str = "") -> Listing:
    found = tuple(entries)
    return Listing(found, len(found), more)


def matches(found: Iterable[Match], more: str = "") -> Matches:
    lines = tuple(found)
    hits = [line for line in lines if not line.context]
    return Matches(lines, len(hits), len({line.path for line in hits}), more)


def todo_list(items: Iterable[Mapping[str, Any]]) -> TodoList:
    """Builds a list from objects with a text, under any of ``_TODO_KEYS``, and a ``status``."""
    texts = (
        (
            next((text for key in _TODO_KEYS if (text := string(item.get(key)))), ""),
            string(item.get("status")).lower(),
        )
        for item in items
    )
    return TodoList(tuple(TodoItem(text, _STATES.get(status, "pending")) for text, status in texts))


def inline_media(part: Mapping[str, Any], path: str) -> Media | None:
    """Decodes ``{"inlineData": {"mimeType": …, "data": base64}}``; None where there is no valid data."""
    inline = mapping(part.get("inlineData"))
    return media(string(inline.get("mimeType")), string(inline.get("data")), path)


def media(mime_type: str, data: str, path: str = "") -> Media | None:
    """Decodes base64 data; None where there is no data, or it is not base64."""
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Media(path, mime_type, content) if content else None


def media_of_data_url(url: str, path: str = "") -> Media | None:
    """Decodes ``data:image/png;base64,…``; None for other URLs."""
    head, comma, data = url.partition(";base64,")
    return media(head.removeprefix("data:"), data, path) if comma and head.startswith("data:") else None


_MAX_DIFF_CHARACTERS = 100_000
_NUMBERED_LINE = re.compile(r" *(\d{1,9})(?:\t|→|: ?|\| ?)(.*)")
_MATCH = re.compile(r"([^:\n]+):(\d{1,9})[:-](.*)")


def changes_of(call: Call, args: Mapping[str, Any]) -> Iterator[FileChange]:
    """Yields the files that an answered call without a failure changed.
    Line counts are taken from its arguments.
    """
    if not call.answered or call.status in {"error", "denied", "cancelled", "interrupted"}:
        return
    edits: dict[str, list[Edit]] = {}
    for edit in edits_of(call.name, args):
        edits.setdefault(edit.path, []).append(edit)
    for path, path_edits in edits.items():
        counts = [_lines(edit) for edit in path_edits]
        has_counts = all(added is not None for added, _ in counts)
        yield FileChange(
            session=call.session,
            call=call.id,
            path=path,
            kind=cast("Any", path_edits[0].kind),
            added=sum(added or 0 for added, _ in counts) if has_counts else None,
            removed=sum(removed or 0 for _, removed in counts) if has_counts else None,
            basis="arguments" if has_counts else "none",
        )


def detail_of(
    call: Call,
    args: Mapping[str, Any],
    result: str,
    media: Sequence[Media] = (),
    extra: Mapping[str, Any] | None = None,
    truncated: int = 0,
) -> Detail:
    """Builds the full detail of a call, with the display that our tool of the same operation would have."""
    op = call.op
    streams = mapping(parse_json(result)) if op == "shell" and result.startswith("{") else {}
    changes = tuple(diff for edit in edits_of(call.name, args) if (diff := _diff(edit)) is not None)
    return Detail(
        args=args,
        result=result,
        display=_display(call, args, result, changes, media),
        command=command_of(args) if op == "shell" else "",
        cwd=(
            next((text for key in ("cwd", "workdir", "dir_path") if (text := string(args.get(key)))), "")
            if op == "shell"
            else ""
        ),
        stdout=string(streams.get("stdout")),
        stderr=string(streams.get("stderr")),
        changes=changes,
        media=tuple(media),
        truncated=truncated,
        extra=extra or {},
    )


def media_of(content: Any, path: str = "") -> Iterator[Media]:
    """Yields the images and documents in ``content``, in the notation of any API."""
    for part in mappings(content if isinstance(content, list) else [content]):
        if (found := _decode_media(part, path)) is not None:
            yield found


def _decode_media(part: Mapping[str, Any], path: str) -> Media | None:
    """Decodes the media in one part; None where the part has none, or only refers to it."""
    for source in (
        mapping(part.get("source")),
        mapping(part.get("inlineData")),
        mapping(part.get("inline_data")),
        part,
    ):
        mime = (
            string(source.get("media_type"))
            or string(source.get("mimeType"))
            or string(source.get("mime_type"))
        )
        data = string(source.get("data")) or (
            string(source.get("content")) if source.get("type") == "blob" else ""
        )
        if mime and data:
            return media(mime, data, path)
    image = part.get("image_url") or part.get("image")
    return media_of_data_url(string(image) or string(mapping(image).get("url")), path)


def _lines(edit: Edit) -> tuple[int | None, int | None]:
    if edit.kind == "unknown" or len(edit.new) + len(edit.old or "") > _MAX_DIFF_CHARACTERS:
        return None, None
    if edit.old is None:
        return (None, None) if edit.kind == "modify" else (len(split_lines(edit.new)), 0)
    added, removed, *_ = LineDiff(edit.old, edit.new).counts()
    return added, removed


def _diff(edit: Edit) -> FileDiff | None:
    if len(edit.new) + len(edit.old or "") > _MAX_DIFF_CHARACTERS:
        return FileDiff("", edit.path, edit.old, edit.new, DiffStat())
    return file_diff(edit.path, edit.old, edit.new) if edit.old or edit.new else None


def _display(
    call: Call, args: Mapping[str, Any], result: str, changes: Sequence[FileDiff], media: Sequence[Media]
) -> ToolResultDisplay:
    op = call.op
    if op == "shell":
        return _command(call, result)
    if call.status in {"error", "denied", "cancelled", "interrupted"} or not call.answered:
        return result
    if changes:
        return diff_display(changes, result)
    if media and not result.strip():
        return media[0]
    if op == "plan":
        return _todos(args) or result
    shapes = {"read": _file, "search": _matches, "list": _listing}
    return (shapes[op](call, args, result) if op in shapes else None) or result


def _command(call: Call, result: str) -> CommandOutput:
    streams = mapping(parse_json(result)) if result.startswith("{") else {}
    texts = [text for key in ("stdout", "output", "stderr") if (text := string(streams.get(key)))]
    text = "\n".join(texts) if texts or "stdout" in streams else result
    code = call.exit_code if call.exit_code is not None else exit_code_of_result(result)
    status = {
        "cancelled": "cancelled",
        "interrupted": "interrupted",
        "denied": "denied",
        "unanswered": "no result",
    }.get(call.status, "")
    return command_output(text, code, status=status)


def exit_code_of_result(result: str) -> int | None:
    """Returns the exit code that a command's result states, as JSON or in words."""
    if not result.startswith("{"):
        return exit_code_in(result)
    streams = mapping(parse_json(result))
    codes = [streams.get(key) for key in ("exit_code", "exitCode", "returncode")]
    codes.append(mapping(streams.get("metadata")).get("exit_code"))
    found = next((code for one in codes if (code := integer_of(one)) is not None), None)
    return exit_code_in(result) if found is None else found


def _file(_call: Call, args: Mapping[str, Any], result: str) -> FileText | None:
    lines = result.splitlines()
    path = next(
        (
            text
            for key in ("file_path", "path", "absolute_path", "filePath")
            if (text := string(args.get(key)))
        ),
        "",
    )
    if not path or not lines:
        return None
    numbered = [_NUMBERED_LINE.fullmatch(line) for line in lines]
    if all(numbered):
        found = [one for one in numbered if one]
        start = int(found[0][1])
        lines = [one[2] for one in found]
    else:
        start = max(integer_of(args.get("offset")) or 1, 1)
    return file_text(path, "\n".join(lines), start)


def _matches(_call: Call, _args: Mapping[str, Any], result: str) -> Matches | None:
    found = [_MATCH.fullmatch(line) for line in result.splitlines() if line.strip() and line != "--"]
    if not found or not all(found):
        return None
    return matches(Match(one[1], int(one[2]), one[3]) for one in found if one)


def _listing(_call: Call, _args: Mapping[str, Any], result: str) -> Listing | None:
    lines = [line for line in result.splitlines() if line.strip()]
    if not lines or any(
        line != line.strip() or line.startswith("-") or not _looks_like_path(line) for line in lines
    ):
        return None
    return listing(Entry(line.rstrip("/") or "/", folder=line.endswith("/")) for line in lines)


def _looks_like_path(line: str) -> bool:
    return "/" in line or (" " not in line and bool(PurePosixPath(line).suffix or line.isidentifier()))


def _todos(args: Mapping[str, Any]) -> TodoList | None:
    entries = mappings(args.get("todos")) or mappings(args.get("plan"))
    return todo_list(entries) if entries else None
