"""A Python process that works for this one in the background and ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref


class PythonHelper:
    """Runs ``python -m module`` while it is needed.
    The module ends when its stdin does, which this process holds open.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._end: weakref.finalize[[subprocess.Popen[bytes]], PythonHelper] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the process unless it runs. Raises ``OSError``."""
        if self.running:
            return
        self.stop()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt of the kernel is not for it
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._end = weakref.finalize(self, _kill, self._process)

    def stop(self) -> None:
        """Kills the process, whose work must bear that, and waits for its end."""
        if self._end is not None:
            self._end()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
