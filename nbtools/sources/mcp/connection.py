"""One server, connected when it is first needed.

What the SDK enters it must leave in the same task, and every cell is another one: a task of the connection's own holds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.sources.mcp.settings import ServerSettings

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

State: TypeAlias = Literal["disconnected", "connecting", "connected", "failed"]
Progress: TypeAlias = Callable[[float, float | None, str | None], None]
"""How far it is, of how much where that is known, in which words."""
_MOST_PAGES = 200


class Connection:
    """``state`` is told to ``changed`` each time it is another, and when the server's tools are others.  ``problem`` says why it failed.

    ``callbacks`` are those of ``mcp.Client``: what the server may ask of us.
    """

    def __init__(
        self, server: ServerSettings, folder: Path, changed: Callable[[Connection], None], callbacks: dict[str, Any] | None = None
    ) -> None:
        self.server = server
        self.state: State = "disconnected"
        self.problem = ""
        self.tools: tuple[Tool, ...] = ()
        self._folder = folder
        self._changed = changed
        self._callbacks = callbacks or {}
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._closing = asyncio.Event()

    async def client(self) -> Client:
        """Connects where it is not.  Raises ``ToolFailure`` (``mcp_tool_error``) with the reason where it cannot."""
        if self._task is None or self._task.done() or self._ready is None:
            self._closing = asyncio.Event()
            self._ready = asyncio.get_running_loop().create_future()
            self._ready.add_done_callback(lambda future: future.cancelled() or future.exception())
            self._task = asyncio.create_task(self._hold(self._ready), name=f"mcp {self.server.name}")
        return await asyncio.shield(self._ready)

    async def call(self, tool: str, arguments: dict[str, Any], heard: Progress | None = None) -> CallToolResult:
        """Raises ``ToolFailure``.  Cancelled, it tells the server so.  Each progress begins the time that a call may take anew."""
        client = await self.client()
        seconds = self.server.call_seconds
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds) as limit:

                async def told(progress: float, total: float | None, message: str | None) -> None:
                    limit.reschedule(loop.time() + seconds)
                    if heard is not None:
                        heard(progress, total, message)

                return await client.call_tool(tool, arguments, progress_callback=told)
        except TimeoutError:
            why = f"{self.server.name} did not answer in {seconds:g} seconds. Give the server a longer timeout if it needs more"
            raise ToolFailure(ErrorCode.TIMEOUT, f"{why}.") from None
        except Exception as error:
            raise self._failure(error) from error

    async def close(self) -> None:
        """Ends the server, or leaves it."""
        self._closing.set()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await asyncio.wait([self._task])

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        self._become("connecting")
        try:
            async with self._connected() as client:
                self._become("connected")
                ready.set_result(client)
                await self._closing.wait()
            self._become("failed" if self.problem else "disconnected")
        except TimeoutError:
            self.problem = f"it did not answer in {self.server.connect_seconds:g} seconds"
            self._become("failed")
        except Exception as error:  # noqa: BLE001 - servers, networks and the SDK fail in many ways: each is this server's problem alone
            self.problem = self.problem or _said(error)
            self._become("failed")
        finally:
            if not ready.done():
                ready.set_exception(
                    ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"MCP server {self.server.name}: {self.problem or 'it was closed'}.")
                )

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        self.problem = ""
        open_client = (await asyncio.to_thread(_sdk)).opened
        async with asyncio.timeout(self.server.connect_seconds) as limit:
            async with open_client(self.server, self._folder, self._ended, self._callbacks) as client:
                self.tools = tuple([tool async for tool in _listed(client) if self.server.takes(tool.name)])
                limit.reschedule(None)
                yield client

    def _ended(self, why: str) -> None:
        """The server has gone by itself."""
        if not self._closing.is_set():
            self.problem = why
            self._closing.set()

    def _become(self, state: State) -> None:
        self.state = state
        self._changed(self)

    def _failure(self, error: Exception) -> ToolFailure:
        return ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"MCP server {self.server.name}: {self.problem or _said(error)}.")


def _sdk() -> Any:
    """Loaded in a thread with the first connection: it takes more than half a second."""
    from nbtools.sources.mcp import client  # noqa: PLC0415 - as said above

    return client


async def _listed(client: Client) -> AsyncIterator[Tool]:
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            yield tool
        cursor = page.next_cursor
        if not cursor:
            return


def _said(error: BaseException) -> str:
    """The first of the errors that are in it, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename}"
    return (str(error) or type(error).__name__).rstrip(".")
