"""Temporary folders that are removed even if the process that created them crashes."""

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
_ALTERNATIVE = "/var/tmp"  # noqa: S108 - the folders made there are private
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def parent_folder() -> str:
    """Returns where folders are created:
    not in ``/tmp``, because sandboxed commands have their own and would not see the whole copy.
    """
    default = tempfile.gettempdir()
    return _ALTERNATIVE if default == "/tmp" and os.access(_ALTERNATIVE, os.W_OK | os.X_OK) else default  # noqa: S108 - only compared


class TempFolder:
    """A private temporary folder, locked while in use.

    The lock ends with the process, so an unlocked folder is a leftover; creating a folder removes leftovers.
    """

    def __init__(self) -> None:
        remove_leftovers()
        hidden = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=parent_folder())).resolve()
        self._lock = os.open(hidden, _OPEN_FOLDER)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = hidden.rename(
            hidden.with_name(hidden.name.removeprefix("."))
        )  # visible to others only once it is locked
        self._open = True

    def close(self) -> None:
        """Removes the folder.  May be called again."""
        if self._open:
            self._open = False
            _remove(self.path)
            os.close(self._lock)


def remove_leftovers() -> None:
    """Removes the folders of processes that have ended."""
    for path in _folders():
        with suppress(OSError):  # already removed, or in use
            lock = os.open(path, _OPEN_FOLDER)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(lock)


def _folders() -> Iterator[Path]:
    """Yields this user's temporary folders."""
    with suppress(OSError), os.scandir(parent_folder()) as entries:
        for entry in entries:
            if (
                entry.name.startswith(PREFIX)
                and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_uid == os.getuid()
            ):
                yield Path(entry.path)


def _remove(path: Path) -> None:
    """Removes a tree, including read-only entries."""
    shutil.rmtree(path, onerror=_retry_writable)


def _retry_writable(function: Callable[..., Any], path: str, _: object) -> None:
    with suppress(OSError):
        Path(path).parent.chmod(0o700)
        (
            Path(path).chmod(0o700, follow_symlinks=False)
            if Path(path).is_dir() and not Path(path).is_symlink()
            else None
        )
        function(path) if function in (os.unlink, os.rmdir) else shutil.rmtree(path, ignore_errors=True)
