"""``%tools serve``: the notebook's endpoint for MCP clients, and the cell that shows their calls."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.dialects import dialect as dialect_named
from nbtools.mcp.server.notebook_endpoint import NotebookEndpoint
from nbtools.mcp.server.tool_provider import SessionToolProvider
from nbtools.notebook.display_target import DisplayTarget, KernelScreen, Screen
from nbtools.notebook.frontend import Kernel
from nbtools.notebook.grouped_screen import GroupedScreen
from nbtools.notebook.mcp.client_calls_view import ClientCallsView

if TYPE_CHECKING:
    from nbtools.mcp.server.tool_provider import ToolProvider
    from nbtools.notebook.runtime import NotebookRuntime


class ClientServing:
    """Serves MCP clients from ``%tools serve`` until ``close``.

    Raises ``ToolFailure`` if no cell can show the calls, or the socket cannot be created.
    """

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        target, cell = _serving_cell(runtime)
        self._session = runtime.session
        self._root = Path(self._session.workspace.root)
        file = runtime.open_notebooks.own_file if runtime.open_notebooks else None
        self._notebook = os.path.relpath(file, self._root) if file else f"of kernel {os.getpid()}"
        self._view = ClientCallsView(self._root, target, cell, runtime.bridge.set_target)
        self._unsubscribe = self._session.observe(self._view)
        self._endpoint = NotebookEndpoint(
            self._root, self._notebook, self._offer, self._view.set_client_count
        )
        try:
            runtime.blocking.run(self._endpoint.start())
        except OSError as error:
            self._unsubscribe()
            raise from_os_error(error, "The socket for MCP clients") from None

    def move(self) -> None:
        """Moves the display to the running cell,
        and makes this notebook the preferred one if several serve the same workspace.
        """
        target, cell = _serving_cell(self._runtime)
        self._runtime.blocking.run(self._endpoint.prefer())
        self._view.move(target, cell)

    def close(self, why: str = "Serving has ended.") -> None:
        """Stops serving and cancels the clients' running calls."""
        self._runtime.blocking.run(self._endpoint.stop())
        self._unsubscribe()
        self._view.end(why)

    def _offer(self, dialect: str) -> ToolProvider:
        about = f"Approval requests are shown in the notebook {self._notebook}."
        return SessionToolProvider(self._session, dialect_named(dialect), about, self._view.announce_call)


def _serving_cell(runtime: NotebookRuntime) -> tuple[DisplayTarget, Screen]:
    """Returns the running cell's display target, which must be able to show later output."""
    target = runtime.frontend.display_target(None, early=True)
    screen = target.screen.ungrouped if isinstance(target.screen, GroupedScreen) else target.screen
    if not isinstance(runtime.frontend, Kernel) or not isinstance(screen, KernelScreen):
        message = (
            "%tools serve needs a notebook cell whose output is not captured: clients' calls and approval"
            " requests are shown there."
        )
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    return target, screen
