"""What is in a folder."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.result import Entry, Listing, ToolResult
from nbtools.core.tool import BaseToolInvocation, Icon, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace.folders import list_folder
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.workspace import Workspace


class LsParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str = "."
    """The folder to list."""


@dataclass(frozen=True, slots=True)
class FolderListed:
    """How many folders and files are directly in ``path``."""

    path: str
    folders: int
    files: int


class LsTool(BaseDeclarativeTool[LsParams]):
    """``limit`` entries are listed at most."""

    name = "ls"
    description = "Lists what is directly in a folder, hidden names included: folders first, files with their size in bytes."
    kind = Kind.SEARCH
    icon = Icon.FOLDER
    parameters = LsParams

    def __init__(self, workspace: Workspace, *, limit: int = 1_000) -> None:
        self.workspace = workspace
        self.limit = limit

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
        path = workspace.resolve(self.params.path)
        try:
            entries = list_folder(path, workspace)
        except FileNotFoundError:
            raise not_found(workspace, self.params.path, "folder") from None
        except NotADirectoryError:
            raise ToolFailure(
                ErrorCode.PATH_IS_NOT_A_DIRECTORY, f"{subject} is a file, not a folder. Use read to see what is in it."
            ) from None
        except OSError as error:
            raise from_os_error(error, subject, ErrorCode.LS_EXECUTION_ERROR) from None
        return self._result(entries)

    def _result(self, entries: list[Entry]) -> ToolResult:
        listed = entries[: self.tool.limit]
        hidden = len(entries) - len(listed)
        more = f"{hidden} more of {len(entries)} are not listed; use glob to find them by name" if hidden else ""
        folders = sum(entry.folder for entry in entries)
        text = "\n".join(map(_line, listed)) or "(the folder is empty)"
        return ToolResult(
            f"{text}\n[{more}]" if more else text,
            Listing(tuple(listed), len(entries), more),
            summary=_summary(folders, len(entries) - folders),
            data=FolderListed(self._relative(), folders, len(entries) - folders),
        )

    def _relative(self) -> str:
        return self.tool.workspace.relative(self.path)


def _line(entry: Entry) -> str:
    name = shown(entry.path.rpartition("/")[2])
    if entry.folder:
        return f"{name}/"
    return name if entry.size is None else f"{name} ({entry.size} bytes)"


def _summary(folders: int, files: int) -> str:
    parts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in ((folders, "folder"), (files, "file")) if count]
    return ", ".join(parts) or "empty"
