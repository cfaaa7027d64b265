"""MCP's messages with a program, a line each.

The SDK's own transport joins a line anew for each piece of it that arrives, knows no longest one, and does not say when the program has
gone; here a line has a limit, and everything that a server started ends with it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from nbtools.sources.mcp.settings import Program
from nbtools.workspace.commands.dialogue import Dialogue, dialogue
from nbtools.workspace.commands.environment import environment

LONGEST = 32_000_000
"""Bytes of a message."""
_MOST_WAITING = 100_000
"""Messages that nobody has looked at yet."""
_LOG = logging.getLogger(__name__)


@asynccontextmanager
async def program_streams(program: Program, folder: Path, ended: Callable[[str], None]) -> AsyncIterator[TransportStreams]:
    """Starts it in ``folder``; ``ended`` is told why nothing more will come.  Raises ``OSError`` where it cannot be started."""
    arriving, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](_MOST_WAITING)
    outbox, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    talks: list[Dialogue] = []

    def said(line: bytes) -> None:
        if line.strip():
            try:
                arriving.send_nowait(_message(line))
            except anyio.WouldBlock:
                over()
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
                return

    def over() -> None:
        ended(_why(talks[0]) if talks else "it ended at once")
        arriving.close()

    argv = (program.command, *program.args)
    around = {**environment(os.environ, secrets=False), **program.env}
    with arriving, inbox, outbox, leaving:
        async with dialogue(argv, cwd=folder / program.cwd, env=around, said=said, over=over, longest=LONGEST) as talk:
            talks.append(talk)
            async with anyio.create_task_group() as group:
                group.start_soon(_speak, talk, leaving)
                yield inbox, outbox
                group.cancel_scope.cancel()


def _message(line: bytes) -> SessionMessage | Exception:
    """What is no message, such as a greeting printed by mistake, is told as what it is, and passed over."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        _LOG.debug("no message: %r", line[:200])
        return error


async def _speak(talk: Dialogue, leaving: anyio.abc.ObjectReceiveStream[SessionMessage]) -> None:
    async for sent in leaving:
        try:
            await talk.say(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        except OSError:  # it has gone, which is told by then
            return


def _why(talk: Dialogue) -> str:
    if talk.too_long:
        return f"it sent a message of more than {LONGEST // 1_000_000} MB, and was stopped"
    code = talk.exit_code
    how = "it closed its output" if code is None else f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
    said = talk.complaints.splitlines()
    return f"{how}: {said[-1]}" if said else how
