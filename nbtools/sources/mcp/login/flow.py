"""The SDK's OAuth, run until it has tokens."""

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

from nbtools.core.redact import Redactor
from nbtools.sources.mcp.login.kept import Kept
from nbtools.sources.mcp.settings.entries import Address
from nbtools.sources.mcp.wire.http import login_client

CHALLENGE = "www-authenticate"
TROUBLES = (OAuthFlowError, httpx2.HTTPError, httpx2.StreamError, ValidationError, ValueError)
"""What getting tokens may raise."""
SECONDS = 30.0
"""That a service may take for each answer."""
_LONGEST = 300
LOCAL = ("127.0.0.1", "localhost", "::1")


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


def credentials(address: Address, memory: Memory) -> OAuthClientProvider:
    login, scope = address.login, " ".join(address.login.scopes) or None
    if not login.private_key:
        return ClientCredentialsOAuthProvider(address.url, memory, login.client_id, login.client_secret, scope=scope, issuer=login.issuer)
    signed = SignedJWTParameters(
        issuer=login.client_id, subject=login.client_id, signing_key=login.private_key, signing_algorithm=login.algorithm
    )
    assertion = signed.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(address.url, memory, login.client_id, assertion, scope, login.issuer)


async def run(provider: OAuthClientProvider, memory: Memory, request: httpx2.Request, first: httpx2.Response | None) -> bool:
    """Runs the SDK's flow until it has tokens, as if the server had answered ``request``, which is not sent, with ``first``."""
    async with login_client(SECONDS) as http:
        flow = provider.async_auth_flow(request)
        try:
            wanted = await anext(flow)
            while not memory.new:
                if wanted is not request:
                    refuse_elsewhere(str(wanted.url), str(request.url))
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


def refuse_elsewhere(url: str, server: str) -> None:
    """A server names the service that is asked, and may name what only this machine can reach.  Raises ``OAuthFlowError``.

    Over https only, but for this machine; this machine and private addresses only where the server itself is there.
    """
    there, here = urlsplit(url), urlsplit(server)
    local = _is_local(there.hostname)
    if (there.scheme == "https" or (there.scheme == "http" and local)) and _reach(there.hostname) <= _reach(here.hostname):
        return
    raise OAuthFlowError(f"it sends you to {there.scheme}://{there.hostname}, where no login is done for a server at {here.hostname}")


def _reach(host: str | None) -> int:
    return 2 if _is_local(host) else 1 if _is_private(host or "") else 0


def _is_local(host: str | None) -> bool:
    return host in LOCAL


def _is_private(host: str) -> bool:
    """An address as it is written; what a name leads to is not looked up."""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False


def remember(provider: OAuthClientProvider, stored: Kept) -> None:
    """What the SDK forgets between processes: that the token is over, and where it is renewed."""
    known = provider.context
    known.token_expiry_time = 1.0
    known.oauth_metadata = stored.service
    known.protected_resource_metadata = stored.resource


def kept_of(provider: OAuthClientProvider) -> Kept:
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


def metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(redirect_uris=[AnyUrl(redirect)], client_name="nbtools")


def said(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return Redactor().text(text)[:_LONGEST].rstrip(".")
