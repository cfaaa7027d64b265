"""Where a login's page sends the person back to: an address of this machine, or, when the browser is on another one, a paste."""

from __future__ import annotations

import asyncio
import html
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from nbtools.core.errors import ErrorCode, ToolFailure

_HERE = ("127.0.0.1", "localhost", "::1")
_PATIENCE = 5.0
"""Seconds that a browser has for its question."""
_LONGEST = 16_384


@dataclass(frozen=True, slots=True)
class Arrived:
    code: str
    state: str
    issuer: str | None


class Landing:
    """``address`` is where to send the person.  Only who brings the state that ``expect`` was told of has arrived."""

    def __init__(self, server: str, address: str) -> None:
        self.address = address
        self._server = server
        self._state = ""
        self._arrived: asyncio.Future[Arrived] = asyncio.get_running_loop().create_future()
        self._arrived.add_done_callback(lambda done: done.cancelled() or done.exception())

    def expect(self, page: str) -> None:
        """``page``: the address that the person is sent to."""
        self._state = dict(parse_qsl(urlsplit(page).query)).get("state", "")

    def take(self, address: str) -> None:
        """``address``: the one that somebody landed on.  Raises ``ToolFailure`` where it belongs to another login, or to none."""
        given = dict(parse_qsl(urlsplit(address.strip()).query))
        if not self._state or not secrets.compare_digest(given.get("state", "").encode(), self._state.encode()):
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"That does not belong to this login to {self._server}; begin it again.")
        if self._arrived.done():
            return
        if given.get("code"):
            self._arrived.set_result(Arrived(given["code"], given["state"], given.get("iss")))
        else:
            why = given.get("error_description") or given.get("error") or "no reason was given"
            self._arrived.set_exception(ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"The login to {self._server} was refused: {why[:200]}."))

    async def arrived(self, seconds: float) -> Arrived:
        """Raises ``ToolFailure`` where it was refused, or nobody came."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._arrived)
        except TimeoutError:
            raise ToolFailure(ErrorCode.TIMEOUT, f"Nobody logged in to {self._server} in {seconds:g} seconds. Begin it again.") from None

    def page(self, target: str) -> tuple[str, str]:
        """What a browser that asks for ``target`` gets: a status and a text."""
        if urlsplit(target).path != urlsplit(self.address).path:
            return "404 Not Found", "There is nothing here."
        try:
            self.take(target)
        except ToolFailure as failure:
            return "400 Bad Request", failure.message
        refused = not self._arrived.cancelled() and self._arrived.exception()
        return (
            "200 OK",
            f"{refused}" if refused else f"You are logged in to {self._server}. Go back to your notebook; this page can be closed.",
        )


@asynccontextmanager
async def landing(server: str, redirect: str = "") -> AsyncIterator[Landing]:
    """``redirect``: where it must be; empty: a free port.  What is no address of this machine is not listened to: its answer is pasted.

    Raises ``OSError`` where the port is taken.
    """
    wanted = urlsplit(redirect or "http://127.0.0.1/callback")
    if wanted.hostname not in _HERE or wanted.scheme != "http":
        yield Landing(server, redirect)
        return
    place = Landing(server, redirect)
    open_now: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_now.add(writer)
        try:
            await _answer(place, reader, writer)
        finally:
            writer.close()
            with suppress(OSError):  # the browser has gone
                await writer.wait_closed()
            open_now.discard(writer)

    listening = await asyncio.start_server(answer, "127.0.0.1", wanted.port or 0, limit=_LONGEST)
    try:
        place.address = redirect if wanted.port else f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{wanted.path}"
        yield place
    finally:
        listening.close()
        for writer in open_now:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in open_now), return_exceptions=True)
        await listening.wait_closed()


async def _answer(place: Landing, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, *_ = head.decode("latin-1").split(" ", 2)
            status, text = place.page(target) if method == "GET" else ("405 Method Not Allowed", "There is nothing here.")
            writer.write(_response(status, text))
            await writer.drain()
    except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return  # no browser, or one that has gone


def _response(status: str, text: str) -> bytes:
    body = _PAGE.replace("{text}", html.escape(text)).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>nbtools</title>
<style>body{font:16px/1.5 system-ui,sans-serif;color-scheme:light dark;display:grid;place-items:center;min-height:90vh}</style>
<p>{text}</p><script>setTimeout(() => window.close(), 2000)</script></html>
"""
