"""Interface to notebooks that are open in the frontend, with their unsaved state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

CellType: TypeAlias = Literal["code", "markdown", "raw"]


@dataclass(frozen=True, slots=True)
class ReplaceCell:
    """Replaces a cell's source if it is still ``expected``; ``type`` None keeps the cell's type."""

    cell: str
    expected: str
    source: str
    type: CellType | None = None


@dataclass(frozen=True, slots=True)
class InsertCell:
    """Inserts a cell with the id ``cell`` after the cell ``after``; "" at the top, None at the end."""

    cell: str
    source: str
    type: CellType
    after: str | None


@dataclass(frozen=True, slots=True)
class DeleteCell:
    """Deletes a cell if its source is still ``expected``."""

    cell: str
    expected: str


@dataclass(frozen=True, slots=True)
class MoveCell:
    """Moves a cell after the cell ``after``; "" to the top, None to the end."""

    cell: str
    after: str | None


CellChange: TypeAlias = ReplaceCell | InsertCell | DeleteCell | MoveCell


@dataclass(frozen=True, slots=True)
class OpenCell:
    """A cell as it is in the front end, with its nbformat ``outputs``; ``running``: it has not ended."""

    id: str
    type: str
    source: str
    outputs: tuple[Mapping[str, Any], ...] = ()
    running: bool = False


@dataclass(frozen=True, slots=True)
class OpenNotebook:
    """An open notebook: ``path`` on the Jupyter server, ``file`` on this machine (None: not known).

    ``client`` is the browser page it is open in.  ``own``: it uses this kernel.
    """

    client: str
    path: str
    file: Path | None
    dirty: bool
    own: bool


@dataclass(frozen=True, slots=True)
class CellRun:
    """The ``cells`` after a run. ``queued``: the kernel is busy with the cell that makes the call."""

    cells: tuple[OpenCell, ...]
    queued: bool


class OpenNotebooks(Protocol):
    """Access to the notebooks open in the frontend.

    Each method raises ``ToolFailure``: ``timeout`` when the frontend does not answer,
    ``conflict`` when the notebook is not as expected.
    """

    @property
    def own_file(self) -> Path | None:
        """The file of the notebook that this kernel was started for; None if the kernel does not know."""
        ...

    async def find(self, file: Path | None) -> OpenNotebook | None:
        """Returns the notebook at ``file`` (None: the active one); None if it is not open."""
        ...

    async def cells(self, notebook: OpenNotebook) -> tuple[OpenCell, ...]: ...

    async def change(self, notebook: OpenNotebook, change: CellChange) -> tuple[OpenCell, ...]:
        """Makes an undoable change without saving, and returns the cells after it."""
        ...

    async def run(
        self, notebook: OpenNotebook, cell: str, timeout: float
    ) -> CellRun:  # noqa: ASYNC109 - what the caller allows
        """Runs a cell; waits at most ``timeout`` seconds, and not if it runs on this kernel."""
        ...


class NoOpenNotebooks:
    """The implementation where there is no frontend: no notebook is open."""

    own_file: Path | None = None

    async def find(self, file: Path | None) -> OpenNotebook | None:
        return None

    async def cells(self, notebook: OpenNotebook) -> tuple[OpenCell, ...]:
        raise LookupError(notebook.path)

    async def change(self, notebook: OpenNotebook, change: CellChange) -> tuple[OpenCell, ...]:
        raise LookupError(notebook.path)

    async def run(
        self, notebook: OpenNotebook, cell: str, timeout: float
    ) -> CellRun:  # noqa: ASYNC109 - as above
        raise LookupError(notebook.path)
