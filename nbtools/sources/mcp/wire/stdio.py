"""MCP's messages with a program, a line each.

The SDK's own transport joins a line anew for each piece of it that arrives, knows no longest one, and does not say when the program has
gone; here a line has a limit, and everything that a server started ends with it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from nbtools.sources.mcp.settings.entries import Program
from nbtools.sources.mcp.wire.messages import MOST_WAITING, Incoming
from nbtools.workspace.commands.dialogue import Dialogue, dialogue
from nbtools.workspace.commands.environment import environment

LONGEST = 32_000_000
"""Bytes of a message."""
_MOST_UNSENT = 1_000
"""Messages that a program has not read yet: whoever asks or cancels does not wait for it to."""


class Listener(Protocol):
    """Who is told of a transport's own news."""

    def ended(self, why: str) -> None:
        """Nothing more will come."""

    def noted(self, what: str) -> None:
        """Something strange; nothing: all is well again."""


@asynccontextmanager
async def program_streams(program: Program, folder: Path, listener: Listener) -> AsyncIterator[TransportStreams]:
    """Starts it in ``folder``.  Raises ``OSError`` where it cannot be started."""
    cwd = folder / program.cwd
    if not cwd.is_dir():
        raise NotADirectoryError(20, "no folder", str(cwd))
    arriving, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](MOST_WAITING)
    outbox, leaving = anyio.create_memory_object_stream[SessionMessage](_MOST_UNSENT)
    talks: list[Dialogue] = []

    def flooded() -> None:
        listener.ended(f"it sent more than {MOST_WAITING:,} messages faster than they can be read, and was stopped")
        arriving.close()

    def over() -> None:
        listener.ended(_why(talks[0]) if talks else "it ended at once")
        arriving.close()

    argv = (program.command, *program.args)
    around = {**environment(os.environ, secrets=False), **program.env}
    incoming = Incoming(arriving, listener.noted, flooded)
    with arriving, inbox, outbox, leaving:
        async with dialogue(argv, cwd=cwd, env=around, said=incoming.said, over=over, longest=LONGEST) as talk:
            talks.append(talk)
            async with anyio.create_task_group() as group:
                group.start_soon(_speak, talk, leaving, incoming)
                yield inbox, outbox
                group.cancel_scope.cancel()


async def _speak(talk: Dialogue, leaving: anyio.abc.ObjectReceiveStream[SessionMessage], incoming: Incoming) -> None:
    async for sent in leaving:
        incoming.asked(sent.message)
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
