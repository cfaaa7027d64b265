"""Computes the change of a cell that a call of `cells` asks for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.confirmation import (
    ToolCallConfirmationDetails,
    ToolEditConfirmationDetails,
    ToolInfoConfirmationDetails,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Message, Parameter
from nbtools.core.result import FileDiff
from nbtools.diff.line_diff import file_diff_with_hunks
from nbtools.workspace.notebooks.notebook import index_after
from nbtools.workspace.notebooks.notebook_file import CellText, find_cell, new_id
from nbtools.workspace.notebooks.open_notebooks import (
    CellChange,
    DeleteCell,
    InsertCell,
    MoveCell,
    ReplaceCell,
)

if TYPE_CHECKING:
    from nbtools.tools.cells import CellsParams

_LANGUAGES = {"code": "python", "markdown": "markdown"}


@dataclass(frozen=True, slots=True)
class CellPlan:
    """A computed change. ``before`` and ``after``: the cell's sources;
    ``cleared``: the cell has outputs that the change removes.
    """

    change: CellChange
    name: str
    before: str | None
    after: str
    type: str
    cleared: bool = False

    def compared(self, name: str, proposal: str | None) -> FileDiff:
        """Returns the diff of the sources, in the cell's language."""
        return dataclasses.replace(
            file_diff_with_hunks(name, self.before, self.after, proposal)[0],
            language=_LANGUAGES.get(self.type, "text"),
        )

    def question(
        self, action: str, subject: str, file: Path | None, proposal: str | None
    ) -> ToolCallConfirmationDetails:
        """Returns the question whether to do ``action`` in the notebook called ``subject``."""
        if isinstance(self.change, MoveCell):
            after = self.change.after
            to = {None: "to the end", "": "to the top"}.get(after, f"after cell {after}")
            return ToolInfoConfirmationDetails(f"Move {self.name} of {subject} {to}?", self.before or "")
        diff = self.compared(f"{subject} · {self.name}", proposal)
        place = "into" if self.before is None else "of"
        return ToolEditConfirmationDetails(
            title=f"{action.capitalize()} {self.name} {place} {subject}?",
            file_name=diff.file_name,
            file_path=str(file or ""),
            file_diff=diff.file_diff,
            original_content=diff.original_content,
            new_content=diff.new_content,
            diff_stat=diff.diff_stat,
            is_modifying=proposal is not None,
            language=diff.language,
        )


def plan_change(params: CellsParams, subject: str, cells: tuple[CellText, ...]) -> CellPlan:
    """Raises ``ToolFailure`` if there is no such cell."""
    after = (
        _unique_name(cells, cells[find_cell(cells, params.after, subject)]) if params.after else params.after
    )
    if params.action == "insert":
        cell_id = new_id(cell.id for cell in cells)
        kind, source = params.type or "code", params.source or ""
        return CellPlan(InsertCell(cell_id, source, kind, after), "new cell", None, source, kind)
    cell = cells[find_cell(cells, params.id or "", subject)]
    name = _unique_name(cells, cell)
    if params.action == "replace":
        source = params.source or ""
        change = ReplaceCell(name, cell.source, source, params.type)
        return CellPlan(
            change, f"cell {cell.id}", cell.source, source, params.type or cell.type, bool(cell.outputs)
        )
    if params.action == "delete":
        return CellPlan(DeleteCell(name, cell.source), f"cell {cell.id}", cell.source, "", cell.type)
    if params.after and cells[find_cell(cells, params.after, subject)] == cell:
        reason = f"Cell {params.after} cannot be moved after itself. Give the id of another cell as "
        message = Message.of(reason, Parameter("after"), ".")
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    return CellPlan(MoveCell(name, after), f"cell {cell.id}", cell.source, cell.source, cell.type)


def index_of_changed_cell(
    change: CellChange, before: tuple[CellText, ...], after: tuple[CellText, ...], subject: str
) -> int:
    """Returns the index of the changed cell: in ``before`` for a deletion, otherwise in ``after``."""
    if isinstance(change, DeleteCell):
        return find_cell(before, change.cell, subject)
    if isinstance(change, ReplaceCell):
        return find_cell(after, change.cell, subject)
    same_id = [index for index, cell in enumerate(after) if cell.id == change.cell]
    if same_id and not change.cell.startswith("#"):
        return same_id[0]
    index = index_after(before, change.after, subject)
    return index - (isinstance(change, MoveCell) and find_cell(before, change.cell, subject) < index)


def _unique_name(cells: tuple[CellText, ...], cell: CellText) -> str:
    """Returns the cell's id; ``#number`` if other cells have the same id."""
    return cell.id if sum(other.id == cell.id for other in cells) == 1 else f"#{cell.number}"


def named_cell(cell: CellText) -> str:
    return f"cell {cell.id}" if cell.id.startswith("#") else f"cell {cell.id} (#{cell.number})"
