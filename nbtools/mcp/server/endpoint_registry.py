"""Registry of the notebooks that serve a workspace: one small file each, in the workspace's state folder."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from nbtools.core.decoders import decoder_of
from nbtools.storage.state_folder import private_folder, state_folder, state_path, workspace_key

_LONGEST_SOCKET = 100
"""Maximum length of a socket's path in bytes on every system (Linux: 107, macOS: 103)."""


class EndpointEntry(msgspec.Struct, frozen=True):
    """The registry entry of one notebook.
    ``since`` is when it began to serve, in nanoseconds since the epoch.
    """

    notebook: str
    socket: str
    pid: int
    since: int


def entries_folder(root: Path) -> Path:
    """Returns the folder of a workspace's entries, which may not exist.  ``root`` must be a resolved path."""
    return state_path() / workspace_key(root) / "serving"


def new_entry(root: Path, notebook: str) -> EndpointEntry:
    """Chooses a socket path for this process; publish the entry once something listens there.
    Raises ``OSError``.
    """
    state_folder()
    folder = private_folder(entries_folder(root))
    _ensure_private(folder)
    path = folder / f"{os.getpid()}.sock"
    if len(os.fsencode(path)) > _LONGEST_SOCKET:  # use a private temporary folder instead
        path = Path(tempfile.mkdtemp(prefix="nbtools-", dir="/tmp")) / "serve.sock"
    path.unlink(missing_ok=True)
    return EndpointEntry(notebook, str(path), os.getpid(), time.time_ns())


def publish_entry(root: Path, entry: EndpointEntry) -> None:
    """Writes the entry and restricts the socket to this user.  Raises ``OSError``."""
    Path(entry.socket).chmod(0o600)
    path = _file(root, entry)
    temporary = path.with_suffix(".part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(entry))
    temporary.replace(path)


def remove_entry(root: Path, entry: EndpointEntry) -> None:
    """Removes the entry and its socket; either may already be gone."""
    sock = Path(entry.socket)
    for path in (_file(root, entry), sock):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    if sock.parent.parent == Path("/tmp") and sock.parent.name.startswith("nbtools-"):  # noqa: S108 - made by new_entry
        shutil.rmtree(sock.parent, ignore_errors=True)


def endpoint_entries(root: Path) -> list[EndpointEntry]:
    """Returns the published entries, the latest first.
    Unreadable ones and folders of other users are skipped.
    """
    folder = entries_folder(root)
    try:
        _ensure_private(folder)
        files = [path for path in folder.iterdir() if path.suffix == ".json"]
    except OSError:
        return []
    found = filter(None, map(_read, files))
    return sorted(found, key=lambda entry: entry.since, reverse=True)


def _file(root: Path, entry: EndpointEntry) -> Path:
    return entries_folder(root) / f"{entry.pid}.json"


def _read(path: Path) -> EndpointEntry | None:
    try:
        return decoder_of(EndpointEntry).decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return None


def _ensure_private(folder: Path) -> None:
    """Makes the folder private.  Raises ``OSError`` if it belongs to another user or its mode cannot be
    changed.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{folder} is not a folder owned by this user")
    if status.st_mode & 0o077:
        folder.chmod(0o700)
