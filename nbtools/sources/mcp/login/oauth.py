"""A login, begun by a person: the server is asked how, the page is shown, the tokens are kept."""

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
from nbtools.sources.mcp.login.flow import CHALLENGE, SECONDS, TROUBLES, Memory, credentials, kept_of, metadata, refuse_elsewhere, run, said
from nbtools.sources.mcp.login.kept import Kept, read
from nbtools.sources.mcp.login.landing import Landing, landing
from nbtools.sources.mcp.login.tokens import Tokens
from nbtools.sources.mcp.settings.entries import Address
from nbtools.sources.mcp.settings.login import Login
from nbtools.sources.mcp.wire.http import login_client

_HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": {"name": "nbtools", "version": "0"}},
}


async def log_in(
    server: str, address: Address, open_page: Callable[[str], None], waiting: Callable[[Landing], None], seconds: float
) -> str:
    """Gets tokens and keeps them; where, in words.  ``open_page`` shows a page to the person, ``waiting`` is told who waits for the answer.

    Raises ``ToolFailure``: refused, nobody came in ``seconds``, no such service.
    """
    tokens = Tokens(server, address.url)
    try:
        _safe(server, address.url)
        async with landing(server, address.login.redirect) as place:
            waiting(place)
            kept = await _asked(address, await asyncio.to_thread(read, tokens), place, open_page, seconds)
        return await asyncio.to_thread(tokens.write, kept.model_dump_json())
    except (*TROUBLES, OSError) as error:
        raise ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"The login to {server} failed: {said(error)}.") from None


async def _asked(address: Address, old: Kept | None, place: Landing, open_page: Callable[[str], None], seconds: float) -> Kept:
    request = _hello(address)
    memory = Memory(old.tokens if old else None, _registered(address.login, place.address))
    if address.login.alone:
        provider: OAuthClientProvider = credentials(address, memory := Memory())
    else:
        provider = _interactive(address, memory, place, open_page, seconds)
    if old is not None and old.challenge:
        first = httpx2.Response(httpx2.codes.FORBIDDEN, headers={CHALLENGE: old.challenge}, request=request)
    else:
        first = await _refusal(_hello(address))
    if not await run(provider, memory, request, first):
        raise OAuthFlowError("the service gave no tokens")
    return kept_of(provider)


def _interactive(address: Address, memory: Memory, place: Landing, open_page: Callable[[str], None], seconds: float) -> OAuthClientProvider:
    async def opened(page: str) -> None:
        _choose_method(provider)
        wanted = _with_scopes(page, address.login.scopes)
        refuse_elsewhere(wanted, address.url)
        place.expect(wanted)
        open_page(wanted)

    async def arrived() -> AuthorizationCodeResult:
        came = await place.arrived(seconds)
        return AuthorizationCodeResult(code=came.code, state=came.state, iss=came.issuer)

    provider = OAuthClientProvider(address.url, metadata(place.address), memory, opened, arrived)
    return provider


async def _refusal(request: httpx2.Request) -> httpx2.Response:
    """How the server asks for a login.  One that answers everybody, and asks later, has a login all the same."""
    async with login_client(SECONDS) as http:
        response = await http.send(request, stream=True)
        try:
            if response.status_code == httpx2.codes.UNAUTHORIZED:
                await response.aread()
                return response
        finally:
            await response.aclose()
    return httpx2.Response(httpx2.codes.UNAUTHORIZED, request=request)


def _registered(login: Login, redirect: str) -> OAuthClientInformationFull | None:
    if not login.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=login.client_id,
        client_secret=login.client_secret or None,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_basic" if login.client_secret else "none",
        issuer=login.issuer or None,
    )


def _choose_method(provider: OAuthClientProvider) -> None:
    """A client that was registered beforehand shows its secret in the body where the service takes it nowhere else."""
    client, service = provider.context.client_info, provider.context.oauth_metadata
    taken = service.token_endpoint_auth_methods_supported if service else None
    method = "client_secret_basic"
    if (
        client is not None
        and client.token_endpoint_auth_method == method
        and taken
        and method not in taken
        and "client_secret_post" in taken
    ):
        client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105 - as above


def _with_scopes(page: str, scopes: tuple[str, ...]) -> str:
    if not scopes:
        return page
    parts = urlsplit(page)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "scope"]
    return parts._replace(query=urlencode([*query, ("scope", " ".join(scopes))])).geturl()


def _safe(server: str, url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, f"Tokens are sent over https only; {server} is at {parts.scheme}://{parts.hostname}."
        )


def _hello(address: Address) -> httpx2.Request:
    return httpx2.Request("POST", address.url, json=_HELLO, headers={**address.headers, "accept": "application/json, text/event-stream"})
