"""Ports for servers that must be told one."""

from __future__ import annotations

import random
import socket

PORTS = range(12_000, 32_000)
"""Below those that systems give to whoever asks for any:
a kernel or a connection would take a free one before its server does.
"""


def free_port() -> int:
    """Returns a port of this machine at which nobody listens."""
    with socket.socket() as listener:
        for port in random.SystemRandom().sample(PORTS, 100):
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("a hundred ports are in use")
