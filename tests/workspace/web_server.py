"""A web server on loopback that says, byte for byte, what a test wants."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Handler = Callable[[asyncio.StreamWriter], Awaitable[None]]


def reply(
    body: bytes = b"", content_type: str = "text/html", status: str = "200 OK", **headers: str
) -> bytes:
    """A whole answer; ``_`` in a header's name stands for ``-``."""
    more = {"content-type": content_type, "content-length": str(len(body)), "connection": "close", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in more.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


class WebServer:
    """``pages`` maps a path with its query to an answer or to what writes one;
    ``asked`` holds the requests, head by head.
    """

    def __init__(self) -> None:
        self.pages: dict[str, bytes | Handler] = {}
        self.asked: list[str] = []
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.asked.append(head)
            page = self.pages.get(
                head.split(" ", 2)[1], reply(b"nothing here", "text/plain", "404 Not Found")
            )
            if isinstance(page, bytes):
                writer.write(page)
                await writer.drain()
            else:
                await page(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._open.discard(writer)

    def hang_up(self) -> None:
        for writer in self._open:
            writer.close()


@asynccontextmanager
async def web_server(secure: ssl.SSLContext | None = None) -> AsyncIterator[WebServer]:
    it = WebServer()
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0, ssl=secure)
    it.port = server.sockets[0].getsockname()[1]
    try:
        yield it
    finally:
        server.close()
        it.hang_up()
        await server.wait_closed()
