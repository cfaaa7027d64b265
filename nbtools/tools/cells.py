"""The `cells` tool: reads, changes and runs cells of a notebook file or of a notebook open in the browser."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from nbtools.core.confirmation import (
    ToolCallConfirmationDetails,
    ToolInfoConfirmationDetails,
)
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.message import Advice, CalledTool, Message, Parameter, counted, joined
from nbtools.core.result import ToolResult
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
from nbtools.tools.cell_plan import CellPlan, index_of_changed_cell, named_cell, plan_change
from nbtools.workspace.files.path_suggestions import path_not_found
from nbtools.workspace.notebooks.cell_outputs import (
    Output,
    outputs_content,
    outputs_display,
    outputs_terminal,
    outputs_text,
)
from nbtools.workspace.notebooks.kernels import CellRun, Kernels
from nbtools.workspace.notebooks.notebook import ClosedNotebook, EditorNotebook, Notebook
from nbtools.workspace.notebooks.notebook_file import CellText, find_cell
from nbtools.workspace.notebooks.open_notebooks import (
    CellType,
    DeleteCell,
    MoveCell,
    NoOpenNotebooks,
    OpenNotebooks,
    ReplaceCell,
)
from nbtools.workspace.paths import printable_path
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.throttle import Throttle
from nbtools.workspace.workspace import Workspace

Action = Literal["read", "replace", "insert", "delete", "move", "run"]

_REQUIRED = {
    "replace": ("id", "source"),
    "insert": ("source",),
    "delete": ("id",),
    "move": ("id",),
    "run": ("id",),
}
_ALLOWED = {
    "read": {"id"},
    "replace": {"id", "source", "type"},
    "insert": {"source", "type", "after"},
    "delete": {"id"},
    "move": {"id", "after"},
    "run": {"id", "timeout"},
}
_KINDS = {"read": Kind.READ, "run": Kind.EXECUTE}
_PAST = {"replace": "Replaced the source of", "insert": "Inserted", "delete": "Deleted", "move": "Moved"}


class CellsParams(ParameterModel):
    path: str | None = None
    """The notebook file. Default: the notebook that the person has open."""
    action: Action = "read"
    """What to do: read all cells or the one with id, replace a cell's source, insert a new cell, or delete,
    move or run a cell.
    """
    id: str | None = None
    """The cell: its id as returned by read, or its number, such as #3."""
    source: Annotated[str | None, Field(json_schema_extra={"body": True})] = None
    """The whole new source of the cell (replace, insert)."""
    type: CellType | None = None
    """The cell type. Default: code for an inserted cell, unchanged for a replaced one."""
    after: str | None = None
    """The id of the cell after which an inserted or moved cell is placed; "" for the top.
    Default: the end.
    """
    timeout: Annotated[float | None, Field(gt=0)] = None
    """Seconds that a run may take. Default: 120."""


@dataclass(frozen=True, slots=True)
class CellsData:
    """The action that was done on the notebook at ``path``, and the ``id`` of its cell.

    ``live``: in the open notebook, not on disk.
    ``cells``: those read or run; after a change, all cells in their new state.
    """

    path: str
    live: bool
    action: str
    id: str
    cells: tuple[CellText, ...]


class CellsTool(BaseDeclarativeTool[CellsParams]):
    """Reads, changes and runs notebook cells.

    ``live`` gives access to open notebooks (default: the workspace's).
    ``timeout`` and ``longest``: default and maximum seconds of a run.
    """

    name = "cells"
    description = (
        "Reads, replaces, inserts, deletes, moves or runs cells of a Jupyter notebook, addressed by cell id."
        " A notebook that is open in JupyterLab is changed in the editor, where undo reverts it; any other is"
        " changed in its file. Replacing a code cell's source clears its outputs."
    )
    kind = Kind.EDIT
    can_update_output = True
    parameters = CellsParams
    examples = (
        Example("Shows the cells of a notebook with their ids.", {"path": "analysis.ipynb"}),
        Example(
            "Replaces the source of a cell.",
            {"path": "analysis.ipynb", "action": "replace", "id": "load", "source": "x = 2"},
        ),
    )

    def __init__(
        self,
        workspace: Workspace,
        *,
        live: OpenNotebooks | None = None,
        timeout: float = 120,
        longest: float = 3600,
    ) -> None:
        self.workspace = workspace
        self.live: OpenNotebooks = live or workspace.open_notebooks or NoOpenNotebooks()
        self.timeout = timeout
        self.longest = longest
        self.kernels = Kernels()
        workspace.at_close(self.kernels.close)

    def validate_tool_param_values(self, params: CellsParams) -> str | None:
        missing = [name for name in _REQUIRED.get(params.action, ()) if getattr(params, name) is None]
        if missing:
            names = joined(" and ", map(_parameter, missing))
            return Message.of(CalledTool("cells"), f": {params.action} needs ", names, ".")
        present = {
            name for name in ("id", "source", "type", "after", "timeout") if getattr(params, name) is not None
        }
        useless = sorted(present - _ALLOWED[params.action])
        if useless:
            names = joined(" or ", map(_parameter, useless))
            return Message.of(
                CalledTool("cells"), f": {params.action} does not use ", names, ". Leave it out."
            )
        if params.timeout is not None and params.timeout > self.longest:
            limit = f" is at most {self.longest:g} seconds (given {params.timeout:g})."
            return Message.of(CalledTool("cells"), ": ", Parameter("timeout"), limit)
        return None

    def create_invocation(self, params: CellsParams) -> CellsInvocation:
        return CellsInvocation(self, params)

    def get_modify_context(self) -> ModifyContext[CellsParams]:
        return CellsModifyContext()


def _parameter(name: str) -> str:
    return Message.of(Parameter(name))


class CellsInvocation(BaseToolInvocation[CellsParams]):
    __slots__ = ("file", "planned", "proposal", "tool")

    def __init__(self, tool: CellsTool, params: CellsParams) -> None:
        super().__init__(params)
        self.tool = tool
        self.file = tool.live.own_file if params.path is None else tool.workspace.resolve(params.path)
        self.planned: CellPlan | None = None
        self.proposal: str | None = None

    @property
    def kind(self) -> Kind | None:
        return _KINDS.get(self.params.action)

    def with_proposal(self, proposal: str) -> Self:
        """Returns a copy of this invocation that records ``proposal`` as the model's own text."""
        same = copy.copy(self)
        same.planned, same.proposal = None, proposal
        return same

    def get_description(self) -> str:
        cell = " cell" if self.params.id or self.params.action == "insert" else ""
        if self.params.id:
            cell += f" {printable_path(self.params.id)}"
        return f"{self.params.action}{cell} · {self._name()}"

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.file)),) if self.file else ()

    def target(self) -> PathTarget:
        if self.params.path is not None:
            return PathTarget(self.tool.workspace.spellings(self.params.path))
        return PathTarget((self._relative(self.file),) if self.file else ())

    async def should_confirm_execute(self) -> ToolCallConfirmationDetails | Literal[False]:
        """Returns the question. Raises ``ToolFailure`` if the action cannot be done,
        before anyone is asked.
        """
        if self.params.action == "read":
            return False
        notebook = await self._open()
        cells = await notebook.cells()
        if self.params.action == "run":
            cell = _code_cell(cells, self.params.id or "", notebook.subject)
            return ToolInfoConfirmationDetails(f"Run {named_cell(cell)} of {notebook.subject}?", cell.source)
        notebook.check_read()
        self.planned = plan = plan_change(self.params, notebook.subject, cells)
        return plan.question(self.params.action, notebook.subject, self.file, self.proposal)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        notebook = await self._open()
        if self.params.action == "read":
            return await self._read(notebook)
        if self.params.action == "run":
            return await self._run(notebook, update_output)
        return await self._change(notebook)

    # --- the notebook

    async def _open(self) -> Notebook:
        """Opens the notebook. Raises ``ToolFailure`` if the path no longer resolves to the file that the
        policy decided about.
        """
        path = self.params.path
        file = None if path is None else self.tool.workspace.resolve(path)
        if path is not None and file != self.file:
            raise ToolFailure(
                ErrorCode.CONFLICT,
                f"{printable_path(path)} now resolves to a different path. Nothing was changed. Call again.",
            )
        found = await self.tool.live.find(file)
        seen = self.tool.workspace.read_tracker
        if found is not None:
            where = found.file or file
            subject = printable_path(self._relative(where) if where else found.path)
            if path is None and found.file != self.file:
                raise ToolFailure(
                    ErrorCode.CONFLICT,
                    f"The notebook was renamed to {subject}. Nothing was done. Call again.",
                )
            return EditorNotebook(self.tool.live, found, subject, seen)
        if path is None or file is None:
            why = "No notebook is open: no JupyterLab or Notebook 7 with the nbtools extension is connected"
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                Message.of(f"{why}. Name the notebook file with ", Parameter("path"), "."),
            )
        if not file.exists():
            raise path_not_found(self.tool.workspace, path)
        return ClosedNotebook(
            file, printable_path(path), seen, self.tool.kernels, self.tool.workspace.journal
        )

    def _relative(self, file: Path) -> str:
        return (
            self.tool.workspace.relative(file) if file.is_relative_to(self.tool.workspace.root) else str(file)
        )

    def _name(self) -> str:
        return printable_path(self._relative(self.file)) if self.file else "this notebook"

    # --- reading

    async def _read(self, notebook: Notebook) -> ToolResult:
        cells = await notebook.cells()
        selected = (
            cells if self.params.id is None else (cells[find_cell(cells, self.params.id, notebook.subject)],)
        )
        notebook.note_read(ReadExtent.WHOLE if self.params.id is None else ReadExtent.RANGE)
        count = counted(len(cells), "cell")
        state = ""
        if isinstance(notebook, EditorNotebook):
            state = f" (open, {'with unsaved changes' if notebook.notebook.dirty else 'saved'})"
        text = "\n\n".join([f"{notebook.subject}: {count}{state}", *map(_cell_as_text, selected)])
        return ToolResult(
            text, text, summary=count, data=self._data(notebook, self.params.id or "", selected)
        )

    # --- changing

    async def _change(self, notebook: Notebook) -> ToolResult:
        before = await notebook.cells()
        if self.planned is None:
            notebook.check_read()
        plan = self.planned or plan_change(self.params, notebook.subject, before)
        noting = (
            self.tool.workspace.journal.record_notebook_change(self.file or Path(notebook.subject))
            if notebook.live
            else contextlib.nullcontext()
        )
        with noting:
            after = await notebook.change(plan.change)
        index = index_of_changed_cell(plan.change, before, after, notebook.subject)
        cell = before[index] if isinstance(plan.change, DeleteCell) else after[index]
        data = self._data(notebook, cell.id, after)
        if isinstance(plan.change, ReplaceCell) and before[index] == cell:
            text = (
                f"C{named_cell(cell)[1:]} of {notebook.subject} already has this source; nothing was changed."
            )
            return ToolResult(text, text, summary="nothing changed", data=data)
        preposition = {"insert": "into", "delete": "from"}.get(self.params.action, "in")
        done = f"{_PAST[self.params.action]} {named_cell(cell)} {preposition} {notebook.subject}."
        text = " ".join([done, *self._notes(plan, cell, notebook)])
        if isinstance(plan.change, MoveCell):
            return ToolResult(text, text, summary=f"now #{cell.number}", data=data)
        diff = plan.compared(f"{notebook.subject} · cell {cell.id}", self.proposal)
        content = text
        if diff.file_diff and plan.before is not None:
            content += "\n" + diff.file_diff.split("\n", 2)[2]  # without the names of the files
        added, removed = diff.changed_lines
        return ToolResult(content, diff, summary=f"+{added} −{removed}", data=data)

    def _notes(self, plan: CellPlan, cell: CellText, notebook: Notebook) -> list[str]:
        notes = ["Its outputs were cleared."] if plan.cleared and not cell.outputs else []
        if self.proposal is not None and self.proposal != plan.after:
            notes.append("The person changed the proposed text before it was applied.")
        if notebook.live:
            return [
                *notes,
                "The notebook is open: the change is in the editor, not saved; undo there reverts it.",
            ]
        return notes

    # --- running

    async def _run(self, notebook: Notebook, update_output: UpdateOutput | None) -> ToolResult:
        cell = _code_cell(await notebook.cells(), self.params.id or "", notebook.subject)
        outputs: list[Output] = []
        pulse = Throttle(lambda: update_output(outputs_terminal(outputs, None))) if update_output else None

        def watch(so_far: Any) -> None:
            outputs[:] = so_far
            if pulse:
                pulse.trigger()

        timeout = self.params.timeout or self.tool.timeout
        try:
            ran = await notebook.run(cell, timeout, watch)
        except BaseException:
            if pulse:
                pulse.flush()
            raise
        finally:
            if pulse:
                pulse.stop()
        return self._ran(notebook, cell, ran, timeout)

    def _ran(self, notebook: Notebook, cell: CellText, ran: CellRun, timeout: float) -> ToolResult:
        subject = f"C{named_cell(cell)[1:]} of {notebook.subject}"
        after = CellText(cell.id, cell.number, cell.type, cell.source, outputs_text(ran.outputs))
        data = self._data(notebook, cell.id, (after,))
        if ran.queued:
            text = (
                f"{subject} is queued: the kernel is busy with the cell that makes this call and runs it"
                " afterwards."
            )
            return ToolResult(text, text, summary="queued", data=data)
        error, how, summary = None, "ran", "ran"
        if ran.lost:
            error = ToolError(
                ErrorCode.EXECUTION_FAILED,
                f"The kernel of {notebook.subject} died. The next run starts a new one.",
            )
        elif ran.timed_out:
            error = ToolError(
                ErrorCode.TIMEOUT,
                Message.of(
                    f"{subject} was stopped after {timeout:g} seconds.",
                    Advice(" Give a longer ", Parameter("timeout"), "."),
                ),
            )
        if ran.failed:
            how, summary = "raised an error", "error"
        elif error:
            how, summary = "did not finish", "stopped"
        parts = [f"{subject} {how}.", after.outputs or "(no output)", *([error.message] if error else [])]
        text = "\n".join(parts)
        return ToolResult(
            outputs_content(text, ran.outputs),
            outputs_display(ran.outputs, notebook.subject, failed=ran.failed),
            error,
            summary,
            data,
        )

    def _data(self, notebook: Notebook, cell_id: str, cells: tuple[CellText, ...]) -> CellsData:
        path = self._relative(self.file) if self.file else notebook.subject
        return CellsData(path, notebook.live, self.params.action, cell_id, cells)


class CellsModifyContext:
    def create_updated_params(
        self, original_content: str | None, new_content: str, params: CellsParams
    ) -> Mapping[str, Any]:
        """Returns the parameters with another source; a deletion that leaves text becomes a replacement."""
        arguments = params.model_dump(exclude_none=True)
        action = "replace" if params.action == "delete" and new_content else params.action
        return {**arguments, "action": action, **({} if action == "delete" else {"source": new_content})}

    def remember_proposal(
        self, invocation: ToolInvocation[CellsParams], proposed_content: str
    ) -> ToolInvocation[CellsParams]:
        if not isinstance(invocation, CellsInvocation):
            raise TypeError(f"{invocation!r} is not an invocation of cells")
        return invocation.with_proposal(proposed_content)


def _code_cell(cells: tuple[CellText, ...], cell_id: str, subject: str) -> CellText:
    cell = cells[find_cell(cells, cell_id, subject)]
    if cell.type != "code":
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"C{named_cell(cell)[1:]} of {subject} is a {cell.type} cell; only code cells run.",
        )
    return cell


def _cell_as_text(cell: CellText) -> str:
    """Returns a cell for a model: number, type, id, source and outputs."""
    own = "" if cell.id.startswith("#") else f" · id {cell.id}"
    outputs = f"\n--- output\n{cell.outputs}" if cell.outputs else ""
    return f"=== #{cell.number} · {cell.type}{own}\n{cell.source}{outputs}"
