"""Undoing what a call has changed.  No tool for a model: ``Session.undo`` and ``%tools undo`` make such a call for the person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from nbtools.core.current import CURRENT_CALL
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import FileDiff, FileDiffs, ToolResult, failed
from nbtools.core.tool import BaseToolInvocation, Kind, PathTarget, ToolLocation, UpdateOutput
from nbtools.tools.file_changes import counted, displayed
from nbtools.workspace.changes import carry_out
from nbtools.workspace.diff import compared
from nbtools.workspace.halting import in_thread
from nbtools.workspace.journal.choosing import chosen
from nbtools.workspace.journal.records import Entry
from nbtools.workspace.journal.undoing import IN_EDITOR, FileUndone, Undoing, undoing
from nbtools.workspace.paths import shown
from nbtools.workspace.steps import Remove, Write
from nbtools.workspace.text import decode
from nbtools.workspace.workspace import Workspace

_MOST_NAMED = 10
_MOST_SHOWN = 20
"""Files whose diffs are shown."""


class UndoParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    call: str = ""
    """The id of the call whose changes are undone, also one of an earlier session. Empty: the last one of this session."""
    merge: bool = False
    """Where files were changed since: take the call's changes out and keep the others, if they do not touch the same lines."""


@dataclass(frozen=True, slots=True)
class Undone:
    """``call`` is the call whose changes were undone, or were to be; ``files`` says what became of each."""

    call: str
    tool: str
    files: tuple[FileUndone, ...]


class UndoTool(BaseDeclarativeTool[UndoParams]):
    name = "undo"
    description = "Brings back what was there before a call changed it, all of it or nothing. An undo can be undone."
    kind = Kind.EDIT
    parameters = UndoParams

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def create_invocation(self, params: UndoParams) -> UndoInvocation:
        """Raises ``ToolFailure``: there is nothing to undo."""
        return UndoInvocation(self.workspace, params)


class UndoInvocation(BaseToolInvocation[UndoParams]):
    __slots__ = ("entries", "workspace")

    def __init__(self, workspace: Workspace, params: UndoParams) -> None:
        super().__init__(params)
        self.workspace = workspace
        self.entries = chosen(workspace.journal, params.call)

    def get_description(self) -> str:
        return f"{self._last.tool or 'a call'} {self._last.call}"

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return tuple(ToolLocation(str(path)) for path in _paths(self.entries))

    def target(self) -> PathTarget:
        return PathTarget(tuple(map(self.workspace.relative, _paths(self.entries))))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        journal = self.workspace.journal
        running = [entry.id for entry in self.entries if entry.status == "running"]
        if running:
            await self.workspace.watching.settle(running)
            self.entries = chosen(journal, self._last.call)
        planned = await in_thread(lambda _: undoing(journal, self.entries, self._name, merging=self.params.merge))
        data = Undone(self._last.call, self._last.tool, tuple(planned.files))
        if planned.hindered:
            return self._refused(planned, data)
        try:
            for steps in filter(None, (planned.steps, planned.folders)):
                await carry_out(journal, steps, undoes=self._last.call)
        except ToolFailure as failure:  # a result: nobody is asked what to do about it
            return failed(failure.error, data)
        await asyncio.to_thread(self._note)
        return self._result(planned, data)

    def _note(self) -> None:
        journal = self.workspace.journal
        journal.undone(self.entries, CURRENT_CALL.get() or "undone")
        again = self._last.undoes
        if again:
            journal.undone(journal.entries(call=again), "")

    def _refused(self, planned: Undoing, data: Undone) -> ToolResult:
        hindered = [file for file in planned.files if file.outcome in ("mergeable", "conflict")]
        lines = [f"{file.path}: {file.why}" for file in hindered[:_MOST_NAMED]]
        more = [f"and {len(hindered) - _MOST_NAMED:,} more"] if len(hindered) > _MOST_NAMED else []
        why = "; ".join([*lines, *more])
        message = f"Nothing was undone: {why}. {self._way_on(hindered)}"
        shown_ = displayed(planned.merges) if planned.merges else message
        return ToolResult(f"Error: {message}", shown_, ToolError(ErrorCode.CONFLICT, message), "nothing undone", data)

    def _way_on(self, hindered: Sequence[FileUndone]) -> str:
        if all(file.outcome == "mergeable" for file in hindered):
            return f"Undo {self._last.call} with merge to take its changes out and keep the others."
        if all(file.why == IN_EDITOR for file in hindered):
            there = (
                "Undo it there: Ctrl-Z in a cell for its text, Z beside it (Edit > Undo Cell Operation) for added, deleted and moved cells."
            )
            return f"{there} To undo something earlier, name its call."
        return "Change the files by hand, or move aside what is in the way, and undo again."

    def _result(self, planned: Undoing, data: Undone) -> ToolResult:
        done = [file for file in planned.files if file.outcome in ("restored", "merged")]
        names = ", ".join(file.path for file in done[:_MOST_NAMED])
        more = f" and {len(done) - _MOST_NAMED:,} more" if len(done) > _MOST_NAMED else ""
        merged = [file.path for file in done if file.outcome == "merged"]
        told = [f"Undid {self._what()}: {f'{names}{more}' if done else 'everything was as before already'}."]
        if merged:
            told.append(f"What was changed since is kept in {', '.join(merged[:_MOST_NAMED])}.")
        told.append(f"Undo {CURRENT_CALL.get()} to bring it back." if done and CURRENT_CALL.get() else "")
        text = " ".join(filter(None, told))
        diffs = tuple(_diffs(planned, self.workspace))
        display = text if not diffs else diffs[0] if len(diffs) == 1 else FileDiffs(diffs)
        return ToolResult(text, display, summary=_summary(len(done) - len(merged), len(merged)), data=data)

    def _what(self) -> str:
        last = self._last
        when = time.strftime("%H:%M:%S", time.localtime(last.at))
        earlier = "" if last.session == self.workspace.journal.session else ", of another session"
        return f"{last.tool or 'the change'} {last.call} ({when}{earlier})"

    def _name(self, path: Path) -> str:
        return shown(self.workspace.relative(path))

    @property
    def _last(self) -> Entry:
        return self.entries[-1]


def _summary(restored: int, merged: int) -> str:
    told = [f"{counted(restored, 'file')} as before"] if restored or not merged else []
    return ", ".join([*told, *([f"{counted(merged, 'file')} merged"] if merged else [])])


def _paths(entries: Sequence[Entry]) -> tuple[Path, ...]:
    """Those that undoing may change."""
    given = (path for entry in entries for record in entry.records for path in _of_record(record.kind, record.path, record.place))
    return tuple(dict.fromkeys(given))


def _of_record(kind: str, path: Path, place: Path | None) -> Iterable[Path]:
    return (path, place) if kind == "move" and place is not None else (path,)


def _diffs(planned: Undoing, workspace: Workspace) -> Iterable[FileDiff]:
    """What undoing has done to texts."""
    steps = [step for step in planned.steps if isinstance(step, Write | Remove)]
    for step in steps[:_MOST_SHOWN]:
        after = step.after if isinstance(step, Write) else b""
        old, new = None if step.before is None else decode(step.before), decode(after)
        if new is not None and (step.before is None or old is not None):
            yield compared(workspace.relative(step.path), old.text if old else None, new.text)[0]
