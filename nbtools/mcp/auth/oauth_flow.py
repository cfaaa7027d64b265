"""Runs the MCP SDK's OAuth flow until it has tokens."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from nbtools.core.redaction import Redactor
from nbtools.mcp.auth.stored_login import StoredLogin
from nbtools.mcp.client.http import login_client
from nbtools.mcp.config.entries import Address

CHALLENGE = "www-authenticate"
FLOW_ERRORS = (OAuthFlowError, httpx2.HTTPError, httpx2.StreamError, ValidationError, ValueError)
"""The exceptions that getting tokens may raise."""
REQUEST_SECONDS = 30.0
"""Timeout of each request to the OAuth service, in seconds."""
_MOST_CHARACTERS = 300
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


class MemoryTokenStorage:
    """The SDK's token storage for one run of the flow.  ``new`` is True once tokens were obtained."""

    def __init__(
        self, tokens: OAuthToken | None = None, client: OAuthClientInformationFull | None = None
    ) -> None:
        self._tokens = tokens
        self._client = client
        self.has_new_tokens = False

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens
        self.has_new_tokens = True

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def client_credentials_provider(address: Address, memory: MemoryTokenStorage) -> OAuthClientProvider:
    login, scope = address.login, " ".join(address.login.scopes) or None
    if not login.private_key:
        return ClientCredentialsOAuthProvider(
            address.url, memory, login.client_id, login.client_secret, scope=scope, issuer=login.issuer
        )
    signed = SignedJWTParameters(
        issuer=login.client_id,
        subject=login.client_id,
        signing_key=login.private_key,
        signing_algorithm=login.algorithm,
    )
    assertion = signed.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(address.url, memory, login.client_id, assertion, scope, login.issuer)


async def run_flow(
    provider: OAuthClientProvider,
    memory: MemoryTokenStorage,
    request: httpx2.Request,
    first: httpx2.Response | None,
) -> bool:
    """Runs the SDK's flow until it has tokens; returns whether it got them.

    ``first`` takes the place of the server's response to ``request``, which is not sent.
    """
    async with login_client(REQUEST_SECONDS) as http:
        flow = provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while not memory.has_new_tokens:
                if outgoing is not request:
                    check_destination(str(outgoing.url), str(request.url))
                    outgoing = await flow.asend(await http.send(outgoing))
                elif first is not None:
                    outgoing = await flow.asend(first)
                else:
                    return False
        except StopAsyncIteration:
            return memory.has_new_tokens
        finally:
            await flow.aclose()
    return True


def check_destination(url: str, server: str) -> None:
    """Raises ``OAuthFlowError`` for a URL to which a server must not send a login.

    URLs must use https, except on this machine.  This machine and private addresses are allowed only for a
    server that is itself there: otherwise a server could make nbtools send requests to what only this machine
    can reach.
    """
    target, origin = urlsplit(url), urlsplit(server)
    local = _is_local(target.hostname)
    if (target.scheme == "https" or (target.scheme == "http" and local)) and _reach(
        target.hostname
    ) <= _reach(origin.hostname):
        return
    raise OAuthFlowError(
        f"it redirects the login to {target.scheme}://{target.hostname}, which is not allowed for a server at"
        f" {origin.hostname}"
    )


def _reach(host: str | None) -> int:
    if _is_local(host):
        return 2
    return 1 if _is_private(host or "") else 0


def _is_local(host: str | None) -> bool:
    return host in LOCAL_HOSTS


def _is_private(host: str) -> bool:
    """Returns whether ``host`` is a private IP address; names are not resolved."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False


def restore_login(provider: OAuthClientProvider, stored: StoredLogin) -> None:
    """Restores what the SDK does not store: that the token has expired, and where to renew it."""
    context = provider.context
    context.token_expiry_time = 1.0
    context.oauth_metadata = stored.service
    context.protected_resource_metadata = stored.resource


def stored_login_of(provider: OAuthClientProvider) -> StoredLogin:
    context = provider.context
    if context.current_tokens is None:
        raise OAuthFlowError("the service returned no tokens")
    return StoredLogin(
        tokens=context.current_tokens,
        ends=context.token_expiry_time,
        client=context.client_info,
        service=context.oauth_metadata,
        resource=context.protected_resource_metadata,
    )


def client_metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(redirect_uris=[AnyUrl(redirect)], client_name="nbtools")


def error_text(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return Redactor().text(text)[:_MOST_CHARACTERS].rstrip(".")
