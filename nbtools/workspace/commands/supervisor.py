"""Sees to it that commands and terminals end with the kernel, also when that is killed.

A small process beside the kernel (``survivors``) is told what begins and what is over.  It starts with the first command and has a session
of its own, so that no signal to the kernel's group reaches it.  Whatever way the kernel ends, the system closes the pipe between them.
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

from nbtools.workspace.commands.survivors import IGNORED, look

_PROGRAM = Path(__file__).with_name("survivors.py")
_ROOM = 1 << 20
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What a Python may need to start; marks of an outer command that we run in are not for this process."""


class Supervisor:
    """The kernel's end of the pipe.  Any thread may tell."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._open: dict[str, str] = {}
        """The lines that tell of what is not over, by mark."""
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    @property
    def pid(self) -> int:
        """Of the small process; 0 where none runs yet."""
        return 0 if self._process is None else self._process.pid

    def expect(self, mark: str, output: str) -> None:
        """Something with this mark is about to begin; told first, so that it is known however early the kernel dies."""
        self._tell(mark, f"+ {mark} {output}\n")

    def began(self, mark: str, pid: int) -> None:
        """``pid`` is not waited for before it is over: until then nobody else has the number."""
        seen = look(pid)
        self._tell(mark, f"= {mark} {pid} {seen.start if seen else 0}\n")

    def over(self, mark: str) -> None:
        with self.lock:
            if self._open.pop(mark, None) is not None:
                self._write(f"- {mark}\n")

    def _tell(self, mark: str, line: str) -> None:
        with self.lock:
            self._open[mark] = self._open.get(mark, "") + line
            self._write(line)

    def _write(self, line: str) -> None:
        """To a new process, which is told everything, where there is none (any more) or it does not read."""
        if self._pipe >= 0:
            with contextlib.suppress(BrokenPipeError, BlockingIOError):
                os.write(self._pipe, line.encode())
                return
        self.stop()
        self._start()
        for told in tuple(self._open.values()):
            with contextlib.suppress(BrokenPipeError, BlockingIOError):
                os.write(self._pipe, told.encode())

    def _start(self) -> None:
        _at_exit()
        out, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        with contextlib.suppress(AttributeError, OSError):  # another system, or the user's share of pipe memory is used up
            fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, _ROOM)
        # Blocked in this thread while it starts, and so in the new process until it ignores them itself: none can end it before that.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROGRAM), str(os.getpid())],
                stdin=out,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                start_new_session=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(out)

    def stop(self) -> None:
        """Ends the small process without a look at what runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.forget()

    def forget(self) -> None:
        """Lets go of the pipe: what is not over is then ended."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def disown(self) -> None:
        """The small process is another's."""
        self.forget()
        if self._process is not None:
            self._process.returncode = 0  # or Popen warns that nobody has waited for it

    def finish(self) -> None:
        """At the end of Python, when commands have been ended already."""
        with self.lock:
            if not self._open:
                self.stop()
            elif self._process is not None:
                self.forget()
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
    """A forked child starts a supervisor of its own; the parent's pipe is not for it to hold open."""
    _SUPERVISORS[0].disown()
    _SUPERVISORS[0] = Supervisor()
    _at_exit.cache_clear()


os.register_at_fork(after_in_child=_after_fork)
