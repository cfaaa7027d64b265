"""Runs a program with streamed output and limits, and ends all processes that it started.

The program gets its own session and process group, no input, and one pipe for stdout and stderr.  However it
ends (by itself, at a limit, by cancellation), all processes that it started have ended before ``run_program``
returns or raises.  A program started with ``start`` may run longer; it ends with Python at the latest.
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

from nbtools.workspace.processes.descendants import GRACE, Descendants, new_mark, register, unregister
from nbtools.workspace.processes.landlock import restrict_reads
from nbtools.workspace.processes.supervisor import supervisor

IDLE = 0.2
"""Seconds without output after which processes left by a finished program are background processes."""
_EXIT_TIMEOUT = 0.1
"""Seconds for remaining processes to end by themselves."""
_CHUNK = 1 << 17
_PIPE = 1 << 20
_MOST_CHUNKS = 64  # a program that writes without end must not keep the event loop reading
_LITTLE = 1 << 16
_PAUSE = 0.004
"""Seconds between reads after little output: many small writes are read together; the pipe holds them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The seconds that a program may run, and may run without output."""

    seconds: float = 120
    silence: float = 300


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """A program's outcome. ``exit_code``: None if ``signal`` ended it; ``stopped``: the limit it exceeded.

    ``background``: the names of the processes that were still running when the program exited, and were
    ended; ``left``: the pids of those that were left running.
    """

    exit_code: int | None
    signal: str
    seconds: float
    stopped: Literal["", "time", "silence"] = ""
    background: tuple[str, ...] = ()
    left: tuple[int, ...] = ()


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    receive: Callable[[bytes], None],
    limits: Limits,
    errors: BinaryIO | None = None,
    readable: Sequence[str] | None = None,
) -> ProgramResult:
    """Runs ``argv`` in the running event loop (of any thread); ``receive`` gets output as it arrives.

    ``errors``: a file for stderr, which otherwise is part of the output.  ``readable``: the real paths that
    the program can read; needs Landlock.  Raises ``OSError`` if the program cannot be started.  When
    cancelled, it first ends the program; when cancelled again, it kills the program at once.
    """
    running = start(argv, cwd=cwd, env=env, receive=receive, errors=errors, readable=readable)
    return await running.wait(limits)


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    receive: Callable[[bytes], None],
    errors: BinaryIO | None = None,
    readable: Sequence[str] | None = None,
    stdin: int | None = None,
    unbuffered: bool = False,
    descriptors: Sequence[int] = (),
) -> RunningProgram:
    """Starts a program as ``run_program`` does; the caller must end it.

    ``stdin``: the descriptor of its input.  ``descriptors``: others that it inherits.
    ``unbuffered``: output is read without delay, even in small pieces.  Raises ``OSError``.
    """
    mark = new_mark()
    out, into = os.pipe()
    output = f"pipe:[{os.fstat(out).st_ino}]"
    try:
        if hasattr(fcntl, "F_SETPIPE_SZ"):  # a larger pipe, for fewer and larger reads
            with contextlib.suppress(OSError):  # the user's pipe memory is used up
                fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, _PIPE)
        os.set_blocking(out, False)
        supervisor().announce(mark, output)

        def popen() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=into,
                stderr=into if errors is None else errors,
                cwd=cwd,
                env={**env, mark: "1"},
                start_new_session=True,
                pass_fds=descriptors,
            )

        process = popen() if readable is None else restrict_reads(readable, popen)
    except BaseException:
        supervisor().report_end(mark)
        os.close(out)
        raise
    finally:
        os.close(into)
    return RunningProgram(
        process, out, Descendants(process.pid, mark, output), receive, _LITTLE if not unbuffered else 0
    )


class RunningProgram:
    """A running program, watched from one event loop."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        pipe: int,
        descendants: Descendants,
        receive: Callable[[bytes], None],
        little: int = _LITTLE,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.process = process
        self.pipe = pipe
        self.descendants = descendants
        self.receive = receive
        self.small_read = little
        self.started = self.last_output = self.loop.time()
        self.exit: asyncio.Future[None] = self.loop.create_future()
        self.output_ended: asyncio.Future[None] = self.loop.create_future()
        self.pause: asyncio.TimerHandle | None = None
        self.loop.add_reader(pipe, self._readable)
        self.clean = self.closed = False
        self.watch = _watch_exit(self.loop, process, self.exit)
        register(descendants)

    async def wait(self, limits: Limits) -> ProgramResult:
        """Waits for the end or a limit and returns the outcome, as ``run_program`` does."""
        try:
            stopped = await self.wait_for_exit_or_limit(limits)
            if stopped:
                await self.stop()
            background = await self.end_background(limits)
            return self.report(stopped, background)
        except asyncio.CancelledError:
            await self.stop()
            raise
        finally:
            self.close()

    async def wait_or_leave_running(self, limits: Limits, *, keep: bool, leave: bool) -> ProgramResult | None:
        """Like ``wait``, but may leave processes running, which the caller must end.

        ``keep``: returns None at the time limit, and the program runs on.  ``leave``: when the program exits,
        processes that it started run on; the result names them in ``left``.
        """
        try:
            stopped = await self.wait_for_exit_or_limit(limits)
            left = await self._remaining() if leave and not stopped else ()
        except asyncio.CancelledError:
            try:
                await self.stop()
            finally:
                self.close()
            raise
        if left:
            self.read_all()
            return self._result("", self.exit_status(), left=left)
        return None if keep and stopped == "time" else await self.wait(limits)

    async def _remaining(self) -> tuple[int, ...]:
        """Returns the pids of processes that still run a moment after the program's exit."""
        self.read_all()
        if not self.output_ended.done():
            await asyncio.wait([self.output_ended], timeout=IDLE)
        return () if await self._wait_for_exit() else tuple(self.descendants.alive())

    async def wait_for_exit_or_limit(self, limits: Limits) -> Literal["", "time", "silence"]:
        """Waits until the program itself exits (empty) or reaches a limit (its name)."""
        while not self.exit.done():
            now = self.loop.time()
            time_left, silence_left = (
                self.started + limits.seconds - now,
                self.last_output + limits.silence - now,
            )
            if min(time_left, silence_left) <= 0:
                return "time" if time_left <= 0 else "silence"
            await asyncio.wait([self.exit], timeout=min(time_left, silence_left))
        return ""

    def exit_status(self) -> int | None:
        """Returns the exit status; see the function ``exit_status``."""
        return exit_status(self.process)

    def elapsed(self) -> float:
        """Returns the seconds since the start."""
        return self.loop.time() - self.started

    def check_ended(self) -> bool:
        """Returns whether the program and all its processes have ended; if so, closes everything."""
        if not self.closed and self.exit_status() is not None:
            self.read_all()
            if self.clean or self._check_clean():
                self.close()
        return self.clean

    async def end_background(self, limits: Limits) -> tuple[str, ...]:
        """Waits until the remaining processes pause their output, then ends them; returns their names."""
        self.read_all()
        settled = self.loop.time()
        while not self.output_ended.done():
            left = (
                min(max(settled, self.last_output) + IDLE, self.started + limits.seconds) - self.loop.time()
            )
            if left <= 0:
                break
            await asyncio.wait([self.output_ended], timeout=left)
        if await self._wait_for_exit():
            return ()
        await self.stop()
        return tuple(self.descendants.names.values()) or ("?",)

    async def stop(self) -> None:
        """Requests all processes to end, and kills the rest after ``GRACE`` seconds."""
        self.clean = await end(self.descendants)

    async def _wait_for_exit(self) -> bool:
        """Returns whether all processes have ended, after a short wait.

        The first process of a sandbox, for example, ends shortly after its program.
        """
        self.clean = await _gone(self.descendants, _EXIT_TIMEOUT)
        return self.clean

    def _check_clean(self) -> bool:
        self.clean = not self.descendants.alive()
        return self.clean

    def report(self, stopped: Literal["", "time", "silence"], background: tuple[str, ...]) -> ProgramResult:
        self.read_all()
        return self._result(stopped, self._reap(), background=() if stopped else background)

    def _result(
        self,
        stopped: Literal["", "time", "silence"],
        code: int | None,
        background: tuple[str, ...] = (),
        left: tuple[int, ...] = (),
    ) -> ProgramResult:
        # None: it hangs in a system call, and ends when that returns.
        number = signal.SIGKILL if code is None else -code
        name = signal_name(number) if number > 0 else ""
        return ProgramResult(None if name else code, name, self.elapsed(), stopped, background, left)

    def close(self) -> None:
        """Closes everything and kills processes that are still running."""
        if self.closed:
            return
        self.closed = True
        # A process may fork while it is being killed; the next look finds its child.
        for _ in range(0 if self.clean else 50):
            if not self.descendants.send(signal.SIGKILL):
                break
        self._reap()
        unregister(self.descendants)
        self.watch()
        if not self.exit.done():  # the watch may end before the loop has seen the exit, for which others wait
            self.exit.set_result(None)
        self.read_all()
        self._stop_reading()

    def _reap(self) -> int | None:
        """Returns the exit code; None if the process does not end within a second."""
        # Other threads may outlive the main thread for a moment.
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout=1)
        return None

    def _readable(self) -> None:
        if self._read_or_pause():
            self.loop.remove_reader(self.pipe)

    def _read_or_pause(self) -> bool:
        """Reads once; after little output, pauses reading and returns True."""
        if not 0 < self._read() < self.small_read:
            return False
        self.pause = self.loop.call_later(_PAUSE, self._resume_reading)
        return True

    def _resume_reading(self) -> None:
        self.pause = None
        if not self._read_or_pause() and self.pipe >= 0:
            self.loop.add_reader(self.pipe, self._readable)

    def read_all(self) -> None:
        """Reads what is in the pipe, at most ``_MOST_CHUNKS`` chunks."""
        for _ in range(_MOST_CHUNKS):
            if not self._read():
                return

    def _read(self) -> int:
        """Reads at most one chunk; returns its number of bytes."""
        try:
            chunk = os.read(self.pipe, _CHUNK) if self.pipe >= 0 else b""
        except BlockingIOError:
            return 0
        if chunk:
            self.last_output = self.loop.time()
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
        if not self.output_ended.done():
            self.output_ended.set_result(None)


async def end(descendants: Descendants) -> bool:
    """Requests all processes to end, kills the rest after ``GRACE`` seconds; returns whether all ended."""
    descendants.request_end()
    if await _gone(descendants, GRACE):
        return True
    descendants.send(signal.SIGKILL)
    return await _gone(descendants, GRACE)


async def _gone(descendants: Descendants, seconds: float) -> bool:
    """Waits up to ``seconds``; returns whether all processes have ended."""
    deadline = time.monotonic() + seconds
    pause = 0.002
    while descendants.alive():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True


def exit_status(process: subprocess.Popen[bytes]) -> int | None:
    """Returns the exit code, or the negative signal number; None while the program itself runs.

    The process is not reaped, so that its pid cannot be reused while its other processes are looked for.
    """
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll()
    with contextlib.suppress(ChildProcessError):
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    return process.poll()


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _watch_exit(
    loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], exit_: asyncio.Future[None]
) -> Callable[[], None]:
    """Sets ``exit_`` when the process has exited.  Returns a function that stops watching."""

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

    def on_exit() -> None:
        loop.remove_reader(descriptor)
        done()

    loop.add_reader(descriptor, on_exit)
    return forget


def _wait_in_thread(
    loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], done: Callable[[], None]
) -> None:
    try:
        process.wait()
    finally:
        with contextlib.suppress(RuntimeError):  # the loop may already be closed
            loop.call_soon_threadsafe(done)
