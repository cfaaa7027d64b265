"""Access to a notebook, either as a file or open in the browser."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.notebooks.open_notebooks import (
    CellChange,
    DeleteCell,
    InsertCell,
    OpenCell,
    OpenNotebooks,
    MoveCell,
    OpenNotebook,
    ReplaceCell,
)
from nbtools.workspace.files.read import MAX_READ_BYTES, read_bytes
from nbtools.workspace.history.changes import make_change
from nbtools.workspace.history.journal import Journal
from nbtools.workspace.history.operations import Write
from nbtools.workspace.notebooks.cell_outputs import outputs_text
from nbtools.workspace.notebooks.kernels import CellRun, Kernels, OutputCallback
from nbtools.workspace.notebooks.notebook_file import CellText, NotebookFile, find_cell
from nbtools.workspace.read_tracking import ReadTracker, ReadExtent

_ADVICE = "Clear the outputs of its cells first."


class Notebook(Protocol):
    """A notebook whose cells can be read, changed and run.

    ``subject`` is its name in messages; ``live``:
    it is open in the browser, where changes are made without saving.
    """

    subject: str
    live: bool

    async def cells(self) -> tuple[CellText, ...]:
        """Returns the current cells.  Raises ``ToolFailure``."""
        ...

    def check_read(self) -> None:
        """Raises ``ToolFailure`` if the notebook must be read before it is changed and was not."""
        ...

    def note_read(self, view: ReadExtent) -> None:
        """Records that the cells last returned by ``cells`` have been read."""
        ...

    async def change(self, change: CellChange) -> tuple[CellText, ...]:
        """Makes a change; returns the new cells. Raises ``conflict`` if it no longer applies."""
        ...

    async def run(
        self, cell: CellText, timeout: float, watch: OutputCallback
    ) -> CellRun:  # noqa: ASYNC109 - an interrupt is more than that
        """Runs a code cell and stores its outputs."""
        ...


class ClosedNotebook:
    """A notebook file that is not open; changes preserve all other bytes."""

    live = False

    def __init__(
        self, path: Path, subject: str, seen: ReadTracker, kernels: Kernels, journal: Journal
    ) -> None:
        self.subject = subject
        self._journal = journal
        self._path = path
        self._seen = seen
        self._kernels = kernels
        self._data = b""

    async def cells(self) -> tuple[CellText, ...]:
        return (await self._read()).cells

    def check_read(self) -> None:
        self._seen.require_read(self._path, self.subject, self._data, whole=False)

    def note_read(self, view: ReadExtent) -> None:
        self._seen.record(self._path, self._data, view)

    async def change(self, change: CellChange) -> tuple[CellText, ...]:
        file = await self._read()
        return await self._write(file, await asyncio.to_thread(_changed, file, change, self.subject))

    async def run(
        self, cell: CellText, timeout: float, watch: OutputCallback
    ) -> CellRun:  # noqa: ASYNC109 - as above
        """Runs a cell and writes its outputs into the file. Raises ``conflict`` if the cell is gone then."""
        kernel = (await self._read()).kernel
        ran = await self._kernels.run_code(self._path, kernel, cell.source, timeout, watch)
        file = await self._read()
        index = _find_unchanged(file.cells, cell.id, cell.source, self.subject)
        await self._write(file, await asyncio.to_thread(file.set_outputs, index, ran.outputs, ran.count))
        return ran

    async def _read(self) -> NotebookFile:
        self._data = await asyncio.to_thread(read_bytes, self._path, self.subject, MAX_READ_BYTES, _ADVICE)
        return await asyncio.to_thread(NotebookFile, self._data, self.subject)

    async def _write(self, before: NotebookFile, data: bytes) -> tuple[CellText, ...]:
        """Writes the file, which must still have the content of ``before``; returns its new cells."""
        view = ReadExtent.WHOLE if not self._seen.has_changed(self._path, before.data) else ReadExtent.RANGE
        if data != before.data:
            make_change(self._journal, Write(self._path, self.subject, before.data, data))
            self._seen.record(self._path, data, view)
        self._data = data
        return (await asyncio.to_thread(NotebookFile, data, self.subject)).cells


class EditorNotebook:
    """A notebook open in the browser: changes and undo happen there, and the person saves."""

    live = True

    def __init__(
        self, notebooks: OpenNotebooks, notebook: OpenNotebook, subject: str, seen: ReadTracker
    ) -> None:
        self.subject = subject
        self.notebook = notebook
        self._notebooks = notebooks
        self._seen = seen
        self._key = notebook.file or Path(notebook.path)

    async def cells(self) -> tuple[CellText, ...]:
        return _texts(await self._notebooks.cells(self.notebook))

    def check_read(self) -> None:
        self._seen.require_read(self._key, self.subject, b"", whole=False)

    def note_read(self, view: ReadExtent) -> None:
        """Records that cells were read."""
        # The content is not the file's on disk, so it permits changing cells but not overwriting the file.
        self._seen.record(self._key, b"", ReadExtent.RANGE if view is ReadExtent.WHOLE else view)

    async def change(self, change: CellChange) -> tuple[CellText, ...]:
        return _texts(await self._notebooks.change(self.notebook, change))

    async def run(
        self, cell: CellText, timeout: float, watch: OutputCallback
    ) -> CellRun:  # noqa: ASYNC109 - as above
        ran = await self._notebooks.run(self.notebook, cell.id, timeout)
        outputs = next((live.outputs for live in ran.cells if live.id == cell.id), ())
        failed = any(output.get("output_type") == "error" for output in outputs)
        return CellRun(() if ran.queued else outputs, None, failed and not ran.queued, queued=ran.queued)


def _texts(cells: tuple[OpenCell, ...]) -> tuple[CellText, ...]:
    return tuple(
        CellText(cell.id, number, cell.type, cell.source, outputs_text(cell.outputs))
        for number, cell in enumerate(cells, 1)
    )


def _changed(file: NotebookFile, change: CellChange, subject: str) -> bytes:
    match change:
        case InsertCell():
            return file.insert(
                index_after(file.cells, change.after, subject), change.source, change.type, change.cell
            )
        case ReplaceCell():
            return file.replace(
                _find_unchanged(file.cells, change.cell, change.expected, subject), change.source, change.type
            )
        case DeleteCell():
            return file.delete(_find_unchanged(file.cells, change.cell, change.expected, subject))
        case MoveCell():
            index = find_cell(file.cells, change.cell, subject)
            to = index_after(file.cells, change.after, subject)
            return file.move(index, to - (to > index))


def index_after(cells: tuple[CellText, ...], after: str | None, subject: str) -> int:
    """Returns the index for a cell after ``after`` ("": the top, None: the end). Raises ``ToolFailure``."""
    if after is None:
        return len(cells)
    return find_cell(cells, after, subject) + 1 if after else 0


def _find_unchanged(cells: tuple[CellText, ...], cell_id: str, expected: str, subject: str) -> int:
    """Returns a cell's index. Raises ``conflict`` if it is missing or its source is not ``expected``."""
    try:
        index = find_cell(cells, cell_id, subject)
    except ToolFailure as failure:
        raise ToolFailure(ErrorCode.CONFLICT, failure.message) from None
    if cells[index].source != expected:
        raise ToolFailure(
            ErrorCode.CONFLICT,
            f"Cell {cell_id} of {subject} has changed meanwhile. Nothing was changed. Read it again.",
        )
    return index
