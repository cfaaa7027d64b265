"""Files before and after an edit: by the recorded patch, with whole texts only where the log has them.

In recorded patches each tab that a line begins with is two blanks.  Where the log has the file and what was replaced in it, the true lines
are put in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nbtools.core.result import DiffStat, FileDiff
from nbtools.traces.loose import items, mapping, mappings, string, whole
from nbtools.traces.shown import edited
from nbtools.workspace.diff import PatchHunk, unified_of

_TABS = re.compile(r"^\t+", re.MULTILINE)


def changes(name: str, args: Mapping[str, Any], outcome: Mapping[str, Any]) -> tuple[FileDiff, ...]:
    path = string(outcome.get("filePath")) or string(args.get("file_path")) or string(args.get("notebook_path"))
    hunks = _hunks(outcome.get("structuredPatch"))
    if hunks:
        return (_patched(path, hunks, args, outcome),)
    found = _of_arguments(name, path, args, outcome)
    return tuple(one for one in found if one is not None)


def _of_arguments(name: str, path: str, args: Mapping[str, Any], outcome: Mapping[str, Any]) -> Sequence[FileDiff | None]:
    if name == "Write":
        before = outcome.get("originalFile")
        return (edited(path, before if isinstance(before, str) else None, outcome.get("content", args.get("content"))),)
    if name == "NotebookEdit":
        return (edited(path, string(outcome.get("old_source")) or None, outcome.get("new_source", args.get("new_source"))),)
    parts = mappings(args.get("edits")) if name == "MultiEdit" else [args]
    return [edited(path, string(part.get("old_string")) or None, part.get("new_string")) for part in parts]


def _patched(path: str, hunks: Sequence[PatchHunk], args: Mapping[str, Any], outcome: Mapping[str, Any]) -> FileDiff:
    """Without ``originalFile`` the texts are what the patch shows of them."""
    original, content = outcome.get("originalFile"), outcome.get("content")
    if not isinstance(original, str):
        return FileDiff(unified_of(path, hunks), path, _side(hunks, "-"), _side(hunks, "+"), _stat(hunks))
    applied = _applied(original, hunks)
    new = content if isinstance(content, str) else _replaced(original, args, outcome)
    if new is None or _blank(new) != _blank(applied):
        new = content if isinstance(content, str) else applied
    else:
        hunks = _restored(hunks, original.split("\n"), new.split("\n"))
    return FileDiff(unified_of(path, hunks), path, original, new, _stat(hunks))


def _replaced(original: str, args: Mapping[str, Any], outcome: Mapping[str, Any]) -> str | None:
    """The file with what the edit says put in place of what it says was there; None where that is not there."""
    edits = mappings(outcome.get("edits") or args.get("edits")) or [{**args, **outcome}]
    text = original
    for edit in edits:
        old, new = (edit.get(camel, edit.get(snake)) for camel, snake in (("oldString", "old_string"), ("newString", "new_string")))
        if not isinstance(old, str) or not isinstance(new, str) or not old or old not in text:
            return None
        text = text.replace(old, new, -1 if edit.get("replaceAll", edit.get("replace_all")) is True else 1)
    return text


def _blank(text: str) -> str:
    """With its tabs as a recorded patch has them."""
    return _TABS.sub(lambda tabs: "  " * len(tabs[0]), text)


def _restored(hunks: Sequence[PatchHunk], old: Sequence[str], new: Sequence[str]) -> Sequence[PatchHunk]:
    """The hunks with the lines of the files; as they are where those are others."""
    try:
        found = [replace(hunk, lines=tuple(_true(hunk, old, new))) for hunk in hunks]
    except IndexError:
        return hunks
    same = all(
        _blank(ours[1:]) == theirs[1:] for a, b in zip(found, hunks, strict=True) for ours, theirs in zip(a.lines, b.lines, strict=True)
    )
    return found if same else hunks


def _true(hunk: PatchHunk, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
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
    found = [_hunk(one) for one in map(mapping, items(recorded))]
    return tuple(hunk for hunk in found if hunk.lines)


def _hunk(one: Mapping[str, Any]) -> PatchHunk:
    lines = tuple(line for line in items(one.get("lines")) if isinstance(line, str))
    old, new = (whole(one.get(key)) or 0 for key in ("oldStart", "newStart"))
    signs = [line[:1] for line in lines]
    same = sum(sign not in ("+", "-", "\\") for sign in signs)
    return PatchHunk(old, same + signs.count("-"), new, same + signs.count("+"), lines)


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
    added, removed = ([line[1:] for hunk in hunks for line in hunk.lines if line[:1] == sign] for sign in "+-")
    return DiffStat(len(added), len(removed), sum(map(len, added)), sum(map(len, removed)))
