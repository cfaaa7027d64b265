"""Lines that match a pattern, in all files of a folder."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Entry, Listing, Match, Matches, ToolResult, ToolResultDisplay
from nbtools.core.tool import BaseToolInvocation, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace.halting import in_thread
from nbtools.workspace.hiding import NOT_SEARCHED
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.pulse import Pulse
from nbtools.workspace.searching import globs, search
from nbtools.workspace.searching.file_names import newest_first
from nbtools.workspace.workspace import Workspace

_QUIET = 0.3
"""Seconds that a search may take before it shows what it has."""
_BETWEEN = 0.25
_SEARCHING = "still searching"
_DEEPEST = 1_000_000


class GrepParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    pattern: str
    """A regular expression as ripgrep reads it."""
    path: str = "."
    """The folder or file to search."""
    glob: Annotated[str | None, Field(json_schema_extra={"flag": "g"})] = None
    """Only files whose name fits, like `*.py`, or whose path does, like `src/**/*.{ts,tsx}`."""
    type: Annotated[str | None, Field(json_schema_extra={"flag": "t"})] = None
    """Only files of this kind, like `py`, `js` or `md`."""
    mode: Literal["lines", "files", "count"] = "lines"
    """What to give: the matching lines, the files that have one, or how many each file has."""
    ignore_case: Annotated[bool, Field(json_schema_extra={"flag": "i"})] = False
    """Whether small and capital letters are the same."""
    fixed: Annotated[bool, Field(json_schema_extra={"flag": "F"})] = False
    """Whether the pattern is plain text."""
    word: Annotated[bool, Field(json_schema_extra={"flag": "w"})] = False
    """Whether only whole words match."""
    context: Annotated[Annotated[int, Field(ge=0, le=100)] | Literal["auto"], Field(json_schema_extra={"flag": "C"})] = 0
    """How many lines to show before and after each matching line; auto: 50 for a single one, 15 for two or three."""
    before: Annotated[int, Field(ge=0, le=100, json_schema_extra={"flag": "B"})] = 0
    """How many lines to show before each matching line."""
    after: Annotated[int, Field(ge=0, le=100, json_schema_extra={"flag": "A"})] = 0
    """How many lines to show after each matching line."""
    multiline: Annotated[bool, Field(json_schema_extra={"flag": "U"})] = False
    """Whether a match may go over several lines; a dot then stands for the end of a line, too."""
    exclude: str | None = None
    """Files or folders to leave out, like `*.min.js`, `vendor` or `src/**/test_*`."""
    hidden: bool = False
    """Whether to search files and folders whose name begins with a dot, too."""
    ignored: bool = False
    """Whether to search files that git ignores, too."""
    outputs: bool = False
    """Whether to search notebooks as they are saved, outputs and all; otherwise only the lines of the file that hold sources of cells."""
    order: Literal["path", "changed"] = "path"
    """Files by path, or the one changed last first."""
    per_file: Annotated[int | None, Field(ge=1)] = None
    """How many matching lines of one file to show at most; all of them count."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100
    """How many matching lines (or files) to show at most."""
    offset: Annotated[int, Field(ge=0, le=_DEEPEST)] = 0
    """How many to skip: the `limit` of the page before, and so on."""


@dataclass(frozen=True, slots=True)
class GrepData:
    """``counts``: every file with a match and its matching lines (one each with ``mode="files"``), in the order asked for.

    ``total`` adds them up; ``matches``: the page shown.
    """

    matches: tuple[Match, ...]
    counts: Mapping[str, int]
    total: int


class GrepTool(BaseDeclarativeTool[GrepParams]):
    """The order is always the same, so pages never overlap; totals are of the whole search, whatever is shown.

    With ``multiline`` each line of a match is a matching line.  Of a line of more than 500 characters the part around its first hit is
    shown, and how long it is.
    """

    name = "grep"
    description = "Finds lines that match a regular expression in the files of a folder; files that git ignores are left out."
    kind = Kind.SEARCH
    can_update_output = True
    parameters = GrepParams

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def validate_tool_param_values(self, params: GrepParams) -> str | None:
        if not params.pattern:
            return "pattern is empty. Give the text or regular expression to look for; glob lists files by name."
        for name in ("pattern", "glob", "type", "exclude"):
            if "\0" in (getattr(params, name) or ""):
                return f"{name} has a NUL character in it."
        return _wrong_glob("glob", params.glob) or _wrong_glob("exclude", params.exclude)

    def create_invocation(self, params: GrepParams) -> GrepInvocation:
        return GrepInvocation(self, params)


class GrepInvocation(BaseToolInvocation[GrepParams]):
    __slots__ = ("path", "query", "tool")

    def __init__(self, tool: GrepTool, params: GrepParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve_to_read(params.path)
        self.query = search.Query(**{field.name: getattr(params, field.name) for field in fields(search.Query)})

    def get_description(self) -> str:
        start = self.tool.workspace.relative(self.path)
        return shown(self.params.pattern) + ("" if start == "." else f" in {shown(start)}")

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(self.tool.workspace.spellings(self.params.path))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        self.tool.workspace.still(self.params.path, self.path)
        if not self.path.is_dir() and not self.path.is_file():
            failure = not_found(self.tool.workspace, self.params.path, "file or folder")
            raise ToolFailure(ErrorCode.SEARCH_PATH_NOT_FOUND, failure.message)
        counted = await self._counted(update_output)
        if self.params.order == "changed":
            counts = counted.counts
            paths = await in_thread(partial(newest_first, self._root, list(counts), len(counts)))
            counted = replace(counted, counts={path: counts[path] for path in paths})
        result = self._lines(counted, await self._page(counted.counts)) if self.params.mode == "lines" else self._files(counted)
        return _with_hidden(result) if self.tool.workspace.hiding else result

    async def _counted(self, update_output: UpdateOutput | None) -> search.Counted:
        preview = _Preview(self, update_output)
        start = self.tool.workspace.relative(self.path)
        try:
            return await search.count(
                self._root,
                start,
                self.query,
                names_only=self.params.mode == "files",
                progress=preview.progress,
                hiding=self.tool.workspace.hiding,
            )
        finally:
            await preview.end()

    @property
    def _root(self) -> Path:
        return self.tool.workspace.root

    async def _page(self, counts: Mapping[str, int]) -> list[Match]:
        params = self.params
        wanted = list(_wanted(_capped(counts, params.per_file), params.offset, params.limit))
        around = _fitting(sum(counts.values())) if params.context == "auto" else params.context
        return await search.lines(self._root, self.query, wanted, max(params.before, around), max(params.after, around))

    async def so_far(self, counts: dict[str, int], before: ToolResultDisplay | None) -> ToolResultDisplay:
        """What a search that goes on has found: true totals, and lines until the page is full once."""
        last = self.params.offset + self.params.limit
        if self.params.mode != "lines":
            first = heapq.nsmallest(last, counts)[self.params.offset :]
            return Listing(tuple(map(Entry, first)), len(counts), _SEARCHING)
        total = sum(counts.values())
        if isinstance(before, Matches) and before.total - self.params.offset >= self.params.limit:
            return replace(before, total=total, files=len(counts))
        first = heapq.nsmallest(last, counts)
        page = await self._page({path: counts[path] for path in first})
        return Matches(tuple(page), total, len(counts), _SEARCHING)

    def _lines(self, counted: search.Counted, page: list[Match]) -> ToolResult:
        total, count = sum(counted.counts.values()), len(counted.counts)
        taken = sum(not match.context for match in page)
        showable = sum(_capped(counted.counts, self.params.per_file).values())
        what = f"matching lines in {_files(count)}"
        if showable < total:
            what = f"lines to show of {total:,} {what}, at most {self.params.per_file} of each"
        more = _more(taken, showable, what, self.params, counted.unreadable, whole=showable == total)
        text = "\n\n".join(_group(path, found) for path, found in groupby(page, key=lambda match: match.path))
        summary = f"{total:,} match{'' if total == 1 else 'es'} in {_files(count)}" if total else "No matches"
        return ToolResult(
            _with_more(text, summary, more),
            Matches(tuple(page), total, count, more),
            summary=summary,
            data=GrepData(tuple(page), counted.counts, total),
        )

    def _files(self, counted: search.Counted) -> ToolResult:
        counting = self.params.mode == "count"
        total, count = sum(counted.counts.values()), len(counted.counts)
        page = _slice(counted.counts, self.params.offset, self.params.limit)
        more = _more(len(page), count, "files", self.params, counted.unreadable)
        text = "\n".join(f"{path}: {counted.counts[path]:,}" if counting else path for path in page)
        summary = "No matches" if not count else f"{total:,} in {_files(count)}" if counting else _files(count)
        display: ToolResultDisplay = Listing(tuple(map(Entry, page)), count, more)
        if counting:
            display = _with_more(text, summary, more)
        return ToolResult(_with_more(text, summary, more), display, summary=summary, data=GrepData((), counted.counts, total))


class _Preview:
    """Shows, while a search goes on, what it has found: after a while, then some four times a second."""

    def __init__(self, invocation: GrepInvocation, update_output: UpdateOutput | None) -> None:
        self._invocation = invocation
        self._update = update_output
        self._loop = asyncio.get_running_loop()
        self._pulse = Pulse(self._beat, _BETWEEN, first=_QUIET)
        self._counts: dict[str, int] = {}
        self._shown: ToolResultDisplay | None = None
        self._task: asyncio.Task[None] | None = None

    def progress(self, counts: dict[str, int]) -> None:
        self._counts = counts
        if self._update is not None:
            self._pulse.touch()

    def _beat(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._show())

    async def _show(self) -> None:
        with contextlib.suppress(ToolFailure):  # the search itself meets the same and tells it
            self._shown = await self._invocation.so_far(self._counts, self._shown)
            if self._update is not None:
                self._update(self._shown)

    async def end(self) -> None:
        self._pulse.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


def _with_hidden(result: ToolResult) -> ToolResult:
    """Says that some files may not be searched; how many of them match would be an answer about what is in them."""
    display = result.return_display
    if isinstance(display, Matches | Listing):
        display = replace(display, more=". ".join(filter(None, (display.more, NOT_SEARCHED))))
    else:
        display = f"{display}\n[{NOT_SEARCHED}]"
    return replace(result, return_display=display, notes=(f"[{NOT_SEARCHED}]",))


def _fitting(matches: int) -> int:
    """Lines around so many matches that leave nothing to ask again."""
    return {1: 50, 2: 15, 3: 15}.get(matches, 0)


def _wrong_glob(name: str, glob: str | None) -> str | None:
    try:
        globs.compile_glob(glob or "*")
    except ValueError as error:
        return f"{name}: {error} (given {glob!r})."
    return None


def _wanted(counts: Mapping[str, int], offset: int, limit: int) -> Iterator[tuple[str, int, int]]:
    """Of which files the page has lines: path, lines to skip, lines to take."""
    for path, count in counts.items():
        if limit <= 0:
            return
        if offset < count:
            take = min(count - offset, limit)
            yield path, offset, take
            limit -= take
        offset = max(0, offset - count)


def _slice(counts: Mapping[str, int], offset: int, limit: int) -> list[str]:
    return list(counts)[offset : offset + limit]


def _group(path: str, matches: Iterator[Match]) -> str:
    return "\n".join([path, *(f"{match.line}{'-' if match.context else ':'} {match.text}" for match in matches)])


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


def _capped(counts: Mapping[str, int], most: int | None) -> Mapping[str, int]:
    return counts if most is None else {path: min(count, most) for path, count in counts.items()}


def _more(shown_count: int, total: int, what: str, params: GrepParams, unreadable: tuple[str, ...], *, whole: bool = True) -> str:
    parts = []
    if params.offset and not shown_count and total:
        parts.append(f"there is nothing at offset {params.offset:,}: the search has {total:,} {what}")
    elif shown_count < total or not whole:
        first = params.offset + 1
        left = total - params.offset - shown_count
        go_on = f"; offset={params.offset + shown_count} shows the next, path, glob or type narrow it" if left > 0 else ""
        parts.append(f"{first:,}–{params.offset + shown_count:,} of {total:,} {what}{go_on}")
    if unreadable:
        names = "; ".join(unreadable[:3]) + ("; …" if len(unreadable) > 3 else "")
        parts.append(f"{_files(len(unreadable))} could not be read: {names}")
    return ". ".join(parts)


def _with_more(text: str, summary: str, more: str) -> str:
    return "\n".join([text or summary, *([f"[{more}]"] if more else [])])
