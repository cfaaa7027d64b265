"""A program that is spoken to line by line over its input and output for as long as it is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from nbtools.workspace.commands.process import Running, start
from nbtools.workspace.commands.tail import Tail

_PARTING = 2.0
"""Seconds in which it may end by itself once nobody speaks to it any more."""
_CLOSING = 0.3
"""Seconds between the end of its output and its own, where it ends."""


class Dialogue:
    """``said`` gets each line that it prints, without the end; ``over`` is called once when nothing more will come.

    A line of more than ``longest`` bytes ends it: ``too_long`` is set then.
    """

    def __init__(self, running: Running, writer: asyncio.StreamWriter, errors: Tail) -> None:
        self.running = running
        self.too_long = False
        self._writer = writer
        self._errors = errors

    async def say(self, line: bytes) -> None:
        """Waits where it does not listen.  Raises ``OSError`` where it has gone."""
        self._writer.write(line + b"\n")
        await self._writer.drain()

    async def end(self) -> None:
        """What it was told last may still reach it; then it goes, and everything that it started."""
        try:
            self._writer.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PARTING):
                    await asyncio.shield(self.running.exit)
            await self.running.stop()
        finally:
            self.running.close()
            if self._writer.transport.get_write_buffer_size():  # what it never read
                self._writer.transport.abort()

    @property
    def exit_code(self) -> int | None:
        """The signal's number below zero where one ended it; None while it runs."""
        return self.running.exit_status()

    @property
    def complaints(self) -> str:
        """The end of what it printed as errors."""
        return self._errors.text


@contextlib.asynccontextmanager
async def dialogue(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], said: Callable[[bytes], None], over: Callable[[], None], longest: int
) -> AsyncIterator[Dialogue]:
    """Starts ``argv`` and ends it, with everything that it started.  Raises ``OSError`` when it cannot be started."""
    lines = _Lines(said, longest)
    given, into = os.pipe()
    writer = await _writer(into, given)  # before there is a program: who is cancelled meanwhile leaves none behind
    errors = Tail()
    try:
        talk = Dialogue(_started(argv, cwd, env, lines, errors, given, writer), writer, errors)
        watch = asyncio.create_task(_watched(talk, lines, over))
        lines.stop = lambda: asyncio.ensure_future(talk.running.stop())
        try:
            yield talk
        finally:
            watch.cancel()
            await asyncio.shield(talk.end())
    finally:
        errors.close()


def _started(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], lines: _Lines, errors: Tail, given: int, writer: asyncio.StreamWriter
) -> Running:
    try:
        with os.fdopen(errors.into, "wb") as complaints:
            return start(argv, cwd=cwd, env=env, receive=lines.receive, errors=complaints, given=given, at_once=True)
    except BaseException:
        writer.transport.abort()
        raise
    finally:
        os.close(given)


async def _watched(talk: Dialogue, lines: _Lines, over: Callable[[], None]) -> None:
    await talk.running.silent
    await asyncio.wait([talk.running.exit], timeout=_CLOSING)
    talk.too_long = lines.too_long
    over()


async def _writer(into: int, given: int) -> asyncio.StreamWriter:
    """``given`` is the end that is read, closed where this fails."""
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(into, "wb", buffering=0))
    except BaseException:
        os.close(given)
        raise
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _Lines:
    """Lines out of chunks."""

    def __init__(self, said: Callable[[bytes], None], longest: int) -> None:
        self.too_long = False
        self.stop: Callable[[], object] = lambda: None
        self._said = said
        self._longest = longest
        self._begun: list[bytes] = []
        self._size = 0

    def receive(self, chunk: bytes) -> None:
        if self.too_long:
            return
        first, *others = chunk.split(b"\n")
        self._begun.append(first)
        self._size += len(first)
        for rest in others:
            self._said(b"".join(self._begun))
            self._begun, self._size = [rest], len(rest)
        if self._size > self._longest:
            self.too_long = True
            self._begun = []
            self.stop()
