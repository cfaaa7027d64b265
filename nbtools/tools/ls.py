"""What is in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.result import Entry, Listing, ToolResult
from nbtools.core.tool import BaseToolInvocation, Icon, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace import hiding
from nbtools.workspace.folders import list_folder
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.searching import globs
from nbtools.workspace.searching.ignores import Ignores
from nbtools.workspace.workspace import Workspace


class LsParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str = "."
    """The folder to list."""
    ignore: tuple[str, ...] = ()
    """Names to leave out, as globs: `*.pyc`, `node_modules`."""
    ignored: bool = True
    """Whether to list what git ignores, too."""
    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """How many entries to list at most."""
    offset: Annotated[int, Field(ge=0)] = 0
    """How many to skip: the `limit` of the page before, and so on."""


@dataclass(frozen=True, slots=True)
class FolderListed:
    """How many folders and files are directly in ``path``, without the ``left_out`` that git or the call ignores.

    ``hidden`` counts those that policy lets nobody read.
    """

    path: str
    folders: int
    files: int
    left_out: int = 0
    hidden: int = 0


class LsTool(BaseDeclarativeTool[LsParams]):
    """``limit`` entries are listed where a call names no number."""

    name = "ls"
    description = "Lists what is directly in a folder, hidden names included: folders first, files with their size in bytes."
    kind = Kind.SEARCH
    names_only = True
    icon = Icon.FOLDER
    parameters = LsParams

    def __init__(self, workspace: Workspace, *, limit: int = 1_000) -> None:
        self.workspace = workspace
        self.limit = limit

    def validate_tool_param_values(self, params: LsParams) -> str | None:
        for glob in params.ignore:
            try:
                globs.compile_glob(glob)
            except ValueError as error:
                return f"ignore: {error} (given {glob!r})."
        return None

    def create_invocation(self, params: LsParams) -> LsInvocation:
        return LsInvocation(self, params)


class LsInvocation(BaseToolInvocation[LsParams]):
    __slots__ = ("path", "tool")

    def __init__(self, tool: LsTool, params: LsParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = tool.workspace.resolve(params.path)

    def get_description(self) -> str:
        return shown(self._relative())

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(self.tool.workspace.spellings(self.params.path))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        workspace, subject = self.tool.workspace, shown(self.params.path)
        path = workspace.still(self.params.path, self.path)
        try:
            found = list_folder(path, workspace)
        except FileNotFoundError:
            raise not_found(workspace, self.params.path, "folder") from None
        except NotADirectoryError:
            raise ToolFailure(
                ErrorCode.PATH_IS_NOT_A_DIRECTORY, f"{subject} is a file, not a folder. Use read to see what is in it."
            ) from None
        except OSError as error:
            raise from_os_error(error, subject, ErrorCode.LS_EXECUTION_ERROR) from None
        kept = self._kept(path, found.entries)
        return self._result(kept, len(found.entries) - len(kept), found.hidden)

    def _kept(self, path: Path, entries: Sequence[Entry]) -> list[Entry]:
        patterns = [globs.compile_glob(glob.rstrip("/") or glob) for glob in self.params.ignore]
        rules = None if self.params.ignored else Ignores(path)
        named = ((entry, entry.path.rpartition("/")[2]) for entry in entries)
        wanted = ((entry, name) for entry, name in named if not any(pattern.fullmatch(name) for pattern in patterns))
        return [entry for entry, name in wanted if rules is None or not rules.ignores(name, folder=entry.folder and not entry.link)]

    def _result(self, entries: list[Entry], left_out: int, hidden: int) -> ToolResult:
        total, offset = len(entries), self.params.offset
        listed = entries[offset : offset + (self.params.limit or self.tool.limit)]
        parts = [_page(len(listed), offset, total), f"{left_out:,} ignored" if left_out else ""]
        more = "; ".join(part for part in parts if part)
        folders = sum(entry.folder for entry in entries)
        text = "\n".join(map(_line, listed)) or (
            "" if total else "(nothing else is in the folder)" if left_out or hidden else "(the folder is empty)"
        )
        by_policy = hiding.left_out(hidden)
        return ToolResult(
            "\n".join(part for part in (text, f"[{more}]" if more else "") if part),
            Listing(tuple(listed), total, "; ".join(filter(None, (more, by_policy)))),
            summary=_summary(folders, total - folders),
            data=FolderListed(self._relative(), folders, total - folders, left_out, hidden),
            notes=(f"[{by_policy}]",) if by_policy else (),
        )

    def _relative(self) -> str:
        return self.tool.workspace.relative(self.path)


def _page(count: int, offset: int, total: int) -> str:
    if offset and not count and total:
        return f"there is nothing at offset {offset:,}: {total:,} entries are there"
    if count == total:
        return ""
    go_on = f"; offset={offset + count} shows the next" if offset + count < total else ""
    return f"{offset + 1:,}–{offset + count:,} of {total:,}{go_on}"


def _line(entry: Entry) -> str:
    name = shown(entry.path.rpartition("/")[2])
    link = "symbolic link" if entry.link else ""
    if entry.folder:
        return f"{name}/ ({link})" if link else f"{name}/"
    notes = ", ".join(note for note in (link, "" if entry.size is None else f"{entry.size} bytes") if note)
    return f"{name} ({notes})" if notes else name


def _summary(folders: int, files: int) -> str:
    parts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in ((folders, "folder"), (files, "file")) if count]
    return ", ".join(parts) or "empty"
