"""Client of a notebook endpoint: calls a notebook's tools over its Unix socket."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress

from nbtools.core.errors import SessionError
from nbtools.core.schema.json_schema import Json
from nbtools.mcp.server.endpoint_messages import (
    VERSION,
    CallProgress,
    CallRequest,
    CallResult,
    CancelRequest,
    ClientMessage,
    ConnectAccepted,
    ConnectRefused,
    ConnectRequest,
    ListToolsRequest,
    NotebookMessage,
    ToolList,
    encode_frame,
    notebook_message_decoder,
    read_frame,
)
from nbtools.mcp.server.endpoint_registry import EndpointEntry
from nbtools.mcp.server.notebook_endpoint import is_same_user
from nbtools.mcp.server.tool_provider import ClientCall, ProgressCallback, failure_result

_CONNECT_SECONDS = 10.0
"""Seconds in which a notebook must accept the connection; one whose kernel is busy is skipped."""


class EndpointClient:
    """Tools of one notebook, until it closes the connection (``is_gone``);
    running calls then fail with an explanation.
    """

    def __init__(
        self, beacon: EndpointEntry, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.entry = beacon
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)
        self._replies: dict[int, tuple[asyncio.Future[Json], ProgressCallback]] = {}
        self._watchers: list[Callable[[], None]] = []
        self._tools: list[Json] = []
        self._tools_requests: list[asyncio.Future[None]] = []
        self._listener: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, beacon: EndpointEntry, dialect: str) -> EndpointClient:
        """Connects to an endpoint.  Raises ``OSError`` if nothing listens there,
        ``SessionError`` if the notebook refuses.
        """
        reader, writer = await asyncio.open_unix_connection(beacon.socket)
        offer = cls(beacon, reader, writer)
        try:
            _check_same_user(writer)
            async with asyncio.timeout(_CONNECT_SECONDS):
                await offer._handshake(dialect)
        except BaseException:
            writer.close()
            raise
        offer._listener = asyncio.ensure_future(offer._listen())
        return offer

    @property
    def about(self) -> str:
        return (
            f"Calls that need approval are shown in the notebook {self.entry.notebook}; they wait until a"
            " person answers there."
        )

    @property
    def is_gone(self) -> bool:
        return self._listener is None or self._listener.done()

    async def tools(self) -> list[Json]:
        """Returns the current declarations,
        or the last known ones if the notebook disconnects while it is queried.
        """
        if not self.is_gone:
            updated: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._tools_requests.append(updated)
            self._send(ListToolsRequest())
            await updated
        return self._tools

    async def call(self, request: ClientCall, on_progress: ProgressCallback) -> Json:
        number = next(self._ids)
        reply: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        if self.is_gone:
            return self._lost_result()
        self._replies[number] = (reply, on_progress)
        self._send(CallRequest(number, request.name, dict(request.arguments), request.client))
        try:
            return await reply
        except asyncio.CancelledError:
            self._send(CancelRequest(number))
            raise
        finally:
            self._replies.pop(number, None)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Calls ``watcher`` also when the notebook disconnects."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _handshake(self, dialect: str) -> None:
        self._send(ConnectRequest(VERSION, dialect))
        try:
            first = notebook_message_decoder.decode(await read_frame(self._reader))
        except (EOFError, ValueError, RecursionError) as error:
            raise ConnectionError(f"{self.entry.notebook} did not answer") from error
        if isinstance(first, ConnectRefused):
            raise SessionError(f"{self.entry.notebook}: {first.why}")
        if not isinstance(first, ConnectAccepted):
            raise ConnectionError(f"{self.entry.notebook} sent an unexpected reply")

    async def _listen(self) -> None:
        try:
            while True:
                self._handle(notebook_message_decoder.decode(await read_frame(self._reader)))
        except (
            EOFError,
            OSError,
            ValueError,
            RecursionError,
        ):  # disconnected, or sent something that is not our protocol: treated alike
            pass
        finally:
            self._writer.close()
            self._resolve_tools_requests()
            for reply, _ in self._replies.values():
                if not reply.done():
                    reply.set_result(self._lost_result())
            asyncio.get_running_loop().call_soon(self._notify)  # once this task is done

    def _handle(self, message: NotebookMessage) -> None:
        match message:
            case ToolList():
                self._tools = message.tools
                if message.others:
                    self._notify()
                else:
                    self._resolve_tools_requests()
            case CallProgress() if message.id in self._replies:
                self._replies[message.id][1](message.text)
            case CallResult() if message.id in self._replies and not self._replies[message.id][0].done():
                self._replies[message.id][0].set_result(message.result)
            case _:
                pass

    def _resolve_tools_requests(self) -> None:
        requests, self._tools_requests = self._tools_requests, []
        for request in requests:
            if not request.done():
                request.set_result(None)

    def _notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()

    def _send(self, message: ClientMessage) -> None:
        self._writer.write(encode_frame(message))

    def _lost_result(self) -> Json:
        return failure_result(
            f"The notebook {self.entry.notebook} disconnected before it answered. The call may have taken"
            " effect, so check before you repeat it. Until a notebook serves again (%tools serve), calls"
            " that need approval are denied."
        )


def _check_same_user(writer: asyncio.StreamWriter) -> None:
    """Raises ``OSError`` if the socket belongs to another user's process, whose answers cannot be trusted."""
    if not is_same_user(writer.get_extra_info("socket")):
        raise PermissionError("another user's process listens on its socket")
