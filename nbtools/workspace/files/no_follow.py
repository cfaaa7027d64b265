"""Opens and changes real paths without following symbolic links on any level.

``Workspace.resolve`` returns paths without links.  If a component has become a link since, nothing is opened.
Linux (``openat2``) and macOS (``O_NOFOLLOW_ANY``) check this in one step; elsewhere, and in containers that
forbid it, the path is walked folder by folder.  Changes of names in a folder go through an open descriptor of
that folder, so that they happen there even if its path changes.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.paths import printable_path

PathLike: TypeAlias = str | os.PathLike[str]
_Open: TypeAlias = Callable[[str, int, int, int | None], int]

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""For intermediate folders: needs no permission to list."""
_LISTED = os.O_DIRECTORY | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENAT2 = 437
"""The system call number, the same on every architecture but Alpha."""
_AT_FDCWD = -100
_NO_LINKS = 0x02 | 0x04
"""RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS."""
_NOFOLLOW_ANY = 0x20000000
"""macOS 11."""


def open_no_links(path: PathLike, flags: int, mode: int = 0, dir_fd: int | None = None) -> int:
    """Opens as ``os.open``. Raises ``ToolFailure`` (``path_not_in_workspace``) if any component is a link.

    The descriptor is not inherited by subprocesses.
    """
    name = os.fspath(path)
    try:
        return opener()(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise became_link_failure(name) from None
        raise


def became_link_failure(path: str) -> ToolFailure:
    """Returns the failure for a path that became a link after it was resolved."""
    reason = "became a link after it was checked, or a folder above it did. Nothing was done. Call again."
    return ToolFailure(ErrorCode.PATH_NOT_IN_WORKSPACE, f"{printable_path(path)} {reason}")


@contextlib.contextmanager
def open_folder(path: PathLike) -> Iterator[int]:
    """Yields a descriptor of a folder for ``dir_fd``; later changes of its path have no effect on it."""
    descriptor = open_no_links(path, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def scan_folder(path: PathLike) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Lists a folder as ``os.scandir`` does; its entries have no paths, and are valid within the block."""
    descriptor = open_no_links(path, _LISTED)
    try:
        with os.scandir(descriptor) as entries:
            yield entries
    finally:
        os.close(descriptor)


def status(path: PathLike) -> os.stat_result:
    """Returns the status of ``path``, not of a link's target. Raises as ``open_no_links`` does."""
    parent, name = os.path.split(os.fspath(path))
    with open_folder(parent or os.curdir) as descriptor:
        return os.stat(name or os.curdir, dir_fd=descriptor, follow_symlinks=False)


def status_or_none(path: PathLike) -> os.stat_result | None:
    """Returns ``status``, or None if nothing is at ``path``."""
    try:
        return status(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def rename(path: PathLike, to: PathLike) -> None:
    """Renames as ``os.replace`` does."""
    parent, name = os.path.split(os.fspath(path))
    to_parent, to_name = os.path.split(os.fspath(to))
    with open_folder(parent) as source, open_folder(to_parent) as target:
        os.replace(name, to_name, src_dir_fd=source, dst_dir_fd=target)


def unlink(path: PathLike, *, missing_ok: bool = False) -> None:
    """Deletes a file or link."""
    parent, name = os.path.split(os.fspath(path))
    with contextlib.suppress(*([FileNotFoundError] if missing_ok else [])), open_folder(parent) as descriptor:
        os.unlink(name, dir_fd=descriptor)


@functools.cache
def opener() -> _Open:
    """Returns the fastest function here that opens a path, or raises ``ELOOP`` at the first link."""
    quick = _openat2_opener if sys.platform == "linux" else _nofollow_any_opener
    return quick() or open_walking


def open_walking(path: str, flags: int, mode: int = 0, dir_fd: int | None = None) -> int:
    """Opens a path folder by folder, each relative to the one before."""
    *folders, name = [part for part in path.split(os.sep) if part not in ("", os.curdir)] or [os.curdir]
    current = os.open(os.sep if path.startswith(os.sep) else os.curdir, _FOLDER, dir_fd=dir_fd)
    part = name
    try:
        for part in folders:
            step = os.open(part, _FOLDER, dir_fd=current)
            os.close(current)
            current = step
        part = name
        return os.open(name, flags, mode, dir_fd=current)
    except OSError as error:
        code = errno.ELOOP if error.errno != errno.EEXIST and _is_link(part, current) else error.errno
        raise OSError(code, os.strerror(code or 0), path) from None
    finally:
        os.close(current)


def _is_link(name: str, dir_fd: int) -> bool:
    """Whether ``name`` is a link; systems differ in the error for a link in place of a folder."""
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    return False


def _openat2_opener() -> _Open | None:
    """Returns an opener by ``openat2``; None before Linux 5.6, or if a container's filter blocks it."""
    import ctypes  # noqa: PLC0415 - takes 10 ms; needed only for opening files

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    call.restype = ctypes.c_long

    def open_(path: str, flags: int, mode: int = 0, dir_fd: int | None = None) -> int:
        raw = os.fsencode(path)
        how = _how(flags & ~os.O_NOFOLLOW, mode if flags & os.O_CREAT else 0)  # O_NOFOLLOW would hide ELOOP
        while True:
            descriptor: int = call(_OPENAT2, _AT_FDCWD if dir_fd is None else dir_fd, raw, how, len(how))
            if descriptor >= 0:
                return descriptor
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code), path)

    try:
        os.close(open_(os.sep, _FOLDER))
    except OSError:
        return None
    return open_


@functools.lru_cache(maxsize=64)
def _how(flags: int, mode: int) -> bytes:
    return struct.pack("=QQQ", flags, mode, _NO_LINKS)


def _open_nofollow_any(path: str, flags: int, mode: int = 0, dir_fd: int | None = None) -> int:
    return os.open(path, (flags & ~os.O_NOFOLLOW) | _NOFOLLOW_ANY, mode, dir_fd=dir_fd)


def _nofollow_any_opener() -> _Open | None:
    """Returns the opener for macOS; None elsewhere, and on versions that ignore the flag.

    The test relies on ``/var``, which is a link on every Mac.
    """
    if sys.platform == "darwin":
        try:
            os.close(os.open("/var/tmp", os.O_RDONLY | os.O_CLOEXEC | _NOFOLLOW_ANY))  # noqa: S108 - nothing is put there
        except OSError as error:
            return _open_nofollow_any if error.errno == errno.ELOOP else None
    return None


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of an open folder: the descriptor ``folder`` and a ``name``, at which no link is followed.

    Methods raise ``OSError``.
    """

    folder: int
    name: str

    def status(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def status_or_none(self) -> os.stat_result | None:
        """Returns the status, or None if nothing is there."""
        try:
            return self.status()
        except FileNotFoundError:
            return None

    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status().st_mode)

    def open(self, flags: int, mode: int = 0) -> int:
        return os.open(self.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.folder)

    def link(self, to: FolderEntry) -> None:
        """Creates a hard link ``to`` to the same file or link."""
        os.link(self.name, to.name, src_dir_fd=self.folder, dst_dir_fd=to.folder, follow_symlinks=False)

    def rename(self, to: FolderEntry) -> None:
        """Renames the entry; a file at ``to`` is replaced."""
        os.replace(self.name, to.name, src_dir_fd=self.folder, dst_dir_fd=to.folder)

    def unlink(self, *, missing_ok: bool = False) -> None:
        with contextlib.suppress(*([FileNotFoundError] if missing_ok else [])):
            os.unlink(self.name, dir_fd=self.folder)

    def sync(self) -> None:
        """Syncs the folder's names; some network file systems do not support this."""
        with contextlib.suppress(OSError):
            descriptor = os.open(os.curdir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
