"""Builds the full detail of a call from a rollout, and the rows and diffs of files that patches changed.

A ``patch_apply_end`` has, for each path, the whole text of an added or deleted file, or a unified diff
without its two header lines. Without such a record, the model's own patch shows the intended change: its
lines, but not their positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from nbtools.core.errors import ToolFailure
from nbtools.core.result import CommandOutput, DiffStat, FileDiff, Media, ToolResultDisplay
from nbtools.diff.codex_patch import read_codex_patch
from nbtools.diff.line_diff import PatchHunk, file_diff, format_unified
from nbtools.diff.patch_model import Create, Delete, FilePatch, Hunk
from nbtools.traces.display_builders import diff_display, media_of_data_url, todo_list
from nbtools.traces.json_access import first_string, mapping, mappings, string
from nbtools.traces.model import NOWHERE, Call, Detail, FileChange, Ref
from nbtools.traces.readers.codex.call_text import (
    arguments_of,
    calls_in,
    command_of,
    output_text,
    patch_of,
    split_output,
    unwrap,
)
from nbtools.traces.readers.codex.records import Payload, changes_by_path, decode_raw, text_of
from nbtools.traces.source import Source

Kind: TypeAlias = Literal["add", "modify", "delete", "rename", "unknown"]
_KINDS: dict[str, Kind] = {"add": "add", "delete": "delete", "update": "modify"}


def recorded_changes(session: str, call: str, changes: Any, *, applied: bool) -> Iterator[FileChange]:
    """Yields the changes of a ``patch_apply_end``."""
    for path, change in mapping(changes).items():
        kind, body = _kind_and_body(change)
        text = string(body.get("content"))
        diff = string(body.get("unified_diff"))
        added, removed = _line_counts(diff.split("\n")) if diff else (0, 0)
        lines = len(text.splitlines())
        yield FileChange(
            session=session,
            call=call,
            path=path,
            kind="rename" if string(body.get("move_path")) else kind,
            added=lines if kind == "add" else added,
            removed=lines if kind == "delete" else removed,
            basis="recorded_patch" if kind == "modify" else "recorded_texts",
            applied=applied,
        )


def intended_changes(session: str, call: str, patch: str, *, applied: bool) -> Iterator[FileChange]:
    """Yields changes from the model's patch; a truncated or invalid one counts as far as it can be parsed."""
    for kind, path, lines in _sections(patch):
        added, removed = _line_counts(["@@", *lines])
        moved = any(line.startswith("*** Move to:") for line in lines)
        yield FileChange(
            session=session,
            call=call,
            path=path,
            kind="rename" if moved else _KINDS[kind],
            added=added,
            removed=None if kind == "delete" else removed,
            basis="arguments",
            applied=applied,
        )


def _sections(patch: str) -> Iterator[tuple[str, str, list[str]]]:
    kind = path = ""
    lines: list[str] = []
    for line in patch.split("\n"):
        verb, found, name = line[4:].partition(" File: ") if line.startswith("*** ") else ("", "", "")
        if found and verb.lower() in _KINDS and name.strip():
            if kind:
                yield kind, path, lines
            kind, path, lines = verb.lower(), name.strip(), []
        else:
            lines.append(line)
    if kind:
        yield kind, path, lines


def _line_counts(lines: Iterable[str]) -> tuple[int, int]:
    """Returns the numbers of added and removed lines below the first ``@@``."""
    added = removed = 0
    inside = False
    for line in lines:
        sign = line[:1]
        if sign == "@":
            inside = True
        elif inside:
            added += sign == "+"
            removed += sign == "-"
    return added, removed


def _kind_and_body(change: Any) -> tuple[Kind, Mapping[str, Any]]:
    """Returns a change's kind and body: early ones are ``{"update": {…}}``, later ones have a ``type``."""
    body = mapping(change)
    named = body.get("type", body.get("kind"))
    if isinstance(named, dict):
        named = named.get("type")
    if named is None and len(body) == 1:
        named, inner = next(iter(body.items()))
        body = mapping(inner)
    return _KINDS.get(named, "unknown") if isinstance(named, str) else "unknown", body


def recorded_diffs(changes: Any) -> tuple[FileDiff, ...]:
    return tuple(_diff(path, *_kind_and_body(change)) for path, change in mapping(changes).items())


def _diff(path: str, kind: Kind, body: Mapping[str, Any]) -> FileDiff:
    text = string(body.get("content"))
    if kind == "add":
        return file_diff(path, None, text)
    if kind == "delete":
        return file_diff(path, text, "")
    diff = string(body.get("unified_diff"))
    added, removed = _line_counts(diff.split("\n"))
    if diff and not diff.startswith("---"):
        diff = f"--- a/{path}\n+++ b/{string(body.get('move_path')) or path}\n{diff}"
    return FileDiff(diff, path, "", "", DiffStat(added, removed))


def intended_diffs(patch: str) -> tuple[FileDiff, ...]:
    """Returns diffs of the model's patch; none if it is invalid."""
    if "*** Begin Patch" not in patch:
        return ()
    try:
        return tuple(_intended_diff(file) for file in read_codex_patch(patch).files)
    except (ToolFailure, StopIteration):
        return ()


def _intended_diff(file: FilePatch) -> FileDiff:
    if isinstance(file, Create):
        return file_diff(file.path, None, file.content)
    if isinstance(file, Delete):
        return file_diff(file.path, file.content or "", "")
    hunks = [_hunk(part) for part in file.parts if isinstance(part, Hunk)]
    added, removed = _line_counts(["@@", *(line for hunk in hunks for line in hunk.lines)])
    return FileDiff(format_unified(file.path, hunks), file.path, "", "", DiffStat(added, removed))


def _hunk(hunk: Hunk) -> PatchHunk:
    """Returns a hunk at line 0, because its position is not recorded."""
    lines = tuple(f"{line.sign}{line.text.rstrip(chr(10))}" for line in hunk.lines)
    return PatchHunk(0, len(hunk.old()), 0, len(hunk.new()), lines)


_EXTRA = ("process_id", "turn_id", "parsed_cmd", "invocation", "source", "status")
_SEARCH_AFTER = 64 << 10
"""Bytes after an output in which the event of its end is searched for."""
_MAX_SEARCH = 64 << 20
"""Largest number of bytes searched for that event."""


def detail(source: Source, call: Call) -> Detail:
    record = _payload(source.record(call.ref))
    if call.level == "nested" and call.ref != call.result_ref:
        return _script_call_detail(call, record)
    end = record if call.level == "nested" else _end(source, call)
    item = mapping(end.get("item")) or end
    output = None
    if call.answered and call.level == "model":
        output = _payload(source.record(call.result_ref)).get("output")
    urls = [string(part.get("image_url")) for part in mappings(output)]
    media = tuple(filter(None, map(media_of_data_url, urls)))
    result_text = output_text(output) or _event_output(item)
    return _build(call, _arguments(call, record, item), result_text, item, media)


def _build(
    call: Call, arguments: Mapping[str, Any], output: str, item: Mapping[str, Any], media: tuple[Media, ...]
) -> Detail:
    wrapped = unwrap(output)
    stdout = first_string(item, ("aggregated_output", "stdout"))
    head, body = split_output(output)
    if wrapped is not None and wrapped.output:
        body = string(wrapped.output)
    elif head == output:  # without a header
        body = output
    patch = patch_of(call.name, arguments)
    diffs = recorded_diffs(changes_by_path(item.get("changes"))) or intended_diffs(patch)
    return Detail(
        args=arguments,
        result=output,
        display=_display(call, arguments, stdout or body, diff_display(diffs, ""), media),
        command=command_of(arguments),
        cwd=string(item.get("cwd")) or first_string(arguments, ("workdir", "working_directory")),
        stdout=(stdout or body) if call.op in ("shell", "patch") else "",
        stderr=string(item.get("stderr")),
        changes=diffs,
        media=media,
        truncated=len(output) if "tokens truncated" in output else 0,
        extra={key: item[key] for key in _EXTRA if key in item},
    )


def _display(
    call: Call, arguments: Mapping[str, Any], output: str, patch: ToolResultDisplay, media: tuple[Media, ...]
) -> ToolResultDisplay:
    if patch and call.status != "error":
        return patch
    if call.op == "shell":
        status = "" if call.exit_code is not None else call.status
        return CommandOutput(output, len(output.splitlines()), call.exit_code, status=status)
    if call.op == "plan" and isinstance(steps := arguments.get("plan"), list):
        return todo_list(map(mapping, steps))
    return media[0] if len(media) == 1 else output


def _arguments(call: Call, record: Mapping[str, Any], item: Mapping[str, Any]) -> Mapping[str, Any]:
    if call.level == "model":
        fields: dict[str, Any] = {key: record.get(key) for key in ("input", "arguments", "action")}
        return arguments_of(Payload(**fields))
    if call.op == "patch":
        return {}
    arguments = mapping(item.get("invocation")).get("arguments", item.get("arguments"))
    return mapping(arguments) if arguments is not None else {"command": item.get("command")}


def _script_call_detail(call: Call, record: Mapping[str, Any]) -> Detail:
    """Returns the detail of a call in a script, of which only the script's text is recorded."""
    number = call.id.rpartition(".")[2]
    named = list(calls_in(string(record.get("input"))))
    at = int(number) if number.isdecimal() else len(named)
    if at >= len(named):
        return Detail(args={})
    first = named[at].quoted[0] if named[at].quoted else ""
    patch = first if call.op == "patch" else ""
    return Detail(
        args={"arguments": named[at].arguments},
        command=first if call.op == "shell" else "",
        changes=intended_diffs(patch),
    )


def _end(source: Source, call: Call) -> Mapping[str, Any]:
    """Finds the event that records how a call ended: it is between its two records, or shortly after."""
    native = call.native_id.encode()
    last = call.result_ref if call.result_ref != NOWHERE else call.ref
    start = call.ref.offset + call.ref.length
    end = last.offset + last.length + _SEARCH_AFTER
    stop = min(end, start + _MAX_SEARCH, source.whole(call.ref.file).length)
    if not native or stop <= start:
        return {}
    for line in source.bytes_of(Ref(start, stop - start, 0, call.ref.file)).split(b"\n"):
        if native in line and any(kind in line[:200] for kind in (b"_end", b"item_completed", b"_response")):
            found = _payload(decode_raw(line))
            if native.decode() in (found.get("call_id"), mapping(found.get("item")).get("id")):
                return found
    return {}


def _payload(record: Any) -> Mapping[str, Any]:
    found = mapping(record)
    return mapping(found["payload"]) if "payload" in found else found


def _event_output(item: Mapping[str, Any]) -> str:
    """Returns the output in an event, used if the model read none."""
    stdout = first_string(item, ("aggregated_output", "stdout"))
    result = mapping(item.get("result"))
    text = stdout or text_of(mapping(result.get("Ok", result)).get("content"))
    return text or text_of(item.get("content_items")) or string(result.get("Err"))
