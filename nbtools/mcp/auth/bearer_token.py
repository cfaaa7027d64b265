"""HTTP auth that adds a stored login's access token to requests and renews it when it expires."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack

import httpx2
from mcp.client.auth import OAuthClientProvider

from nbtools.mcp.auth.oauth_flow import (
    CHALLENGE,
    FLOW_ERRORS,
    MemoryTokenStorage,
    client_credentials_provider,
    client_metadata,
    error_text,
    restore_login,
    run_flow,
    stored_login_of,
)
from nbtools.mcp.auth.stored_login import StoredLogin, read_login
from nbtools.mcp.auth.token_store import LoginStore
from nbtools.mcp.config.entries import Address


class BearerAuth(httpx2.Auth):
    """Adds the bearer token to requests, never opens a page; ``on_problem`` gets reasons of refusals."""

    def __init__(self, server: str, address: Address, on_problem: Callable[[str], None]) -> None:
        self._server = server
        self._address = address
        self._on_problem = on_problem
        self._tokens = LoginStore(server, address.url)
        self._login: StoredLogin | None = None
        self._problem = ""
        self._is_loaded = False
        self._renew_lock = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if any(name.lower() == "authorization" for name in self._address.headers):
            if (yield request).status_code == httpx2.codes.UNAUTHORIZED:
                self._on_problem("it rejected the Authorization header from its settings")
            return
        login = await self._current(request)
        response = yield _with_token(request, login)
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            login = await self._renew(request, response, login)
            if login is not None:
                response = yield _with_token(request, login)
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            self._on_problem(self._problem or f"it requires a login: %tools mcp login {self._server}")
        elif response.status_code == httpx2.codes.FORBIDDEN and "insufficient_scope" in response.headers.get(
            CHALLENGE, ""
        ):
            await self._store_challenge(response.headers[CHALLENGE])
            self._on_problem(f"it requires a login with more rights: %tools mcp login {self._server}")

    async def _current(self, request: httpx2.Request) -> StoredLogin | None:
        if not self._is_loaded:
            self._login = await asyncio.to_thread(read_login, self._tokens)
            self._is_loaded = True
        if self._login is not None and self._login.is_expired:
            return await self._renew(request, None, self._login) or self._login
        return self._login

    async def _renew(
        self, request: httpx2.Request, response: httpx2.Response | None, used: StoredLogin | None
    ) -> StoredLogin | None:
        """Returns a login newer than ``used``: another session's, or renewed; None, with ``_problem``."""
        async with self._renew_lock:
            with ExitStack() as stack:
                await asyncio.to_thread(stack.enter_context, self._tokens.lock())
                stored = await asyncio.to_thread(read_login, self._tokens)
                if stored is not None and (
                    used is None or stored.tokens.access_token != used.tokens.access_token
                ):
                    self._login = stored
                    return stored
                try:
                    new = await self._request_login(request, response, stored)
                except FLOW_ERRORS as error:
                    self._problem = f"its login could not be renewed: {error_text(error)}"
                    return None
                if new is not None:
                    await asyncio.to_thread(self._tokens.write, new.model_dump_json())
                    self._login = new
                return new

    async def _request_login(
        self, request: httpx2.Request, response: httpx2.Response | None, stored: StoredLogin | None
    ) -> StoredLogin | None:
        if stored is not None and stored.tokens.refresh_token and stored.client is not None:
            memory = MemoryTokenStorage(stored.tokens, stored.client)
            provider = OAuthClientProvider(
                self._address.url, client_metadata("http://127.0.0.1/callback"), memory
            )
            restore_login(provider, stored)
            if await run_flow(provider, memory, _without_token(request), None):
                return stored_login_of(provider)
        if self._address.login.alone and response is not None:
            memory = MemoryTokenStorage()
            provider = client_credentials_provider(self._address, memory)
            if await run_flow(provider, memory, _without_token(request), response):
                return stored_login_of(provider)
        return None

    async def _store_challenge(self, challenge: str) -> None:
        if self._login is not None:
            login = self._login.model_copy(update={"challenge": challenge})
            await asyncio.to_thread(self._tokens.write, login.model_dump_json())


def _with_token(request: httpx2.Request, login: StoredLogin | None) -> httpx2.Request:
    if login is not None:
        request.headers["Authorization"] = f"Bearer {login.tokens.access_token}"
    return request


def _without_token(request: httpx2.Request) -> httpx2.Request:
    headers = {name: value for name, value in request.headers.items() if name.lower() != "authorization"}
    return httpx2.Request(request.method, request.url, headers=headers)
