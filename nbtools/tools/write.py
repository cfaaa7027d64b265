"""The `write` tool: writes a whole text file, or creates a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.core.confirmation import ToolInfoConfirmationDetails
from nbtools.core.message import CalledTool, Message, Parameter
from nbtools.core.result import DiffStat, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import (
    BaseToolInvocation,
    Example,
    Kind,
    ModifyContext,
    PathTarget,
    ToolInvocation,
    ToolLocation,
    UpdateOutput,
)
from nbtools.diff.text_lines import is_exact, with_lf
from nbtools.tools.file_change import FileChangeInvocation
from nbtools.tools.workspace_tool import WorkspaceTool
from nbtools.workspace.files.encoding import DecodedText, decode, encode
from nbtools.workspace.files.line_endings import main_ending, with_original_endings
from nbtools.workspace.files.read import not_text_failure, read_if_exists
from nbtools.workspace.history.changes import make_change
from nbtools.workspace.history.operations import MakeFolder, already_exists
from nbtools.workspace.paths import printable_path
from nbtools.workspace.text.file_edit import FileChange, FileChanged, plan_creation
from nbtools.workspace.text.placeholders import refuse_placeholder
from nbtools.workspace.workspace import Workspace

__all__ = ["FileChanged", "NewFolderInvocation", "WriteInvocation", "WriteParams", "WriteTool"]

_ADVICE = "Delete it first, or change it with a shell command."


class WriteParams(ParameterModel):
    path: str
    """The file to write; missing folders are created.
    A path that ends with a slash, with empty content, creates a folder.
    """
    content: str
    """The whole new content of the file."""
    new: bool = False
    """Whether to fail if the path already exists."""


class WriteTool(WorkspaceTool[WriteParams]):
    """Writes a text file.  An existing file keeps its encoding, byte order mark, mode,
    owner and line endings.

    LF becomes CRLF if the file uses CRLF, and unchanged lines are preserved byte for byte.
    Content that contains CRLF is written unchanged.
    """

    name = "write"
    description = (
        "Writes a text file: creates it, with missing folders, or replaces its whole content. To change a"
        " part, use edit. A path that ends with a slash creates a folder."
    )
    kind = Kind.EDIT
    parameters = WriteParams
    examples = (
        Example("Writes a file, new or not.", {"path": "notes.txt", "content": "Buy milk"}),
        Example(
            "Writes only if there is no such file.", {"path": "ideas.txt", "content": "One", "new": True}
        ),
    )

    def validate_tool_param_values(self, params: WriteParams) -> str | None:
        if params.path.endswith("/") and params.content:
            folder = (
                ": a path that ends with / names a folder, which has no content. Give the path of a file, or"
                " leave "
            )
            return Message.of(CalledTool("write"), folder, Parameter("content"), " empty.")
        return None

    def create_invocation(self, params: WriteParams) -> WriteInvocation | NewFolderInvocation:
        if params.path.endswith("/"):
            return NewFolderInvocation(self.workspace, params)
        return WriteInvocation(self.workspace, params)

    def get_modify_context(self) -> ModifyContext[WriteParams]:
        return WriteModifyContext()


class WriteInvocation(FileChangeInvocation[WriteParams]):
    __slots__ = ()

    verb = "overwrite"
    past = "Overwrote"
    whole = True

    def __init__(self, workspace: Workspace, params: WriteParams) -> None:
        super().__init__(workspace, params, params.path)

    def plan(self) -> FileChange:
        path, subject = self.path, self.subject
        before = read_if_exists(path, subject, advice=_ADVICE)
        content = self.params.content
        if before is None:
            refuse_placeholder(content, "", subject)
            return plan_creation(path, subject, content)
        if self.params.new:
            raise already_exists(subject)
        current = decode(before)
        if current is None:
            raise not_text_failure(subject, before, len(before))
        self.workspace.read_tracker.require_read(path, subject, before, whole=True)
        refuse_placeholder(content, current.text, subject)
        proposed = _with_conventions_of(current, content)
        return FileChange(
            path, subject, before, encode(proposed, current.encoding, current.text), current.text, proposed
        )

    def replan(self, seen: FileChange) -> FileChange:
        """Returns the approved change; writing it fails if the file has changed since."""
        return seen


class NewFolderInvocation(BaseToolInvocation[WriteParams]):
    """Creates a folder and its parents; an existing folder is left unchanged."""

    __slots__ = ("path", "workspace")

    def __init__(self, workspace: Workspace, params: WriteParams) -> None:
        super().__init__(params)
        self.workspace = workspace
        self.path = workspace.resolve(params.path)

    def get_description(self) -> str:
        return f"{printable_path(self.workspace.relative(self.path))}/"

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path)),)

    def target(self) -> PathTarget:
        return PathTarget(self.workspace.spellings(self.params.path))

    async def should_confirm_execute(self) -> ToolInfoConfirmationDetails:
        name = self.get_description()
        return ToolInfoConfirmationDetails(
            title=f"Create the folder {name}?", prompt=f"Creates the folder {name}"
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        name = self.get_description()
        created_folders = tuple(
            map(
                self.workspace.relative,
                make_change(self.workspace.journal, MakeFolder(self.path, name, self.params.new)),
            )
        )
        text = f"Created the folder {name}." if created_folders else f"The folder {name} already exists."
        data = FileChanged(
            self.workspace.relative(self.path), bool(created_folders), 0, DiffStat(), (), created_folders
        )
        return ToolResult(
            text, text, summary="folder created" if created_folders else "nothing changed", data=data
        )


class WriteModifyContext:
    def create_updated_params(
        self,
        original_content: str | None,
        new_content: str,
        params: WriteParams,
    ) -> Mapping[str, Any]:
        return {"path": params.path, "content": new_content, **({"new": True} if params.new else {})}

    def remember_proposal(
        self, invocation: ToolInvocation[WriteParams], proposed_content: str
    ) -> ToolInvocation[WriteParams]:
        if not isinstance(invocation, WriteInvocation):
            raise TypeError(f"{invocation!r} is not an invocation of write")
        return invocation.with_proposal(proposed_content)


def _with_conventions_of(current: DecodedText, content: str) -> str:
    """Returns ``content`` with the byte order mark and line endings of the existing file."""
    if current.encoding.bom:
        content = content.removeprefix("\ufeff")
    if "\r\n" in content and is_exact(current.text):
        return content
    return with_original_endings(current.text, with_lf(content), main_ending(current.text))
