"""Folders for copies, which do not outlive the process that made them, however it ends."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

PREFIX = "nbtools-replay-"
_BESIDE = "/var/tmp"  # noqa: S108 - what is made there is private
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def place() -> str:
    """Where they are made.  Commands in a sandbox have a ``/tmp`` of their own: of a copy in there they would see their folder alone."""
    usual = tempfile.gettempdir()
    return _BESIDE if usual == "/tmp" and os.access(_BESIDE, os.W_OK | os.X_OK) else usual  # noqa: S108 - nothing is put there


class Room:
    """A private folder.  It is locked as long as it is in use, and the lock goes with its process: what is not locked was left behind.

    Making one clears away what others have left.
    """

    def __init__(self) -> None:
        sweep()
        made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place())).resolve()
        self._lock = os.open(made, _FOLDER)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = made.rename(made.with_name(made.name.removeprefix(".")))  # it is seen only now that it is locked
        self._open = True

    def close(self) -> None:
        """Removes it.  May be called again."""
        if self._open:
            self._open = False
            _remove(self.path)
            os.close(self._lock)


def sweep() -> None:
    """Removes the rooms of processes that are no more."""
    for path in _rooms():
        with suppress(OSError):  # gone meanwhile, or in use
            lock = os.open(path, _FOLDER)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(lock)


def _rooms() -> Iterator[Path]:
    """Those of this user."""
    with suppress(OSError), os.scandir(place()) as entries:
        for entry in entries:
            if (
                entry.name.startswith(PREFIX)
                and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_uid == os.getuid()
            ):
                yield Path(entry.path)


def _remove(path: Path) -> None:
    """What a command has made read-only, too."""
    shutil.rmtree(path, onerror=_writable)


def _writable(function: Callable[..., Any], path: str, _: object) -> None:
    with suppress(OSError):
        Path(path).parent.chmod(0o700)
        Path(path).chmod(0o700, follow_symlinks=False) if Path(path).is_dir() and not Path(path).is_symlink() else None
        function(path) if function in (os.unlink, os.rmdir) else shutil.rmtree(path, ignore_errors=True)
