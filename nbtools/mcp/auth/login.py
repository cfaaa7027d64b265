"""Logs in to an MCP server: discovers the OAuth service, opens its page and stores the tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull
from mcp.types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.mcp.auth.oauth_callback import OAuthCallback, callback_server
from nbtools.mcp.auth.oauth_flow import (
    CHALLENGE,
    FLOW_ERRORS,
    REQUEST_SECONDS,
    MemoryTokenStorage,
    check_destination,
    client_credentials_provider,
    client_metadata,
    error_text,
    run_flow,
    stored_login_of,
)
from nbtools.mcp.auth.stored_login import StoredLogin, read_login
from nbtools.mcp.auth.token_store import LoginStore
from nbtools.mcp.client.http import login_client
from nbtools.mcp.config.entries import Address, Login

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": LATEST_PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "nbtools", "version": "0"},
    },
}


async def log_in(
    server: str,
    address: Address,
    open_page: Callable[[str], None],
    waiting: Callable[[OAuthCallback], None],
    seconds: float,
) -> str:
    """Gets and stores tokens; returns a description of where.  ``open_page`` shows a page to the person.

    ``waiting`` is called with the callback that waits for the redirect.  Raises ``ToolFailure``: the login
    was refused, nobody logged in within ``seconds``, or there is no such service.
    """
    tokens = LoginStore(server, address.url)
    try:
        parts = urlsplit(address.url)
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                f"Tokens are sent over https only; {server} is at {parts.scheme}://{parts.hostname}.",
            )
        async with callback_server(server, address.login.redirect) as callback:
            waiting(callback)
            login = await _get_login(
                address, await asyncio.to_thread(read_login, tokens), callback, open_page, seconds
            )
        return await asyncio.to_thread(tokens.write, login.model_dump_json())
    except (*FLOW_ERRORS, OSError) as error:
        raise ToolFailure(
            ErrorCode.MCP_TOOL_ERROR, f"The login to {server} failed: {error_text(error)}."
        ) from None


async def _get_login(
    address: Address,
    stored: StoredLogin | None,
    callback: OAuthCallback,
    open_page: Callable[[str], None],
    seconds: float,
) -> StoredLogin:
    request = _initialize_request(address)
    memory = MemoryTokenStorage(
        stored.tokens if stored else None, _registered_client(address.login, callback.address)
    )
    if address.login.alone:
        provider: OAuthClientProvider = client_credentials_provider(address, memory := MemoryTokenStorage())
    else:
        provider = _interactive(address, memory, callback, open_page, seconds)
    if stored is not None and stored.challenge:
        first = httpx2.Response(
            httpx2.codes.FORBIDDEN, headers={CHALLENGE: stored.challenge}, request=request
        )
    else:
        first = await _unauthorized_response(_initialize_request(address))
    if not await run_flow(provider, memory, request, first):
        raise OAuthFlowError("the service returned no tokens")
    return stored_login_of(provider)


def _interactive(
    address: Address,
    memory: MemoryTokenStorage,
    callback: OAuthCallback,
    open_page: Callable[[str], None],
    seconds: float,
) -> OAuthClientProvider:
    async def open_login_page(page: str) -> None:
        _choose_auth_method(provider)
        url = _with_scopes(page, address.login.scopes)
        check_destination(url, address.url)
        callback.expect(url)
        open_page(url)

    async def wait_for_redirect() -> AuthorizationCodeResult:
        response = await callback.wait(seconds)
        return AuthorizationCodeResult(code=response.code, state=response.state, iss=response.issuer)

    provider = OAuthClientProvider(
        address.url, client_metadata(callback.address), memory, open_login_page, wait_for_redirect
    )
    return provider


async def _unauthorized_response(request: httpx2.Request) -> httpx2.Response:
    """Returns the server's 401 response, or a plain one for a server that requires a login only later."""
    async with login_client(REQUEST_SECONDS) as http:
        response = await http.send(request, stream=True)
        try:
            if response.status_code == httpx2.codes.UNAUTHORIZED:
                await response.aread()
                return response
        finally:
            await response.aclose()
    return httpx2.Response(httpx2.codes.UNAUTHORIZED, request=request)


def _registered_client(login: Login, redirect: str) -> OAuthClientInformationFull | None:
    if not login.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=login.client_id,
        client_secret=login.client_secret or None,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_basic" if login.client_secret else "none",
        issuer=login.issuer or None,
    )


def _choose_auth_method(provider: OAuthClientProvider) -> None:
    """Selects ``client_secret_post`` if registered and ``client_secret_basic`` is not supported."""
    client, service = provider.context.client_info, provider.context.oauth_metadata
    supported = service.token_endpoint_auth_methods_supported if service else None
    method = "client_secret_basic"
    if (
        client is not None
        and client.token_endpoint_auth_method == method
        and supported
        and method not in supported
        and "client_secret_post" in supported
    ):
        client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105 - as above


def _with_scopes(page: str, scopes: tuple[str, ...]) -> str:
    if not scopes:
        return page
    parts = urlsplit(page)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "scope"]
    return parts._replace(query=urlencode([*query, ("scope", " ".join(scopes))])).geturl()


def _initialize_request(address: Address) -> httpx2.Request:
    return httpx2.Request(
        "POST",
        address.url,
        json=_INITIALIZE,
        headers={**address.headers, "accept": "application/json, text/event-stream"},
    )
