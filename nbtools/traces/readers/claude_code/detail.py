"""Builds the full detail of a recorded call, in the form of a live call.

File texts before and after an edit come from the recorded patch, and are complete only if the log has the
whole file.  Recorded patches have two blanks for each leading tab; if the log has the file and the replaced
text, the original lines are restored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.core.result import (
    CommandOutput,
    DiffStat,
    Entry,
    FileDiff,
    FileText,
    Match,
    Media,
    ToolResultDisplay,
)
from nbtools.diff.line_diff import PatchHunk, format_unified
from nbtools.traces.display_builders import (
    command_output,
    diff_display,
    diff_of_texts,
    file_text,
    listing,
    matches,
    media,
    todo_list,
)
from nbtools.traces.json_access import first_string, integer_of, items, mapping, mappings, string, text_of
from nbtools.traces.model import NOWHERE, Call, Detail
from nbtools.traces.readers.claude_code.calls import ERROR_STATUSES
from nbtools.traces.readers.claude_code.files import spilled_path
from nbtools.traces.readers.claude_code.records import EDITS
from nbtools.traces.source import Source

_TABS = re.compile(r"^\t+", re.MULTILINE)


def changes(name: str, args: Mapping[str, Any], outcome: Mapping[str, Any]) -> tuple[FileDiff, ...]:
    path = string(outcome.get("filePath")) or first_string(args, ("file_path", "notebook_path"))
    if hunks := _hunks(outcome.get("structuredPatch")):
        return (_patched(path, hunks, args, outcome),)
    if name == "Write":
        before = outcome.get("originalFile")
        old = before if isinstance(before, str) else None
        texts = [(old, outcome.get("content", args.get("content")))]
    elif name == "NotebookEdit":
        new = outcome.get("new_source", args.get("new_source"))
        texts = [(string(outcome.get("old_source")) or None, new)]
    else:
        edits = mappings(args.get("edits")) if name == "MultiEdit" else [args]
        texts = [(string(edit.get("old_string")) or None, edit.get("new_string")) for edit in edits]
    return tuple(filter(None, (diff_of_texts(path, old, new) for old, new in texts)))


def _patched(
    path: str, hunks: Sequence[PatchHunk], args: Mapping[str, Any], outcome: Mapping[str, Any]
) -> FileDiff:
    """Returns a recorded patch's diff. Without ``originalFile`` the texts are what the patch shows."""
    original, content = outcome.get("originalFile"), outcome.get("content")
    if not isinstance(original, str):
        return FileDiff(format_unified(path, hunks), path, _side(hunks, "-"), _side(hunks, "+"), _stat(hunks))
    applied = _applied(original, hunks)
    new = content if isinstance(content, str) else _replaced(original, args, outcome)
    if new is None:
        new = applied
    elif _with_expanded_tabs(new) != _with_expanded_tabs(applied):
        new = content if isinstance(content, str) else applied
    else:
        hunks = _restored(hunks, original.split("\n"), new.split("\n"))
    return FileDiff(format_unified(path, hunks), path, original, new, _stat(hunks))


def _replaced(original: str, args: Mapping[str, Any], outcome: Mapping[str, Any]) -> str | None:
    """Applies the edit's replacements to the file; None if a text to replace is not found."""
    edits = mappings(outcome.get("edits") or args.get("edits")) or [{**args, **outcome}]
    text = original
    for edit in edits:
        old = edit.get("oldString", edit.get("old_string"))
        new = edit.get("newString", edit.get("new_string"))
        if not isinstance(old, str) or not isinstance(new, str) or not old or old not in text:
            return None
        text = text.replace(old, new, -1 if edit.get("replaceAll", edit.get("replace_all")) is True else 1)
    return text


def _with_expanded_tabs(text: str) -> str:
    """Expands leading tabs as recorded patches do."""
    return _TABS.sub(lambda tabs: "  " * len(tabs[0]), text)


def _restored(hunks: Sequence[PatchHunk], old: Sequence[str], new: Sequence[str]) -> Sequence[PatchHunk]:
    """Returns the hunks with the files' own lines; unchanged if the files do not match."""
    try:
        restored = [replace(hunk, lines=tuple(_original_lines(hunk, old, new))) for hunk in hunks]
    except IndexError:
        return hunks
    same = all(
        _with_expanded_tabs(line[1:]) == recorded[1:]
        for a, b in zip(restored, hunks, strict=True)
        for line, recorded in zip(a.lines, b.lines, strict=True)
    )
    return restored if same else hunks


def _original_lines(hunk: PatchHunk, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    before, after = hunk.old_start - 1, hunk.new_start - 1
    for line in hunk.lines:
        sign = line[:1]
        if sign == "\\":
            yield line
        else:
            yield sign + (new[after] if sign == "+" else old[before])
            before += sign != "+"
            after += sign != "-"


def _hunks(recorded: Any) -> tuple[PatchHunk, ...]:
    hunks: list[PatchHunk] = []
    for one in mappings(recorded):
        lines = tuple(line for line in items(one.get("lines")) if isinstance(line, str))
        old, new = (integer_of(one.get(key)) or 0 for key in ("oldStart", "newStart"))
        signs = [line[:1] for line in lines]
        same = sum(sign not in ("+", "-", "\\") for sign in signs)
        if lines:
            hunks.append(PatchHunk(old, same + signs.count("-"), new, same + signs.count("+"), lines))
    return tuple(hunks)


def _side(hunks: Sequence[PatchHunk], sign: str) -> str:
    return "".join(f"{line[1:]}\n" for hunk in hunks for line in hunk.lines if line[:1] in (" ", sign))


def _applied(original: str, hunks: Sequence[PatchHunk]) -> str:
    old = original.split("\n")
    new: list[str] = []
    at = 0
    for hunk in hunks:
        start = max(at, hunk.old_start - 1)
        new += old[at:start]
        new += [line[1:] for line in hunk.lines if line[:1] in (" ", "+")]
        at = start + hunk.old_lines
    return "\n".join([*new, *old[at:]])


def _stat(hunks: Sequence[PatchHunk]) -> DiffStat:
    lines = [line for hunk in hunks for line in hunk.lines]
    added, removed = ([line[1:] for line in lines if line[:1] == sign] for sign in "+-")
    return DiffStat(len(added), len(removed), sum(map(len, added)), sum(map(len, removed)))


_SAVED = re.compile(r"saved to: ?(.+)")
_MATCH = re.compile(r"(?:(.+?):)?(\d+):(.*)")
_CONTEXT = re.compile(r"(?:(.+?)-)?(\d+)-(.*)")
_LISTED = re.compile(r"( *)- (.+)")
_NUMBERED = re.compile(r" *(\d{1,9})[→\t](.*)")
_OWN_FIELDS = ("originalFile", "content", "file", "stdout", "stderr", "structuredPatch", "prompt", "base64")
"""Keys of ``toolUseResult`` that have fields of their own in the detail; the others go into ``extra``."""


@dataclass(frozen=True, slots=True)
class _CallResult:
    """A call's arguments, the text that the model read, and the agent's own record (``toolUseResult``)."""

    args: Mapping[str, Any]
    text: str
    outcome: Mapping[str, Any]
    pictures: tuple[Media, ...]
    full: str


def detail_of(source: Source, call: Call, *, displays: bool = True) -> Detail:
    """Returns the detail of a call, without display and changes if not ``displays``.

    Raises ``TraceError`` if the records have changed since they were read.
    """
    record = mapping(source.record(call.ref))
    args = mapping(_call_block(call, record).get("input"))
    command, cwd = string(args.get("command")), string(record.get("cwd"))
    if call.result_ref == NOWHERE:
        return Detail(args=args, command=command, cwd=cwd)
    found = _result_of(source, call, args)
    outcome = found.outcome
    edited = displays and call.name in EDITS and call.status not in ERROR_STATUSES
    changed = changes(call.name, args, outcome) if edited else ()
    return Detail(
        args=args,
        result=found.text,
        display=_display(call, found, changed) if displays else "",
        command=command,
        cwd=cwd,
        stdout=string(outcome.get("stdout")),
        stderr=string(outcome.get("stderr")),
        changes=changed,
        media=found.pictures,
        full=found.full,
        truncated=len(string(outcome.get("stdout")) or found.text) if found.full else 0,
        extra={key: value for key, value in outcome.items() if key not in _OWN_FIELDS},
    )


def _result_of(source: Source, call: Call, args: Mapping[str, Any]) -> _CallResult:
    record = mapping(source.record(call.result_ref))
    result = _result_block(call, record)
    is_only_result = sum(one.get("type") == "tool_result" for one in mappings(_content(record))) == 1
    outcome = mapping(record.get("toolUseResult") or record.get("tool_use_result")) if is_only_result else {}
    text = text_of(result.get("content"))
    recorded = string(outcome.get("persistedOutputPath"))
    if not recorded and text.startswith("<persisted-output>") and (saved := _SAVED.search(text)):
        recorded = saved[1].strip()
    full = spilled_path(source, call.result_ref.file, recorded)
    return _CallResult(args, text, outcome, _media(call, result, outcome), full)


def _display(call: Call, found: _CallResult, changed: tuple[FileDiff, ...]) -> ToolResultDisplay:
    if call.op == "shell":
        return _command(call, found)
    if call.status in ERROR_STATUSES:
        return found.text
    if found.pictures and (not found.text or call.op == "read"):
        return found.pictures[0]
    build = _DISPLAYS.get(call.name)
    return diff_display(changed, found.text if build is None else build(found))


def _command(call: Call, found: _CallResult) -> CommandOutput:
    outcome = found.outcome
    streams = (string(outcome.get("stdout")), string(outcome.get("stderr")))
    output = found.text
    if "stdout" in outcome:
        output = "\n".join(stream.rstrip("\n") for stream in streams if stream)
    status = "in the background" if outcome.get("backgroundTaskId") else ""
    if outcome.get("interrupted") is True:
        status = "interrupted"
    display = command_output(output, call.exit_code, status=status, full_output=found.full)
    return replace(display, note=string(outcome.get("returnCodeInterpretation")))


def _read(found: _CallResult) -> ToolResultDisplay:
    path, file = string(found.args.get("file_path")), mapping(found.outcome.get("file"))
    if not isinstance(file.get("content"), str):
        return _numbered(path, found.text)
    start, total = integer_of(file.get("startLine")) or 1, integer_of(file.get("totalLines"))
    return file_text(string(file.get("filePath")) or path, file["content"], max(1, start), total)


def _numbered(path: str, text: str) -> ToolResultDisplay:
    """Parses the numbered lines that the model read of a file; returns any other text unchanged."""
    lines = text.split("\n\n<system-reminder>", 1)[0].rstrip("\n").split("\n")
    found = [*filter(None, map(_NUMBERED.fullmatch, lines))]
    if len(found) < len(lines):
        return text
    return FileText(path, int(found[0][1]), tuple(line[2] for line in found), int(found[-1][1]))


def _search(found: _CallResult) -> ToolResultDisplay:
    outcome = found.outcome
    if outcome.get("mode") == "files_with_matches" or ("mode" not in outcome and outcome.get("filenames")):
        return _files(found)
    if outcome.get("mode") != "content":
        return found.text
    path = string(found.args.get("path"))
    recorded = [line for line in string(outcome.get("content")).split("\n") if line not in {"", "--"}]
    hits = [*filter(None, (_match(line, path) for line in recorded))]
    return matches(hits, _truncation_note(outcome)) if len(hits) == len(recorded) else found.text


def _match(line: str, path: str) -> Match | None:
    """Parses a line of search output; None without a line number: the path's end is then unknown."""
    for pattern, context in ((_MATCH, False), (_CONTEXT, True)):
        found = pattern.fullmatch(line)
        if found and len(found[2]) < 10:
            return Match(found[1] or path, int(found[2]), found[3], context=context)
    return None


def _files(found: _CallResult) -> ToolResultDisplay:
    if not isinstance(found.outcome.get("filenames"), list):
        return found.text
    names = filter(None, map(string, items(found.outcome["filenames"])))
    entries = (Entry(name, folder=name.endswith("/")) for name in names)
    return listing(entries, _truncation_note(found.outcome))


def _truncation_note(outcome: Mapping[str, Any]) -> str:
    is_cut = outcome.get("truncated") is True or outcome.get("appliedLimit")
    return "The log does not contain all results." if is_cut else ""


def _tree(found: _CallResult) -> ToolResultDisplay:
    """Parses an indented list: two blanks more are a folder deeper; the first entry is the folder itself."""
    entries: list[Entry] = []
    above: list[str] = []
    for line in found.text.splitlines():
        if (listed := _LISTED.fullmatch(line)) is None:
            continue
        depth, name = len(listed[1]) // 2, listed[2]
        above[depth:] = [f"{name.rstrip('/')}/"]
        if depth:
            entries.append(Entry("".join(above[1:depth]) + name.rstrip("/"), folder=name.endswith("/")))
    return listing(entries) if entries else found.text


def _todos(found: _CallResult) -> ToolResultDisplay:
    return todo_list(mappings(found.outcome.get("newTodos") or found.args.get("todos")))


_DISPLAYS: dict[str, Callable[[_CallResult], ToolResultDisplay]] = {
    "Read": _read,
    "Grep": _search,
    "Glob": _files,
    "LS": _tree,
    "TodoWrite": _todos,
}


def _media(call: Call, result: Mapping[str, Any], outcome: Mapping[str, Any]) -> tuple[Media, ...]:
    path = call.paths[0] if call.paths else ""
    parts = [part for part in mappings(result.get("content")) if part.get("type") in ("image", "document")]
    sources = [mapping(part.get("source")) for part in parts]
    found = [(string(one.get("media_type")), string(one.get("data"))) for one in sources]
    file = mapping(outcome.get("file"))
    if not found and isinstance(file.get("base64"), str):
        found = [(string(file.get("type")) or "application/pdf", file["base64"])]
    return tuple(filter(None, (media(kind, data, path) for kind, data in found)))


def _content(record: Mapping[str, Any]) -> Any:
    progress = mapping(mapping(mapping(record.get("data")).get("message")).get("message"))
    return (mapping(record.get("message")) or progress).get("content")


def _call_block(call: Call, record: Mapping[str, Any]) -> Mapping[str, Any]:
    blocks = items(_content(record))
    if not call.native_id:
        number = integer_of(call.id.rpartition(".")[2])
        blocks = blocks[number : number + 1] if number is not None else ()
    return _block(blocks, "tool_use", "id", call)


def _result_block(call: Call, record: Mapping[str, Any]) -> Mapping[str, Any]:
    return _block(items(_content(record)), "tool_result", "tool_use_id", call)


def _block(blocks: Sequence[Any], kind: str, key: str, call: Call) -> Mapping[str, Any]:
    """Returns the block of this kind that belongs to the call. Raises ``TraceError`` where there is none."""
    for block in mappings(list(blocks)):
        if block.get("type") == kind and (block.get(key) or "") == call.native_id:
            return block
    what = "record" if kind == "tool_use" else "result"
    raise TraceError(
        f"The log has changed: the {what} of call {call.id} is not at its position. Load the log again."
    )
