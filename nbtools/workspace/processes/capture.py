"""Runs a program with given input and captures stdout and stderr separately, each up to a size limit."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nbtools.workspace.processes.environment import environment
from nbtools.workspace.processes.process import Limits, ProgramResult, run_program, start

MAX_BYTES = 10_000_000
"""Default maximum number of bytes of each stream."""
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """The output and outcome of a program; ``too_long``: the stream whose limit ended it."""

    stdout: str
    stderr: str
    ended: ProgramResult
    too_long: str = ""

    @property
    def ok(self) -> bool:
        return self.ended.exit_code == 0 and not self.ended.stopped and not self.too_long


async def capture(
    argv: Sequence[str],
    *,
    cwd: Path,
    stdin: str = "",
    seconds: float,
    most: int = MAX_BYTES,
    env: Mapping[str, str] | None = None,
    receive: Callable[[bytes], None] = lambda _: None,
) -> CaptureResult:
    """Runs ``argv`` with the input ``stdin`` for at most ``seconds``; ``env`` adds to that of commands.

    A program that does not exist ends with exit code 127, as in a shell.  ``receive`` gets stdout (not
    stderr) in chunks as they arrive.  When cancelled, it first ends the program and all its processes.
    """
    loop = asyncio.get_running_loop()
    out, errors, began = _Stream("stdout", most, receive), _Stream("stderr", most), loop.time()
    program_env = {**environment(os.environ), **(env or {})}
    with _file_with(stdin) as file, _pipe_into(errors, loop) as into:
        # A program gets no input otherwise: the shell opens the file and becomes the program.
        command = ["/bin/sh", "-c", 'exec "$@" <"$0"', file, *argv]
        try:
            async with asyncio.timeout(None) as limit:
                out.stop = errors.stop = lambda: (
                    limit.reschedule(loop.time()) if limit.when() is None else None
                )
                ended = await run_program(
                    command,
                    cwd=cwd,
                    env=program_env,
                    receive=out.receive,
                    limits=Limits(seconds, seconds),
                    errors=into,
                )
        except TimeoutError:
            ended = ProgramResult(None, "SIGTERM", loop.time() - began)
    too_long = next((stream.name for stream in (out, errors) if stream.size > most), "")
    return CaptureResult(out.text, errors.text, ended, too_long)


async def run_script(arguments: Sequence[str], data: bytes, seconds: float) -> tuple[ProgramResult, bytes]:
    """Runs Python on a script, isolated and without environment; returns the outcome and stdout.

    ``arguments``: options of Python, the script and its arguments; ``data``: its input.  Raises ``OSError``.
    """
    output = bytearray()
    with tempfile.TemporaryFile() as content:
        content.write(data)
        content.seek(0)
        argv = [sys.executable, "-I", *arguments]
        running = start(argv, cwd=Path(os.sep), env={}, receive=output.extend, stdin=content.fileno())
        ended = await running.wait(Limits(seconds, seconds))
    return ended, bytes(output)


class _Stream:
    """Collects one stream up to ``most`` bytes; calls ``stop`` when there are more."""

    def __init__(self, name: str, most: int, receive: Callable[[bytes], None] = lambda _: None) -> None:
        self.name = name
        self.size = 0
        self.stop: Callable[[], None] = lambda: None
        self._most = most
        self._on_chunk = receive
        self._data = bytearray()

    def receive(self, chunk: bytes) -> None:
        self._data += chunk[: max(self._most - self.size, 0)]
        self.size += len(chunk)
        self._on_chunk(chunk)
        if self.size > self._most:
            self.stop()

    @property
    def text(self) -> str:
        return self._data.decode("utf-8", "replace")


@contextmanager
def _file_with(text: str) -> Iterator[str]:
    with tempfile.NamedTemporaryFile(prefix="nbtools-") as file:
        file.write(text.encode("utf-8", "surrogatepass"))
        file.flush()
        yield file.name


@contextmanager
def _pipe_into(stream: _Stream, loop: asyncio.AbstractEventLoop) -> Iterator[BinaryIO]:
    """Yields a file whose content ``stream`` receives.  On exit, everything written has been received."""
    out, into = os.pipe()
    os.set_blocking(out, False)

    def read() -> bool:
        try:
            chunk = os.read(out, _CHUNK)
        except BlockingIOError:
            return False
        stream.receive(chunk)
        return bool(chunk)

    loop.add_reader(out, read)
    try:
        with os.fdopen(into, "wb") as file:
            yield file
    finally:
        loop.remove_reader(out)
        while read():
            pass
        os.close(out)
