"""The `glob` tool: lists files whose path matches a pattern."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, SameCall, counted, in_brackets, joined, next_page
from nbtools.core.result import Entry, Listing, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Icon, Kind, PathTarget, UpdateOutput
from nbtools.tools.workspace_tool import PathInvocation, WorkspaceTool, searched_description
from nbtools.workspace.cancellation import CancellationFlag, run_in_thread
from nbtools.workspace.files import read_filter
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.paths import one_line, printable_path
from nbtools.workspace.search import globs
from nbtools.workspace.search.file_search import FileMatches, file_sizes, find_files, newest_first
from nbtools.workspace.search.project_ignore import ignore_filter

_DAY = 86_400
_MANY = 2_000
"""From this number of files on, their times are read in a thread, so that the event loop stays responsive."""


class GlobParams(ParameterModel):
    pattern: str
    """A path pattern with `*`, `?`, `[a-z]`, `{one,two}` and `**` for folders at any depth:
    `**/*.py`, `src/*.{js,ts}`.
    """
    path: str = "."
    """The folder that the pattern is relative to."""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Maximum number of files to return."""
    offset: Annotated[int, Field(ge=0)] = 0
    """How many files to skip, for the next page: the number already returned."""
    order: Literal["changed", "recent", "path"] = "changed"
    """changed: newest first; recent: files of the last day newest first, others by path;
    path: by path (fast for many files).
    """
    ignore_case: Annotated[bool, Field(json_schema_extra={"flag": "i"})] = False
    """Whether to ignore upper and lower case."""
    hidden: bool = False
    """Whether to include files and folders whose name begins with a dot."""
    ignored: bool = False
    """Whether to include files that git ignores."""
    agent_ignored: bool = False
    """Whether to include files that the project's ignore files for agents, such as .geminiignore,
    leave out.
    """
    exclude: tuple[str, ...] = ()
    """Names of folders below path to leave out, with their content: `node_modules`."""


@dataclass(frozen=True, slots=True)
class GlobData:
    """The files of the page, relative to the workspace; ``total`` counts all matches.

    ``left_out`` counts matches that are ignored; it is 0 (not counted) if there is more than one page.
    ``hidden`` counts matches that the policy does not allow to be read.
    """

    paths: tuple[str, ...]
    total: int
    left_out: int = 0
    hidden: int = 0


class GlobTool(WorkspaceTool[GlobParams]):
    """Lists files by path pattern, newest first; files of the same time by path.
    Ignored files are omitted, links are not followed.

    Names that begin with a dot match only if the pattern has such a name itself: ``.github/**``,
    ``**/.env*``.  The path of an existing file means that file, even if it contains special characters.
    """

    name = "glob"
    description = (
        "Lists files whose path matches a glob pattern, most recently changed first; files that git ignores"
        " are omitted."
    )
    kind = Kind.SEARCH
    names_only = True
    icon = Icon.FILE_SEARCH
    parameters = GlobParams
    examples = (
        Example("Finds all Python files, newest first.", {"pattern": "**/*.py"}),
        Example(
            "Finds notebooks in the workspace's folder, by name.", {"pattern": "*.ipynb", "order": "path"}
        ),
    )

    def validate_tool_param_values(self, params: GlobParams) -> str | None:
        if not params.pattern or "\0" in params.pattern:
            return Message.of(
                Parameter("pattern"), " is empty or contains a NUL character. Give a glob like **/*.py."
            )
        if params.pattern.startswith(("/", "~")) or ".." in params.pattern.split("/"):
            return Message.of(
                Parameter("pattern"),
                f" must be relative and stay below the folder that is searched (given {params.pattern!r}).",
                Advice(" Name another folder with ", Parameter("path"), "."),
            )
        if any("/" in name or "\0" in name for name in params.exclude):
            return Message.of(Parameter("exclude"), ": give the names of folders, without a slash.")
        try:
            globs.compile_glob(params.pattern)
        except ValueError as error:
            return Message.of(Parameter("pattern"), f": {error} (given {params.pattern!r}).")
        return None

    def create_invocation(self, params: GlobParams) -> GlobInvocation:
        return GlobInvocation(self, params)


class GlobInvocation(PathInvocation[GlobParams, GlobTool]):
    __slots__ = ("start",)

    def __init__(self, tool: GlobTool, params: GlobParams) -> None:
        super().__init__(tool, params)
        folder = "." if params.ignore_case else globs.literal_folder(params.pattern)
        self.start = folder if params.path == "." else f"{params.path}/{folder}"
        if folder == ".":
            self.start = params.path
        tool.workspace.resolve(self.start)

    def get_description(self) -> str:
        return searched_description(self.params.pattern, self.relative())

    def target(self) -> PathTarget:
        """Returns the folder in ``path`` and the folder that the pattern begins with."""
        spellings = self.tool.workspace.spellings
        return PathTarget(tuple(dict.fromkeys((*spellings(self.params.path), *spellings(self.start)))))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        self.tool.workspace.recheck(self.params.path, self.path)
        self._check_folder()
        matches = await self._find(git=not self.params.ignored, agent=not self.params.agent_ignored)
        found = matches.paths
        count = self.params.offset + self.params.limit
        first = await self._first(found, count)
        left_out = 0
        if len(found) <= count and not (self.params.ignored and self.params.agent_ignored):
            left_out = len((await self._find(git=False, agent=False)).paths) - len(found)
        root = self.tool.workspace.root
        shown = first[self.params.offset :]
        page = [Entry(path, size=size) for path, size in zip(shown, file_sizes(root, shown), strict=True)]
        return self._result(page, len(found), max(left_out, 0), matches.hidden)

    async def _first(self, found: list[str], count: int) -> list[str]:
        if self.params.order == "path":
            return heapq.nsmallest(count, found)
        since = time.time() - _DAY if self.params.order == "recent" else 0
        newest = partial(newest_first, self.tool.workspace.root, found, count, since=since)
        return await run_in_thread(newest) if len(found) > _MANY else newest(CancellationFlag())

    async def _find(self, *, git: bool, agent: bool) -> FileMatches:
        params, workspace = self.params, self.tool.workspace
        return await find_files(
            workspace.root,
            workspace.relative(self.path),
            params.pattern,
            ignore_case=params.ignore_case,
            hidden=params.hidden,
            ignored=not git,
            exclude=params.exclude,
            hiding=workspace.read_filter,
            ignoring=ignore_filter(workspace, git=git, agent=agent),
        )

    def _check_folder(self) -> None:
        if self.path.is_dir():
            return
        if self.path.exists():
            raise ToolFailure(
                ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY,
                Message.of(
                    f"{printable_path(self.params.path)} is a file. Give the folder to which ",
                    Parameter("pattern"),
                    " is relative.",
                ),
            )
        raise ToolFailure(
            ErrorCode.SEARCH_PATH_NOT_FOUND,
            path_not_found(self.tool.workspace, self.params.path, "folder").message,
        )

    def _result(self, page: list[Entry], total: int, left_out: int, hidden: int) -> ToolResult:
        by_agent = bool(self.tool.workspace.ignore_files) and not self.params.agent_ignored
        include = Advice("; the call ", SameCall({"ignored": True}), " includes them")
        reason = Message.of(f"git ignores {left_out:,} more", include)
        if by_agent:
            reason = Message.of(f"{left_out:,} more are ignored")
        deeper = "" if total or left_out else self._in_all_folders()
        more = joined(". ", filter(None, (self._more(len(page), total), reason if left_out else "")))
        summary = counted(total, "file") if total else "No files"
        names = "\n".join(one_line(entry.path) for entry in page) or ("" if total else summary)
        text = joined("\n", filter(None, (names, in_brackets(more))))
        data = GlobData(tuple(entry.path for entry in page), total, left_out, hidden)
        by_policy = read_filter.hidden_count_note(hidden, "file", "files")
        display = Listing(tuple(page), total, joined(". ", filter(None, (more, deeper, by_policy))))
        notes = tuple(in_brackets(note) for note in (deeper, by_policy) if note)
        return ToolResult(text, display, summary=summary, data=data, notes=notes)

    def _in_all_folders(self) -> Message | str:
        """Returns the advice to search all folders, for a pattern that looks only into one."""
        folder, _, name = self.params.pattern.rpartition("/")
        if "**" in self.params.pattern or not name or not globs.has_wildcard(name):
            return ""
        deeper = f"{folder}/**/{name}" if folder else f"**/{name}"
        looks = Message.of(Parameter("pattern"), " looks only into one folder")
        return Message.of(
            looks, Advice("; the call ", SameCall({"pattern": deeper}), " searches those below it, too")
        )

    def _more(self, count: int, total: int) -> str:
        offset = self.params.offset
        if offset and not count and total:
            return f"no files at offset {offset:,}: {total:,} files match"
        if count == total:
            return ""
        return Message.of(
            f"{offset + 1:,}–{offset + count:,} of {total:,} files", *next_page(offset + count, total)
        )
