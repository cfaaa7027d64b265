"""A server's side: the tools of a notebook that serves, called over its socket."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress

from nbtools.core.errors import SessionError
from nbtools.core.schema import Json
from nbtools.serving.finding import Beacon
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
    at_server,
    frame,
    read_frame,
)
from nbtools.serving.offer import Heard, Wanted, failure
from nbtools.serving.peers import is_ours

_PATIENCE = 10.0
"""Seconds that a notebook has for its first word; one whose kernel is stuck is passed over."""


class NotebookOffer:
    """Connected until the notebook goes away, which ``gone`` tells; calls under way then end with a clear failure."""

    def __init__(self, beacon: Beacon, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.beacon = beacon
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[asyncio.Future[Json], Heard]] = {}
        self._watchers: list[Callable[[], None]] = []
        self._tools: list[Json] = []
        self._asked: list[asyncio.Future[None]] = []
        self._listener: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, beacon: Beacon, dialect: str) -> NotebookOffer:
        """Raises ``OSError`` where nobody listens, ``SessionError`` where the notebook takes no calls of this server."""
        reader, writer = await asyncio.open_unix_connection(beacon.socket)
        offer = cls(beacon, reader, writer)
        try:
            _must_be_ours(writer)
            async with asyncio.timeout(_PATIENCE):
                await offer._greet(dialect)
        except BaseException:
            writer.close()
            raise
        offer._listener = asyncio.ensure_future(offer._listen())
        return offer

    @property
    def about(self) -> str:
        return (
            f"What must be asked is asked in the notebook {self.beacon.notebook}, where a person answers; that takes as long as it takes."
        )

    @property
    def is_gone(self) -> bool:
        return self._listener is None or self._listener.done()

    async def tools(self) -> list[Json]:
        """As they are now; the last that are known, where the notebook goes away meanwhile."""
        if not self.is_gone:
            asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._asked.append(asked)
            self._say(Ask())
            await asked
        return self._tools

    async def call(self, wanted: Wanted, heard: Heard) -> Json:
        number = next(self._numbers)
        reply: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        if self.is_gone:
            return self._lost()
        self._waiting[number] = (reply, heard)
        self._say(Call(number, wanted.name, dict(wanted.arguments), wanted.client))
        try:
            return await reply
        except asyncio.CancelledError:
            self._say(Cancel(number))
            raise
        finally:
            self._waiting.pop(number, None)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Tells of the notebook's end, too."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _greet(self, dialect: str) -> None:
        self._say(Hello(VERSION, dialect))
        try:
            first = at_server.decode(await read_frame(self._reader))
        except (EOFError, ValueError, RecursionError) as error:
            raise ConnectionError(f"{self.beacon.notebook} did not answer") from error
        if isinstance(first, Refused):
            raise SessionError(f"{self.beacon.notebook}: {first.why}")
        if not isinstance(first, Welcome):
            raise ConnectionError(f"{self.beacon.notebook} answered something else")

    async def _listen(self) -> None:
        try:
            while True:
                self._take(at_server.decode(await read_frame(self._reader)))
        except (EOFError, OSError, ValueError, RecursionError):  # it is gone, or speaks another language: the same to us
            pass
        finally:
            self._writer.close()
            self._answer_asked()
            for reply, _ in self._waiting.values():
                if not reply.done():
                    reply.set_result(self._lost())
            asyncio.get_running_loop().call_soon(self._tell)  # once this task is done

    def _take(self, message: FromNotebook) -> None:
        match message:
            case Tools():
                self._tools = message.tools
                if message.others:
                    self._tell()
                else:
                    self._answer_asked()
            case Shows() if message.id in self._waiting:
                self._waiting[message.id][1](message.text)
            case Done() if message.id in self._waiting and not self._waiting[message.id][0].done():
                self._waiting[message.id][0].set_result(message.result)
            case _:
                pass

    def _answer_asked(self) -> None:
        asked, self._asked = self._asked, []
        for one in asked:
            if not one.done():
                one.set_result(None)

    def _tell(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()

    def _say(self, message: ToNotebook) -> None:
        self._writer.write(frame(message))

    def _lost(self) -> Json:
        return failure(
            f"The notebook {self.beacon.notebook} went away before it answered: whether the call took effect is not known, so look before "
            "you repeat it. nbtools goes on without it; what must be asked is denied until a notebook serves again (%tools serve)."
        )


def _must_be_ours(writer: asyncio.StreamWriter) -> None:
    """Raises ``OSError`` where another user listens: whoever answers there may say what they like."""
    if not is_ours(writer.get_extra_info("socket")):
        raise PermissionError("another user's process listens there")
