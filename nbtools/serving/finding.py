"""Where the notebooks that serve a workspace are found: a small file each, in the folder that the workspace has in the state folder."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from nbtools.workspace.state import private_folder, state_folder, state_path, workspace_key

_LONGEST_SOCKET = 100
"""Bytes of a path that every system lets a socket have (Linux: 107, macOS: 103)."""


class Beacon(msgspec.Struct, frozen=True):
    """A notebook that serves.  ``since`` is in nanoseconds since the epoch."""

    notebook: str
    socket: str
    pid: int
    since: int


def folder_of(root: Path) -> Path:
    """Where the beacons of the workspace at ``root``, a real path, are, or would be."""
    return state_path() / workspace_key(root) / "serving"


def announce(root: Path, notebook: str) -> Beacon:
    """A place for a socket of this process's.  ``publish`` it once somebody listens there.  Raises ``OSError``."""
    state_folder()
    folder = private_folder(folder_of(root))
    _must_be_private(folder)
    path = folder / f"{os.getpid()}.sock"
    if len(os.fsencode(path)) > _LONGEST_SOCKET:  # a folder of our own instead, which only this user can look into
        path = Path(tempfile.mkdtemp(prefix="nbtools-", dir="/tmp")) / "serve.sock"
    path.unlink(missing_ok=True)
    return Beacon(notebook, str(path), os.getpid(), time.time_ns())


def publish(root: Path, beacon: Beacon) -> None:
    """Lets servers find it, and nobody else connect.  Raises ``OSError``."""
    Path(beacon.socket).chmod(0o600)
    path = _file(root, beacon)
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(beacon))
    part.replace(path)


def withdraw(root: Path, beacon: Beacon) -> None:
    """Takes it away, with its socket; one that is gone already is fine."""
    sock = Path(beacon.socket)
    for path in (_file(root, beacon), sock):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    if sock.parent.parent == Path("/tmp") and sock.parent.name.startswith("nbtools-"):  # noqa: S108 - made by announce
        shutil.rmtree(sock.parent, ignore_errors=True)


def beacons(root: Path) -> list[Beacon]:
    """Those that are announced, the one that served last first.  What cannot be read, or may be somebody else's, is left out."""
    folder = folder_of(root)
    try:
        _must_be_private(folder)
        files = [path for path in folder.iterdir() if path.suffix == ".json"]
    except OSError:
        return []
    found = filter(None, map(_read, files))
    return sorted(found, key=lambda beacon: beacon.since, reverse=True)


def _file(root: Path, beacon: Beacon) -> Path:
    return folder_of(root) / f"{beacon.pid}.json"


def _read(path: Path) -> Beacon | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Beacon)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None


def _must_be_private(folder: Path) -> None:
    """Raises ``OSError`` for a folder that is another user's, or that others can look into and that cannot be closed to them."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{folder} is no folder of this user's")
    if status.st_mode & 0o077:
        folder.chmod(0o700)
