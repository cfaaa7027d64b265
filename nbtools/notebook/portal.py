"""Lets synchronous code in a cell wait while the kernel's event loop keeps running.

ipykernel runs a cell inside a task.  Once that task has a greenlet portal, code at any depth can suspend the cell until an awaitable is
done, and clicks are handled meanwhile.  Two functions are wrapped: the handler of execute requests, whose task runs synchronous cells, and
``run_cell_async``, which gets a task of its own when a cell awaits.  The cell that loads the extension started without a portal; its
questions are asked at a prompt.

The handler of comm messages is wrapped too: a widget sends its second change only after the kernel has reported that the first was
processed, and ipykernel does not report that while a cell runs.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from typing import TYPE_CHECKING, Any

import greenback

from nbtools.notebook.waits import CELLS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

REQUEST, MESSAGE = "execute_request", "comm_msg"


class Portal:
    """Installs and removes the wrappers."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell: Any = shell
        self._kernel: Any = getattr(shell, "kernel", None)
        self._handlers: dict[str, Any] = getattr(self._kernel, "shell_handlers", {})
        self._wrapped: dict[str, tuple[Any, Any]] = {}

    def open(self) -> None:
        running: list[Any] = []
        if REQUEST in self._handlers:
            self._wrap(REQUEST, _handling(self._handlers[REQUEST], running))
        if MESSAGE in self._handlers:
            self._wrap(MESSAGE, _acknowledging(self._handlers[MESSAGE], self._kernel, running))
        self._run_cell = _running(self._shell.run_cell_async)
        self._shell.run_cell_async = self._run_cell

    def close(self) -> None:
        """Removes the wrappers, except where other code has wrapped them since; there they stay, and are harmless."""
        for name, (before, wrapped) in self._wrapped.items():
            if self._handlers.get(name) is wrapped:
                self._handlers[name] = before
        if vars(self._shell).get("run_cell_async") is self._run_cell:
            del self._shell.run_cell_async

    def _wrap(self, name: str, wrapped: Any) -> None:
        self._wrapped[name] = (self._handlers[name], wrapped)
        self._handlers[name] = wrapped


def _handling(handler: Any, running: list[Any]) -> Any:
    """Wraps the handler of execute requests: its task gets a portal.  ``running`` holds the requests being handled."""

    @functools.wraps(handler)
    async def with_portal(*request: Any) -> None:
        await greenback.ensure_portal()
        CELLS.note()
        current = [request[-1]] if _in_main_thread() else []
        running.extend(current)
        try:
            await _handle(handler, request)
        finally:
            running[:] = [other for other in running if other not in current]

    return with_portal


def _acknowledging(handler: Any, kernel: Any, running: list[Any]) -> Any:
    """Wraps the handler of comm messages: reports to widgets, while a cell runs, that their message was processed.

    For messages on a subshell, which has a thread of its own, ipykernel reports that itself.
    """

    @functools.wraps(handler)
    async def with_status(*message: Any) -> None:
        await _handle(handler, message)
        if running and _in_main_thread():
            kernel._publish_status("idle", "shell", parent=message[-1])  # noqa: SLF001 - ipykernel has no public API for it
            kernel._publish_status("busy", "shell", parent=running[-1])  # noqa: SLF001 - as above

    return with_status


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


async def _handle(handler: Any, request: tuple[Any, ...]) -> None:
    result = handler(*request)
    if inspect.isawaitable(result):
        await result


def _running(run_cell_async: Any) -> Any:
    """Wraps ``run_cell_async``: adds a portal where it runs as its own task; a synchronous cell must not yield here."""

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
