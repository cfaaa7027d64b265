"""The `patch` tool: applies a patch to one or more files."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import Field

from nbtools.core.confirmation import FileChoice, ToolEditConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Message, counted, joined
from nbtools.core.result import FileDiff, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import BaseToolInvocation, Example, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.diff.line_diff import PatchHunk, file_diff_with_hunks
from nbtools.diff.patch_model import Patch, Update
from nbtools.tools.file_change import diffs_confirmation, diffs_display, line_counts, truncated_diffs
from nbtools.tools.workspace_tool import WorkspaceTool
from nbtools.workspace.history.changes import make_changes
from nbtools.workspace.paths import printable_path
from nbtools.workspace.text.file_edit import FileChanged
from nbtools.workspace.text.file_selection import describe_choices, parts_of, select_files
from nbtools.workspace.text.match import MatchMode
from nbtools.workspace.text.patch_plan import (
    PatchedFile,
    PatchPlan,
    changed_since_read,
    plan_patch,
    read_patch,
    record_written,
)

_MOST_NAMED = 3
_MOST_LISTED = 20
_MOST_NOTES = 20


class PatchParams(ParameterModel):
    patch: str = Field(json_schema_extra={"body": True})
    """Search/replace blocks (lines `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`), a unified diff,
    or a `*** Begin Patch` envelope.
    """
    path: str | None = None
    """The file for blocks and hunks that do not name one."""
    match: MatchMode = "close"
    """How lines may differ from the file: exact: only in line endings; blanks: also in whitespace;
    close: also slightly in their text.
    """


@dataclass(frozen=True, slots=True)
class PatchData:
    """The files changed or created, deleted, and moved (from, to).  Paths are relative to the workspace.

    ``notes`` says how inexact hunks were found, and what else the caller should know.
    """

    files: tuple[FileChanged, ...]
    deleted: tuple[str, ...]
    moved: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()


class PatchTool(WorkspaceTool[PatchParams]):
    """Applies a patch.  Every hunk and block must match exactly one place in the current files;
    all files are changed or none.

    See ``nbtools.diff`` and ``workspace/text`` for the formats,
    and for what is rejected where the original tools guess or lose text.
    """

    name = "patch"
    description = (
        "Changes, creates, deletes and moves files with a patch, all or none: search/replace blocks, a"
        " unified diff, or a *** Begin Patch envelope. Old lines must occur exactly once in the file; line"
        " numbers may be wrong."
    )
    kind = Kind.EDIT
    parameters = PatchParams
    examples = (
        Example(
            "Changes a file with a search/replace block.",
            {
                "path": "src/cart.py",
                "patch": "<<<<<<< SEARCH\ntotal = 0\n=======\ntotal = 1\n>>>>>>> REPLACE\n",
            },
        ),
        Example(
            "Adds a file with a Codex patch.",
            {"patch": "*** Begin Patch\n*** Add File: hello.txt\n+Hello\n*** End Patch\n"},
        ),
    )

    def create_invocation(self, params: PatchParams) -> PatchInvocation:
        return PatchInvocation(self, params)


class PatchInvocation(BaseToolInvocation[PatchParams]):
    __slots__ = ("approved_plan", "choices", "patch", "paths", "selected", "tool")

    def __init__(self, tool: PatchTool, params: PatchParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.patch = read_patch(params.patch, params.path)
        self.paths = {name: tool.workspace.resolve(name) for name in _names(self.patch)}
        self.approved_plan: PatchPlan | None = None
        self.selected: PatchPlan | None = None
        self.choices: tuple[str, ...] = ()

    def get_description(self) -> str:
        names = [self.tool.workspace.relative(path) for path in dict.fromkeys(self.paths.values())]
        return ", ".join(map(printable_path, names[:_MOST_NAMED])) + (
            f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        )

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return tuple(ToolLocation(str(path)) for path in dict.fromkeys(self.paths.values()))

    def target(self) -> PathTarget:
        return PathTarget(
            tuple(dict.fromkeys(path for name in self.paths for path in self.tool.workspace.spellings(name)))
        )

    async def should_confirm_execute(self) -> ToolEditConfirmationDetails:
        """Returns the question. Raises ``ToolFailure`` if the patch cannot be applied,
        before anyone is asked.
        """
        self.approved_plan = planned = await self._planned()
        compared = await asyncio.to_thread(_compared, planned)
        details = diffs_confirmation(
            _title(planned), self.tool.workspace.root, [diff for diff, _ in compared]
        )
        actions = [
            f"{action}."
            for action in _file_actions(planned, ("Creates", "Deletes", "", "Moves"))
            if action[:1] != " "
        ]
        chosen = [f"You {', '.join(self.choices)}."] if self.choices else []
        return replace(details, note=" ".join([*actions, *chosen]), parts=tuple(map(parts_of, planned.files)))

    def select(self, files: Sequence[FileChoice]) -> Self:
        if self.approved_plan is None:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                "Nobody was asked about the patch, so there is nothing to choose from.",
            )
        same = copy.copy(self)
        same.approved_plan = same.selected = select_files(self.approved_plan, files)
        names = [file.name for file in self.approved_plan.files]
        same.choices = (
            *self.choices,
            *describe_choices(names, list(map(parts_of, self.approved_plan.files)), files),
        )
        return same

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        planned = await self._planned()
        changed = changed_since_read(self.tool.workspace, planned)
        folders = await make_changes(self.tool.workspace.journal, planned.steps)
        record_written(self.tool.workspace, planned)
        compared = await asyncio.to_thread(_compared, planned)
        return self._result(planned, compared, folders, tuple(self._notes(planned, changed)))

    async def _planned(self) -> PatchPlan:
        workspace = self.tool.workspace
        for name, path in self.paths.items():
            if workspace.resolve(name) != path:
                raise ToolFailure(
                    ErrorCode.CONFLICT,
                    f"{printable_path(name)} now resolves to a different path. Nothing was changed. Call"
                    " again.",
                )
        if self.selected is not None:  # its operations refuse files that have changed since
            return self.selected
        try:
            return await asyncio.to_thread(plan_patch, workspace, self.patch, self.params.match)
        except ToolFailure as failure:
            if self.approved_plan is None:
                raise
            why = Message.of(
                "The files were changed after the diff was displayed, and the patch no longer applies: ",
                failure.message,
            )
            raise ToolFailure(ErrorCode.CONFLICT, why) from None

    def _notes(self, planned: PatchPlan, changed: list[str]) -> Iterator[str]:
        if self.choices:
            yield f"The person {', '.join(self.choices)}"
        yield from planned.notes[:_MOST_NOTES]
        if len(planned.notes) > _MOST_NOTES:
            yield f"{len(planned.notes) - _MOST_NOTES} more notes are omitted"
        if self.approved_plan is not None and [file.before for file in self.approved_plan.files] != [
            file.before for file in planned.files
        ]:
            yield "A file was changed after the diff was displayed; those changes are kept"
        if changed:
            yield (
                f"{', '.join(map(printable_path, changed[:_MOST_NAMED]))} was changed after it was read;"
                " those changes are kept"
            )

    def _result(
        self,
        planned: PatchPlan,
        compared: list[tuple[FileDiff, tuple[PatchHunk, ...]]],
        folders: tuple[Path, ...],
        notes: tuple[str, ...],
    ) -> ToolResult:
        diffs = [diff for diff, _ in compared]
        files = [
            FileChanged(
                file.name,
                file.before is None,
                file.places,
                diff.diff_stat,
                hunks,
                self._made_for(file, folders),
            )
            for file, (diff, hunks) in zip(planned.files, compared, strict=True)
            if file.after is not None and file.before != file.after
        ]
        data = PatchData(
            tuple(files),
            tuple(file.former for file in planned.files if file.after is None),
            tuple((file.former, file.name) for file in planned.files if file.moved),
            notes,
        )
        text = "\n".join([*_action_sentences(planned), *(f"{note.rstrip('.')}." for note in notes)])
        edits = [
            diff
            for file, diff in zip(planned.files, diffs, strict=True)
            if file.before is not None and file.after is not None
        ]
        summary = f"{counted(len(planned.files), 'file')}, {line_counts(diffs)}"
        return ToolResult(
            joined("\n", filter(None, (text, truncated_diffs(edits)))),
            diffs_display(diffs),
            summary=summary,
            data=data,
        )

    def _made_for(self, file: PatchedFile, folders: tuple[Path, ...]) -> tuple[str, ...]:
        return tuple(
            self.tool.workspace.relative(folder) for folder in folders if folder in file.path.parents
        )


def _names(patch: Patch) -> Iterator[str]:
    for file in patch.files:
        yield file.path
        if isinstance(file, Update) and file.to is not None:
            yield file.to


def _compared(planned: PatchPlan) -> list[tuple[FileDiff, tuple[PatchHunk, ...]]]:
    return [
        file_diff_with_hunks(file.name, file.text(file.before), file.text(file.after) or "")
        for file in planned.files
    ]


def _title(planned: PatchPlan) -> str:
    actions = list(_file_actions(planned, ("create", "delete", "edit", "move")))
    if len(actions) <= _MOST_NAMED:
        text = ", ".join(actions)
        return f"{text[:1].upper()}{text[1:]}?"
    return f"Patch {len(actions)} files: {', '.join(actions[:_MOST_NAMED])}, …?"


def _action_sentences(planned: PatchPlan) -> Iterator[str]:
    actions = list(_file_actions(planned, ("Created", "Deleted", "Edited", "Moved")))
    yield from (f"{action}." for action in actions[:_MOST_LISTED])
    if len(actions) > _MOST_LISTED:
        yield f"And {len(actions) - _MOST_LISTED} more files."


def _file_actions(planned: PatchPlan, verbs: tuple[str, str, str, str]) -> Iterator[str]:
    created, deleted, edited, moved = verbs
    for file in planned.files:
        name = printable_path(file.name)
        if file.before is None:
            yield f"{created} {name}"
        elif file.after is None:
            yield f"{deleted} {printable_path(file.former)}"
        elif file.moved:
            yield f"{moved} {printable_path(file.former)} to {name}" + (
                " with changes" if file.before != file.after else ""
            )
        else:
            yield f"{edited} {name}" + (f" in {file.places} places" if file.places > 1 else "")
