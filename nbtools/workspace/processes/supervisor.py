"""Starts the watchdog process, which ends commands and terminals when the kernel dies.

The watchdog (``watchdog.py``) is informed when a command starts and ends.  It starts with the first command,
in its own session, so that signals to the kernel's process group do not reach it.  However the kernel ends,
the system closes the pipe between them.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

from nbtools.workspace.processes.watchdog import IGNORED, find_process

_PROGRAM = Path(__file__).with_name("watchdog.py")
_PIPE_SIZE = 1 << 20
_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that Python may need to start; others are removed, such as the kernel's own mark."""


class Supervisor:
    """The kernel's end of the pipe to the watchdog.  Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._open: dict[str, str] = {}
        """The lines sent for commands that are still running, by mark."""
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    @property
    def pid(self) -> int:
        """The watchdog's pid; 0 if it is not running."""
        return 0 if self._process is None else self._process.pid

    def announce(self, mark: str, output: str) -> None:
        """Announces a command before its start: the watchdog knows it even if the kernel dies at once."""
        self._send(mark, f"+ {mark} {output}\n")

    def report_start(self, mark: str, pid: int) -> None:
        """Reports the pid, which must not be reaped before ``report_end``, so that it is not reused."""
        process = find_process(pid)
        self._send(mark, f"= {mark} {pid} {process.start if process else 0}\n")

    def report_end(self, mark: str) -> None:
        with self.lock:
            if self._open.pop(mark, None) is not None:
                self._write(f"- {mark}\n")

    def _send(self, mark: str, line: str) -> None:
        with self.lock:
            self._open[mark] = self._open.get(mark, "") + line
            self._write(line)

    def _write(self, line: str) -> None:
        """Writes to the watchdog; starts a new one and sends it everything if it does not read."""
        if self._pipe >= 0:
            with contextlib.suppress(BrokenPipeError, BlockingIOError):
                os.write(self._pipe, line.encode())
                return
        self.stop()
        self._start()
        for lines in tuple(self._open.values()):
            with contextlib.suppress(BrokenPipeError, BlockingIOError):
                os.write(self._pipe, lines.encode())

    def _start(self) -> None:
        _at_exit()
        out, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        with contextlib.suppress(AttributeError, OSError):  # not Linux, or the user's pipe memory is used up
            fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        # Signals are blocked in this thread during the start,
        # and so in the new process until it ignores them: none can end it before.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROGRAM), str(os.getpid())],
                stdin=out,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                start_new_session=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(out)

    def stop(self) -> None:
        """Kills the watchdog, whatever commands are running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.close_pipe()

    def close_pipe(self) -> None:
        """Closes the pipe; the watchdog then ends all running commands."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def release(self) -> None:
        """Drops the watchdog without ending it, because it belongs to another process."""
        self.close_pipe()
        if self._process is not None:
            self._process.returncode = 0  # or Popen warns that nobody has waited for it

    def finish(self) -> None:
        """Called when Python exits, after commands have been ended."""
        with self.lock:
            if not self._open:
                self.stop()
            elif self._process is not None:
                self.close_pipe()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=5)


_SUPERVISORS = [Supervisor()]


def supervisor() -> Supervisor:
    return _SUPERVISORS[0]


@cache
def _at_exit() -> None:
    owner = os.getpid()
    atexit.register(lambda: supervisor().finish() if os.getpid() == owner else None)


def _after_fork() -> None:
    """Gives a forked child its own supervisor, and closes its copy of the parent's pipe."""
    _SUPERVISORS[0].release()
    _SUPERVISORS[0] = Supervisor()
    _at_exit.cache_clear()


os.register_at_fork(after_in_child=_after_fork)
