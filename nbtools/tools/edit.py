"""Replacing texts in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.confirmation import ToolEditConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.tool import Kind, ModifyContext, ToolInvocation, UpdateOutput
from nbtools.tools.file_change import FileChangeInvocation, replanned_or_conflict
from nbtools.workspace.change import Changed, FileChange
from nbtools.workspace.correcting import Corrected, corrected
from nbtools.workspace.editing.misses import Occurrences
from nbtools.workspace.editing.placeholders import refuse_placeholder
from nbtools.workspace.editing.regions import shown_parts
from nbtools.workspace.editing.replacing import created, edited, filled
from nbtools.workspace.editing.splice import Replacement, smallest
from nbtools.workspace.endings import with_lf
from nbtools.workspace.files import MOST_WHOLE, read_bytes, read_if_there
from nbtools.workspace.nearby import not_found
from nbtools.workspace.paths import shown
from nbtools.workspace.workspace import Workspace

__all__ = ["Changed", "EditInvocation", "EditParams", "EditStep", "EditTool", "Occurrences"]

_MOST_TOLD = 2_000
"""Characters of a corrected text that its caller is told."""
_ADVICE = "Change it with a program, such as sed in a shell."


class EditStep(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    old: str
    """The text to replace, exactly as it stands in the file, with lines around it that make it the only one."""
    new: str
    """The text to put in its place; empty to delete."""
    count: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """How many times old must be there; all of them are replaced. "all": however many."""

    def replacement(self) -> Replacement:
        return Replacement(self.old, self.new, None if self.count == "all" else self.count)


class EditParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str
    """The file to change."""
    old: str = ""
    """The text to replace, exactly as it stands in the file, with lines around it that make it the only one. Empty: makes the file."""
    new: str = ""
    """The text to put in its place; empty to delete."""
    count: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """How many times old must be there; all of them are replaced. "all": however many."""
    edits: tuple[EditStep, ...] = ()
    """Several replacements instead of old and new: all are made or none. Each is looked for in the file as it is; they must not overlap."""
    in_turn: bool = False
    """Have each of edits looked for in what the ones before it made."""
    match: Literal["exact", "blanks", "close"] = "close"
    """What counts as old where it is not in the file exactly: nothing else (exact), the text but for blanks at the ends of lines and
    indentation (blanks), or also the text most like it (close). Such a place must be the only one, and is reported."""

    def steps(self) -> tuple[EditStep, ...]:
        return self.edits or (EditStep(old=self.old, new=self.new, count=self.count),)


class EditTool(BaseDeclarativeTool[EditParams]):
    """Every byte outside of what is replaced stays; the new text ends its lines as the place does.  See ``ladder`` for how old is found."""

    name = "edit"
    description = (
        "Replaces texts in a file: old by new, or several with edits. old must be in it as given, once unless count says otherwise; "
        "LF stands for CRLF too. An empty old makes a new file."
    )
    kind = Kind.EDIT
    parameters = EditParams

    def __init__(self, workspace: Workspace, *, whole: int = MOST_WHOLE) -> None:
        self.workspace = workspace
        self.whole = whole

    def validate_tool_param_values(self, params: EditParams) -> str | None:
        given = params.model_fields_set
        if params.edits:
            if given & {"old", "new", "count"}:
                return "edit: give old and new, or edits, not both."
            empty = next((number for number, step in enumerate(params.edits, 1) if not step.old), None)
            return None if empty is None else f"edit: old of edit {empty} is empty. Name the text to replace."
        if "new" not in given:
            return "edit: new is required, empty to delete; or give edits."
        return None

    def create_invocation(self, params: EditParams) -> EditInvocation:
        for step in params.steps():
            refuse_placeholder(step.new, step.old, "The new text")
        return EditInvocation(self, params)

    def get_modify_context(self) -> ModifyContext[EditParams]:
        return EditModifyContext()


class EditInvocation(FileChangeInvocation[EditParams]):
    __slots__ = ("corrected", "tool")

    verb = "edit"
    past = "Edited"

    def __init__(self, tool: EditTool, params: EditParams) -> None:
        super().__init__(tool.workspace, params, params.path)
        self.tool = tool
        self.corrected: Corrected | None = None

    async def should_confirm_execute(self) -> ToolEditConfirmationDetails:
        details = await super().should_confirm_execute()
        return details if self.corrected is None else replace(details, note=f"{self.corrected.note} {details.note}".strip())

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        result = await super().execute(update_output)
        if self.corrected is None:
            return result
        told = f"{self.corrected.note} What was replaced:\n{self.corrected.change.old[:_MOST_TOLD]}"
        return replace(result, notes=(told,), summary=f"{result.summary} · corrected by {self.corrected.model}")

    def plan(self, path: Path) -> FileChange:
        subject = shown(self.workspace.relative(path))
        params = self.params
        if not (params.old or params.edits):
            before = read_if_there(path, subject, self.tool.whole, _ADVICE)
            return created(path, subject, params.new) if before is None else filled(path, subject, before, params.new)
        before = self._content(path, subject)
        self.workspace.seen.check(path, subject, before, whole=False)
        if self.corrected is not None:
            return edited(path, subject, before, [self.corrected.change])
        changes = [step.replacement() for step in params.steps()]
        return edited(path, subject, before, changes, match=params.match, in_turn=params.in_turn)

    async def _planned(self, path: Path) -> FileChange:
        """The one place where an old text that is not there is corrected, if the settings want it: one text, and once."""
        try:
            return await super()._planned(path)
        except ToolFailure as failure:
            steps = self.params.steps()
            mendable = failure.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND and self.corrected is None and len(steps) == 1
            if not mendable or not self.workspace.settings.correct_edits:
                raise
            before = await asyncio.to_thread(self._content, path, shown(self.workspace.relative(path)))
            self.corrected = await corrected(self.workspace, path, before, steps[0].replacement(), failure)
        return await super()._planned(path)

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
        """One replacement of the lines that differ, with as many around as make them the only ones: it survives changes elsewhere.

        Of a very large file, of which only excerpts were shown: of each that differs, all of it.  Raises ``ToolFailure``.
        """
        before, after = shown_parts(with_lf(original_content or "")), shown_parts(with_lf(new_content))
        if len(before) > 1:
            return {"path": params.path, "edits": _parts(before, after), "match": "exact"}
        change = smallest(before[0], after[0])
        return {"path": params.path, "old": change.old, "new": change.new, "count": 1}

    def remember_proposal(self, invocation: ToolInvocation[EditParams], proposed_content: str) -> ToolInvocation[EditParams]:
        if not isinstance(invocation, EditInvocation):
            raise TypeError(f"{invocation!r} is no call of edit")
        return invocation.with_proposal(proposed_content)


def _parts(before: Sequence[str], after: Sequence[str]) -> list[dict[str, Any]]:
    if len(before) != len(after):
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "Leave the lines that stand for what is not shown (⋯) as they are.")
    return [{"old": old, "new": new} for old, new in zip(before, after, strict=True) if old != new]
