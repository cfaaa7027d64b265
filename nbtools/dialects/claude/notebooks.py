"""Claude Code's NotebookEdit and the former NotebookRead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.dialects.claude.replies import ClaudeParams, not_read_reply, reply
from nbtools.dialects.claude.tool_use_result import Cell, NotebookEditResult, NotebookFile, NotebookRead
from nbtools.dialects.dialect_model import Arguments, without_none
from nbtools.dialects.field_map import FieldMap, Fixed
from nbtools.tools.cells import CellsData, CellsParams
from nbtools.tools.read import shortened_output

if TYPE_CHECKING:
    from nbtools.workspace.notebooks.notebook_file import CellText

Mode = Literal["replace", "insert", "delete"]
_NUMBER = re.compile(r"#([1-9]\d*)")
_NOT_FOUND = "Notebook file does not exist. {message}"


def cells_as_text(cells: Sequence[CellText]) -> str:
    """Formats cells for Claude: tagged with their ids, types other than code named,
    outputs after the source.
    """
    return "\n".join(_cell(cell, _name(cell.id, cells)) for cell in cells) or "The notebook has no cells."


def _cell(cell: CellText, name: str) -> str:
    kind = "" if cell.type == "code" else f"<cell_type>{cell.type}</cell_type>"
    outputs = f"\n{shortened_output(cell.outputs)}" if cell.outputs else ""
    return f'<cell id="{name}">{kind}{cell.source}</cell id="{name}">{outputs}'


def _name(cell_id: str, cells: Sequence[CellText]) -> str:
    """Returns the id; for ``#number``, of a cell without an id,
    ``cell-index`` (from 0) unless one of ``cells`` has that as its id.
    """
    number = _NUMBER.fullmatch(cell_id)
    name = f"cell-{int(number[1]) - 1}" if number else cell_id
    return cell_id if any(cell.id == name for cell in cells) else name


def structured_cells(cells: Sequence[CellText]) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            cell_type=cell.type,
            source=cell.source,
            cell_id=_name(cell.id, cells),
            outputs=shortened_output(cell.outputs) or None,
        )
        for cell in cells
    )


class _Change(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        CellsParams,
        path="notebook_path",
        by_code=("action", "id", "source", "type", "after"),
        lacks=("timeout",),
    )
    names: ClassVar[Mapping[str, str]] = {
        "action": "edit_mode",
        "source": "new_source",
        "type": "cell_type",
        "id": "cell_id",
        "after": "cell_id",
    }

    sentences: ClassVar = {ErrorCode.FILE_NOT_FOUND: _NOT_FOUND}

    notebook_path: str
    """The notebook file, as an absolute path or relative to the workspace."""
    new_source: str
    """The whole new source of the cell."""
    cell_type: Literal["code", "markdown"] | None = None
    """The type of the cell; required for insert, unchanged by default for replace."""
    edit_mode: Mode = "replace"
    """Replace the source, insert a new cell, or delete the cell."""

    def _insert(self, after: str | None) -> Mapping[str, Any]:
        if self.cell_type is None:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, "Cell type is required when using edit_mode=insert."
            )
        new = {
            "path": self.notebook_path,
            "action": "insert",
            "source": self.new_source,
            "type": self.cell_type,
        }
        return new if after is None else {**new, "after": after}

    def _change(self, cell: str) -> Mapping[str, Any]:
        if self.edit_mode == "delete":
            return {"path": self.notebook_path, "action": "delete", "id": cell}
        kind = {} if self.cell_type is None else {"type": self.cell_type}
        return {
            "path": self.notebook_path,
            "action": "replace",
            "id": cell,
            "source": self.new_source,
            **kind,
        }

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, CellsData):
            return result
        done = result.data
        name = _name(done.id, done.cells)
        text = {
            "replace": f"Updated cell {name} with {self.new_source}",
            "insert": f"Inserted cell {name} with {self.new_source}",
            "delete": f"Deleted cell {name}",
        }[self.edit_mode]
        kind = next((cell.type for cell in done.cells if cell.id == done.id), None)
        data = NotebookEditResult(
            new_source=self.new_source,
            cell_type=kind or self.cell_type or "code",
            edit_mode=self.edit_mode,
            cell_id=name,
            notebook_path=self.absolute(self.notebook_path),
        )
        return reply(result, text, data)

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        return not_read_reply(error, result.data) or super().failure(result, error)


class NotebookEdit(_Change):
    """Inserts a cell without ``cell_id`` at the end; Claude Code inserts it at the top, which reverses a
    series of inserts (reference 2.2: anthropics/claude-code #4613 #2925 #5197 #18538).  A cell without an id
    is addressed as ``cell-index``, from 0.
    """

    cell_id: str | None = None
    """The cell to replace or delete, or the cell after which to insert;
    without it a new cell is added at the end.
    """

    def to_canonical(self) -> Mapping[str, Any]:
        if self.edit_mode == "insert":
            return self._insert(self.cell_id)
        if self.cell_id is None:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, "Cell ID must be specified when not inserting a new cell."
            )
        return self._change(self.cell_id)

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, values = super().from_canonical(arguments), cls.canonical.with_defaults(arguments)
        if (
            spoken is None
            or values is None
            or values["action"] not in {"replace", "insert", "delete"}
            or values["type"] == "raw"
        ):
            return None
        cell = without_none(cell_type=values["type"], cell_id=values["after"])
        if values["action"] != "insert":
            cell = {"cell_id": values["id"], **without_none(cell_type=values["type"])}
        elif values["type"] is None:
            return None
        return {**spoken, "new_source": values["source"] or "", "edit_mode": values["action"], **cell}


class NotebookEditByNumber(_Change):
    """The parameters before cells had ids:
    ``cell_number`` counts from 0, and a new cell is inserted at that position.
    """

    one_way: ClassVar[bool] = True
    names: ClassVar[Mapping[str, str]] = {
        "action": "edit_mode",
        "source": "new_source",
        "type": "cell_type",
        "id": "cell_number",
        "after": "cell_number",
    }

    cell_number: Annotated[int, Field(ge=0)]
    """The cell, counted from 0."""

    def to_canonical(self) -> Mapping[str, Any]:
        if self.edit_mode == "insert":
            return self._insert(f"#{self.cell_number}" if self.cell_number else "")
        return self._change(f"#{self.cell_number + 1}")


class NotebookReadParams(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        CellsParams,
        path="notebook_path",
        action=Fixed("read"),
        id="cell_id",
        lacks=("source", "type", "after", "timeout"),
    )

    sentences: ClassVar = {ErrorCode.FILE_NOT_FOUND: _NOT_FOUND}

    notebook_path: str
    """The notebook file, as an absolute path or relative to the workspace."""
    cell_id: str | None = None
    """The cell to read; without it all cells."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, CellsData):
            return result
        cells = result.data.cells
        file = NotebookFile(file_path=self.absolute(self.notebook_path), cells=structured_cells(cells))
        return reply(result, cells_as_text(cells), NotebookRead(type="notebook", file=file))
