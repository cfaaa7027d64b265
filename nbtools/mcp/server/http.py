"""Serves MCP over HTTP on the loopback address, to clients that send the token."""

from __future__ import annotations

import hmac
import socket
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from nbtools.mcp.server.server import ToolServer

HOST = "127.0.0.1"
_PATH = "/mcp"
_GRACE = 2
"""Seconds for running requests to finish when the server shuts down."""


class TokenAuthentication:
    """ASGI middleware that requires the bearer token.  The SDK checks hosts and origins (loopback only)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # not supported
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "lifespan" or self._is_authorized(scope):
            await self._app(scope, receive, send)
            return
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"www-authenticate", b'Bearer realm="nbtools"'),
        ]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send(
            {
                "type": "http.response.body",
                "body": b"Send the bearer token that the server printed when it started.\n",
            }
        )

    def _is_authorized(self, scope: Scope) -> bool:
        tokens = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(tokens) == 1 and hmac.compare_digest(tokens[0], self._expected)


def bind_loopback(port: int) -> socket.socket:
    """Returns a listening socket on the loopback address; port 0 means any free port.  Raises ``OSError``."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HOST, port))
        sock.listen()
    except OSError:
        sock.close()
        raise
    return sock


def url_of(sock: socket.socket) -> str:
    return f"http://{HOST}:{sock.getsockname()[1]}{_PATH}"


def client_configuration(url: str, token: str) -> dict[str, Any]:
    """Returns the ``mcpServers`` configuration for clients."""
    return {
        "mcpServers": {
            "nbtools": {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
        }
    }


async def serve_http(server: ToolServer, sock: socket.socket, token: str) -> None:
    """Serves until the process is interrupted."""
    app = TokenAuthentication(server.streamable_http_app(streamable_http_path=_PATH, host=HOST), token)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=_GRACE
    )
    await uvicorn.Server(config).serve(sockets=[sock])
