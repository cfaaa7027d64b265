"""A program that is spoken to line by line over its input and output for as long as it is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from nbtools.workspace.commands.process import Running, start

_PARTING = 2.0
"""Seconds in which it may end by itself once nobody speaks to it any more."""
_CLOSING = 0.3
"""Seconds between the end of its output and its own, where it ends."""
_TAIL = 4_000


class Dialogue:
    """``said`` gets each line that it prints, without the end; ``over`` is called once when nothing more will come.

    A line of more than ``longest`` bytes ends it: ``too_long`` is set then.
    """

    def __init__(self, running: Running, writer: asyncio.StreamWriter, errors: Path) -> None:
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
        with self._errors.open("rb") as file:
            file.seek(max(self._errors.stat().st_size - _TAIL, 0))
            return file.read().decode("utf-8", "replace").strip()


@contextlib.asynccontextmanager
async def dialogue(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], said: Callable[[bytes], None], over: Callable[[], None], longest: int
) -> AsyncIterator[Dialogue]:
    """Starts ``argv`` and ends it, with everything that it started.  Raises ``OSError`` when it cannot be started."""
    with tempfile.NamedTemporaryFile(prefix="nbtools-") as errors:
        given, into = os.pipe()
        lines = _Lines(said, longest)
        try:
            running = start(argv, cwd=cwd, env=env, receive=lines.receive, errors=errors, given=given, at_once=True)  # type: ignore[arg-type]
        except BaseException:
            os.close(into)
            raise
        finally:
            os.close(given)
        talk = Dialogue(running, await _writer(into), Path(errors.name))

        async def ended() -> None:
            await running.silent
            await asyncio.wait([running.exit], timeout=_CLOSING)
            talk.too_long = lines.too_long
            over()

        watch = asyncio.create_task(ended())
        lines.stop = lambda: asyncio.ensure_future(running.stop())
        try:
            yield talk
        finally:
            watch.cancel()
            await asyncio.shield(talk.end())


async def _writer(into: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(into, "wb", buffering=0))
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
