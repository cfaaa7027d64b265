"""Compares two results of a call as texts, ignoring volatile parts such as times and temporary paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from nbtools.core.result import (
    CommandOutput,
    FileDiff,
    FileDiffs,
    FileText,
    Listing,
    LlmContent,
    Matches,
    ToolResultDisplay,
)
from nbtools.core.terminal_text import plain_text
from nbtools.diff.text_lines import split_lines
from nbtools.traces.json_access import text_of

_VOLATILE: dict[str, str] = {
    "time": (
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|"
        r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w* \w{3} +\d{1,2} \d\d:\d\d:\d\d(?: \w+)?(?: \d{4})?|"
        r"\b\w{3} +\d{1,2} +\d\d:\d\d\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    ),
    "duration": r"(?<![\w.])\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds|m\d+(?:\.\d+)?s)\b",
    "temporary path": r"(?:/private)?(?:/tmp|/var/folders|/var/tmp)/[\w.\-/+]+",
    "address": r"\b0x[0-9a-f]{6,16}\b",
}
_ANY = re.compile("|".join(f"(?P<g{number}>{pattern})" for number, pattern in enumerate(_VOLATILE.values())))
_TABS = re.compile(r"^([+-])([ \t]+)")
_MOST = 20


def comparable_text(display: ToolResultDisplay, content: str, folders: Iterable[str]) -> str:
    """Returns the text of a result to compare.
    Paths below ``folders``, the names of the session's folder, become relative.

    For a diff these are its removed and added lines, for a listing its sorted names,
    for a command its output without colours.
    """
    match display:
        case CommandOutput(text=text):
            return "".join(f"{line.rstrip()}\n" for line in plain_text(text).strip("\n").splitlines())
        case FileDiff() | FileDiffs():
            files = display.files if isinstance(display, FileDiffs) else (display,)
            return "".join(sorted(_changed(one, folders) for one in files))
        case FileText(lines=lines):
            return "".join(f"{line}\n" for line in lines)
        case Listing(entries=entries):
            return "".join(
                f"{name}\n" for name in sorted(_relative(entry.path, folders) for entry in entries)
            )
        case Matches(matches=matches):
            found = (
                f"{_relative(one.path, folders)}:{one.line}:{one.text}\n"
                for one in matches
                if not one.context
            )
            return "".join(sorted(found))
    return f"{content.rstrip()}\n" if content.strip() else ""


def same_changes(recorded: str, new: str) -> tuple[bool, tuple[str, ...]]:
    """Returns whether two diffs make the same changes, and which harmless differences they have.

    Diffs may attribute a change to different ones of equal lines.
    Claude Code's patches replace each leading tab by two spaces.
    """
    old, now = (sorted(text.splitlines()) for text in (recorded, new))
    if old == now:
        return True, () if recorded == new else ("the order of equal lines",)
    with_spaces = [sorted(_TABS.sub(_tabs_to_spaces, line) for line in lines) for lines in (old, now)]
    return with_spaces[0] == with_spaces[1], ("tabs recorded as spaces",)


def _tabs_to_spaces(found: re.Match[str]) -> str:
    return found[1] + found[2].replace("\t", "  ")


def content_text(content: LlmContent) -> str:
    return content if isinstance(content, str) else text_of(list(content))


def _changed(diff: FileDiff, folders: Iterable[str]) -> str:
    lines = (line for line in split_lines(_hunks(diff.file_diff)) if line[:1] in {"+", "-"})
    return f"{_relative(diff.file_name, folders)}\n" + "".join(
        line if line.endswith("\n") else f"{line}\n" for line in lines
    )


def _hunks(patch: str) -> str:
    first = re.search(r"^@@ ", patch, re.MULTILINE)
    return patch[first.start() :] if first else ""


def _relative(path: str, folders: Iterable[str]) -> str:
    for folder in folders:
        if folder and path.startswith(f"{folder.rstrip('/')}/"):
            return path.removeprefix(f"{folder.rstrip('/')}/")
    return path.removeprefix("./")


def normalize(text: str) -> str:
    """Returns the text with each volatile part replaced by its kind."""
    return _ANY.sub(lambda found: f"«{_kind(found)}»", text)


def volatile_differences(recorded: str, new: str) -> tuple[str, ...]:
    """Returns the volatile parts that differ, such as ``duration: 0.12s → 0.34s``:
    the first 20, and the number of others.
    """
    differences = list(dict.fromkeys(_pairs(recorded, new)))
    return (
        *differences[:_MOST],
        *([f"and {len(differences) - _MOST} more"] if len(differences) > _MOST else []),
    )


def _pairs(recorded: str, new: str) -> Iterator[str]:
    for old, now in zip_longest(_ANY.finditer(recorded), _ANY.finditer(new)):
        if old is None or now is None:
            return
        if old[0] != now[0]:
            yield f"{_kind(old)}: {old[0]} → {now[0]}"


def _kind(found: re.Match[str]) -> str:
    return list(_VOLATILE)[int((found.lastgroup or "g0")[1:])]
