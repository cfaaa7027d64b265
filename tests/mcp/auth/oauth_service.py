"""A service that logs people in, and an MCP server that takes its tokens:
the SDK's own, on one port of this machine.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

from tests.waiting import until


@dataclass
class Service:
    """The state of the service; a test may change it.  ``refuses``: people say no."""

    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    refresh: dict[str, RefreshToken] = field(default_factory=dict)
    seconds: int = 3600
    refuses: bool = False
    renewed: int = 0
    wanted: list[list[str] | None] = field(default_factory=list)
    """The scopes of each login."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if self.refuses:
            raise AuthorizeError("access_denied", "You said no")
        self.wanted.append(params.scopes)
        code = secrets.token_urlsafe()
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.renewed += 1
        return self._tokens(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def _tokens(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = (f"{kind}-{secrets.token_urlsafe()}" for kind in ("access", "refresh"))
        ends = int(time.time()) + self.seconds
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=scopes, expires_at=ends, resource=resource
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client, scopes=scopes, resource=resource
        )
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=self.seconds, scope=" ".join(scopes)
        )


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[str]:
    """The MCP server's address."""
    from socket import socket

    with socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
        here = f"http://127.0.0.1:{port}"
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(here),
            resource_server_url=AnyHttpUrl(f"{here}/mcp"),
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=["read", "write"], default_scopes=["read"]
            ),
            revocation_options=RevocationOptions(enabled=True),
            required_scopes=["read"],
            validate_token_resource=True,
        )
        server = MCPServer("locked", auth_server_provider=service, auth=settings)

        @server.tool()
        def whoami() -> str:
            return "somebody who is logged in"

        app = server.streamable_http_app()
        web = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        task = asyncio.create_task(web.serve(sockets=[one]))
        await until(lambda: web.started)
        try:
            yield f"{here}/mcp"
        finally:
            web.should_exit = True
            with suppress(TimeoutError):
                await asyncio.wait_for(task, 10)
