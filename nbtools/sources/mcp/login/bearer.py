"""What is kept of a login, on each request to its server; renewed when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack

import httpx2
from mcp.client.auth import OAuthClientProvider

from nbtools.sources.mcp.login.flow import CHALLENGE, TROUBLES, Memory, credentials, kept_of, metadata, remember, run, said
from nbtools.sources.mcp.login.kept import Kept, read
from nbtools.sources.mcp.login.tokens import Tokens
from nbtools.sources.mcp.settings.entries import Address


class Bearer(httpx2.Auth):
    """Signs what is sent to a server.  ``told`` hears why it is of no use, in words; it opens nothing and asks nobody."""

    def __init__(self, server: str, address: Address, told: Callable[[str], None]) -> None:
        self._server = server
        self._address = address
        self._told = told
        self._tokens = Tokens(server, address.url)
        self._kept: Kept | None = None
        self._why = ""
        self._looked = False
        self._renewing = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if any(name.lower() == "authorization" for name in self._address.headers):
            if (yield request).status_code == httpx2.codes.UNAUTHORIZED:
                self._told("it does not take the Authorization header of its settings")
            return
        kept = await self._current(request)
        response = yield _signed(request, kept)
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            kept = await self._renewed(request, response, kept)
            if kept is not None:
                response = yield _signed(request, kept)
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            self._told(self._why or f"it wants a login: %tools mcp login {self._server}")
        elif response.status_code == httpx2.codes.FORBIDDEN and "insufficient_scope" in response.headers.get(CHALLENGE, ""):
            await self._note(response.headers[CHALLENGE])
            self._told(f"it wants a login with more rights: %tools mcp login {self._server}")

    async def _current(self, request: httpx2.Request) -> Kept | None:
        if not self._looked:
            self._kept = await asyncio.to_thread(read, self._tokens)
            self._looked = True
        if self._kept is not None and self._kept.over:
            return await self._renewed(request, None, self._kept) or self._kept
        return self._kept

    async def _renewed(self, request: httpx2.Request, response: httpx2.Response | None, used: Kept | None) -> Kept | None:
        """Others than ``used``: what another session has got meanwhile, or new ones.  None, and ``_why``, where there are none."""
        async with self._renewing:
            with ExitStack() as held:
                await asyncio.to_thread(held.enter_context, self._tokens.alone())
                stored = await asyncio.to_thread(read, self._tokens)
                if stored is not None and (used is None or stored.tokens.access_token != used.tokens.access_token):
                    self._kept = stored
                    return stored
                try:
                    new = await self._got(request, response, stored)
                except TROUBLES as error:
                    self._why = f"its login could not be renewed: {said(error)}"
                    return None
                if new is not None:
                    await asyncio.to_thread(self._tokens.write, new.model_dump_json())
                    self._kept = new
                return new

    async def _got(self, request: httpx2.Request, response: httpx2.Response | None, stored: Kept | None) -> Kept | None:
        if stored is not None and stored.tokens.refresh_token and stored.client is not None:
            memory = Memory(stored.tokens, stored.client)
            provider = OAuthClientProvider(self._address.url, metadata("http://127.0.0.1/callback"), memory)
            remember(provider, stored)
            if await run(provider, memory, _copy(request), None):
                return kept_of(provider)
        if self._address.login.alone and response is not None:
            memory = Memory()
            provider = credentials(self._address, memory)
            if await run(provider, memory, _copy(request), response):
                return kept_of(provider)
        return None

    async def _note(self, challenge: str) -> None:
        if self._kept is not None:
            noted = self._kept.model_copy(update={"challenge": challenge})
            await asyncio.to_thread(self._tokens.write, noted.model_dump_json())


def _signed(request: httpx2.Request, kept: Kept | None) -> httpx2.Request:
    if kept is not None:
        request.headers["Authorization"] = f"Bearer {kept.tokens.access_token}"
    return request


def _copy(request: httpx2.Request) -> httpx2.Request:
    headers = {name: value for name, value in request.headers.items() if name.lower() != "authorization"}
    return httpx2.Request(request.method, request.url, headers=headers)
