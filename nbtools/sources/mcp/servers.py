"""All servers of a session: connected side by side, none waiting for another, their tools among the session's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.server_names import belongs, part_of
from nbtools.core.toolset import ToolRegistry
from nbtools.sources.mcp.asks.callbacks import Ask, Callbacks
from nbtools.sources.mcp.asks.sampling import Sampling
from nbtools.sources.mcp.catalogue import Catalogue
from nbtools.sources.mcp.logins import SECONDS, Logins, forget
from nbtools.sources.mcp.offers.prompts import FilledPrompt, ServerPrompt, checked, prompts_of_all
from nbtools.sources.mcp.offers.registry import Offered
from nbtools.sources.mcp.offers.resources import have_resources, keep_tools
from nbtools.sources.mcp.settings.entries import ServerSettings
from nbtools.sources.mcp.settings.reading import Named, Problem
from nbtools.sources.mcp.wire.connection import Connection


class McpServers:
    """Keeps ``registry`` as the servers are: tools come when a server is connected and go when it has gone.

    ``changed`` is told of each connection whose state or tools are others than before.  ``ask`` puts a server's questions to the person.
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
        self._offered = Offered(registry)
        self._folder = folder
        self._ask = ask
        self._sampling = sampling
        self._watchers = [changed]
        self._connections: dict[str, Connection] = {}
        self._made_of: dict[str, Named] = {}
        self._logins = Logins()
        self.catalogue = Catalogue(folder, ask)

    @property
    def connections(self) -> Mapping[str, Connection]:
        """By the servers' names, in the order they came."""
        return self._connections

    def add(self, servers: Iterable[ServerSettings]) -> None:
        """Makes them known; nothing is started.  One of the same name must have been removed before."""
        for server in servers:
            other = self._like(server.name)
            if other:
                raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"There is an MCP server {other!r} already; remove it first.")
            self._connections[server.name] = self._connection(server)

    def load(self) -> None:
        """Makes known what files name, as they are now (``catalogue`` has the rest that is to be known of them); nothing is started.

        One that has changed counts from its next start on; one that is connected stays, also when no file names it any more.
        """
        self.catalogue.read()
        for name, made_of in tuple(self._made_of.items()):
            if made_of != self.catalogue.named.get(name) and not self._connections[name].is_alive:
                self._drop(name)
        for name, named in self.catalogue.named.items():
            other = self._like(name)
            if other not in ("", name):
                says = f"{name}: its tools would be called as those of {other} are; give one of the two another name."
                self.catalogue.problems += (Problem(name, says),)
            if not other:
                self._connections[name] = self._connection(named.server)
                self._connections[name].may_start = partial(self.catalogue.may_start, named)
                self._made_of[name] = named

    def _like(self, name: str) -> str:
        """The server that rules could not tell from one of that name (``a.b`` and ``a_b``); empty where there is none."""
        return next((known for known in self._connections if part_of(known) == part_of(name)), "")

    def watch(self, watcher: Callable[[Connection], None]) -> Callable[[], None]:
        """Tells ``watcher`` of changes, too, until the returned function is called."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    async def need(self, tool: str) -> None:
        """Connects the server whose tool that would be, where it is not.  Raises ``ToolFailure`` where it cannot, or there is none."""
        connection = self.of_tool(tool)
        if connection is None:
            server = tool.split("__")[1] if tool.count("__") > 1 else ""
            if server and self._connections:
                raise self.catalogue.missing(server, self._connections)
            return
        if connection.server.disabled:
            name = connection.server.name
            raise ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"MCP server {name} is disabled here: %tools mcp enable {name}.")
        await connection.client()

    def of_tool(self, tool: str) -> Connection | None:
        """The server that a tool of this name would belong to."""
        names = sorted((name for name in self._connections if belongs(tool, name)), key=len)
        return self._connections[names[-1]] if names else None

    def _drop(self, name: str) -> None:
        del self._connections[name]
        self._made_of.pop(name, None)

    def _connection(self, server: ServerSettings) -> Connection:
        return Connection(
            server, self._folder, self._noticed, Callbacks(server.name, self._folder, self._ask, self._sampling).as_arguments()
        )

    async def connect(self, *names: str) -> None:
        """Connects those (all that are not disabled), side by side; what fails says so in its state and holds up nobody.

        One that has just failed is tried again where it is named.
        """
        named = [self.named(name).connect() for name in names]
        wanted = named or [one.client() for one in self._connections.values() if not one.server.disabled]
        await asyncio.gather(*wanted, return_exceptions=True)

    async def remove(self, name: str) -> None:
        await self.named(name).close()
        self._drop(name)

    async def restart(self, name: str) -> None:
        """As its file says it now.  Raises ``ToolFailure`` where it does not come back."""
        await self.named(name).close()
        if name in self._made_of:
            self.load()
        await self.named(name).connect()

    async def switch(self, name: str, *, on: bool) -> None:
        """Turns a server of a file on or off in this workspace.  Raises ``ToolFailure``."""
        self.catalogue.get(name)
        self.catalogue.switch(name, on)
        if not on:
            await self.named(name).close()
        self.load()

    async def login(self, name: str, open_page: Callable[[str], None], seconds: float = SECONDS) -> str:
        """Connected, with new tokens; where they are kept, in words.  ``open_page`` is given the page at which the person logs in.

        Ends when the person has done so, or by ``landed``.  Raises ``ToolFailure``: refused, too late, no such service.
        """
        connection = self.named(name)
        where = await self._logins.log_in(connection, open_page, seconds)
        await connection.close()
        await connection.client()
        return where

    def landed(self, name: str, address: str) -> None:
        """Ends a login by hand, for a browser on another machine: ``address`` is the one that it landed on.  Raises ``ToolFailure``."""
        self._logins.landed(name, address)

    async def logout(self, name: str) -> None:
        """Leaves the server and forgets the tokens."""
        connection = self.named(name)
        await forget(connection)
        await connection.close()

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._connections.values()))

    def named(self, name: str) -> Connection:
        """Raises ``ToolFailure`` that names the nearest."""
        connection = self._connections.get(name)
        if connection is None:
            raise self.catalogue.missing(name, self._connections)
        return connection

    async def prompts(self) -> tuple[ServerPrompt, ...]:
        """What the connected servers offer, with the arguments that each takes."""
        return await prompts_of_all(self._connections.values())

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str] | None = None) -> FilledPrompt:
        """One filled in by its server, which is connected for it.  Raises ``ToolFailure``."""
        return await checked(self.named(server), name, arguments or {})

    def _noticed(self, connection: Connection) -> None:
        self._offered.keep(connection)
        keep_tools(self._registry, lambda: have_resources(self._connections))
        for watcher in tuple(self._watchers):
            watcher(connection)
