"""Files by name."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Entry, Listing, ToolResult
from nbtools.core.tool import BaseToolInvocation, Icon, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace import hiding
from nbtools.workspace.halting import Halt, in_thread
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.searching import globs
from nbtools.workspace.searching.file_names import Found, files, newest_first, size_now
from nbtools.workspace.workspace import Workspace

_DAY = 86_400
_MANY = 2_000
"""Files from which on looking at their times is worth a thread, so that the event loop stays free."""


class GlobParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    pattern: str
    """Which files, as a path with `*`, `?`, `[a-z]`, `{one,two}` and `**` for folders at any depth: `**/*.py`, `src/*.{js,ts}`."""
    path: str = "."
    """The folder that the pattern starts in."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100
    """How many files to show at most."""
    offset: Annotated[int, Field(ge=0)] = 0
    """How many to skip: the `limit` of the page before, and so on."""
    order: Literal["changed", "recent", "path"] = "changed"
    """The file changed last first; so those of the last day and then the others by path; or all by path, quicker where there are many."""
    ignore_case: Annotated[bool, Field(json_schema_extra={"flag": "i"})] = False
    """Whether small and capital letters are the same."""
    hidden: bool = False
    """Whether to list files and folders whose name begins with a dot, too."""
    ignored: bool = False
    """Whether to list files that git ignores, too."""


@dataclass(frozen=True, slots=True)
class GlobData:
    """The files of the page, relative to the workspace; ``total`` counts all that fit.

    ``left_out`` counts those that would fit and that git ignores; where there is more than a page it is not counted and 0.  ``hidden``
    counts those that policy lets nobody read.
    """

    paths: tuple[str, ...]
    total: int
    left_out: int = 0
    hidden: int = 0


class GlobTool(BaseDeclarativeTool[GlobParams]):
    """Newest first, by time of change; files of the same time by path.  Ignored files and folders are left out, links are not followed.

    Names that begin with a dot are found when the pattern has such a name itself: ``.github/**``, ``**/.env*``.  A path that is there is
    found by its own name, whatever characters that has.
    """

    name = "glob"
    description = "Lists files whose path fits a glob pattern, the one changed last first; files that git ignores are left out."
    kind = Kind.SEARCH
    names_only = True
    icon = Icon.FILE_SEARCH
    parameters = GlobParams

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def validate_tool_param_values(self, params: GlobParams) -> str | None:
        if not params.pattern or "\0" in params.pattern:
            return "pattern is empty or has a NUL character in it. Give a glob like **/*.py."
        if params.pattern.startswith(("/", "~")) or ".." in params.pattern.split("/"):
            return f"pattern is relative to path and stays below it (given {params.pattern!r}). Name another folder with path."
        try:
            globs.compile_glob(params.pattern)
        except ValueError as error:
            return f"pattern: {error} (given {params.pattern!r})."
        return None

    def create_invocation(self, params: GlobParams) -> GlobInvocation:
        return GlobInvocation(self, params)


class GlobInvocation(BaseToolInvocation[GlobParams]):
    __slots__ = ("path", "start", "tool")

    def __init__(self, tool: GlobTool, params: GlobParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve(params.path)
        folder = "." if params.ignore_case else globs.literal_folder(params.pattern)
        self.start = params.path if folder == "." else folder if params.path == "." else f"{params.path}/{folder}"
        tool.workspace.resolve(self.start)

    def get_description(self) -> str:
        start = self.tool.workspace.relative(self.path)
        return shown(self.params.pattern) + ("" if start == "." else f" in {shown(start)}")

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        """Both the folder that is named and the one in it that the pattern begins with."""
        spellings = self.tool.workspace.spellings
        return PathTarget(tuple(dict.fromkeys((*spellings(self.params.path), *spellings(self.start)))))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        self.tool.workspace.still(self.params.path, self.path)
        self._demand_folder()
        there = await self._found(ignored=self.params.ignored)
        found = there.paths
        count = self.params.offset + self.params.limit
        first = await self._first(found, count)
        left_out = 0
        if len(found) <= count and not self.params.ignored:
            left_out = len((await self._found(ignored=True)).paths) - len(found)
        root = self.tool.workspace.root
        page = [Entry(path, size=size_now(root, path)) for path in first[self.params.offset :]]
        return self._result(page, len(found), max(left_out, 0), there.hidden)

    async def _first(self, found: list[str], count: int) -> list[str]:
        if self.params.order == "path":
            return heapq.nsmallest(count, found)
        since = time.time() - _DAY if self.params.order == "recent" else 0
        newest = partial(newest_first, self.tool.workspace.root, found, count, since=since)
        return await in_thread(newest) if len(found) > _MANY else newest(Halt())

    async def _found(self, *, ignored: bool) -> Found:
        params, workspace = self.params, self.tool.workspace
        return await files(
            workspace.root,
            workspace.relative(self.path),
            params.pattern,
            ignore_case=params.ignore_case,
            hidden=params.hidden,
            ignored=ignored,
            hiding=workspace.hiding,
        )

    def _demand_folder(self) -> None:
        if self.path.is_dir():
            return
        if self.path.exists():
            raise ToolFailure(
                ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY, f"{shown(self.params.path)} is a file. Give the folder that the pattern starts in."
            )
        raise ToolFailure(ErrorCode.SEARCH_PATH_NOT_FOUND, not_found(self.tool.workspace, self.params.path, "folder").message)

    def _result(self, page: list[Entry], total: int, left_out: int, hidden: int) -> ToolResult:
        ignored = f"git ignores {left_out:,} more; ignored=true lists them, too" if left_out else ""
        more = ". ".join(part for part in (self._more(len(page), total), ignored) if part)
        summary = f"{total:,} file{'' if total == 1 else 's'}" if total else "No files"
        names = "\n".join(entry.path for entry in page) or ("" if total else summary)
        text = "\n".join(part for part in (names, f"[{more}]" if more else "") if part)
        data = GlobData(tuple(entry.path for entry in page), total, left_out, hidden)
        by_policy = hiding.left_out(hidden, "file", "files")
        display = Listing(tuple(page), total, ". ".join(filter(None, (more, by_policy))))
        return ToolResult(text, display, summary=summary, data=data, notes=(f"[{by_policy}]",) if by_policy else ())

    def _more(self, count: int, total: int) -> str:
        offset = self.params.offset
        if offset and not count and total:
            return f"there is nothing at offset {offset:,}: {total:,} files fit"
        if count == total:
            return ""
        go_on = f"; offset={offset + count} shows the next" if offset + count < total else ""
        return f"{offset + 1:,}–{offset + count:,} of {total:,} files{go_on}"
