"""MCP's stdio transport: JSON-RPC messages as lines of a subprocess, with limits on their size and number."""

# The SDK's own transport (2.3) concatenates a line again for each chunk (30 MB took 15 s, here 0.6 s), has no
# maximum length to stop at, parses whatever comes, leaves running what has left the process group or outlives
# the kernel, and does not report that the program ended.

from __future__ import annotations

import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from nbtools.mcp.config.entries import Program
from nbtools.workspace.processes.environment import environment
from nbtools.workspace.processes.line_process import LineProcess, open_line_process

MOST_UNREAD = 20_000
"""Maximum number of unread messages."""
_MOST_WEIGHT = 1_000_000
"""Most weight of a message: a value counts one, a list or object four; parsed in about a second."""
_SMALL_BYTES = 1_000_000
_PARSE_ERROR = -32700
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ID = re.compile(rb'"id"\s*:\s*(\d+|"[^"\\]{1,80}")')
_PREVIEW = 100
_LOG = logging.getLogger(__name__)


class MessageReader:
    """Parses a server's lines as JSON-RPC messages for ``inbox``, and tracks which requests are unanswered.

    ``noted`` is called with notices about unexpected messages, ``flooded`` when the inbox is full.
    """

    def __init__(
        self,
        inbox: MemoryObjectSendStream[SessionMessage | Exception],
        noted: Callable[[str], None],
        flooded: Callable[[], None],
    ) -> None:
        self._inbox = inbox
        self._noted = noted
        self._flooded = flooded
        self._unanswered: set[str | int | None] = set()
        self._last_id = 0

    def request_sent(self, message: JSONRPCMessage) -> None:
        """Records a message that is sent to the server."""
        if isinstance(message, JSONRPCRequest):
            self._unanswered.add(message.id)
            self._last_id = max(self._last_id, message.id) if isinstance(message.id, int) else self._last_id

    def receive_line(self, line: bytes) -> None:
        """Handles a line of the server's output."""
        if not line.strip():
            return
        # The number of JSON values, estimated; strings are left out only if they could exceed the limit.
        if (
            len(line) > _SMALL_BYTES
            and _counted(line) > _MOST_WEIGHT
            and _counted(_STRING.sub(b"", line)) > _MOST_WEIGHT
        ):
            self._fail(line, "a message with too many values")
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            if b'"jsonrpc"' in line:
                self._fail(line, f"a malformed message: {_start(line)}")
            else:
                _LOG.debug("not a message: %r", line[:200])
            return
        self._deliver(message)

    def _deliver(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            if message.id not in self._unanswered and not (
                isinstance(message.id, int) and 0 < message.id <= self._last_id
            ):
                self._noted(f"it answered request {message.id!r}, which was never sent")
            self._unanswered.discard(message.id)
        try:
            self._inbox.send_nowait(SessionMessage(message))
        except anyio.WouldBlock:
            self._flooded()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):  # the connection is closed
            return

    def _fail(self, line: bytes, description: str) -> None:
        """Fails the request with the line's id or, without an id, all unanswered requests."""
        match = _ID.search(line[:2000]) or _ID.search(line[-200:])
        raw_id = match.group(1) if match else b""
        ids: Iterable[str | int | None] = self._unanswered
        if raw_id:
            ids = {raw_id[1:-1].decode("utf-8", "replace") if raw_id.startswith(b'"') else int(raw_id)}
        for request in self._unanswered.intersection(ids):
            self._deliver(
                JSONRPCError(
                    jsonrpc="2.0",
                    id=request,
                    error=ErrorData(code=_PARSE_ERROR, message=f"it sent {description}"),
                )
            )


def _counted(line: bytes) -> int:
    return line.count(b",") + 4 * (line.count(b"[") + line.count(b"{"))


def _start(line: bytes) -> str:
    text = line[:_PREVIEW].decode("utf-8", "replace")
    return f"{text} …" if len(line) > _PREVIEW else text


MOST_MESSAGE_BYTES = 32_000_000
"""Maximum size of a message in bytes."""
_MOST_UNSENT = 1_000
"""Messages to the program that may be buffered: calls and cancellations need not wait for it."""


class TransportListener(Protocol):
    """Receives the events of a transport."""

    def on_end(self, why: str) -> None:
        """The connection ended; ``why`` is the reason."""

    def on_notice(self, what: str) -> None:
        """Something unexpected happened; an empty text clears the last notice."""


@asynccontextmanager
async def program_streams(
    program: Program, folder: Path, listener: TransportListener
) -> AsyncIterator[tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]]:
    """Starts the program in ``folder`` and yields its streams. Raises ``OSError`` if it cannot be started."""
    cwd = folder / program.cwd
    if not cwd.is_dir():
        raise NotADirectoryError(20, "not a directory", str(cwd))
    arriving, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](MOST_UNREAD)
    outbox, leaving = anyio.create_memory_object_stream[SessionMessage](_MOST_UNSENT)
    processes: list[LineProcess] = []

    def flooded() -> None:
        listener.on_end(
            f"it sent more than {MOST_UNREAD:,} messages faster than they could be read, and was stopped"
        )
        arriving.close()

    def on_end() -> None:
        listener.on_end(_end_reason(processes[0]) if processes else "it ended immediately")
        arriving.close()

    argv = (program.command, *program.args)
    variables = {**environment(os.environ, secrets=False), **program.env}
    incoming = MessageReader(arriving, listener.on_notice, flooded)
    with arriving, inbox, outbox, leaving:
        async with open_line_process(
            argv,
            cwd=cwd,
            env=variables,
            on_line=incoming.receive_line,
            on_end=on_end,
            max_line_bytes=MOST_MESSAGE_BYTES,
        ) as process:
            processes.append(process)
            async with anyio.create_task_group() as group:
                group.start_soon(_send_messages, process, leaving, incoming)
                yield inbox, outbox
                group.cancel_scope.cancel()


async def _send_messages(
    process: LineProcess, leaving: anyio.abc.ObjectReceiveStream[SessionMessage], incoming: MessageReader
) -> None:
    async for outgoing in leaving:
        incoming.request_sent(outgoing.message)
        try:
            await process.send_line(
                outgoing.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            )
        except OSError:  # it has ended, which has been reported
            return


def _end_reason(process: LineProcess) -> str:
    if process.too_long:
        return f"it sent a message of more than {MOST_MESSAGE_BYTES // 1_000_000} MB, and was stopped"
    code = process.exit_code
    if code is None:
        reason = "it closed its output"
    else:
        reason = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
    errors = process.stderr.splitlines()
    return f"{reason}: {errors[-1]}" if errors else reason
