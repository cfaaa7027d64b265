"""The MCP servers of a session: connects them, registers their tools and handles their logins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool_names import belongs_to_server, server_part
from nbtools.core.toolset import ToolRegistry
from nbtools.mcp.auth.oauth_callback import OAuthCallback
from nbtools.mcp.auth.token_store import LoginStore
from nbtools.mcp.client.connection import Connection
from nbtools.mcp.client.errors import error_text
from nbtools.mcp.client.prompts import FilledPrompt, ServerPrompt, fill_checked_prompt, prompts_of_all
from nbtools.mcp.client.resources import servers_with_resources, update_resource_tools
from nbtools.mcp.client.sampling import Sampling
from nbtools.mcp.client.server_requests import Ask, ClientCallbacks
from nbtools.mcp.client.tool import ServerToolRegistry
from nbtools.mcp.config.catalog import ServerCatalog
from nbtools.mcp.config.entries import Address, ServerSettings
from nbtools.mcp.config.files import ConfigProblem, ConfiguredServer

LOGIN_SECONDS = 300.0
"""Timeout of a login, in seconds."""


def _address(connection: Connection) -> Address:
    if isinstance(connection.server.transport, Address):
        return connection.server.transport
    raise ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS, f"{connection.server.name} is a local program and has no login."
    )


def _oauth() -> Any:
    """Imports the login, which loads the SDK: slow, so call it in a thread."""
    from nbtools.mcp.auth import login  # noqa: PLC0415 - slow, see above

    return login


class McpServers:
    """A session's MCP servers; their tools are in ``registry`` while they are connected.

    ``changed`` is called with each connection whose state or tools changed.
    ``ask`` asks the person a server's questions.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        folder: Path,
        ask: Ask,
        sampling: Sampling | None = None,
        changed: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        self._registry = registry
        self._registered = ServerToolRegistry(registry)
        self._folder = folder
        self._ask = ask
        self._sampling = sampling
        self._watchers = [changed]
        self._connections: dict[str, Connection] = {}
        self._configured: dict[str, ConfiguredServer] = {}
        self._logins: dict[str, OAuthCallback] = {}
        """The running logins by server name."""
        self.catalogue = ServerCatalog(folder, ask)

    @property
    def connections(self) -> Mapping[str, Connection]:
        """The connections by server name, in the order in which they were added."""
        return self._connections

    def add(self, servers: Iterable[ServerSettings]) -> None:
        """Adds servers without starting them.  Raises ``ToolFailure`` if one of that name exists."""
        for server in servers:
            other = self._clashing_name(server.name)
            if other:
                raise ToolFailure(
                    ErrorCode.INVALID_TOOL_PARAMS,
                    f"The MCP server {other!r} already exists. Remove it first.",
                )
            self._connections[server.name] = self._connection(server)

    def load(self) -> None:
        """Adds the servers that the files configure, without starting them; ``catalogue`` has more on them.

        A changed entry takes effect at the server's next start.
        A connected server stays, even if no file configures it any more.
        """
        self.catalogue.read()
        for name, old in tuple(self._configured.items()):
            if old != self.catalogue.servers.get(name) and not self._connections[name].is_alive:
                self._remove(name)
        for name, named in self.catalogue.servers.items():
            other = self._clashing_name(name)
            if other not in ("", name):
                text = (
                    f"{name}: its tool names would clash with those of the server {other}. Rename one of"
                    " them."
                )
                self.catalogue.problems += (ConfigProblem(name, text),)
            if not other:
                self._connections[name] = self._connection(named.server)
                self._connections[name].may_start = partial(self.catalogue.ensure_trusted, named)
                self._configured[name] = named

    def _clashing_name(self, name: str) -> str:
        """Returns the server with the same tool names as ``name`` (``a.b``, ``a_b``), or ""."""
        return next((known for known in self._connections if server_part(known) == server_part(name)), "")

    def watch(self, watcher: Callable[[Connection], None]) -> Callable[[], None]:
        """Calls ``watcher`` with each changed connection until the returned function is called."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    async def ensure_connected(self, tool: str) -> None:
        """Connects the server that a tool of this name belongs to. Raises ``ToolFailure``."""
        connection = self.of_tool(tool)
        if connection is None:
            server = tool.split("__")[1] if tool.count("__") > 1 else ""
            if server and self._connections:
                raise self.catalogue.not_found(server, self._connections)
            return
        if connection.server.disabled:
            name = connection.server.name
            raise ToolFailure(
                ErrorCode.MCP_TOOL_ERROR,
                f"MCP server {name} is disabled in this workspace. Enable it with %tools mcp enable {name}.",
            )
        await connection.client()

    def of_tool(self, tool: str) -> Connection | None:
        """Returns the server that a tool of this name belongs to."""
        names = sorted((name for name in self._connections if belongs_to_server(tool, name)), key=len)
        return self._connections[names[-1]] if names else None

    def _remove(self, name: str) -> None:
        del self._connections[name]
        self._configured.pop(name, None)

    def _connection(self, server: ServerSettings) -> Connection:
        return Connection(
            server,
            self._folder,
            self._update,
            ClientCallbacks(server.name, self._folder, self._ask, self._sampling).as_arguments(),
        )

    async def connect(self, *names: str) -> None:
        """Connects the named servers, or all not disabled, concurrently; failures are in each ``state``.

        A named server is tried again at once, even if it has just failed.
        """
        connecting = [self.get(name).connect() for name in names]
        all_connecting = connecting or [
            one.client() for one in self._connections.values() if not one.server.disabled
        ]
        await asyncio.gather(*all_connecting, return_exceptions=True)

    async def remove(self, name: str) -> None:
        await self.get(name).close()
        self._remove(name)

    async def restart(self, name: str) -> None:
        """Restarts a server with its current configuration. Raises ``ToolFailure``."""
        await self.get(name).close()
        if name in self._configured:
            self.load()
        await self.get(name).connect()

    async def switch(self, name: str, *, on: bool) -> None:
        """Turns a configured server on or off in this workspace.  Raises ``ToolFailure``."""
        self.catalogue.get(name)
        self.catalogue.switch(name, on)
        if not on:
            await self.get(name).close()
        self.load()

    async def login(self, name: str, open_page: Callable[[str], None], seconds: float = LOGIN_SECONDS) -> str:
        """Logs in and reconnects; returns a description of where the tokens are stored.

        ``open_page`` is called with the login page's URL.  Ends when the person has logged in, or with
        ``complete_login``.  Raises ``ToolFailure`` if the login is refused or times out, or there is no such
        service.
        """
        connection = self.get(name)
        address = _address(connection)
        if name in self._logins:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                f"A login to {name} is already running. Finish it in the browser, or stop it.",
            )

        def waiting(callback: OAuthCallback) -> None:
            self._logins[name] = callback

        try:
            sdk = await asyncio.to_thread(_oauth)
        except ImportError as error:
            raise ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"{error_text(error)}.") from None
        try:
            where: str = await sdk.log_in(name, address, open_page, waiting, seconds)
        finally:
            self._logins.pop(name, None)
        await connection.close()
        await connection.client()
        return where

    def complete_login(self, name: str, address: str) -> None:
        """Completes a login by hand, for a browser elsewhere; ``address`` is where it was redirected to.

        Raises ``ToolFailure`` if none is running.
        """
        if name not in self._logins:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                f"No login to {name} is running. Start one with %tools mcp login {name}.",
            )
        self._logins[name].accept(address)

    async def logout(self, name: str) -> None:
        """Removes the stored tokens and disconnects."""
        connection = self.get(name)
        store = LoginStore(name, _address(connection).url)
        await asyncio.to_thread(store.delete)
        await connection.close()

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._connections.values()))

    def get(self, name: str) -> Connection:
        """Returns a connection by server name.  Raises ``ToolFailure`` that suggests a similar name."""
        connection = self._connections.get(name)
        if connection is None:
            raise self.catalogue.not_found(name, self._connections)
        return connection

    async def prompts(self) -> tuple[ServerPrompt, ...]:
        """Lists the prompts of the connected servers, with their arguments."""
        return await prompts_of_all(self._connections.values())

    async def prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> FilledPrompt:
        """Fills in a prompt, connecting its server if needed.  Raises ``ToolFailure``."""
        return await fill_checked_prompt(self.get(server), name, arguments or {})

    def _update(self, connection: Connection) -> None:
        self._registered.update(connection)
        update_resource_tools(self._registry, lambda: servers_with_resources(self._connections))
        for watcher in tuple(self._watchers):
            watcher(connection)
