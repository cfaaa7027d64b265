"""Receives the OAuth redirect: at an address of this machine, or pasted by the person."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.html_templates import HtmlTemplates

_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
_REQUEST_SECONDS = 5.0
"""Seconds for a browser to send its request."""
_MOST_HEADER_BYTES = 16_384
_render = HtmlTemplates(Path(__file__).parent / "templates").render


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    code: str
    state: str
    issuer: str | None


class OAuthCallback:
    """Waits for the redirect to ``address``.  Only a redirect with the expected ``state`` is accepted."""

    def __init__(self, server: str, address: str) -> None:
        self.address = address
        self._server = server
        self._state = ""
        self._response: asyncio.Future[AuthorizationResponse] = asyncio.get_running_loop().create_future()
        self._response.add_done_callback(lambda done: done.cancelled() or done.exception())

    def expect(self, page: str) -> None:
        """Remembers the ``state`` in ``page``, the URL of the login page."""
        self._state = dict(parse_qsl(urlsplit(page).query)).get("state", "")

    def accept(self, address: str) -> None:
        """Accepts the URL of the redirect. Raises ``ToolFailure`` if it belongs to no or another login."""
        query = dict(parse_qsl(urlsplit(address.strip()).query))
        if not self._state or not secrets.compare_digest(
            query.get("state", "").encode(), self._state.encode()
        ):
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                f"That is not the answer to this login to {self._server}. Start it again.",
            )
        if self._response.done():
            return
        if query.get("code"):
            self._response.set_result(AuthorizationResponse(query["code"], query["state"], query.get("iss")))
        else:
            why = query.get("error_description") or query.get("error") or "no reason was given"
            self._response.set_exception(
                ToolFailure(
                    ErrorCode.MCP_TOOL_ERROR, f"The login to {self._server} was refused: {why[:200]}."
                )
            )

    async def wait(self, seconds: float) -> AuthorizationResponse:
        """Waits for the redirect.  Raises ``ToolFailure`` if the login was refused or timed out."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._response)
        except TimeoutError:
            raise ToolFailure(
                ErrorCode.TIMEOUT,
                f"Nobody logged in to {self._server} in {seconds:g} seconds. Start it again.",
            ) from None

    def response_page(self, target: str) -> tuple[str, str]:
        """Handles a browser's request for ``target``; returns the HTTP status and the page's text."""
        if urlsplit(target).path != urlsplit(self.address).path:
            return "404 Not Found", "Page not found."
        try:
            self.accept(target)
        except ToolFailure as failure:
            return "400 Bad Request", failure.message
        refused = not self._response.cancelled() and self._response.exception()
        return (
            "200 OK",
            (
                f"{refused}"
                if refused
                else f"You are logged in to {self._server}. Return to your notebook; you can close this page."
            ),
        )


@asynccontextmanager
async def callback_server(server: str, redirect: str = "") -> AsyncIterator[OAuthCallback]:
    """Listens for a redirect to ``redirect``, or to a free port if it is empty.

    If it is not an address of this machine, nothing listens: the person pastes the answer.
    Raises ``OSError`` if the port is in use.
    """
    url = urlsplit(redirect or "http://127.0.0.1/callback")
    if url.hostname not in _LOCAL_HOSTS or url.scheme != "http":
        yield OAuthCallback(server, redirect)
        return
    callback = OAuthCallback(server, redirect)
    connections: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        try:
            await _answer(callback, reader, writer)
        finally:
            writer.close()
            with suppress(OSError):  # the browser disconnected
                await writer.wait_closed()
            connections.discard(writer)

    listening = await asyncio.start_server(answer, "127.0.0.1", url.port or 0, limit=_MOST_HEADER_BYTES)
    try:
        callback.address = (
            redirect if url.port else f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{url.path}"
        )
        yield callback
    finally:
        listening.close()
        for writer in connections:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in connections), return_exceptions=True)
        await listening.wait_closed()


async def _answer(
    callback: OAuthCallback, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        async with asyncio.timeout(_REQUEST_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, *_ = head.decode("latin-1").split(" ", 2)
            status, text = (
                callback.response_page(target)
                if method == "GET"
                else ("405 Method Not Allowed", "Only GET is supported.")
            )
            writer.write(_response(status, text))
            await writer.drain()
    except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return  # not a browser, or it disconnected


def _response(status: str, text: str) -> bytes:
    body = _render("login_result", text=text).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
