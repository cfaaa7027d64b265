"""A lock on a folder that serialises changes of its files across threads, sessions and kernels."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from nbtools.core.browser import IN_BROWSER

_TIMEOUT = 2.0
"""Seconds; after that the work goes on without the lock: no change takes so long."""
_RETRY_INTERVAL = 0.001
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextlib.contextmanager
def folder_lock(folder: Path | int) -> Iterator[None]:
    """Locks ``folder``, a path or a descriptor, with ``flock``; no lock file is left behind.

    Does nothing on a file system without locks, and in a browser, whose Python has none.
    """
    descriptor = None if IN_BROWSER else _open_locked(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open_locked(folder: Path | int) -> int | None:
    try:
        descriptor = (
            os.open(os.curdir, _OPEN, dir_fd=folder) if isinstance(folder, int) else os.open(folder, _OPEN)
        )
    except OSError:
        return None
    end = time.monotonic() + _TIMEOUT
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_RETRY_INTERVAL)
        except OSError:
            break
        else:
            break
    return descriptor
