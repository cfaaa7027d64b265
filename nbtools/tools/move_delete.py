"""The `move` and `delete` tools for files and folders."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field

from nbtools.core.confirmation import ToolInfoConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.message import Advice, Message, Parameter, SameCall, counted, joined
from nbtools.core.result import ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import BaseToolInvocation, Example, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.tools.workspace_tool import WorkspaceTool
from nbtools.workspace.cancellation import run_in_thread
from nbtools.workspace.files.copy_move import (
    already_exists,
    entry_path,
    entry_spellings,
    is_same_entry,
    with_folder_slash,
)
from nbtools.workspace.files.encoding import decode
from nbtools.workspace.files.listing import ContentCounts, count_contents
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.history.changes import make_changes
from nbtools.workspace.history.operations import Move, RemoveTree
from nbtools.workspace.paths import is_inside, printable_path

_MOST_READ = 4_000
"""Bytes of a file that the question about its deletion shows."""
_MOST_LINES = 30


class MoveParams(ParameterModel):
    path: str
    """The file or folder to move."""
    to: str
    """The new path. An existing folder, or a path that ends with a slash:
    the entry is moved into it under its own name.
    """
    overwrite: bool = False
    """Whether an existing file may be overwritten by a file."""


@dataclass(frozen=True, slots=True)
class MoveData:
    """The old and the new path, relative to the workspace; ``folder``: whether a folder was moved."""

    path: str
    to: str
    folder: bool


class MoveTool(WorkspaceTool[MoveParams]):
    """Moves or renames a file or folder.  A link itself is moved, not its target.
    Folders are never overwritten.
    """

    name = "move"
    description = (
        "Moves or renames a file or folder and creates missing folders. Overwrites nothing unless overwrite"
        " is set."
    )
    kind = Kind.MOVE
    parameters = MoveParams
    examples = (
        Example("Renames a file.", {"path": "src/cart.py", "to": "src/basket.py"}),
        Example(
            "Moves a file over another one.", {"path": "notes.txt", "to": "README.md", "overwrite": True}
        ),
    )

    def create_invocation(self, params: MoveParams) -> MoveInvocation:
        return MoveInvocation(self, params)


@dataclass(frozen=True, slots=True)
class _MovePaths:
    """The absolute paths of a move; ``over``: whether a file is overwritten."""

    path: Path
    to: Path
    over: bool


@dataclass(frozen=True, slots=True)
class _ApprovedState:
    """The state that a person approved: the kind of the moved entry, and the inode,
    size and time of the overwritten file.
    """

    kind: int
    over: tuple[int, int, int] | None

    @classmethod
    def of(cls, paths: _MovePaths) -> Self:
        info = paths.to.lstat() if paths.over else None
        return cls(
            stat.S_IFMT(paths.path.lstat().st_mode), info and (info.st_ino, info.st_size, info.st_mtime_ns)
        )


class MoveInvocation(BaseToolInvocation[MoveParams]):
    __slots__ = ("approved_state", "path", "to", "tool")

    def __init__(self, tool: MoveTool, params: MoveParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = entry_path(tool.workspace, params.path)
        self.to = self._into(entry_path(tool.workspace, params.to))
        self.approved_state: _ApprovedState | None = None

    def get_description(self) -> str:
        return f"{self._display_path(self.path)} → {self._display_path(self.to)}"

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)), ToolLocation(str(self.to)))

    def target(self) -> PathTarget:
        workspace = self.tool.workspace
        names = (
            *entry_spellings(workspace, self.params.path),
            *entry_spellings(workspace, self.params.to),
            workspace.relative(self.to),
        )
        return PathTarget(with_folder_slash(self.path, tuple(dict.fromkeys(names))))

    async def should_confirm_execute(self) -> ToolInfoConfirmationDetails:
        """Returns the question. Raises ``ToolFailure`` if the entry cannot be moved,
        before anyone is asked.
        """
        paths = self._checked()
        self.approved_state = _ApprovedState.of(paths)
        kind = "link" if paths.path.is_symlink() else "file"
        if _is_folder(paths.path):
            kind = "folder"
        text = f"Moves the {kind} {self._display_path(paths.path)} to {self._display_path(paths.to)}."
        if paths.over:
            text += f" The existing file ({paths.to.lstat().st_size:,} bytes) is overwritten."
        return ToolInfoConfirmationDetails(
            f"Move {self._display_path(paths.path)} to {self._display_path(paths.to)}?", text
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        paths, workspace = self._checked(), self.tool.workspace
        if self.approved_state is not None and self.approved_state != _ApprovedState.of(paths):
            why = "has changed since the approval. Nothing was moved. Check it and call again."
            raise ToolFailure(ErrorCode.CONFLICT, f"{self.get_description()} {why}")
        folder = _is_folder(paths.path)
        created = await make_changes(
            workspace.journal, (Move(paths.path, paths.to, self._display_path(paths.to), paths.over),)
        )
        workspace.read_tracker.forget(paths.to)
        workspace.read_tracker.rename(paths.path, paths.to)
        names = ", ".join(map(self._display_path, created))
        over = ", which was overwritten" if paths.over else ""
        text = f"Moved {self._display_path(paths.path)} to {self._display_path(paths.to)}{over}."
        if created:
            text += f" Created the {'folders' if len(created) > 1 else 'folder'} {names}."
        data = MoveData(workspace.relative(paths.path), workspace.relative(paths.to), folder)
        return ToolResult(text, text, summary=f"→ {self._display_path(paths.to)}", data=data)

    def _into(self, to: Path) -> Path:
        """Returns the destination path; if ``to`` names a folder, a path in that folder."""
        real = Path(os.path.realpath(to))
        if self.params.to.endswith("/") or (
            real.is_dir() and not is_same_entry(self.path, to) and to != self.path
        ):
            return self.tool.workspace.resolve(self.params.to) / self.path.name
        return to

    def _checked(self) -> _MovePaths:
        workspace, params = self.tool.workspace, self.params
        path, to = entry_path(workspace, params.path), self._into(entry_path(workspace, params.to))
        if (path, to) != (self.path, self.to):
            why = "now resolves to different paths. Nothing was moved. Call again."
            raise ToolFailure(ErrorCode.CONFLICT, f"{self.get_description()} {why}")
        if not os.path.lexists(path):
            raise path_not_found(workspace, params.path, "file or folder")
        if path == workspace.root:
            raise _refused("the workspace itself cannot be moved")
        if path == to:
            raise _refused(f"{self._display_path(path)} already has this path")
        if is_inside(path, to):
            raise _refused(f"{self._display_path(path)} cannot be moved into itself")
        over = os.path.lexists(to) and not is_same_entry(path, to)
        if over and (not params.overwrite or _is_folder(to) or _is_folder(path)):
            raise already_exists(self._display_path(to))
        return _MovePaths(path, to, over)

    def _display_path(self, path: Path) -> str:
        return printable_path(self.tool.workspace.relative(path))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _refused(why: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS,
        Message.of(Parameter("to"), f": {why}. Nothing was moved. Give another path."),
    )


class DeleteParams(ParameterModel):
    path: str
    """The file or folder to delete."""
    recursive: bool = Field(default=False, json_schema_extra={"flag": "r"})
    """Whether a folder may be deleted with its whole content."""


@dataclass(frozen=True, slots=True)
class DeleteData:
    """The extent of a deletion: ``files`` counts files and links, ``bytes`` is their total size."""

    path: str
    folder: bool
    files: int
    bytes: int


class DeleteTool(WorkspaceTool[DeleteParams]):
    """Deletes a file or folder.  A link itself is deleted, not its target."""

    name = "delete"
    description = (
        "Deletes a file, a link or an empty folder; with recursive, a folder and its whole content. "
        "The person can undo it unless the result says otherwise."
    )
    kind = Kind.DELETE
    parameters = DeleteParams
    examples = (
        Example("Deletes a file; it can be undone.", {"path": "notes.txt"}),
        Example("Deletes a folder with its content.", {"path": "src", "recursive": True}),
    )

    def create_invocation(self, params: DeleteParams) -> DeleteInvocation:
        return DeleteInvocation(self, params)


class DeleteInvocation(BaseToolInvocation[DeleteParams]):
    __slots__ = ("approved_contents", "path", "tool")

    def __init__(self, tool: DeleteTool, params: DeleteParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.path = entry_path(tool.workspace, params.path)
        self.approved_contents: ContentCounts | None = None

    def get_description(self) -> str:
        return self._display_path

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(
            with_folder_slash(self.path, entry_spellings(self.tool.workspace, self.params.path))
        )

    async def should_confirm_execute(self) -> ToolInfoConfirmationDetails:
        """Returns the question. Raises ``ToolFailure`` if the entry cannot be deleted,
        before anyone is asked.
        """
        self.approved_contents = found = await self._contents()
        if not found.folder:
            target = (
                f" It is a link to {printable_path(str(self.path.readlink()))}, which is not deleted."
                if self.path.is_symlink()
                else ""
            )
            fact = f"{found.bytes:,} bytes. {self._undo_note(found)}{target}"
            return ToolInfoConfirmationDetails(
                f"Delete {self._display_path}?", f"{fact}{await asyncio.to_thread(self._first_lines)}"
            )
        entries = "\n".join(map(_entry_line, found.first, found.sizes))
        rest = found.files + found.folders - len(found.first)
        more = f"\n… and {rest:,} more" if rest else ""
        lost = "" if self._can_undo(found) else f"\n{self._undo_note(found)}"
        content = f"{entries}{more}" or "The folder is empty."
        return ToolInfoConfirmationDetails(
            f"Delete the folder {self._display_path} with {_counted(found)}?", f"{content}{lost}"
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        found = await self._contents()
        if self.approved_contents is not None and self.approved_contents != found:
            why = "has changed since the approval. Nothing was deleted. Check it and call again."
            raise ToolFailure(ErrorCode.CONFLICT, f"{self._display_path} {why}")
        await self._delete(found)
        self.tool.workspace.read_tracker.forget(self.path)
        lost = "" if self._can_undo(found) else f" {self._undo_note(found)}"
        what = (
            f"the folder {self._display_path} with {_counted(found)}" if found.folder else self._display_path
        )
        text = f"Deleted {what}.{lost}"
        data = DeleteData(self.tool.workspace.relative(self.path), found.folder, found.files, found.bytes)
        return ToolResult(
            text, text, summary=_counted(found) if found.folder else f"{found.bytes:,} bytes", data=data
        )

    async def _contents(self) -> ContentCounts:
        """Returns what would be deleted.  Raises ``ToolFailure`` if it may not be."""
        self._check()
        found = await run_in_thread(lambda halt: count_contents(self.path, halt))
        if found.folder and found.first and not self.params.recursive:
            fact = f"{self._display_path} is a folder with {_counted(found)}. Nothing was deleted."
            why = Message.of(
                fact, Advice(" The call ", SameCall({"recursive": True}), " deletes its content.")
            )
            raise ToolFailure(ErrorCode.TARGET_IS_DIRECTORY, why)
        return found

    def _first_lines(self) -> str:
        """Returns the first lines of a text file, after an empty line;
        empty for a link, a hidden file and one that is no text.
        """
        workspace = self.tool.workspace
        if (
            self.path.is_symlink()
            or not self.path.is_file()
            or workspace.hides(workspace.relative(self.path))
        ):
            return ""
        try:
            with self.path.open("rb") as file:
                text = decode(file.read(_MOST_READ))
        except OSError:
            return ""
        lines = text.text.splitlines()[:_MOST_LINES] if text is not None else []
        return "\n\n" + "\n".join(lines) if lines else ""

    def _can_undo(self, found: ContentCounts) -> bool:
        """Whether the journal stores what is deleted, for undo."""
        settings = self.tool.workspace.settings
        return settings.journal and found.bytes <= settings.journal_bytes

    def _undo_note(self, found: ContentCounts) -> str:
        if self._can_undo(found):
            return "It can be undone."
        settings = self.tool.workspace.settings
        why = (
            f"it exceeds the journal limit of {settings.journal_bytes:,} bytes"
            if settings.journal
            else "there is no journal"
        )
        return f"It cannot be undone: {why}."

    def _check(self) -> None:
        workspace, path = self.tool.workspace, self.path
        if entry_path(workspace, self.params.path) != path:
            why = "now resolves to a different path. Nothing was deleted. Call again."
            raise ToolFailure(ErrorCode.CONFLICT, f"{self._display_path} {why}")
        if path == workspace.root:
            why = "The workspace itself cannot be deleted. Nothing was deleted. Name a file or folder in it."
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, why)
        if not os.path.lexists(path):
            raise path_not_found(workspace, self.params.path, "file or folder")

    async def _delete(self, found: ContentCounts) -> None:
        try:
            removal = RemoveTree(self.path, self._display_path, for_good=not self._can_undo(found))
            await make_changes(self.tool.workspace.journal, (removal,))
        except OSError as error:
            where = (
                printable_path(self._relative(Path(os.fsdecode(error.filename))))
                if error.filename
                else self._display_path
            )
            failure = from_os_error(error, where, ErrorCode.FILE_WRITE_FAILURE)
            part = (
                " Part of the folder has already been deleted."
                if self.path.is_dir() and not self.path.is_symlink()
                else ""
            )
            raise ToolFailure(failure.code, joined("", (failure.message, part))) from None

    def _relative(self, path: Path) -> str:
        whole = path if path.is_absolute() else self.path / path
        if whole.is_relative_to(self.tool.workspace.root):
            return self.tool.workspace.relative(whole)
        return str(path)

    @property
    def _display_path(self) -> str:
        return printable_path(self.tool.workspace.relative(self.path))


def _entry_line(name: str, size: int) -> str:
    return printable_path(name) if name.endswith("/") else f"{printable_path(name)}  {size:,} bytes"


def _counted(found: ContentCounts) -> str:
    folders = f" and {counted(found.folders, 'folder')}" if found.folders else ""
    return f"{counted(found.files, 'file')}{folders}, {found.bytes:,} bytes"
