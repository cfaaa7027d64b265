"""A web server on loopback that nobody may ask for anything, and one page of it that may be fetched."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

PAGE = "/page"


class Canary:
    """Counts the requests; ``page`` is what ``PAGE`` answers with."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.page = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ")[1]
        if path != PAGE:
            self.asked.append(path)
        body = (self.page if path == PAGE else "").encode("utf-8", "replace")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n" + body
        )
        await writer.drain()
        writer.close()
