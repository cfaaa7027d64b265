"""The `undo` tool: restores the files that a call changed.

Models do not get this tool; ``Session.undo`` and ``%tools undo`` call it for the person.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbtools.core.call import CURRENT_CALL
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.message import counted
from nbtools.core.result import FileDiff, FileDiffs, ToolResult, ToolResultDisplay, failed
from nbtools.core.result_data import UndoData
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import BaseToolInvocation, Example, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.diff.line_diff import file_diff_with_hunks
from nbtools.tools.file_change import diffs_display
from nbtools.tools.workspace_tool import WorkspaceTool
from nbtools.workspace.cancellation import run_in_thread
from nbtools.workspace.files.encoding import decode
from nbtools.workspace.history.changes import make_changes
from nbtools.workspace.history.command_reach import STILL_RAN
from nbtools.workspace.history.operations import Remove, Write
from nbtools.workspace.history.store import Entry
from nbtools.workspace.history.undo import IN_EDITOR, UndoMerge, UndoPlan, entries_to_undo, plan_undo
from nbtools.workspace.paths import printable_path
from nbtools.workspace.workspace import Workspace

_MOST_NAMED = 10
_MOST_SHOWN = 20
"""Maximum number of files whose diffs are displayed."""


class UndoParams(ParameterModel):
    call: str = ""
    """The id of the call to undo, also of an earlier session.
    Default: the last call of this session that changed files.
    """
    merge: UndoMerge = False
    """Whether to keep later changes to the files: only the call's changes are reverted, if they do not
    overlap with later ones. Where they overlap, `keep` leaves the lines as they are now, and `take_back`
    restores them as they were before the call.
    """


class UndoTool(WorkspaceTool[UndoParams]):
    name = "undo"
    description = "Restores the files that a call changed, all of them or none. An undo can be undone."
    kind = Kind.EDIT
    parameters = UndoParams
    examples = (
        Example("Undoes the last change.", {}),
        Example("Undoes it and keeps later changes to the same files.", {"merge": True}),
    )

    def create_invocation(self, params: UndoParams) -> UndoInvocation:
        """Raises ``ToolFailure`` if there is nothing to undo."""
        return UndoInvocation(self.workspace, params)


class UndoInvocation(BaseToolInvocation[UndoParams]):
    __slots__ = ("entries", "workspace")

    def __init__(self, workspace: Workspace, params: UndoParams) -> None:
        super().__init__(params)
        self.workspace = workspace
        self.entries = entries_to_undo(workspace.journal, params.call)

    def get_description(self) -> str:
        paths = _paths(self.entries)
        return self._name(paths[0]) if len(paths) == 1 else counted(len(paths), "file")

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return tuple(ToolLocation(str(path)) for path in _paths(self.entries))

    def target(self) -> PathTarget:
        return PathTarget(tuple(map(self.workspace.relative, _paths(self.entries))))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        journal = self.workspace.journal
        running = [entry.id for entry in self.entries if entry.status == "running"]
        if running:
            await self.workspace.command_snapshots.settle(running)
            self.entries = entries_to_undo(journal, self._last.call)
        planned = await run_in_thread(
            lambda _: plan_undo(journal, self.entries, self._name, merging=self.params.merge)
        )
        unsaved = (
            STILL_RAN if running else next((entry.unsaved for entry in self.entries if entry.unsaved), "")
        )
        data = UndoData(self._last.call, self._last.tool, tuple(planned.files), unsaved)
        if planned.has_conflicts:
            return self._refused(planned, data)
        try:
            for steps in filter(None, (planned.steps, planned.folders)):
                await make_changes(journal, steps, undoes=self._last.call)
        except ToolFailure as failure:  # returned as a result: the call does not raise
            return failed(failure.error, data)
        await asyncio.to_thread(self._note)
        return self._result(planned, data)

    def _note(self) -> None:
        journal = self.workspace.journal
        call = CURRENT_CALL.get()
        journal.mark_undone(self.entries, call.id if call else "undone")
        redone = self._last.undoes
        if redone:
            journal.mark_undone(journal.entries(call=redone), "")

    def _refused(self, planned: UndoPlan, data: UndoData) -> ToolResult:
        hindered = data.hindered
        lines = [f"{file.path}: {file.why}" for file in hindered[:_MOST_NAMED]]
        more = [f"and {len(hindered) - _MOST_NAMED:,} more"] if len(hindered) > _MOST_NAMED else []
        why = "; ".join([*lines, *more])
        message = f"Nothing was undone: {why}. {self._advice(data)}"
        display = diffs_display(planned.merges) if planned.merges else message
        return ToolResult(
            f"Error: {message}", display, ToolError(ErrorCode.CONFLICT, message), "nothing undone", data
        )

    def _advice(self, data: UndoData) -> str:
        hindered = data.hindered
        if all(file.outcome == "mergeable" for file in hindered):
            return f"Undo {self._last.call} with merge to revert only its changes and keep the later ones."
        if data.has_same_lines:
            return (
                f"Undo {self._last.call} with merge set to keep to leave these lines as they are and revert"
                " the rest, or to take_back to restore them as they were before the call."
            )
        if all(file.why == IN_EDITOR for file in hindered):
            advice = (
                "Undo it in the editor: Ctrl-Z in a cell for its text, Z (Edit > Undo Cell Operation) for"
                " added, deleted and moved cells."
            )
            return f"{advice} To undo an earlier call, give its id."
        return "Edit the files by hand or move the conflicting ones away, then undo again."

    def _result(self, planned: UndoPlan, data: UndoData) -> ToolResult:
        done = [file for file in planned.files if file.outcome in ("restored", "merged")]
        names = ", ".join(file.path for file in done[:_MOST_NAMED])
        more = f" and {len(done) - _MOST_NAMED:,} more" if len(done) > _MOST_NAMED else ""
        merged = [file.path for file in done if file.outcome == "merged"]
        what = f"{names}{more}" if done else "the saved files already had their previous content"
        sentences = [f"Undid {self._call_description()}: {what}."]
        if merged:
            sentences.append(f"Later changes are kept in {', '.join(merged[:_MOST_NAMED])}.")
        call = CURRENT_CALL.get()
        sentences.append(
            f"The command may have changed more, which is not undone: {data.unsaved}." if data.unsaved else ""
        )
        sentences.append(f"Undo {call.id} to redo." if done and call else "")
        text = " ".join(filter(None, sentences))
        diffs = tuple(_diffs(planned, self.workspace))
        display: ToolResultDisplay = FileDiffs(diffs) if diffs else text
        if len(diffs) == 1:
            display = diffs[0]
        summary = _summary(len(done) - len(merged), len(merged))
        return ToolResult(
            text, display, summary=f"{summary}, may have changed more" if data.unsaved else summary, data=data
        )

    def _call_description(self) -> str:
        last = self._last
        when = time.strftime("%H:%M:%S", time.localtime(last.at))
        earlier = "" if last.session == self.workspace.journal.session else ", of another session"
        return f"{last.tool or 'the change'} {last.call} ({when}{earlier})"

    def _name(self, path: Path) -> str:
        return printable_path(self.workspace.relative(path))

    @property
    def _last(self) -> Entry:
        return self.entries[-1]


def _summary(restored: int, merged: int) -> str:
    parts = [f"{counted(restored, 'file')} restored"] if restored or not merged else []
    return ", ".join([*parts, *([f"{counted(merged, 'file')} merged"] if merged else [])])


def _paths(entries: Sequence[Entry]) -> tuple[Path, ...]:
    """Returns the paths that undoing may change."""
    paths = (
        path
        for entry in entries
        for record in entry.records
        for path in _of_record(record.kind, record.path, record.place)
    )
    return tuple(dict.fromkeys(paths))


def _of_record(kind: str, path: Path, place: Path | None) -> Iterable[Path]:
    return (path, place) if kind == "move" and place is not None else (path,)


def _diffs(planned: UndoPlan, workspace: Workspace) -> Iterable[FileDiff]:
    """Yields the diffs of the restored text files."""
    steps = [step for step in planned.steps if isinstance(step, Write | Remove)]
    for step in steps[:_MOST_SHOWN]:
        after = step.after if isinstance(step, Write) else b""
        old, new = None if step.before is None else decode(step.before), decode(after)
        if new is not None and (step.before is None or old is not None):
            yield file_diff_with_hunks(workspace.relative(step.path), old.text if old else None, new.text)[0]
