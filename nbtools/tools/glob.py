"""Files by name."""

from __future__ import annotations

import asyncio
import heapq
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Entry, Listing, ToolResult
from nbtools.core.tool import BaseToolInvocation, Icon, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace import globs, search
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.workspace import Workspace

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


@dataclass(frozen=True, slots=True)
class GlobData:
    """The files of the page, relative to the workspace; ``total`` counts all that fit."""

    paths: tuple[str, ...]
    total: int


class GlobTool(BaseDeclarativeTool[GlobParams]):
    """Newest first, by time of change; files of the same time by path.  Ignored files and folders are left out.

    Names that begin with a dot are found when the pattern has such a name itself: ``.github/**``, ``**/.env*``.
    """

    name = "glob"
    description = "Lists files whose path fits a glob pattern, the one changed last first; files that git ignores are left out."
    kind = Kind.SEARCH
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
    __slots__ = ("path", "tool")

    def __init__(self, tool: GlobTool, params: GlobParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve(params.path)

    def get_description(self) -> str:
        start = self.tool.workspace.relative(self.path)
        return shown(self.params.pattern) + ("" if start == "." else f" in {shown(start)}")

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(self.tool.workspace.spellings(self.params.path))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        self.path = self.tool.workspace.resolve(self.params.path)
        self._demand_folder()
        root = self.tool.workspace.root
        found = await search.files(root, self.tool.workspace.relative(self.path), self.params.pattern)
        count = self.params.offset + self.params.limit
        newest = await asyncio.to_thread(_newest, root, found, count) if len(found) > _MANY else _newest(root, found, count)
        return self._result(newest[self.params.offset :], len(found))

    def _demand_folder(self) -> None:
        if self.path.is_dir():
            return
        if self.path.exists():
            raise ToolFailure(
                ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY, f"{shown(self.params.path)} is a file. Give the folder that the pattern starts in."
            )
        raise ToolFailure(ErrorCode.SEARCH_PATH_NOT_FOUND, not_found(self.tool.workspace, self.params.path, "folder").message)

    def _result(self, page: list[Entry], total: int) -> ToolResult:
        more = self._more(len(page), total)
        summary = f"{total:,} file{'' if total == 1 else 's'}" if total else "No files"
        lines = [*(entry.path for entry in page), *([f"[{more}]"] if more else [])]
        data = GlobData(tuple(entry.path for entry in page), total)
        return ToolResult("\n".join(lines) or summary, Listing(tuple(page), total, more), summary=summary, data=data)

    def _more(self, count: int, total: int) -> str:
        offset = self.params.offset
        if offset and not count and total:
            return f"there is nothing at offset {offset:,}: {total:,} files fit"
        if count == total:
            return ""
        go_on = f"; offset={offset + count} shows the next" if offset + count < total else ""
        return f"{offset + 1:,}–{offset + count:,} of {total:,} files{go_on}"


def _newest(root: Path, paths: Iterable[str], count: int) -> list[Entry]:
    """The ``count`` newest; a file that has gone since it was found counts as the oldest."""
    timed = (_timed(root, path) for path in paths)
    return [Entry(path, size=size) for _, path, size in heapq.nsmallest(count, timed, key=lambda item: item[:2])]


def _timed(root: Path, path: str) -> tuple[int, str, int | None]:
    try:
        found = os.stat(f"{root}/{path}", follow_symlinks=False)  # noqa: PTH116 - a Path for each of 100,000 files costs more
    except OSError:
        return 0, path, None
    return -found.st_mtime_ns, path, found.st_size
