"""Appends to a file of lines, of which several processes may be writers."""

from __future__ import annotations

import os
from pathlib import Path


def append_lines(path: Path, lines: bytes) -> None:
    """Appends complete lines in one write; they are on the disk when this returns. Raises ``OSError``.

    A line that an earlier writer left incomplete is ended first, so that only that line is lost.
    """
    created = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = b"\n" * torn + lines
        if os.write(descriptor, data) < len(data):
            raise OSError("the disk is full")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if created:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
