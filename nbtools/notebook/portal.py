"""Lets synchronous code in a cell wait while the kernel's loop turns.

ipykernel runs a cell inside a task.  Once that task has a greenlet portal, code in the cell may, at any depth, suspend the whole cell until
something awaited is there; clicks arrive meanwhile.  Two doors are wrapped: the handler of execute requests, whose task runs synchronous
cells, and ``run_cell_async``, which ipykernel gives a task of its own when a cell awaits.  The cell that installs this began without a
portal; what it asks is asked by a prompt.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any

import greenback

from nbtools.notebook.waits import CELLS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

REQUEST = "execute_request"


class Portal:
    """The two wrappers, put on and taken off as one."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell: Any = shell
        self._handlers: dict[str, Any] | None = getattr(getattr(shell, "kernel", None), "shell_handlers", None)

    def open(self) -> None:
        if self._handlers is not None:
            self._handler, self._wrapped = self._handlers[REQUEST], _handling(self._handlers[REQUEST])
            self._handlers[REQUEST] = self._wrapped
        self._run_cell = _running(self._shell.run_cell_async)
        self._shell.run_cell_async = self._run_cell

    def close(self) -> None:
        """Takes both off, unless somebody else has wrapped them since: then ours stay inside and do no harm."""
        if self._handlers is not None and self._handlers.get(REQUEST) is self._wrapped:
            self._handlers[REQUEST] = self._handler
        if vars(self._shell).get("run_cell_async") is self._run_cell:
            del self._shell.run_cell_async


def _handling(handler: Any) -> Any:
    """The handler of execute requests, in a task with a portal."""

    @functools.wraps(handler)
    async def with_portal(*request: Any) -> None:
        await greenback.ensure_portal()
        CELLS.note()
        handled = handler(*request)
        if inspect.isawaitable(handled):
            await handled

    return with_portal


def _running(run_cell_async: Any) -> Any:
    """``run_cell_async``, with a portal where it is a task of its own; a synchronous cell must not yield here."""

    async def with_portal(*cell: Any, **options: Any) -> Any:
        if _is_a_task(with_portal.__code__):
            CELLS.note()
            await greenback.ensure_portal()
        return await run_cell_async(*cell, **options)

    return functools.wraps(run_cell_async)(with_portal)


def _is_a_task(code: Any) -> bool:
    """Whether the running task is exactly the coroutine of this code."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and getattr(task.get_coro(), "cr_code", None) is code
