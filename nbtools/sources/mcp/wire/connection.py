"""One server, connected when it is first needed.

What the SDK enters it must leave in the same task, and every cell is another one: a task of the connection's own holds it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.json_schema import jsonschema
from nbtools.sources.mcp.settings.entries import Program, ServerSettings
from nbtools.sources.mcp.wire.failures import in_words, is_vague
from nbtools.sources.mcp.wire.following import Changes
from nbtools.sources.mcp.wire.greeting import NOTHING_SAID, greeting_of
from nbtools.sources.mcp.wire.pages import listed
from nbtools.sources.mcp.wire.patience import Backoff, Progress, Requests, Told

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

T = TypeVar("T")
State: TypeAlias = Literal["disconnected", "connecting", "connected", "failed"]
MayStart: TypeAlias = Callable[[], Awaitable[None]]
"""Asked before a server is started or reached.  Raises ``ToolFailure`` where that may not be."""
_PARTING = 10.0
"""Seconds that leaving a server may take; a program needs up to six to be ended in peace."""
_REASON = 1.0
"""Seconds between the end of a call and the reason why the connection has ended."""
_NO_RESOURCE = -32002


async def freely() -> None:
    """Nobody needs to be asked."""


class Connection:
    """``state`` is told to ``changed`` each time it is another, and when what the server has (tools, prompts, resources) is another.

    ``problem`` says why it failed.  ``greeting`` is there once it has been connected.  ``callbacks`` are those of ``mcp.Client``: what
    the server may ask of us.
    """

    def __init__(
        self, server: ServerSettings, folder: Path, changed: Callable[[Connection], None], callbacks: dict[str, Any] | None = None
    ) -> None:
        self.server = server
        self.state: State = "disconnected"
        self.problem = ""
        self.tools: tuple[Tool, ...] = ()
        self.greeting = NOTHING_SAID
        self.may_start: MayStart = freely
        self._folder = folder
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._closing = asyncio.Event()
        self._requests = Requests()
        self._callbacks = {name: self._requests.held_by(callback) for name, callback in (callbacks or {}).items()}
        self._backoff = Backoff()
        self._odd = ""

    @property
    def is_alive(self) -> bool:
        """Connected, or on its way there."""
        return self._task is not None and not self._task.done()

    # --- what it can be asked

    async def call(self, tool: str, arguments: dict[str, Any], heard: Progress | None = None) -> CallToolResult:
        """Raises ``ToolFailure``.  Cancelled, it tells the server so.  Each progress begins the time that a call may take anew.

        While the server waits for an answer of ours, a person's or a model's, that time stands still.
        """
        return await self._asked(lambda client, told: client.call_tool(tool, arguments, progress_callback=told), heard, tool)

    async def prompts(self) -> tuple[Prompt, ...]:
        """None where the server has no such thing.  Raises ``ToolFailure``, as all of these do."""
        return await self._asked(lambda client, _: listed(client.list_prompts, "prompts"))

    async def resources(self) -> tuple[Resource, ...]:
        return await self._asked(lambda client, _: listed(client.list_resources, "resources"))

    async def resource_templates(self) -> tuple[ResourceTemplate, ...]:
        return await self._asked(lambda client, _: listed(client.list_resource_templates, "resource_templates"))

    async def read_resource(self, uri: str) -> ReadResourceResult:
        return await self._asked(lambda client, _: client.read_resource(uri))

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> GetPromptResult:
        return await self._asked(lambda client, _: client.get_prompt(name, dict(arguments or {})))

    async def complete(
        self, ref: PromptReference | ResourceTemplateReference, argument: str, begun: str, others: Mapping[str, str] | None = None
    ) -> CompleteResult:
        """How ``begun`` may go on as the value of ``argument``, given those of the ``others``."""
        return await self._asked(lambda client, _: client.complete(ref, {"name": argument, "value": begun}, dict(others or {})))

    async def _asked(self, ask: Callable[[Client, Told], Coroutine[Any, Any, T]], heard: Progress | None = None, tool: str = "") -> T:
        client = await self.client()
        seconds = self.server.call_seconds
        try:
            return await self._requests.answer(lambda told: ask(client, told), seconds, heard)
        except TimeoutError:
            gone = f" (it no longer has {tool})" if tool and all(one.name != tool for one in self.tools) else self._noted()
            why = f"{self.server.name} did not answer in {seconds:g} seconds{gone}"
            raise ToolFailure(ErrorCode.TIMEOUT, f"{why}. Give the server a longer timeout if it needs more.") from None
        except Exception as error:
            raise await self._failure(error) from error

    # --- its life

    async def client(self) -> Client:
        """Connects where it is not.  Raises ``ToolFailure`` (``mcp_tool_error``) with the reason where it cannot, or has just failed to."""
        if self._task is not None and self._closing.is_set():
            await asyncio.wait([self._task])
        if self._task is None or self._task.done() or self._ready is None:
            self._wait_a_while()
            self._closing = asyncio.Event()
            self._ready = asyncio.get_running_loop().create_future()
            self._ready.add_done_callback(lambda future: future.cancelled() or future.exception())
            self._task = asyncio.create_task(self._hold(self._ready), name=f"mcp {self.server.name}")
        return await asyncio.shield(self._ready)

    async def connect(self) -> Client:
        """As ``client``, now: also where it has failed a moment ago."""
        self._backoff.forget()
        return await self.client()

    async def close(self) -> None:
        """Ends the server, or leaves it, also while it is being connected.  Nothing of it is left."""
        task, connecting = self._task, self._ready is not None and not self._ready.done()
        self._closing.set()
        self._backoff.forget()
        if task is not None:
            if connecting:
                task.cancel()
            await asyncio.wait([task], timeout=_PARTING)
            task.cancel()
            await asyncio.wait([task])
        await self._requests.over()

    async def _hold(self, ready: asyncio.Future[Client]) -> None:
        loop = asyncio.get_running_loop()
        self.problem = self._odd = ""
        connected = began = loop.time()
        try:
            await self.may_start()
            self._become("connecting")
            async with self._connected() as client:
                connected = loop.time()
                self._become("connected")
                ready.set_result(client)
                await self._follow(client)
        except TimeoutError:
            self.problem = f"it did not answer in {self.server.connect_seconds:g} seconds{self._noted()}"
        except Exception as error:  # noqa: BLE001 - servers, networks and the SDK fail in many ways: each is this server's problem alone
            self.problem = self.problem or self._words(error)
        finally:
            if self.problem:
                self._backoff.ended(loop.time(), loop.time() - connected if connected > began else 0.0)
            self._closing.set()
            self._become("failed" if self.problem else "disconnected")
            if not ready.done():
                ready.set_exception(self._broken(self.problem or "it was closed"))

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        self._changes = Changes()
        async with AsyncExitStack() as stack:
            limit = await stack.enter_async_context(asyncio.timeout(self.server.connect_seconds))
            client = await self._entered(stack)
            self.greeting = greeting_of(client)
            await self._list_tools(client)
            limit.reschedule(None)
            yield client

    async def _entered(self, stack: AsyncExitStack) -> Client:
        """Some programs end when the first that they hear is not the greeting they know: they are started again and hear that."""
        sdk = await asyncio.to_thread(_sdk)
        callbacks = {**self._callbacks, "message_handler": self._changes.heard}
        try:
            client: Client = await stack.enter_async_context(sdk.opened(self.server, self._folder, self, callbacks))
        except Exception:
            if not self._closing.is_set() or not isinstance(self.server.transport, Program):
                raise
            self._closing.clear()
            self.problem = ""
            client = await stack.enter_async_context(sdk.opened(self.server, self._folder, self, {**callbacks, "mode": "legacy"}))
        return client

    async def _list_tools(self, client: Client) -> None:
        """The first of a name is the tool: the server could not tell which of two is meant."""
        found: dict[str, Tool] = {}
        for tool in await listed(client.list_tools, "tools"):
            if self.server.takes(tool.name):
                found.setdefault(tool.name, tool)
        self.tools = tuple(found.values())

    async def _follow(self, client: Client) -> None:
        """Until the end, the lists are kept as the server says that they are."""
        tasks = [asyncio.create_task(self._changes.listen(client)), asyncio.create_task(self._list_anew(client))]
        try:
            await self._closing.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _list_anew(self, client: Client) -> None:
        while True:
            await self._changes.next()
            try:
                async with asyncio.timeout(self.server.connect_seconds):
                    await self._list_tools(client)
            except Exception as error:  # noqa: BLE001 - as in _hold: the tools stay what they were
                self.noted(f"its tools cannot be listed anew: {in_words(error)}")
            self._changed(self)

    def _become(self, state: State) -> None:
        self.state = state
        self._changed(self)

    def _wait_a_while(self) -> None:
        left = self._backoff.left(asyncio.get_running_loop().time())
        if left > 0:
            raise self._broken(
                f"{self.problem}; it has ended soon after its start more than once and is tried again in {left:.0f} s, or now "
                f"with %tools mcp restart {self.server.name}"
            )

    # --- what its transport tells

    def ended(self, why: str) -> None:
        """It has gone by itself."""
        if not self._closing.is_set():
            self.problem = why
            self._closing.set()

    def noted(self, what: str) -> None:
        """Something strange, told with the next problem; nothing: all is well."""
        self._odd = what

    def _noted(self) -> str:
        return f" ({self._odd})" if self._odd else ""

    def _words(self, error: BaseException) -> str:
        return self._odd if self._odd and is_vague(error) else in_words(error)

    async def _failure(self, error: Exception) -> ToolFailure:
        if is_vague(error) and self._task is not None and not self._odd:  # the reason may be on its way
            closing = asyncio.create_task(self._closing.wait())
            await asyncio.wait([closing], timeout=_REASON)
            closing.cancel()
        code = ErrorCode.MCP_RESOURCE_NOT_FOUND if getattr(error, "code", None) == _NO_RESOURCE else ErrorCode.MCP_TOOL_ERROR
        return self._broken(self.problem or self._words(error), code)

    def _broken(self, why: str, code: ErrorCode = ErrorCode.MCP_TOOL_ERROR) -> ToolFailure:
        return ToolFailure(code, f"MCP server {self.server.name}: {why}.")


def _sdk() -> Any:
    """Loaded in a thread with the first connection, and what it would load with the first answer: that takes more than half a second."""
    with _LOADING:  # of two threads that load what is not there, one would hear of another error
        jsonschema()
        from nbtools.sources.mcp.wire import client  # noqa: PLC0415 - as said above

    return client


_LOADING = threading.Lock()
