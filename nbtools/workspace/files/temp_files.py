"""Names temporary files beside the files that a change works on, and cleans up after interrupted changes.

Each name contains the process that created it, so that others can tell whether it still runs.
A file that is the only copy of its content is never deleted.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

from nbtools.core.errors import ToolFailure
from nbtools.workspace.files.no_follow import open_folder, open_no_links

_NAME = re.compile(
    r"\.nbtools-(?P<here>[0-9a-f]{8})-(?P<pid>\d+)-(?P<start>\d+)-[0-9a-f]{8}(?:-(?P<of>.+))?\.(?P<what>[a-z]+)",
    re.DOTALL,
)
_PREFIX = ".nbtools-"
_MAX_NAME_BYTES = 200
"""The longest file name, in bytes, that fits into a temporary name."""
_ABANDONED_AFTER = 3600.0
"""Seconds after which a name from another machine, container or boot counts as abandoned."""
_BEFORE = "before"
_UNKNOWN = "0"


def hidden_name(what: str, of: str = "") -> str:
    """Returns an unused hidden name.

    ``what`` is ``tmp``, ``copy`` or ``link`` for something new,
    ``before`` for the previous content of the file ``of``.
    """
    tail = f"-{of}" if of and len(os.fsencode(of)) <= _MAX_NAME_BYTES else ""
    return f"{_prefix(os.getpid())}-{secrets.token_hex(4)}{tail}.{what}"


def sweep(path: Path, is_stored: Callable[[bytes], bool] = lambda _: False) -> tuple[Path, ...]:
    """Cleans up after interrupted changes in a folder. Returns files that are the only copy of a content.

    ``is_stored`` tells whether a content is stored elsewhere; a content that is not gets its file's name back
    if that is free.  What cannot be read or removed remains, too.
    """
    with contextlib.suppress(OSError, ToolFailure), open_folder(path) as there:
        left = [
            named.group()
            for named in _temporary_names(there)
            if _is_abandoned(named, there) and not _clear(named, there, is_stored)
        ]
        return tuple(path / name for name in left if os.path.lexists(path / name))
    return ()


def unshared(there: int, info: os.stat_result) -> bool:
    """Deletes abandoned temporary hard links of the file ``info`` in ``there``; returns whether it did."""
    removed = False
    for named in _temporary_names(there):
        with contextlib.suppress(OSError):
            same = os.path.samestat(os.stat(named.group(), dir_fd=there, follow_symlinks=False), info)
            if same and _is_abandoned(named, there):
                os.unlink(named.group(), dir_fd=there)
                removed = True
    return removed


def _temporary_names(there: int) -> list[re.Match[str]]:
    """Returns the temporary names in a folder; none if it cannot be listed."""
    try:
        descriptor = os.open(os.curdir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=there)
    except OSError:
        return []
    try:
        return [
            named
            for name in os.listdir(descriptor)
            if name.startswith(_PREFIX) and (named := _NAME.fullmatch(name))
        ]
    finally:
        os.close(descriptor)


def _clear(named: re.Match[str], there: int, is_stored: Callable[[bytes], bool]) -> bool:
    """Deletes a temporary file or restores its name; returns whether it is gone."""
    name = named.group()
    try:
        info = os.stat(name, dir_fd=there, follow_symlinks=False)
        alone = named["what"] == _BEFORE and stat.S_ISREG(info.st_mode) and info.st_nlink == 1
        if alone and not is_stored(_content(name, there)):
            return bool(named["of"]) and _restore_name(name, named["of"], there)
        os.unlink(name, dir_fd=there)
    except (OSError, ToolFailure):
        return False
    return True


def _restore_name(name: str, original: str, there: int) -> bool:
    """Gives a file its name back; returns False if that name is taken."""
    try:
        os.link(name, original, src_dir_fd=there, dst_dir_fd=there, follow_symlinks=False)
    except OSError:
        return False
    os.unlink(name, dir_fd=there)
    return True


def _content(name: str, there: int) -> bytes:
    with open(open_no_links(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=there), "rb") as file:
        return file.read()


def _is_abandoned(named: re.Match[str], there: int) -> bool:
    if named["here"] == _machine_id():
        started = _start_time(int(named["pid"]))
        return not started or (_UNKNOWN not in (started, named["start"]) and started != named["start"])
    with contextlib.suppress(OSError):
        return (
            time.time() - os.stat(named.group(), dir_fd=there, follow_symlinks=False).st_ctime
            > _ABANDONED_AFTER
        )
    return False


@functools.lru_cache(maxsize=1)
def _prefix(pid: int) -> str:
    """Returns the prefix of this process's names; ``pid`` is a parameter so that a fork gets its own."""
    return f"{_PREFIX}{_machine_id()}-{pid}-{_start_time(pid)}"


@functools.cache
def _machine_id() -> str:
    """Returns an id of the machine's boot and the container: within it, process ids are comparable."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _start_time(pid: int) -> str:
    """Returns a process's start in clock ticks; ``_UNKNOWN`` if not known; empty if it has ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        # Without /proc, which may be missing or hide other users' processes.
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
        except OSError:
            return _UNKNOWN
        return _UNKNOWN
    state, *fields = status[status.rindex(b")") + 2 :].split()
    return "" if state in (b"Z", b"X") else fields[18].decode()
