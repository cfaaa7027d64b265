"""A program's lines as messages: what is none is told as what it is, and nothing makes the loop stand still."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

MOST_WAITING = 20_000
"""Messages that nobody has looked at yet."""
_HEAVIEST = 1_000_000
"""Numbers and texts in a message, a list or an object counting as four: about a second's work."""
_SMALL = 1_000_000
_NO_MESSAGE = -32700
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ID = re.compile(rb'"id"\s*:\s*(\d+|"[^"\\]{1,80}")')
_SHOWN = 100
_LOG = logging.getLogger(__name__)


class Incoming:
    """Hands messages on to ``inbox`` and knows which requests are still to be answered.

    ``noted`` is told what was strange, ``flooded`` that more comes than can be taken in.
    """

    def __init__(
        self, inbox: MemoryObjectSendStream[SessionMessage | Exception], noted: Callable[[str], None], flooded: Callable[[], None]
    ) -> None:
        self._inbox = inbox
        self._noted = noted
        self._flooded = flooded
        self._open: set[str | int | None] = set()
        self._highest = 0

    def asked(self, message: JSONRPCMessage) -> None:
        """Sent to the server."""
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
            self._highest = max(self._highest, message.id) if isinstance(message.id, int) else self._highest

    def said(self, line: bytes) -> None:
        """A line of its output."""
        if not line.strip():
            return
        if len(line) > _SMALL and _weight(line) > _HEAVIEST:
            self._fail(line, "a message of too many parts")
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            if b'"jsonrpc"' in line:
                self._fail(line, f"a message that is broken: {_start(line)}")
            else:
                _LOG.debug("no message: %r", line[:200])
            return
        self._take(message)

    def _take(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            if message.id not in self._open and not (isinstance(message.id, int) and 0 < message.id <= self._highest):
                self._noted(f"it answered {message.id!r}, which nobody asked")
            self._open.discard(message.id)
        try:
            self._inbox.send_nowait(SessionMessage(message))
        except anyio.WouldBlock:
            self._flooded()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
            return

    def _fail(self, line: bytes, what: str) -> None:
        """It may have been the answer to what its id says or, where it has none, to anything."""
        found = _ID.search(line[:2000]) or _ID.search(line[-200:])
        of = found.group(1) if found else b""
        meant = (of[1:-1].decode("utf-8", "replace") if of.startswith(b'"') else int(of),) if of else tuple(self._open)
        for request in self._open.intersection(meant):
            self._take(JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=_NO_MESSAGE, message=f"it sent {what}")))


def _weight(line: bytes) -> int:
    """Of the JSON in it, texts left out where they might matter."""
    return 0 if _counted(line) <= _HEAVIEST else _counted(_STRING.sub(b"", line))


def _counted(line: bytes) -> int:
    return line.count(b",") + 4 * (line.count(b"[") + line.count(b"{"))


def _start(line: bytes) -> str:
    text = line[:_SHOWN].decode("utf-8", "replace")
    return f"{text} …" if len(line) > _SHOWN else text
