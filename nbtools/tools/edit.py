"""The `edit` tool: replaces text in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import CalledTool, Message, Parameter
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import Example, Kind, ModifyContext, ToolInvocation
from nbtools.diff.patch_model import Replacement
from nbtools.diff.text_lines import with_lf
from nbtools.tools.file_change import FileChangeInvocation
from nbtools.tools.workspace_tool import WorkspaceTool
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.files.read import read_bytes, read_if_exists
from nbtools.workspace.text.correction import CorrectedEdit, correct_edit
from nbtools.workspace.text.file_edit import (
    FileChange,
    FileChanged,
    excerpt_parts,
    plan_creation,
    plan_edit,
    plan_fill,
)
from nbtools.workspace.text.match_errors import Occurrences
from nbtools.workspace.text.placeholders import refuse_placeholder
from nbtools.workspace.text.replace import smallest_replacement
from nbtools.workspace.workspace import Workspace

__all__ = ["EditInvocation", "EditParams", "EditStep", "EditTool", "FileChanged", "Occurrences"]

_ADVICE = "Change it with a program, such as sed in a shell."


class EditStep(ParameterModel):
    old: str
    """The text to replace, exactly as in the file, with enough surrounding lines to be unique."""
    new: str
    """The replacement text; empty to delete."""
    count: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """How many times old must occur; all occurrences are replaced. "all": any number."""

    def replacement(self) -> Replacement:
        return Replacement(self.old, self.new, None if self.count == "all" else self.count)


class EditParams(ParameterModel):
    path: str
    """The file to change."""
    old: str = ""
    """The text to replace, exactly as in the file, with enough surrounding lines to be unique.
    Empty: creates the file.
    """
    new: str = ""
    """The replacement text; empty to delete."""
    count: Annotated[int, Field(ge=1)] | Literal["all"] = 1
    """How many times old must occur; all occurrences are replaced. "all": any number."""
    edits: tuple[EditStep, ...] = ()
    """Several replacements instead of old and new: all are applied or none.
    Each is located in the unchanged file; no overlaps.
    """
    in_turn: bool = False
    """Whether each of edits is located in the result of the previous ones."""
    match: Literal["exact", "blanks", "close"] = "close"
    """What matches if old is not in the file exactly: nothing (exact), text that differs only in whitespace
    between words and in indentation (blanks), or also the most similar text (close). Such a match must be
    unique, and is reported.
    """
    keep_end: bool = False
    """Whether the file keeps its end, with or without a final newline, whatever new contains."""

    def steps(self) -> tuple[EditStep, ...]:
        return self.edits or (EditStep(old=self.old, new=self.new, count=self.count),)


class EditTool(WorkspaceTool[EditParams]):
    """Replaces text in a file; every other byte is preserved,
    and new lines get the line endings of the replaced text.

    How ``old`` is found: see ``nbtools.workspace.text.match``.
    """

    name = "edit"
    description = (
        "Replaces text in a file: old by new, or several with edits. old must occur exactly as given, once"
        " unless count says otherwise; LF also matches CRLF. An empty old creates a new file."
    )
    kind = Kind.EDIT
    parameters = EditParams
    examples = (
        Example(
            "Replaces a text, which must occur once.",
            {"path": "src/cart.py", "old": "total = 0", "new": "total = Decimal(0)"},
        ),
        Example(
            "Replaces every occurrence.",
            {"path": "src/cart.py", "old": "item", "new": "article", "count": "all"},
        ),
    )

    def validate_tool_param_values(self, params: EditParams) -> str | None:
        present = params.model_fields_set
        if params.edits:
            if present & {"old", "new", "count"}:
                both = ("old", "new", "edits")
                old, new, edits = map(Parameter, both)
                return Message.of(
                    CalledTool("edit"), ": give either ", old, " and ", new, ", or ", edits, ", not both."
                )
            empty = next((number for number, step in enumerate(params.edits, 1) if not step.old), None)
            if empty is None:
                return None
            return Message.of(
                CalledTool("edit"),
                ": ",
                Parameter("old"),
                f" of edit {empty} is empty. Name the text to replace.",
            )
        if "new" not in present:
            return Message.of(
                CalledTool("edit"),
                ": ",
                Parameter("new"),
                " is required (empty to delete), unless ",
                Parameter("edits"),
                " is given.",
            )
        return None

    def create_invocation(self, params: EditParams) -> EditInvocation:
        for step in params.steps():
            refuse_placeholder(step.new, step.old, "The new text")
        return EditInvocation(self.workspace, params)

    def get_modify_context(self) -> ModifyContext[EditParams]:
        return EditModifyContext()


class EditInvocation(FileChangeInvocation[EditParams]):
    __slots__ = ()

    verb = "edit"
    past = "Edited"

    def __init__(self, workspace: Workspace, params: EditParams) -> None:
        super().__init__(workspace, params, params.path)

    def plan(self) -> FileChange:
        path, params = self.path, self.params
        if not (params.old or params.edits):
            before = read_if_exists(path, self.subject, advice=_ADVICE)
            if before is None:
                return plan_creation(path, self.subject, params.new)
            return plan_fill(path, self.subject, before, params.new)
        before = self._content()
        self.workspace.read_tracker.require_read(path, self.subject, before, whole=False)
        if self.corrected is not None:
            return plan_edit(path, self.subject, before, [self.corrected.change], keep_end=params.keep_end)
        changes = [step.replacement() for step in params.steps()]
        return plan_edit(
            path,
            self.subject,
            before,
            changes,
            match=params.match,
            in_turn=params.in_turn,
            keep_end=params.keep_end,
        )

    async def correct(self, failure: ToolFailure) -> CorrectedEdit:
        """Has a model correct the only old text if it is not found and ``correct_edits`` is set, once."""
        steps = self.params.steps()
        correctable = (
            failure.code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND and self.corrected is None and len(steps) == 1
        )
        if not correctable or not self.workspace.settings.correct_edits:
            raise failure
        before = await asyncio.to_thread(self._content)
        return await correct_edit(self.workspace, self.path, before, steps[0].replacement(), failure)

    def _content(self) -> bytes:
        try:
            return read_bytes(self.path, self.subject, advice=_ADVICE)
        except ToolFailure as failure:
            if failure.code is ErrorCode.FILE_NOT_FOUND:
                raise path_not_found(self.workspace, self.params.path) from None
            raise


class EditModifyContext:
    def create_updated_params(
        self, original_content: str | None, new_content: str, params: EditParams
    ) -> Mapping[str, Any]:
        """Returns one replacement of the lines that differ, with enough context to be unique.

        For a very large file, of which only excerpts were displayed: each excerpt that differs, whole.
        Raises ``ToolFailure`` if the lines between the excerpts were changed.
        """
        before, after = excerpt_parts(with_lf(original_content or "")), excerpt_parts(with_lf(new_content))
        if len(before) > 1:
            return {"path": params.path, "edits": _changed_excerpts(before, after), "match": "exact"}
        change = smallest_replacement(before[0], after[0])
        return {"path": params.path, "old": change.old, "new": change.new, "count": 1}

    def remember_proposal(
        self, invocation: ToolInvocation[EditParams], proposed_content: str
    ) -> ToolInvocation[EditParams]:
        if not isinstance(invocation, EditInvocation):
            raise TypeError(f"{invocation!r} is not an invocation of edit")
        return invocation.with_proposal(proposed_content)


def _changed_excerpts(before: Sequence[str], after: Sequence[str]) -> list[dict[str, Any]]:
    if len(before) != len(after):
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, "The lines with ⋯ stand for omitted text. Leave them unchanged."
        )
    return [{"old": old, "new": new} for old, new in zip(before, after, strict=True) if old != new]
