"""Whose process is at the other end of a unix socket."""

from __future__ import annotations

import os
import socket
import struct

_LOCAL_PEERCRED = 1
"""macOS and the BSDs, level 0: a version and the user's id come first in what it returns."""


def is_ours(connection: socket.socket) -> bool:
    """Whether a process of this user is there; the kernel says so, not the process."""
    return _user_at(connection) == os.getuid()


def _user_at(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    raw = connection.getsockopt(0, _LOCAL_PEERCRED, 76)
    return int(struct.unpack_from("=II", raw)[1])
