"""Lets synchronous code in a cell wait while the kernel's event loop keeps running.

ipykernel runs a cell inside a task.  Once that task has a greenlet portal, code at any depth can suspend the
cell until an awaitable is done, and clicks are handled meanwhile.  Two functions are wrapped: the handler of
execute requests, whose task runs synchronous cells, and ``run_cell_async``, which gets a task of its own when
a cell awaits.  The cell that loads the extension started without a portal; its questions are asked at a
prompt.
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
    """Installs and removes the wrappers."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell: Any = shell
        self._handlers: dict[str, Any] = getattr(getattr(shell, "kernel", None), "shell_handlers", {})
        self._before: Any = None
        self._wrapped: Any = None

    def open(self) -> None:
        if REQUEST in self._handlers:
            self._before = self._handlers[REQUEST]
            self._handlers[REQUEST] = self._wrapped = _handling(self._before)
        self._run_cell = _running(self._shell.run_cell_async)
        self._shell.run_cell_async = self._run_cell

    def close(self) -> None:
        """Removes the wrappers, except where other code has wrapped them since;
        there they stay, and are harmless.
        """
        if self._wrapped is not None and self._handlers.get(REQUEST) is self._wrapped:
            self._handlers[REQUEST] = self._before
        if vars(self._shell).get("run_cell_async") is self._run_cell:
            del self._shell.run_cell_async


def _handling(handler: Any) -> Any:
    """Wraps the handler of execute requests: its task gets a portal."""

    @functools.wraps(handler)
    async def with_portal(*request: Any) -> None:
        await greenback.ensure_portal()
        CELLS.note()
        result = handler(*request)
        if inspect.isawaitable(result):
            await result

    return with_portal


def _running(run_cell_async: Any) -> Any:
    """Wraps ``run_cell_async``: adds a portal where it runs as its own task;
    a synchronous cell must not yield here.
    """

    async def with_portal(*cell: Any, **options: Any) -> Any:
        if _is_a_task(with_portal.__code__):
            CELLS.note()
            await greenback.ensure_portal()
        return await run_cell_async(*cell, **options)

    return functools.wraps(run_cell_async)(with_portal)


def _is_a_task(code: Any) -> bool:
    """Whether the current task runs exactly the coroutine of this code."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and getattr(task.get_coro(), "cr_code", None) is code
