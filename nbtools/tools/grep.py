"""The `grep` tool: finds lines that match a pattern in the files of a folder."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, ToolName, counted, in_brackets, joined, next_page
from nbtools.core.result import CellPlace, Entry, Listing, Match, Matches, ToolResult, ToolResultDisplay
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Kind, UpdateOutput
from nbtools.tools.workspace_tool import PathReadInvocation, WorkspaceTool, searched_description
from nbtools.workspace.cancellation import run_in_thread
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.files.read_filter import NOT_SEARCHED
from nbtools.workspace.paths import one_line
from nbtools.workspace.search import globs, notebook_search, text_search
from nbtools.workspace.search.file_search import newest_first
from nbtools.workspace.search.project_ignore import ignore_filter
from nbtools.workspace.throttle import Throttle

_QUIET = 0.3
"""Seconds before a running search displays its first results."""
_BETWEEN = 0.25
_SEARCHING = "still searching"
_DEEPEST = 1_000_000


class GrepParams(ParameterModel):
    pattern: str
    """A regular expression in ripgrep's syntax."""
    path: str = "."
    """The folder or file to search."""
    glob: Annotated[str | None, Field(json_schema_extra={"flag": "g"})] = None
    """Only files whose name matches, like `*.py`, or whose path matches, like `src/**/*.{ts,tsx}`."""
    type: Annotated[str | None, Field(json_schema_extra={"flag": "t"})] = None
    """Only files of this ripgrep type, like `py`, `js` or `md`."""
    mode: Literal["lines", "files", "count"] = "lines"
    """What to return: the matching lines, the files with a match,
    or the number of matching lines in each file.
    """
    ignore_case: Annotated[bool, Field(json_schema_extra={"flag": "i"})] = False
    """Whether to ignore upper and lower case."""
    fixed: Annotated[bool, Field(json_schema_extra={"flag": "F"})] = False
    """Whether the pattern is literal text."""
    word: Annotated[bool, Field(json_schema_extra={"flag": "w"})] = False
    """Whether only whole words match."""
    context: Annotated[
        Annotated[int, Field(ge=0, le=100)] | Literal["auto"], Field(json_schema_extra={"flag": "C"})
    ] = 0
    """How many lines to show before and after each matching line;
    auto: 50 for one match, 15 for two or three, else none.
    """
    before: Annotated[int, Field(ge=0, le=100, json_schema_extra={"flag": "B"})] = 0
    """How many lines to show before each matching line."""
    after: Annotated[int, Field(ge=0, le=100, json_schema_extra={"flag": "A"})] = 0
    """How many lines to show after each matching line."""
    multiline: Annotated[bool, Field(json_schema_extra={"flag": "U"})] = False
    """Whether a match may span several lines; a dot then also matches line endings."""
    exclude: str | None = None
    """Files or folders to exclude, like `*.min.js`, `vendor` or `src/**/test_*`."""
    hidden: bool = False
    """Whether to include files and folders whose name begins with a dot."""
    ignored: bool = False
    """Whether to include files that git ignores."""
    agent_ignored: bool = False
    """Whether to include files that the project's ignore files for agents, such as .geminiignore,
    leave out.
    """
    outputs: bool = False
    """Whether to search the outputs of notebook cells, too, as text;
    otherwise only the sources of cells are searched.
    """
    order: Literal["path", "changed"] = "path"
    """Order of the files: by path, notebooks last, or most recently changed first."""
    per_file: Annotated[int | None, Field(ge=1)] = None
    """Maximum number of matching lines to return from one file; totals count all of them."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Maximum number of matching lines (or files) to return."""
    offset: Annotated[int, Field(ge=0, le=_DEEPEST)] = 0
    """How many matching lines (or files) to skip, for the next page: the number already returned."""


@dataclass(frozen=True, slots=True)
class GrepData:
    """The result of a search.

    ``start`` is the searched folder or file.  ``counts``: the number of matching lines of each file with a
    match (1 with ``mode="files"``), in the requested order; ``total`` is their sum.  ``matches``: the lines
    of the page.
    """

    matches: tuple[Match, ...]
    counts: Mapping[str, int]
    total: int
    start: str = "."


class GrepTool(WorkspaceTool[GrepParams]):
    """Finds lines by pattern.  The order is deterministic, so pages never overlap;
    totals always count the whole search.

    Notebooks are searched as cells: a match has its cell, lines count within it, and context does not go
    beyond it.  With ``multiline`` each line of a match is a matching line.  A line of more than 500
    characters is cut to the part around its first match, with a note on its length.
    """

    name = "grep"
    description = (
        "Finds lines that match a regular expression in the files of a folder; files that git ignores are"
        " omitted."
    )
    kind = Kind.SEARCH
    can_update_output = True
    parameters = GrepParams
    examples = (
        Example("Finds TODO in any case below src.", {"pattern": "todo", "path": "src", "ignore_case": True}),
        Example(
            "Shows where functions begin in Python files, with two lines after each.",
            {"pattern": "^def ", "type": "py", "after": 2},
        ),
    )

    def validate_tool_param_values(self, params: GrepParams) -> str | None:
        if not params.pattern:
            by_name = Advice("; to list files by name use ", ToolName("glob"))
            empty = " is empty. Give the text or regular expression to search for"
            return Message.of(Parameter("pattern"), empty, by_name, ".")
        for name in ("pattern", "glob", "type", "exclude"):
            if "\0" in (getattr(params, name) or ""):
                return Message.of(Parameter(name), " contains a NUL character. Remove it.")
        return _glob_problem("glob", params.glob) or _glob_problem("exclude", params.exclude)

    def create_invocation(self, params: GrepParams) -> GrepInvocation:
        return GrepInvocation(self, params)


class GrepInvocation(PathReadInvocation[GrepParams, GrepTool]):
    __slots__ = ("query",)

    def __init__(self, tool: GrepTool, params: GrepParams) -> None:
        super().__init__(tool, params)
        names = (field.name for field in fields(text_search.Query) if field.name != "cells")
        self.query = text_search.Query(**{name: getattr(params, name) for name in names}, cells=True)

    def get_description(self) -> str:
        return searched_description(self.params.pattern, self.relative())

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        self.tool.workspace.recheck(self.params.path, self.path)
        if not self.path.is_dir() and not self.path.is_file():
            failure = path_not_found(self.tool.workspace, self.params.path, "file or folder")
            raise ToolFailure(ErrorCode.SEARCH_PATH_NOT_FOUND, failure.message)
        self.query = text_search.with_literal_names(self.query, self._root, self.relative())
        found = await self._count(update_output)
        if self.params.order == "changed":
            counts = found.counts
            paths = await run_in_thread(partial(newest_first, self._root, list(counts), len(counts)))
            found = replace(found, counts={path: counts[path] for path in paths})
        if self.params.mode == "lines":
            result = self._lines(found, await self._page(found.counts))
        else:
            result = self._files(found)
        return _with_hidden(result) if self.tool.workspace.read_filter else result

    async def _count(self, update_output: UpdateOutput | None) -> text_search.MatchCounts:
        preview = _Preview(self, update_output)
        ignoring = ignore_filter(
            self.tool.workspace, git=not self.params.ignored, agent=not self.params.agent_ignored
        )

        names_only, hiding = self.params.mode == "files", self.tool.workspace.read_filter
        # ripgrep would search the JSON of notebooks: they are found meanwhile, and their cells searched here.
        listing = asyncio.create_task(
            notebook_search.find_notebooks(self._root, self.relative(), self.query, hiding, ignoring)
        )
        try:
            found = await text_search.count_matches(
                self._root,
                self.relative(),
                self.query,
                names_only=names_only,
                progress=partial(preview.progress, {}),
                hiding=hiding,
                ignoring=ignoring,
            )
            notebooks = await listing
            progress = partial(preview.progress, found.counts)
            cells = await notebook_search.count_matches(
                self._root, notebooks, self.query, names_only=names_only, progress=progress
            )
            unreadable = dict.fromkeys((*found.unreadable, *cells.unreadable))
            return text_search.MatchCounts(found.counts | cells.counts, tuple(unreadable))
        finally:
            listing.cancel()
            await asyncio.wait([listing])
            await preview.end()

    @property
    def _root(self) -> Path:
        return self.tool.workspace.root

    async def _page(self, counts: Mapping[str, int]) -> list[Match]:
        params = self.params
        ranges = list(_page_ranges(_capped(counts, params.per_file), params.offset, params.limit))
        context = params.context
        if context == "auto":
            context = {1: 50, 2: 15, 3: 15}.get(sum(counts.values()), 0)
        around = max(params.before, context), max(params.after, context)
        pages: dict[str, list[Match]] = {}
        searches = ((text_search.matching_lines, False), (notebook_search.matching_lines, True))
        for lines, of_notebooks in searches:
            wanted = [one for one in ranges if one[0].endswith(text_search.NOTEBOOK) == of_notebooks]
            for match in await lines(self._root, self.query, wanted, *around) if wanted else ():
                pages.setdefault(match.path, []).append(match)
        return [match for path, _, _ in ranges for match in pages.get(path, ())]

    async def so_far(self, counts: Mapping[str, int], before: ToolResultDisplay | None) -> ToolResultDisplay:
        """Returns the display of a running search:
        exact totals so far, and lines until the page is first full.
        """
        last = self.params.offset + self.params.limit
        if self.params.mode != "lines":
            first = heapq.nsmallest(last, counts, key=_by_path)[self.params.offset :]
            return Listing(tuple(map(Entry, first)), len(counts), _SEARCHING)
        total = sum(counts.values())
        if isinstance(before, Matches) and before.total - self.params.offset >= self.params.limit:
            return replace(before, total=total, files=len(counts))
        first = heapq.nsmallest(last, counts, key=_by_path)
        page = await self._page({path: counts[path] for path in first})
        return Matches(tuple(page), total, len(counts), _SEARCHING)

    def _lines(self, found: text_search.MatchCounts, page: list[Match]) -> ToolResult:
        total, count = sum(found.counts.values()), len(found.counts)
        taken = sum(not match.context for match in page)
        showable = sum(_capped(found.counts, self.params.per_file).values())
        noun = f"matching lines in {_files(count)}"
        if showable < total:
            noun = f"lines (at most {self.params.per_file} per file; {total:,} {noun})"
        missing = max(min(self.params.limit, showable - self.params.offset) - taken, 0)
        more = _more(taken + missing, showable, noun, self.params, found.unreadable, whole=showable == total)
        if missing:
            # The next page begins after them, or it would never come.
            changed = f"{missing:,} of them cannot be shown: their files have changed since they were counted"
            more = joined(". ", filter(None, (more, changed)))
        text = "\n\n".join(
            _group(*place, lines)
            for place, lines in groupby(page, key=lambda match: (match.path, match.cell))
        )
        summary = f"{counted(total, 'match', 'matches')} in {_files(count)}" if total else "No matches"
        return ToolResult(
            _with_more(text, summary, more),
            Matches(tuple(page), total, count, more),
            summary=summary,
            data=GrepData(tuple(page), found.counts, total, self.relative()),
        )

    def _files(self, found: text_search.MatchCounts) -> ToolResult:
        counting = self.params.mode == "count"
        total, count = sum(found.counts.values()), len(found.counts)
        page = list(found.counts)[self.params.offset :][: self.params.limit]
        more = _more(len(page), count, "files", self.params, found.unreadable)
        text = "\n".join(
            f"{one_line(path)}: {found.counts[path]:,}" if counting else one_line(path) for path in page
        )
        summary = _files(count) if count else "No matches"
        display: ToolResultDisplay = Listing(tuple(map(Entry, page)), count, more)
        if counting:
            summary = f"{total:,} in {_files(count)}" if count else summary
            display = _with_more(text, summary, more)
        return ToolResult(
            _with_more(text, summary, more),
            display,
            summary=summary,
            data=GrepData((), found.counts, total, self.relative()),
        )


class _Preview:
    """Displays the results of a running search:
    first after ``_QUIET`` seconds, then about four times a second.
    """

    def __init__(self, invocation: GrepInvocation, update_output: UpdateOutput | None) -> None:
        self._invocation = invocation
        self._update = update_output
        self._loop = asyncio.get_running_loop()
        self._pulse = Throttle(self._beat, _BETWEEN, first=_QUIET)
        self._counts: Mapping[str, int] = {}
        self._last_display: ToolResultDisplay | None = None
        self._task: asyncio.Task[None] | None = None

    def progress(self, before: dict[str, int], counts: dict[str, int]) -> None:
        """Takes the counts of a running search, and those of the search ``before`` it."""
        self._counts = ChainMap(counts, before)
        if self._update is not None:
            self._pulse.trigger()

    def _beat(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._show())

    async def _show(self) -> None:
        with contextlib.suppress(ToolFailure):  # the search itself raises the same failure
            self._last_display = await self._invocation.so_far(self._counts, self._last_display)
            if self._update is not None:
                self._update(self._last_display)

    async def end(self) -> None:
        self._pulse.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


def _with_hidden(result: ToolResult) -> ToolResult:
    """Adds a note that some files may not be searched.
    It gives no number, which would reveal what they contain.
    """
    display = result.return_display
    if isinstance(display, Matches | Listing):
        display = replace(display, more=joined(". ", filter(None, (display.more, NOT_SEARCHED))))
    else:
        display = joined("\n", (str(display), f"[{NOT_SEARCHED}]"))
    return replace(result, return_display=display, notes=(f"[{NOT_SEARCHED}]",))


def _glob_problem(name: str, glob: str | None) -> str | None:
    try:
        globs.compile_glob(glob or "*")
    except ValueError as error:
        return Message.of(Parameter(name), f": {error} (given {glob!r}).")
    return None


def _page_ranges(counts: Mapping[str, int], offset: int, limit: int) -> Iterator[tuple[str, int, int]]:
    """Yields the files with lines on the page: path, lines to skip, lines to take."""
    for path, count in counts.items():
        if limit <= 0:
            return
        if offset < count:
            take = min(count - offset, limit)
            yield path, offset, take
            limit -= take
        offset = max(0, offset - count)


def _by_path(path: str) -> tuple[bool, str]:
    """The order of files: notebooks last."""
    return path.endswith(text_search.NOTEBOOK), path


def _group(path: str, cell: CellPlace | None, matches: Iterator[Match]) -> str:
    head = one_line(path)
    if cell is not None:
        head += f" {cell}" if cell.id == f"#{cell.number}" else f" {cell} (id {cell.id})"
    return "\n".join(
        [head, *(f"{match.line}{'-' if match.context else ':'} {match.text}" for match in matches)]
    )


def _files(count: int) -> str:
    return counted(count, "file")


def _capped(counts: Mapping[str, int], most: int | None) -> Mapping[str, int]:
    return counts if most is None else {path: min(count, most) for path, count in counts.items()}


def _more(
    count: int, total: int, noun: str, params: GrepParams, unreadable: tuple[str, ...], *, whole: bool = True
) -> str:
    parts = []
    if params.offset and not count and total:
        parts.append(f"no results at offset {params.offset:,}: the search has {total:,} {noun}")
    elif count < total or not whole:
        first = params.offset + 1
        left = total - params.offset - count
        narrower = "; a narrower search shows the rest" if left > 0 else ""
        page = f"{first:,}–{params.offset + count:,} of {total:,} {noun}"
        parts.append(
            Message.of(page, *next_page(params.offset + count, params.offset + count + left), narrower)
        )
    if unreadable:
        names = "; ".join(unreadable[:3]) + ("; …" if len(unreadable) > 3 else "")
        parts.append(f"{_files(len(unreadable))} could not be read: {names}")
    return joined(". ", parts)


def _with_more(text: str, summary: str, more: str) -> str:
    return joined("\n", filter(None, (text or summary, in_brackets(more))))
