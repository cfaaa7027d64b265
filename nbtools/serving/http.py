"""The server over HTTP: on this machine only, and only for who has the token."""

from __future__ import annotations

import hmac
import socket
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from nbtools.serving.server import OfferServer

HOST = "127.0.0.1"
_PATH = "/mcp"
_GRACE = 2
"""Seconds that requests under way get when the server ends."""


class Guard:
    """Lets through who shows the token.  Which hosts and origins may ask, the SDK sees to: those of this machine."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # nothing here speaks it
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "lifespan" or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"www-authenticate", b'Bearer realm="nbtools"')]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"This server wants the token that it printed when it was started.\n"})

    def _is_known(self, scope: Scope) -> bool:
        shown = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(shown) == 1 and hmac.compare_digest(shown[0], self._expected)


def bound(port: int) -> socket.socket:
    """A socket on this machine's own address, any free port for 0; who comes before it is served waits.  Raises ``OSError``."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def address(listening: socket.socket) -> str:
    return f"http://{HOST}:{listening.getsockname()[1]}{_PATH}"


def entry(url: str, token: str) -> dict[str, Any]:
    """The settings with which a client finds it."""
    return {"mcpServers": {"nbtools": {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}}}


async def serve_http(server: OfferServer, listening: socket.socket, token: str) -> None:
    """Until it is interrupted."""
    app = Guard(server.streamable_http_app(streamable_http_path=_PATH, host=HOST), token)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=_GRACE)
    await uvicorn.Server(config).serve(sockets=[listening])
