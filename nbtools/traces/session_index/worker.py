"""Reads whole logs, those that changed last first, and adds their figures and texts to the index:
in the background, in a process that ends with this one, or at once.

``python -m nbtools.traces.session_index.worker`` ends when its stdin does. One runs at a time for each index.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import subprocess
import sys
import time
import weakref
from threading import Thread

from nbtools.traces.reader import LogFile
from nbtools.traces.session_index.contents import ContentStore, LogTexts
from nbtools.traces.session_index.figures import read_figures
from nbtools.traces.session_index.index import SessionIndex, index_path

_NICE = 10
_BATCH = 50
_SECONDS_TO_END = 0.5
"""Seconds in which the process may note that the log it reads is not to blame."""
_MAX_MEMORY = 4 << 30
"""Bytes of address space: a log that needs more gets no figures, and the machine keeps working."""


class BackgroundProcess:
    """Runs ``python -m module`` while it is needed.
    The module ends when its stdin does, which this process holds open.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._end: weakref.finalize[[subprocess.Popen[bytes]], BackgroundProcess] | None = None
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
        """Ends the process, by force where it does not end at once, and waits for its end."""
        if self._end is not None:
            self._end()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS_TO_END)
    process.kill()
    process.wait()


def work(index: SessionIndex, seconds: float | None = None, *, contents: bool = True) -> bool:
    """Reads all logs whose figures, or whose texts, are missing or outdated, and prices those whose costs are
    by other price lists. Returns False if ``seconds`` were not enough.
    """
    end = None if seconds is None else time.monotonic() + seconds
    store = ContentStore(index)
    while index.update_costs():
        if end is not None and time.monotonic() > end:
            return False
    while True:
        figures, texts = index.outdated(_BATCH), store.outdated(_BATCH) if contents else []
        # Reading the texts takes four times as long as counting: where many figures are missing, they are
        # first.  A log that has changed is read once for both.
        is_first = len(figures) == _BATCH
        for path, state in figures or texts:
            if end is not None and time.monotonic() > end:
                return False
            read_log(index, path, state, contents=contents and not is_first and store.is_due(path, state))
        if not figures and not texts:
            return True


def read_log(index: SessionIndex, path: str, state: str, *, contents: bool = True) -> None:
    """Reads a whole log, which is in ``state``, for its figures and its texts."""
    reading.append(path)
    try:
        index.begin_figures(path)
        texts = LogTexts()
        figures = read_figures(path, index.related(path), texts.rows_of if contents else LogFile.rows)
        index.put_figures(path, state, figures, texts.seconds)
        if contents:
            index.begin_figures(path)
            ContentStore(index).put(path, state, texts, figures.problem)
    except KeyboardInterrupt:
        index.interrupt_figures(path)
        raise
    finally:
        reading.remove(path)


reading: list[str] = []
"""The log that is read now."""


def main() -> None:
    """Works until nothing is left, another process works on the index, or stdin ends."""
    os.nice(_NICE)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    index = SessionIndex()
    Thread(target=_end_with_stdin, args=(index,), daemon=True).start()
    lock = os.open(index_path().with_suffix(".worker"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    work(index)
    with contextlib.suppress(sqlite3.Error):  # others use it: later
        index.release_space()


def _end_with_stdin(index: SessionIndex) -> None:
    try:
        sys.stdin.buffer.read()
        for path in reading:
            index.interrupt_figures(path)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
