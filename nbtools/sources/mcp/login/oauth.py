"""Logging in to a server: the SDK's OAuth, run only when a person asks for it, and its tokens on each request afterwards.

The SDK's own provider would register a client and open a page by itself when a server refuses, renews nothing that it has not got in this
process, and sends one request after the other.  So it is run for what it is good at, getting tokens, and not between client and server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from mcp.types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl, BaseModel, Field, ValidationError

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.redact import Redactor
from nbtools.sources.mcp.login.landing import Landing, landing
from nbtools.sources.mcp.login.tokens import Tokens
from nbtools.sources.mcp.settings.entries import Address
from nbtools.sources.mcp.settings.login import Login

_EARLY = 30.0
"""Seconds before its end at which a token is renewed."""
_SECONDS = 30.0
_CHALLENGE = "www-authenticate"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": {"name": "nbtools", "version": "0"}},
}


class Kept(BaseModel):
    """A login as it is kept: with what is needed to renew it later, in another process."""

    tokens: OAuthToken = Field(repr=False)
    ends: float | None = None
    client: OAuthClientInformationFull | None = Field(None, repr=False)
    service: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    challenge: str = ""
    """How the server asked for more rights than these; the next login asks for them, too."""

    @property
    def over(self) -> bool:
        return self.ends is not None and time.time() > self.ends - _EARLY


class Memory:
    """The SDK's storage for one run of it.  ``new`` once it has got tokens."""

    def __init__(self, tokens: OAuthToken | None = None, client: OAuthClientInformationFull | None = None) -> None:
        self._tokens = tokens
        self._client = client
        self.new = False

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens
        self.new = True

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


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
        elif response.status_code == httpx2.codes.FORBIDDEN and "insufficient_scope" in response.headers.get(_CHALLENGE, ""):
            await self._note(response.headers[_CHALLENGE])
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
                except (OAuthFlowError, httpx2.HTTPError, ValidationError, ValueError) as error:
                    self._why = f"its login could not be renewed: {_said(error)}"
                    return None
                if new is not None:
                    await asyncio.to_thread(self._tokens.write, new.model_dump_json())
                    self._kept = new
                return new

    async def _got(self, request: httpx2.Request, response: httpx2.Response | None, stored: Kept | None) -> Kept | None:
        if stored is not None and stored.tokens.refresh_token and stored.client is not None:
            memory = Memory(stored.tokens, stored.client)
            provider = OAuthClientProvider(self._address.url, _metadata("http://127.0.0.1/callback"), memory)
            _remember(provider, stored)
            if await _run(provider, memory, _copy(request), None):
                return _kept_of(provider)
        if self._address.login.alone and response is not None:
            memory = Memory()
            provider = _credentials(self._address, memory)
            if await _run(provider, memory, _copy(request), response):
                return _kept_of(provider)
        return None

    async def _note(self, challenge: str) -> None:
        if self._kept is not None:
            noted = self._kept.model_copy(update={"challenge": challenge})
            await asyncio.to_thread(self._tokens.write, noted.model_dump_json())


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
    except (OAuthFlowError, httpx2.HTTPError, ValidationError, ValueError, OSError) as error:
        raise ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"The login to {server} failed: {_said(error)}.") from None


def read(tokens: Tokens) -> Kept | None:
    """What is kept; what cannot be read is none.  May wait for a keyring."""
    text = tokens.read()
    try:
        return None if text is None else Kept.model_validate_json(text)
    except ValidationError:
        return None


async def _asked(address: Address, old: Kept | None, place: Landing, open_page: Callable[[str], None], seconds: float) -> Kept:
    request = _hello(address)
    memory = Memory(old.tokens if old else None, _registered(address.login, place.address))
    if address.login.alone:
        provider: OAuthClientProvider = _credentials(address, memory := Memory())
    else:
        provider = _interactive(address, memory, place, open_page, seconds)
    if old is not None and old.challenge:
        first = httpx2.Response(httpx2.codes.FORBIDDEN, headers={_CHALLENGE: old.challenge}, request=request)
    else:
        first = await _refusal(_hello(address))
    if not await _run(provider, memory, request, first):
        raise OAuthFlowError("the service gave no tokens")
    return _kept_of(provider)


def _interactive(address: Address, memory: Memory, place: Landing, open_page: Callable[[str], None], seconds: float) -> OAuthClientProvider:
    async def opened(page: str) -> None:
        _choose_method(provider)
        wanted = _with_scopes(page, address.login.scopes)
        place.expect(wanted)
        open_page(wanted)

    async def arrived() -> AuthorizationCodeResult:
        came = await place.arrived(seconds)
        return AuthorizationCodeResult(code=came.code, state=came.state, iss=came.issuer)

    provider = OAuthClientProvider(address.url, _metadata(place.address), memory, opened, arrived)
    return provider


def _credentials(address: Address, memory: Memory) -> OAuthClientProvider:
    login, scope = address.login, " ".join(address.login.scopes) or None
    if not login.private_key:
        return ClientCredentialsOAuthProvider(address.url, memory, login.client_id, login.client_secret, scope=scope, issuer=login.issuer)
    signed = SignedJWTParameters(
        issuer=login.client_id, subject=login.client_id, signing_key=login.private_key, signing_algorithm=login.algorithm
    )
    assertion = signed.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(address.url, memory, login.client_id, assertion, scope, login.issuer)


async def _run(provider: OAuthClientProvider, memory: Memory, request: httpx2.Request, first: httpx2.Response | None) -> bool:
    """Runs the SDK's flow until it has tokens, as if the server had answered ``request``, which is not sent, with ``first``."""
    async with httpx2.AsyncClient(timeout=_SECONDS) as http:
        flow = provider.async_auth_flow(request)
        try:
            wanted = await anext(flow)
            while not memory.new:
                if wanted is not request:
                    wanted = await flow.asend(await http.send(wanted))
                elif first is not None:
                    wanted = await flow.asend(first)
                else:
                    return False
        except StopAsyncIteration:
            return memory.new
        finally:
            await flow.aclose()
    return True


async def _refusal(request: httpx2.Request) -> httpx2.Response:
    """How the server asks for a login.  One that answers everybody, and asks later, has a login all the same."""
    async with httpx2.AsyncClient(timeout=_SECONDS) as http:
        response = await http.send(request, stream=True)
        try:
            if response.status_code == httpx2.codes.UNAUTHORIZED:
                await response.aread()
                return response
        finally:
            await response.aclose()
    return httpx2.Response(httpx2.codes.UNAUTHORIZED, request=request)


def _kept_of(provider: OAuthClientProvider) -> Kept:
    known = provider.context
    if known.current_tokens is None:
        raise OAuthFlowError("the service gave no tokens")
    return Kept(
        tokens=known.current_tokens,
        ends=known.token_expiry_time,
        client=known.client_info,
        service=known.oauth_metadata,
        resource=known.protected_resource_metadata,
    )


def _remember(provider: OAuthClientProvider, stored: Kept) -> None:
    """What the SDK forgets between processes: that the token is over, and where it is renewed."""
    known = provider.context
    known.token_expiry_time = 1.0
    known.oauth_metadata = stored.service
    known.protected_resource_metadata = stored.resource


def _metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(redirect_uris=[AnyUrl(redirect)], client_name="nbtools")


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


def _signed(request: httpx2.Request, kept: Kept | None) -> httpx2.Request:
    if kept is not None:
        request.headers["Authorization"] = f"Bearer {kept.tokens.access_token}"
    return request


def _copy(request: httpx2.Request) -> httpx2.Request:
    headers = {name: value for name, value in request.headers.items() if name.lower() != "authorization"}
    return httpx2.Request(request.method, request.url, headers=headers)


def _said(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return Redactor().text(text)[:300].rstrip(".")
