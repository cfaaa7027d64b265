"""Access to notebooks that are open in the browser: requests to its pages over comms, and their answers."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from nbtools.cards.card_model import (
    CELLS_EVENT,
    CellsTask,
    DeleteTask,
    InsertTask,
    ListTask,
    MoveTask,
    NotebookAnswer,
    NotebookRequest,
    NotebookTask,
    ReplaceTask,
    RunTask,
    StopTask,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.methods import method
from nbtools.notebook.channel import broadcast
from nbtools.workspace.notebooks.open_notebooks import (
    CellChange,
    CellRun,
    DeleteCell,
    InsertCell,
    MoveCell,
    OpenCell,
    OpenNotebook,
    ReplaceCell,
)

if TYPE_CHECKING:
    from nbtools.notebook.frontend import Kernel

KNOWN, UNKNOWN, SILENT = 10.0, 2.0, 0.3
"""Seconds to wait for a page: after one has answered in this kernel, before the first answer,
and after a request without answer.
"""

Publish: TypeAlias = Callable[[NotebookRequest], Callable[[], None]]
"""Sends a request to every page, and returns a function that ends it."""


class FrontendNotebooks:
    """Sends requests to the browser's pages.  ``answer`` is called with their answers."""

    def __init__(
        self, frontend: Kernel, publish: Publish, *, known: float = KNOWN, unknown: float = UNKNOWN
    ) -> None:
        self._frontend = frontend
        self._publish = publish
        self._known = known
        self._timeout = unknown
        self._waiting: dict[str, Callable[[NotebookAnswer], None]] = {}
        session = os.environ.get("JPY_SESSION_NAME", "")
        self._started_for = Path(session).resolve() if Path(session).is_absolute() else None
        self._own = self._started_for

    @property
    def own_file(self) -> Path | None:
        return self._own

    async def find(self, file: Path | None) -> OpenNotebook | None:
        """Returns the open notebook with that file; None if it is not open.
        Without ``file``, returns this kernel's own notebook.

        Raises ``ToolFailure`` (``conflict``) for this kernel's own notebook when no page answers,
        because it may be open nevertheless.
        """
        if not self._frontend.is_attended:
            return None
        try:
            answer = await self._ask(ListTask(), "", self._timeout)
        except TimeoutError:
            self._timeout = SILENT
            if file is not None and file == self._own:
                raise _unreachable(file) from None
            return None
        self._timeout = self._known
        return self._select(answer, file)

    async def cells(self, notebook: OpenNotebook) -> tuple[OpenCell, ...]:
        return _cells(await self._request(CellsTask(path=notebook.path), notebook))

    async def change(self, notebook: OpenNotebook, change: CellChange) -> tuple[OpenCell, ...]:
        return _cells(await self._request(_task(change, notebook.path), notebook))

    async def run(self, notebook: OpenNotebook, cell: str, timeout: float) -> CellRun:  # noqa: ASYNC109 - the timeout also interrupts the cell
        limit = self._known if notebook.own else timeout
        try:
            answer = await self._request(RunTask(path=notebook.path, cell=cell), notebook, limit)
        except asyncio.CancelledError:
            self._send(StopTask(path=notebook.path), notebook)
            raise
        except TimeoutError:
            self._send(StopTask(path=notebook.path), notebook)
            message = (
                f"Cell {cell} of {notebook.path} was interrupted after {limit:g} seconds. Set a longer"
                " timeout if it needs more."
            )
            raise ToolFailure(ErrorCode.TIMEOUT, message) from None
        return CellRun(_cells(answer), answer.queued)

    @method("cells.answer")
    def answer(self, answer: NotebookAnswer) -> None:
        """Handles an answer of a page; thread-safe.  Unexpected answers are ignored."""
        deliver = self._waiting.get(answer.id)
        if deliver is not None:
            deliver(answer)

    def _select(self, answer: NotebookAnswer, file: Path | None) -> OpenNotebook | None:
        root = self._root(answer)
        notebooks = [
            OpenNotebook(
                one.client, one.path, (root / one.path).resolve() if root else None, one.dirty, one.own
            )
            for one in sorted(answer.notebooks, key=lambda one: (not one.own, not one.busy, not one.dirty))
        ]
        if file is not None:
            return next((one for one in notebooks if _is_at(one, file)), None)
        found = next((one for one in notebooks if one.own), None)
        if found is not None:
            self._own = found.file
        return found

    def _root(self, answer: NotebookAnswer) -> Path | None:
        """Returns the server's root folder,
        from the kernel's start folder and the path of its notebook below the root.
        """
        for own in (one for one in answer.notebooks if one.own and self._started_for):
            folder = PurePosixPath(own.path).parent
            start = self._started_for.parent if self._started_for else Path()
            if start.parts[len(start.parts) - len(folder.parts) :] == folder.parts:
                return Path(*start.parts[: len(start.parts) - len(folder.parts)])
        return None

    async def _request(
        self, task: NotebookTask, notebook: OpenNotebook, limit: float | None = None
    ) -> NotebookAnswer:
        """Sends a request to the page of a notebook and returns its answer.
        Raises ``ToolFailure`` with its problem or on timeout.
        """
        try:
            answer = await self._ask(task, notebook.client, limit or self._known)
        except TimeoutError:
            if limit is not None and not notebook.own:
                raise
            why = (
                f"The page with {notebook.path} did not answer within {self._known:g} seconds; the request"
                " may still be carried out"
            )
            raise ToolFailure(
                ErrorCode.TIMEOUT, f"{why}. Check the notebook, reload the page if necessary, and call again."
            ) from None
        if answer.problem:
            raise ToolFailure(ErrorCode.CONFLICT, f"{notebook.path}: {answer.problem}")
        return answer

    async def _ask(self, task: NotebookTask, client: str, seconds: float) -> NotebookAnswer:
        """Sends a request and returns the first answer.  Raises ``TimeoutError``."""
        request = NotebookRequest(id=uuid.uuid4().hex, client=client, task=task)
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[NotebookAnswer] = loop.create_future()

        def deliver(answer: NotebookAnswer) -> None:
            with suppress(RuntimeError):  # the session is closed
                loop.call_soon_threadsafe(lambda: None if reply.done() else reply.set_result(answer))

        self._waiting[request.id] = deliver
        close = self._publish(request)
        try:
            async with asyncio.timeout(seconds):
                return await reply
        finally:
            del self._waiting[request.id]
            close()

    def _send(self, task: NotebookTask, notebook: OpenNotebook) -> None:
        """Sends a request without waiting for an answer."""
        self._publish(NotebookRequest(id=uuid.uuid4().hex, client=notebook.client, task=task))()


def publish(request: NotebookRequest) -> Callable[[], None]:
    """Sends a request to every page."""
    return broadcast(CELLS_EVENT, request)


def _is_at(notebook: OpenNotebook, file: Path) -> bool:
    """Whether the notebook is that file.
    With an unknown server root, an equal path suffix counts as the same file.
    """
    # A false match changes the notebook live; a missed match would overwrite unsaved changes.
    return notebook.file == file if notebook.file else file.as_posix().endswith(f"/{notebook.path}")


def _task(change: CellChange, path: str) -> NotebookTask:
    match change:
        case ReplaceCell(cell, expected, source, kind):
            return ReplaceTask(path=path, cell=cell, expected=expected, source=source, kind=kind)
        case InsertCell(cell, source, kind, after):
            return InsertTask(path=path, cell=cell, source=source, kind=kind, after=after)
        case DeleteCell(cell, expected):
            return DeleteTask(path=path, cell=cell, expected=expected)
        case MoveCell(cell, after):
            return MoveTask(path=path, cell=cell, after=after)


def _cells(answer: NotebookAnswer) -> tuple[OpenCell, ...]:
    return tuple(
        OpenCell(cell.id, cell.type, cell.source, tuple(json.loads(cell.outputs or "[]")), cell.busy)
        for cell in answer.cells
    )


def _unreachable(file: Path) -> ToolFailure:
    return ToolFailure(
        ErrorCode.CONFLICT,
        f"{file.name} is the notebook of this kernel, and its page does not answer: the nbtools extension is"
        " missing or disabled there. Nothing was changed. Use read for the saved version, or call from"
        " another notebook to change the file.",
    )
