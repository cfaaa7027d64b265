"""Replacing a text in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool import Kind, ModifyContext, ToolInvocation
from nbtools.tools.file_change import FileChangeInvocation, replanned_or_conflict
from nbtools.workspace.change import FileChange
from nbtools.workspace.endings import with_lf
from nbtools.workspace.files import MOST_WHOLE, not_text, read_bytes
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.splice import Replacement, smallest, spliced
from nbtools.workspace.text import decode, encode
from nbtools.workspace.workspace import Workspace

_ADVICE = "Change it with a program, such as sed in a shell."


class EditParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file to change."""
    old: str
    """The text to replace, exactly as it stands in the file, with lines around it that make it the only one."""
    new: str
    """The text to put in its place; empty to delete."""
    count: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """How many times old must be there; all of them are replaced. "all": however many."""


class EditTool(BaseDeclarativeTool[EditParams]):
    """Every byte outside of what is replaced stays; the new text ends its lines as the place does.  See ``splice`` for how old is found."""

    name = "edit"
    description = (
        "Replaces a text in a file. old must be in it exactly as given, once unless count says otherwise; LF in it stands for CRLF too."
    )
    kind = Kind.EDIT
    parameters = EditParams

    def __init__(self, workspace: Workspace, *, whole: int = MOST_WHOLE) -> None:
        self.workspace = workspace
        self.whole = whole

    def validate_tool_param_values(self, params: EditParams) -> str | None:
        return None if params.old else "edit: old is empty. Name the text to replace; use write to create or fill a file."

    def create_invocation(self, params: EditParams) -> EditInvocation:
        return EditInvocation(self, params)

    def get_modify_context(self) -> ModifyContext[EditParams]:
        return EditModifyContext()


class EditInvocation(FileChangeInvocation[EditParams]):
    __slots__ = ("tool",)

    verb = "edit"
    past = "Edited"

    def __init__(self, tool: EditTool, params: EditParams) -> None:
        super().__init__(tool.workspace, params, params.path)
        self.tool = tool

    def plan(self, path: Path) -> FileChange:
        subject = shown(self.workspace.relative(path))
        before = self._content(path, subject)
        there = decode(before)
        if there is None:
            raise not_text(subject, before, len(before))
        params = self.params
        change = Replacement(params.old, params.new, None if params.count == "all" else params.count)
        proposed, places = spliced(there.text, change, subject)
        return FileChange(path, subject, before, encode(proposed, there.encoding), there.text, proposed, places)

    def renewed(self, seen: FileChange) -> FileChange:
        """The edit on the file as it is now: where the old text still fits, changes made elsewhere meanwhile do no harm."""
        return replanned_or_conflict(self, seen)

    def _content(self, path: Path, subject: str) -> bytes:
        try:
            return read_bytes(path, subject, self.tool.whole, _ADVICE)
        except ToolFailure as failure:
            if failure.code is ErrorCode.FILE_NOT_FOUND:
                raise not_found(self.workspace, self.params.path) from None
            raise


class EditModifyContext:
    def create_updated_params(self, original_content: str | None, new_content: str, params: EditParams) -> Mapping[str, Any]:
        """One replacement of the lines that differ, with as many around as make them the only ones: it survives changes elsewhere."""
        change = smallest(with_lf(original_content or ""), with_lf(new_content))
        return {"path": params.path, "old": change.old, "new": change.new, "count": 1}

    def remember_proposal(self, invocation: ToolInvocation[EditParams], proposed_content: str) -> ToolInvocation[EditParams]:
        if not isinstance(invocation, EditInvocation):
            raise TypeError(f"{invocation!r} is no call of edit")
        return invocation.with_proposal(proposed_content)
