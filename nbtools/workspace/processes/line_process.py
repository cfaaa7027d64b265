"""A long-running subprocess that exchanges lines over stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from nbtools.workspace.processes.process import RunningProgram, start

_TAIL_BYTES = 4_000
_CHUNK = 1 << 16
_PAUSE = 0.01
"""Seconds between two reads: a program that floods stderr is slowed down, not the event loop."""


class StderrTail:
    """Keeps the end of what a program writes to stderr.  Pass ``into`` to the program, then close it."""

    def __init__(self) -> None:
        self._out, self.into = os.pipe()
        os.set_blocking(self._out, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._out, self._readable)
        self._pause: asyncio.TimerHandle | None = None
        self._tail = b""

    @property
    def text(self) -> str:
        """The text received so far."""
        if self._out >= 0:
            self._read()
        return self._tail.decode("utf-8", "replace").strip()

    def close(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        if self._out >= 0:
            self._loop.remove_reader(self._out)
            os.close(self._out)
            self._out = -1

    def _readable(self) -> None:
        self._loop.remove_reader(self._out)
        if self._read():
            self._pause = self._loop.call_later(_PAUSE, self._resume_reading)

    def _resume_reading(self) -> None:
        self._pause = None
        self._loop.add_reader(self._out, self._readable)

    def _read(self) -> bool:
        """Reads once.  Returns whether more may follow."""
        try:
            chunk = os.read(self._out, _CHUNK)
        except BlockingIOError:
            return True
        self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        return bool(chunk)


_EXIT_TIMEOUT = 2.0
"""Seconds for the program to exit after its stdin was closed."""
_CLOSING = 0.3
"""Seconds for the program to exit after it closed its stdout."""


class LineProcess:
    """A running subprocess to which lines are sent; ``open_line_process`` says where its lines go."""

    def __init__(self, running: RunningProgram, writer: asyncio.StreamWriter, errors: StderrTail) -> None:
        self.running = running
        self.too_long = False
        self._writer = writer
        self._errors = errors

    async def send_line(self, line: bytes) -> None:
        """Sends a line; waits while the program does not read.  Raises ``OSError`` if it has ended."""
        self._writer.write(line + b"\n")
        await self._writer.drain()

    async def end(self) -> None:
        """Closes stdin after the lines sent so far; ends the program and all processes that it started."""
        try:
            self._writer.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_TIMEOUT):
                    await asyncio.shield(self.running.exit)
            await self.running.stop()
        finally:
            self.running.close()
            if self._writer.transport.get_write_buffer_size():  # data that the program never read
                self._writer.transport.abort()

    @property
    def exit_code(self) -> int | None:
        """The exit code, or the negative number of the signal that ended it; None while it runs."""
        return self.running.exit_status()

    @property
    def stderr(self) -> str:
        """The end of what it wrote to stderr."""
        return self._errors.text


@contextlib.asynccontextmanager
async def open_line_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_line: Callable[[bytes], None],
    on_end: Callable[[], None],
    max_line_bytes: int,
) -> AsyncIterator[LineProcess]:
    """Starts ``argv``; on exit, ends it with all processes that it started. Raises ``OSError``.

    ``on_line`` gets each line of stdout without its end; ``on_end`` is called once when the output has ended.
    A line of more than ``max_line_bytes`` bytes ends the program and sets ``too_long``.
    """
    lines = _Lines(on_line, max_line_bytes)
    stdin, into = os.pipe()
    # Before the program starts, so that a cancellation here leaves no process behind.
    writer = await _writer(into, stdin)
    errors = StderrTail()
    try:
        process = LineProcess(_start(argv, cwd, env, lines, errors, stdin, writer), writer, errors)
        watch = asyncio.create_task(_watch(process, lines, on_end))
        lines.stop = lambda: asyncio.ensure_future(process.running.stop())
        try:
            yield process
        finally:
            watch.cancel()
            await asyncio.shield(process.end())
    finally:
        errors.close()


def _start(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    lines: _Lines,
    errors: StderrTail,
    stdin: int,
    writer: asyncio.StreamWriter,
) -> RunningProgram:
    try:
        with os.fdopen(errors.into, "wb") as stderr:
            return start(
                argv, cwd=cwd, env=env, receive=lines.receive, errors=stderr, stdin=stdin, unbuffered=True
            )
    except BaseException:
        writer.transport.abort()
        raise
    finally:
        os.close(stdin)


async def _watch(process: LineProcess, lines: _Lines, over: Callable[[], None]) -> None:
    await process.running.output_ended
    await asyncio.wait([process.running.exit], timeout=_CLOSING)
    process.too_long = lines.too_long
    over()


async def _writer(into: int, read_end: int) -> asyncio.StreamWriter:
    """Opens a writer for the pipe; closes ``read_end`` on failure."""
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(into, "wb", buffering=0)
        )
    except BaseException:
        os.close(read_end)
        raise
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _Lines:
    """Splits chunks into lines."""

    def __init__(self, on_line: Callable[[bytes], None], longest: int) -> None:
        self.too_long = False
        self.stop: Callable[[], object] = lambda: None
        self._on_line = on_line
        self._longest = longest
        self._pending: list[bytes] = []
        self._size = 0

    def receive(self, chunk: bytes) -> None:
        if self.too_long:
            return
        first, *others = chunk.split(b"\n")
        self._pending.append(first)
        self._size += len(first)
        for rest in others:
            self._on_line(b"".join(self._pending))
            self._pending, self._size = [rest], len(rest)
        if self._size > self._longest:
            self.too_long = True
            self._pending = []
            self.stop()
