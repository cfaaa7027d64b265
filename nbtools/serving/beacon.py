"""A notebook's side: a unix socket on which servers of the same user call the session's tools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from nbtools.core.errors import SessionError
from nbtools.serving.finding import announce, publish, withdraw
from nbtools.serving.messages import (
    VERSION,
    Ask,
    Call,
    Cancel,
    Done,
    FromNotebook,
    Hello,
    Refused,
    Shows,
    ToNotebook,
    Tools,
    Welcome,
    at_notebook,
    frame,
    read_frame,
)
from nbtools.serving.offer import Offer, Wanted, failure
from nbtools.serving.peers import is_ours

_PATIENCE = 1.0
"""Seconds that a server which is left has for what was said to it last."""

MOST_AT_ONCE = 64
"""Calls that a server may have under way: each may be a card that waits for the person."""
_TOO_MANY = f"{MOST_AT_ONCE} calls are under way already; nothing has happened. Wait for their answers."

OfferIn: TypeAlias = Callable[[str], Offer]
"""The tools in the dialect of that name.  Raises ``SessionError`` where there is none."""


class Lantern:
    """Lit, it is found by every server on the workspace.  All of it happens in the session's loop."""

    def __init__(self, root: Path, notebook: str, offer: OfferIn, changed: Callable[[int], None]) -> None:
        """``changed`` is told how many servers are connected, each time that another one is."""
        self._root = root
        self._notebook = notebook
        self._offer = offer
        self._changed = changed
        self._guests: set[asyncio.Task[None]] = set()

    async def light(self) -> None:
        """Raises ``OSError`` where no socket can be made."""
        self._beacon = announce(self._root, self._notebook)
        self._server = await asyncio.start_unix_server(self._receive, self._beacon.socket)
        publish(self._root, self._beacon)

    async def renew(self) -> None:
        """Serves last, from now on.  Raises ``OSError``."""
        self._beacon = replace(self._beacon, since=time.time_ns())
        publish(self._root, self._beacon)

    async def put_out(self) -> None:
        """Cancels what the servers have under way, and is found no more."""
        withdraw(self._root, self._beacon)
        self._server.close()
        guests = tuple(self._guests)
        for guest in guests:
            guest.cancel()
        await asyncio.gather(*guests, return_exceptions=True)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or not is_ours(writer.get_extra_info("socket")):
            await _hung_up(writer)
            return
        self._guests.add(task)
        self._changed(len(self._guests))
        try:
            await self._serve(reader, writer)
        except (
            EOFError,
            OSError,
            ValueError,
            RecursionError,
            asyncio.CancelledError,
        ):  # gone, or speaks another language, or the lantern is put out
            pass
        finally:
            self._guests.discard(task)
            self._changed(len(self._guests))
            await _hung_up(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = at_notebook.decode(await read_frame(reader))
        if not isinstance(hello, Hello) or hello.version != VERSION:
            writer.write(frame(Refused("this notebook has another version of nbtools: restart its kernel")))
            return
        try:
            offer = self._offer(hello.dialect)
        except SessionError as error:
            writer.write(frame(Refused(str(error))))
            return
        await _Guest(offer, reader, writer).serve()


class _Guest:
    """One server that is connected."""

    def __init__(self, offer: Offer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._offer = offer
        self._reader = reader
        self._writer = writer
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Until the server goes away, which ends its calls."""
        end = self._offer.watch(partial(self._tell_later, others=True))
        try:
            self._say(Welcome())
            while True:
                self._take(at_notebook.decode(await read_frame(self._reader)))
        finally:
            end()
            await self._cancel_all()

    def _take(self, message: ToNotebook) -> None:
        match message:
            case Ask():
                self._tell_later(others=False)
            case Call() if len(self._calls) >= MOST_AT_ONCE or message.id in self._calls:
                self._say(Done(message.id, failure(_TOO_MANY)))
            case Call():
                self._calls[message.id] = asyncio.ensure_future(self._call(message))
            case Cancel() if message.id in self._calls:
                self._calls[message.id].cancel()
            case _:
                pass

    async def _call(self, call: Call) -> None:
        try:
            wanted = Wanted(call.name, call.arguments, call.client)
            self._say(Done(call.id, await self._offer.call(wanted, lambda text: self._say(Shows(call.id, text)))))
        finally:
            self._calls.pop(call.id, None)

    def _tell_later(self, *, others: bool) -> None:
        task = asyncio.ensure_future(self._tell_tools(others=others))
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def _tell_tools(self, *, others: bool) -> None:
        self._say(Tools(others, await self._offer.tools()))

    def _say(self, message: FromNotebook) -> None:
        with suppress(OSError):
            self._writer.write(frame(message))

    async def _cancel_all(self) -> None:
        tasks = (*self._calls.values(), *self._others)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hung_up(writer: asyncio.StreamWriter) -> None:
    """Sends what is still to be sent, unless nobody takes it."""
    writer.close()
    try:
        async with asyncio.timeout(_PATIENCE):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        writer.transport.abort()
