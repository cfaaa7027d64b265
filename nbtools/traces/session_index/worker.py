"""Reads whole logs in a process of its own, those that changed last first,
and adds their figures to the index.

``python -m nbtools.traces.session_index.worker`` ends when its stdin does. One runs at a time for each index.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from threading import Thread

from nbtools.traces.session_index.figures import read_figures
from nbtools.traces.session_index.index import SessionIndex, index_path

_NICE = 10
_MAX_MEMORY = 4 << 30
"""Bytes of address space: a log that needs more gets no figures, and the machine keeps working."""


def work(index: SessionIndex, seconds: float | None = None) -> bool:
    """Reads all logs whose figures are missing or outdated. Returns False if ``seconds`` were not enough."""
    start = time.monotonic()
    while outdated := index.outdated(50):
        for path, state in outdated:
            if seconds is not None and time.monotonic() - start > seconds:
                return False
            index.begin_figures(path)
            begin = time.monotonic()
            figures = read_figures(path, index.related(path))
            index.put_figures(path, state, figures, time.monotonic() - begin)
    return True


def main() -> None:
    """Works until nothing is left, another process works on the index, or stdin ends."""
    os.nice(_NICE)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    Thread(target=_end_with_stdin, daemon=True).start()
    lock = os.open(index_path().with_suffix(".worker"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    work(SessionIndex())


def _end_with_stdin() -> None:
    try:
        sys.stdin.buffer.read()
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
