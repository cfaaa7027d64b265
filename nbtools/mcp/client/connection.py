"""Connection to one MCP server, opened when first needed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.schema.validation import import_jsonschema
from nbtools.mcp.client.errors import error_text, is_vague
from nbtools.mcp.client.list_changes import ListChanges, list_all
from nbtools.mcp.client.timeouts import Backoff, ProgressCallback, ProgressListener, RequestTimeouts
from nbtools.mcp.config.entries import Program, ServerSettings

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import (
        CallToolResult,
        CompleteResult,
        GetPromptResult,
        Prompt,
        PromptReference,
        ReadResourceResult,
        Resource,
        ResourceTemplate,
        ResourceTemplateReference,
        Tool,
    )


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Information that a server reports about itself on connection.

    ``instructions`` are for the model; ``protocol`` is the date of the negotiated protocol version.
    """

    instructions: str
    protocol: str
    version: str
    has_resources: bool


NO_SERVER_INFO = ServerInfo("", "", "", has_resources=False)


def server_info_of(client: Client) -> ServerInfo:
    version = client.server_info.version if client.server_info else ""
    has_resources = (
        client.server_capabilities is not None and client.server_capabilities.resources is not None
    )
    return ServerInfo(client.instructions or "", client.protocol_version, version, has_resources)


T = TypeVar("T")
State: TypeAlias = Literal["disconnected", "connecting", "connected", "failed"]
MayStart: TypeAlias = Callable[[], Awaitable[None]]
"""Called before a server is started or contacted.  Raises ``ToolFailure`` if that is not allowed."""
_CLOSE_SECONDS = 10.0
"""Seconds for a server to shut down; stopping a program cleanly takes up to six."""
_REASON_SECONDS = 1.0
"""Seconds to wait, after a call failed, for the reason why the connection ended."""
_NO_RESOURCE = -32002


async def allow_start() -> None:
    """Allows the start without a question."""


class Connection:
    """A server's connection, its state and its tools.

    ``changed`` is called each time ``state`` or the server's tools, prompts or resources change.  ``problem``
    states why the connection failed.  ``server_info`` is set once it has been connected.  ``callbacks`` are
    keyword arguments of ``mcp.Client`` that handle the server's requests.
    """

    # The SDK's client must be entered and left in the same task, but each cell runs in another one:
    # a task of the connection holds it.

    def __init__(
        self,
        server: ServerSettings,
        folder: Path,
        changed: Callable[[Connection], None],
        callbacks: dict[str, Any] | None = None,
    ) -> None:
        self.server = server
        self.state: State = "disconnected"
        self.problem = ""
        self.tools: tuple[Tool, ...] = ()
        self.server_info = NO_SERVER_INFO
        self.may_start: MayStart = allow_start
        self._folder = folder
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._closing = asyncio.Event()
        self._requests = RequestTimeouts()
        self._callbacks = {
            name: self._requests.pausing_timeouts(callback) for name, callback in (callbacks or {}).items()
        }
        self._backoff = Backoff()
        self._notice = ""

    @property
    def is_alive(self) -> bool:
        """Whether it is connected or connecting."""
        return self._task is not None and not self._task.done()

    # --- requests

    async def call(
        self, tool: str, arguments: dict[str, Any], on_progress: ProgressListener | None = None
    ) -> CallToolResult:
        """Calls a tool.  Raises ``ToolFailure``.  Cancelling it cancels the call on the server.

        Each progress notification restarts the call's timeout,
        which is paused while the server waits for an answer of a person or model.
        """
        return await self._request(
            lambda client, progress_callback: client.call_tool(
                tool, arguments, progress_callback=progress_callback
            ),
            on_progress,
            tool,
        )

    async def prompts(self) -> tuple[Prompt, ...]:
        """Lists the prompts, if supported. Raises ``ToolFailure``, like all these methods."""
        return await self._request(lambda client, _: list_all(client.list_prompts, "prompts"))

    async def resources(self) -> tuple[Resource, ...]:
        return await self._request(lambda client, _: list_all(client.list_resources, "resources"))

    async def resource_templates(self) -> tuple[ResourceTemplate, ...]:
        return await self._request(
            lambda client, _: list_all(client.list_resource_templates, "resource_templates")
        )

    async def read_resource(self, uri: str) -> ReadResourceResult:
        return await self._request(lambda client, _: client.read_resource(uri))

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> GetPromptResult:
        return await self._request(lambda client, _: client.get_prompt(name, dict(arguments or {})))

    async def complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: str,
        begun: str,
        others: Mapping[str, str] | None = None,
    ) -> CompleteResult:
        """Returns completions of ``begun`` for ``argument``; ``others``: values of other arguments."""
        return await self._request(
            lambda client, _: client.complete(ref, {"name": argument, "value": begun}, dict(others or {}))
        )

    async def _request(
        self,
        send: Callable[[Client, ProgressCallback], Coroutine[Any, Any, T]],
        on_progress: ProgressListener | None = None,
        tool: str = "",
    ) -> T:
        client = await self.client()
        seconds = self.server.call_seconds
        try:
            return await self._requests.run(
                lambda progress_callback: send(client, progress_callback), seconds, on_progress
            )
        except TimeoutError:
            detail = (
                f" (it no longer has {tool})"
                if tool and all(listed_tool.name != tool for listed_tool in self.tools)
                else self._notice_suffix()
            )
            reason = f"{self.server.name} did not answer in {seconds:g} seconds{detail}"
            raise ToolFailure(
                ErrorCode.TIMEOUT, f"{reason}. Give the server a longer timeout if it needs more."
            ) from None
        except Exception as error:
            raise await self._failure_of(error) from error

    # --- life cycle

    async def client(self) -> Client:
        """Returns the SDK's client, connecting if needed.

        Raises ``ToolFailure`` (``mcp_tool_error``) with the reason if that fails,
        or failed repeatedly a moment ago.
        """
        if self._task is not None and self._closing.is_set():
            await asyncio.wait([self._task])
        if self._task is None or self._task.done() or self._ready is None:
            left = self._backoff.seconds_left(asyncio.get_running_loop().time())
            if left > 0:
                raise self._failure(
                    f"{self.problem}; it ended soon after its start more than once. It can be started again"
                    f" in {left:.0f} s, or now with %tools mcp restart {self.server.name}"
                )
            self._closing = asyncio.Event()
            self._ready = asyncio.get_running_loop().create_future()
            self._ready.add_done_callback(lambda future: future.cancelled() or future.exception())
            self._task = asyncio.create_task(self._hold(self._ready), name=f"mcp {self.server.name}")
        return await asyncio.shield(self._ready)

    async def connect(self) -> Client:
        """Connects like ``client``, but without waiting after recent failures."""
        self._backoff.reset()
        return await self.client()

    async def close(self) -> None:
        """Disconnects and stops a server that was started here, also while it is connecting."""
        task, connecting = self._task, self._ready is not None and not self._ready.done()
        self._closing.set()
        self._backoff.reset()
        if task is not None:
            if connecting:
                task.cancel()
            await asyncio.wait([task], timeout=_CLOSE_SECONDS)
            task.cancel()
            await asyncio.wait([task])
        await self._requests.wait_until_done()

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        loop = asyncio.get_running_loop()
        self.problem = self._notice = ""
        connected = began = loop.time()
        try:
            await self.may_start()
            self._set_state("connecting")
            async with self._connected() as client:
                connected = loop.time()
                self._set_state("connected")
                ready.set_result(client)
                await self._follow(client)
        except TimeoutError:
            self.problem = (
                f"it did not answer in {self.server.connect_seconds:g} seconds{self._notice_suffix()}"
            )
        except Exception as error:  # noqa: BLE001 - servers, networks and the SDK fail in many ways, which must not affect other servers
            self.problem = self.problem or self._error_text(error)
        finally:
            if self.problem:
                self._backoff.record_end(loop.time(), loop.time() - connected if connected > began else 0.0)
            self._closing.set()
            self._set_state("failed" if self.problem else "disconnected")
            if not ready.done():
                ready.set_exception(self._failure(self.problem or "it was closed"))

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        self._changes = ListChanges()
        async with AsyncExitStack() as stack:
            limit = await stack.enter_async_context(asyncio.timeout(self.server.connect_seconds))
            client = await self._open_client(stack)
            self.server_info = server_info_of(client)
            await self._list_tools(client)
            limit.reschedule(None)
            yield client

    async def _open_client(self, stack: AsyncExitStack) -> Client:
        """Opens the client; a program that exits on the new handshake is restarted with the older one."""
        sdk = await asyncio.to_thread(_sdk)
        callbacks = {**self._callbacks, "message_handler": self._changes.handle_message}
        try:
            client: Client = await stack.enter_async_context(
                sdk.open_client(self.server, self._folder, self, callbacks)
            )
        except Exception:
            if not self._closing.is_set() or not isinstance(self.server.transport, Program):
                raise
            self._closing.clear()
            self.problem = ""
            client = await stack.enter_async_context(
                sdk.open_client(self.server, self._folder, self, {**callbacks, "mode": "legacy"})
            )
        return client

    async def _list_tools(self, client: Client) -> None:
        """Updates ``tools``; of several tools with the same name the first is used."""
        found: dict[str, Tool] = {}
        for tool in await list_all(client.list_tools, "tools"):
            if self.server.includes_tool(tool.name):
                found.setdefault(tool.name, tool)
        self.tools = tuple(found.values())

    async def _follow(self, client: Client) -> None:
        """Updates the lists when the server reports changes, until the connection is closed."""
        tasks = [
            asyncio.create_task(self._changes.listen(client)),
            asyncio.create_task(self._list_again(client)),
        ]
        try:
            await self._closing.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _list_again(self, client: Client) -> None:
        while True:
            await self._changes.wait()
            try:
                async with asyncio.timeout(self.server.connect_seconds):
                    await self._list_tools(client)
            except Exception as error:  # noqa: BLE001 - as in _hold: the tools stay unchanged
                self.on_notice(f"its changed tools could not be listed: {error_text(error)}")
            self._changed(self)

    def _set_state(self, state: State) -> None:
        self.state = state
        self._changed(self)

    # --- events of the transport

    def on_end(self, reason: str) -> None:
        """Records that the server ended the connection, and why."""
        if not self._closing.is_set():
            self.problem = reason
            self._closing.set()

    def on_notice(self, notice: str) -> None:
        """Stores a notice that is added to the next problem; an empty one clears it."""
        self._notice = notice

    def _notice_suffix(self) -> str:
        return f" ({self._notice})" if self._notice else ""

    def _error_text(self, error: BaseException) -> str:
        return self._notice if self._notice and is_vague(error) else error_text(error)

    async def _failure_of(self, error: Exception) -> ToolFailure:
        if is_vague(error) and self._task is not None and not self._notice:  # the reason may still arrive
            closing = asyncio.create_task(self._closing.wait())
            await asyncio.wait([closing], timeout=_REASON_SECONDS)
            closing.cancel()
        code = (
            ErrorCode.MCP_RESOURCE_NOT_FOUND
            if getattr(error, "code", None) == _NO_RESOURCE
            else ErrorCode.MCP_TOOL_ERROR
        )
        return self._failure(self.problem or self._error_text(error), code)

    def _failure(self, reason: str, code: ErrorCode = ErrorCode.MCP_TOOL_ERROR) -> ToolFailure:
        return ToolFailure(code, f"MCP server {self.server.name}: {reason}.")


def _sdk() -> Any:
    """Imports the SDK and what its first answer needs: over half a second, so call it in a thread."""
    with _LOADING:  # of two threads that import a missing package, one would get a misleading error
        import_jsonschema()
        from nbtools.mcp.client import transport  # noqa: PLC0415 - slow, see above

    return transport


_LOADING = threading.Lock()
