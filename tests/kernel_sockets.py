"""Kernels that listen on sockets of files instead of ports.

A kernel binds the five ports that were free when its launcher looked, a second or more before.  Where several
programs start kernels at the same time, one of some 240 finds a port taken, and dies.  A file's name is
nobody else's.  Importing this module is enough, also as a plugin of pytest in a process that starts kernels
of its own: ``-p tests.kernel_sockets``.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from collections.abc import Iterator

from jupyter_client.connect import ConnectionFileMixin

FOLDER = tempfile.mkdtemp(prefix="k-")
"""Has a short path: that of a socket has at most 107 characters."""


def socket_path(_: ConnectionFileMixin) -> str:
    """The beginning of the paths of a kernel's sockets."""
    return f"{FOLDER}/{uuid.uuid4().hex[:12]}"


def classes(base: type) -> Iterator[type]:
    """The class and those that inherit from it so far."""
    yield base
    for one in base.__subclasses__():
        yield from classes(one)


ConnectionFileMixin.transport.default_value = "ipc"
ConnectionFileMixin._ip_default = socket_path  # type: ignore[method-assign, assignment]
for known in classes(ConnectionFileMixin):
    known._all_trait_default_generators["ip"] = socket_path  # type: ignore[attr-defined]
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
