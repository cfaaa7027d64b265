"""File stamps: detect whether a file has changed without reading it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file's path, ``size`` in bytes, modification time in nanoseconds and inode number."""

    path: str
    size: int
    mtime_ns: int
    inode: int


def stamp(path: str) -> Stamp | None:
    """Returns the stamp of the file at an absolute path; None for anything but a regular file."""
    # Folders have none: their own status does not change with their contents.
    try:
        info = os.stat(path, follow_symlinks=False) if os.path.isabs(path) else None
    except OSError:
        return None
    if info is not None and stat.S_ISREG(info.st_mode):
        return Stamp(path, info.st_size, info.st_mtime_ns, info.st_ino)
    return None
