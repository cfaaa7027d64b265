"""Running a program with its output streamed, its time limited, and nothing left behind.

The program gets a session and process group of its own, no input, and one pipe for output and errors.  Whatever way it ends (by itself,
at a limit, by cancellation), every process that it started has ended before ``run`` returns or raises.  What is begun with ``start``
may go on beyond that; it ends with Python at the latest.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from nbtools.workspace.commands.descendants import GRACE, Descendants, begun, new_mark, over
from nbtools.workspace.commands.supervisor import supervisor
from nbtools.workspace.landlock import reading_only

IDLE = 0.2
"""Seconds without output after which what a finished program left running is taken for background work."""
_PARTING = 0.1
"""Seconds in which what is about to end by itself may do so."""
_CHUNK = 1 << 17
_PIPE = 1 << 20
_MOST_CHUNKS = 64
_LITTLE = 1 << 16
_PAUSE = 0.004
"""Seconds for which reading rests after a little output: many small writes are then one read, and the pipe holds more than comes in."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds a program may take, and seconds it may print nothing."""

    seconds: float = 120
    silence: float = 300


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went.  ``exit_code`` is None where ``signal`` (``SIGTERM`` …) ended it; ``stopped`` names the limit that did.

    ``background`` has the names of the processes that were still running when the program had exited, and were ended.
    """

    exit_code: int | None
    signal: str
    seconds: float
    stopped: Literal["", "time", "silence"] = ""
    background: tuple[str, ...] = ()


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    receive: Callable[[bytes], None],
    limits: Limits,
    errors: BinaryIO | None = None,
    readable: Sequence[str] | None = None,
) -> Ended:
    """Runs ``argv`` and hands its output to ``receive`` in chunks as they come, in the running event loop (of any thread).

    Errors are part of the output unless there is a file for them.  ``readable``: real paths; it can read nothing else, where Landlock is
    available.
    Raises ``OSError`` when it cannot be started.  Cancelled, it ends the program first; cancelled again, it does not wait for it to go
    in peace.
    """
    running = start(argv, cwd=cwd, env=env, receive=receive, errors=errors, readable=readable)
    return await running.finished(limits)


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    receive: Callable[[bytes], None],
    errors: BinaryIO | None = None,
    readable: Sequence[str] | None = None,
    given: int | None = None,
    at_once: bool = False,
) -> Running:
    """Begins what ``run`` runs; the caller sees to its end.  ``given`` is a descriptor that it reads its input from; with ``at_once``
    each little of its output is read as it comes.  Raises ``OSError``.
    """
    mark = new_mark()
    out, into = os.pipe()
    output = f"pipe:[{os.fstat(out).st_ino}]"
    try:
        _widen(out)
        os.set_blocking(out, False)
        supervisor().expect(mark, output)

        def popen() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if given is None else given,
                stdout=into,
                stderr=into if errors is None else errors,
                cwd=cwd,
                env={**env, mark: "1"},
                start_new_session=True,
            )

        process = popen() if readable is None else reading_only(readable, popen)
    except BaseException:
        supervisor().over(mark)
        os.close(out)
        raise
    finally:
        os.close(into)
    return Running(process, out, Descendants(process.pid, mark, output), receive, _LITTLE if not at_once else 0)


def _widen(pipe: int) -> None:
    """Fewer and larger reads; where the user's share of pipe memory is used up, the usual size does."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)


class Running:
    """One running program, watched from one event loop."""

    def __init__(
        self, process: subprocess.Popen[bytes], pipe: int, descendants: Descendants, receive: Callable[[bytes], None], little: int = _LITTLE
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.process = process
        self.pipe = pipe
        self.descendants = descendants
        self.receive = receive
        self.little = little
        self.started = self.heard = self.loop.time()
        self.exit: asyncio.Future[None] = self.loop.create_future()
        self.silent: asyncio.Future[None] = self.loop.create_future()
        self.pause: asyncio.TimerHandle | None = None
        self.loop.add_reader(pipe, self._readable)
        self.clean = self.closed = False
        self.watch = _watch_exit(self.loop, process, self.exit)
        begun(descendants)

    async def finished(self, limits: Limits) -> Ended:
        """Sees it to its end, as ``run`` does."""
        try:
            stopped = await self.exited(limits)
            if stopped:
                await self.stop()
            background = await self.ended(limits)
            return self.report(stopped, background)
        except asyncio.CancelledError:
            await self.stop()
            raise
        finally:
            self.close()

    async def finished_in_time(self, limits: Limits) -> Ended | None:
        """As ``finished``, except that it goes on when its time is over: None, and the caller sees to its end."""
        try:
            stopped = await self.exited(limits)
        except asyncio.CancelledError:
            try:
                await self.stop()
            finally:
                self.close()
            raise
        return None if stopped == "time" else await self.finished(limits)

    async def exited(self, limits: Limits) -> Literal["", "time", "silence"]:
        """Waits for the program itself, or until a limit is reached and says which."""
        while not self.exit.done():
            now = self.loop.time()
            left, silence = self.started + limits.seconds - now, self.heard + limits.silence - now
            if min(left, silence) <= 0:
                return "time" if left <= 0 else "silence"
            await asyncio.wait([self.exit], timeout=min(left, silence))
        return ""

    def exit_status(self) -> int | None:
        """See ``exit_status``."""
        return exit_status(self.process)

    def lasted(self) -> float:
        """Seconds since it began."""
        return self.loop.time() - self.started

    def settled(self) -> bool:
        """Whether it and everything it started have ended; nothing is open any more then."""
        if not self.closed and self.exit_status() is not None:
            self.read_all()
            if self.clean or self._clean():
                self.close()
        return self.clean

    async def ended(self, limits: Limits) -> tuple[str, ...]:
        """Waits for the output of what the program left in the background to pause, then ends it; its names."""
        self.read_all()
        settled = self.loop.time()
        while not self.silent.done():
            left = min(max(settled, self.heard) + IDLE, self.started + limits.seconds) - self.loop.time()
            if left <= 0:
                break
            await asyncio.wait([self.silent], timeout=left)
        if await self._parted():
            return ()
        await self.stop()
        return tuple(self.descendants.names.values()) or ("?",)

    async def stop(self) -> None:
        """Asks every process to end, waits at most ``GRACE`` seconds, and ends the rest."""
        self.clean = await end(self.descendants)

    async def _parted(self) -> bool:
        """Whether nothing is left; what is about to go, as the first process of a sandbox is when its program has ended, may do so."""
        self.clean = await _gone(self.descendants, _PARTING)
        return self.clean

    def _clean(self) -> bool:
        self.clean = not self.descendants.alive()
        return self.clean

    def report(self, stopped: Literal["", "time", "silence"], background: tuple[str, ...]) -> Ended:
        self.read_all()
        code = self._reaped()
        number = signal.SIGKILL if code is None else -code  # None: it hangs in the kernel and goes as soon as that lets it
        name = signal_name(number) if number > 0 else ""
        return Ended(None if name else code, name, self.lasted(), stopped, () if stopped else background)

    def close(self) -> None:
        """Leaves nothing open and, where waiting was cut short, nothing running."""
        if self.closed:
            return
        self.closed = True
        for _ in range(0 if self.clean else 50):
            if not self.descendants.send(signal.SIGKILL):
                break
        self._reaped()
        over(self.descendants)
        self.watch()
        self.read_all()
        self._stop_reading()

    def _reaped(self) -> int | None:
        """The exit code; a program of several threads may need a moment after its first one has gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=1)
        return None

    def _readable(self) -> None:
        if self._rests():
            self.loop.remove_reader(self.pipe)

    def _rests(self) -> bool:
        """Reads once, and rests if that was little."""
        if not 0 < self._read() < self.little:
            return False
        self.pause = self.loop.call_later(_PAUSE, self._go_on)
        return True

    def _go_on(self) -> None:
        self.pause = None
        if not self._rests() and self.pipe >= 0:
            self.loop.add_reader(self.pipe, self._readable)

    def read_all(self) -> None:
        """What is in the pipe now; of what is still being written, no more than a little."""
        for _ in range(_MOST_CHUNKS):
            if not self._read():
                return

    def _read(self) -> int:
        """How many bytes there were to read, at most a chunk."""
        try:
            chunk = os.read(self.pipe, _CHUNK) if self.pipe >= 0 else b""
        except BlockingIOError:
            return 0
        if chunk:
            self.heard = self.loop.time()
            self.receive(chunk)
        else:
            self._stop_reading()
        return len(chunk)

    def _stop_reading(self) -> None:
        if self.pause is not None:
            self.pause.cancel()
            self.pause = None
        if self.pipe >= 0:
            self.loop.remove_reader(self.pipe)
            os.close(self.pipe)
            self.pipe = -1
        if not self.silent.done():
            self.silent.set_result(None)


async def end(descendants: Descendants) -> bool:
    """Asks every process to end, waits at most ``GRACE`` seconds, and ends the rest; whether none is left."""
    descendants.ask()
    if await _gone(descendants, GRACE):
        return True
    descendants.send(signal.SIGKILL)
    return await _gone(descendants, GRACE)


async def _gone(descendants: Descendants, seconds: float) -> bool:
    """Whether all have ended within so many seconds."""
    deadline = time.monotonic() + seconds
    pause = 0.002
    while descendants.alive():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True


def exit_status(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code, or the signal's number below zero, once the program itself has ended, whatever it left running.

    Its pid stays taken until it is waited for, so that nobody else's processes are taken for its own.
    """
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll()
    with contextlib.suppress(ChildProcessError):
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if found is None else found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    return process.poll()


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _watch_exit(loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], exit_: asyncio.Future[None]) -> Callable[[], None]:
    """Sets ``exit_`` once the process has exited, in any thread's loop; what is returned ends the watching."""

    def done() -> None:
        if not exit_.done():
            exit_.set_result(None)

    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        threading.Thread(target=_wait_in_thread, args=(loop, process, done), daemon=True).start()
        return lambda: None

    def forget() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)

    def noticed() -> None:
        loop.remove_reader(descriptor)
        done()

    loop.add_reader(descriptor, noticed)
    return forget


def _wait_in_thread(loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], done: Callable[[], None]) -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):  # the loop may be closed by now
        loop.call_soon_threadsafe(done)
