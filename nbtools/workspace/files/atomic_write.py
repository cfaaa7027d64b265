"""Atomic file writes that keep the file's mode, owner and links, and detect concurrent changes."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.storage.folder_lock import folder_lock
from nbtools.workspace.files.no_follow import FolderEntry, became_link_failure, open_folder
from nbtools.workspace.files.read import check_regular, open_reader
from nbtools.workspace.files.temp_files import hidden_name, unshared

_Exchange: TypeAlias = Callable[[int, bytes, int, bytes, int], int]

_RENAME_EXCHANGE = 2
"""RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS."""


def exchange_names(name: str, other: str, there: int) -> bool:
    """Swaps two names in the folder ``there`` in one step; returns whether it succeeded.

    It fails if the system or the file system does not support it, or one of the names is gone.
    """
    function = _function()
    return (
        function is not None
        and function(there, os.fsencode(name), there, os.fsencode(other), _RENAME_EXCHANGE) == 0
    )


@functools.cache
def _function() -> _Exchange | None:
    import ctypes  # noqa: PLC0415 - takes 10 ms; needed only for writes

    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    function = getattr(ctypes.CDLL(None), name, None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    typed: _Exchange = function
    return typed


_MUST_STAY = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV})
"""Only a write in place is possible: no new file or owner is allowed there, or it is a mount point."""
_PIECE = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def make_folders(path: Path, subject: str) -> tuple[Path, ...]:
    """Creates the missing folders above ``path`` and returns them, outermost first.

    Raises ``ToolFailure`` after removing those that it created.
    """
    created: list[Path] = []
    try:
        for new in missing_folders(path):
            with open_folder(new.parent) as there:
                created += [new] if _made(new.name, there) else []
    except OSError as error:
        remove_folders(created)
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None
    except ToolFailure:
        remove_folders(created)
        raise
    return tuple(created)


def missing_folders(path: Path) -> tuple[Path, ...]:
    """Returns the folders above ``path`` that do not exist, outermost first."""
    missing = []
    for parent in path.parents:
        if os.path.lexists(parent):
            break
        missing.append(parent)
    return tuple(reversed(missing))


def _made(name: str, there: int) -> bool:
    """Creates the folder ``name``; returns False if somebody else created it first."""
    try:
        os.mkdir(name, dir_fd=there)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=there, follow_symlinks=False).st_mode):
            raise
        return False
    return True


def remove_folders(made: list[Path] | tuple[Path, ...]) -> None:
    """Removes the folders that ``make_folders`` created, as far as they are still empty."""
    for path in reversed(made):
        with contextlib.suppress(OSError, ToolFailure), open_folder(path.parent) as there:
            os.rmdir(path.name, dir_fd=there)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write.

    ``keep``: a hidden name beside the file for the old file itself, to be renamed back.  It does not exist if
    the file had to be written in place, or if the file system has no hard links.  ``sync``: whether the
    change survives a power cut at once; if not, the caller syncs.  ``mode``: the mode of a new file from the
    first moment; None: the default.  ``store``: a path in any folder for the old file itself or a copy of it,
    which is on the disk before anything is changed.
    """

    keep: Path | None = None
    sync: bool = True
    mode: int | None = None
    store: Path | None = None


_ALONE = WriteOptions()


def replace_content(
    path: Path, data: bytes, expected: bytes | None, subject: str, manner: WriteOptions = _ALONE
) -> None:
    """Makes ``data`` the content of ``path``, which must still hold ``expected`` (None: must not exist).

    ``path`` comes from ``Workspace.resolve``: if it has become a link since, nothing is done.  Mode, owner
    and extended attributes stay; a file with several hard links keeps them.  Raises ``ToolFailure``:
    ``conflict`` if the content has changed, ``permission_denied``, ``no_space_left``, …; the file is then as
    it was.
    """
    try:
        with open_folder(path.parent) as there:
            place = _Place(there, path.name, subject)
            if expected is None:
                _create(place, data, manner)
            else:
                _overwrite(place, data, expected, manner)
    except OSError as error:
        if expected is not None and isinstance(error, FileNotFoundError):
            raise conflict_failure(subject, "was deleted") from None
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None


@dataclass(frozen=True, slots=True)
class _Place(FolderEntry):
    """An entry of an open folder; ``subject`` names it in messages."""

    subject: str


def _create(place: _Place, data: bytes, manner: WriteOptions) -> None:
    with _Temporary(place.folder, 0o666 if manner.mode is None else 0o600) as new:
        new.set_mode(manner.mode)
        new.fill(data, sync=manner.sync)
        try:
            new.place.link(place)
        except FileExistsError:
            raise conflict_failure(place.subject, "was created by another program") from None
        except OSError:
            # Without hard links, a small race between the check and the rename remains.
            if place.status_or_none() is not None:
                raise conflict_failure(place.subject, "was created by another program") from None
            new.take(place)
    if manner.sync:
        place.sync()


def _overwrite(place: _Place, data: bytes, expected: bytes, manner: WriteOptions) -> None:
    info = place.status_or_none()
    if info is None:
        raise conflict_failure(place.subject, "was deleted")
    if stat.S_ISLNK(info.st_mode):
        raise became_link_failure(place.subject)
    check_regular(info, place.subject)
    if not os.access(
        place.name, os.W_OK, dir_fd=place.folder, effective_ids=os.access in os.supports_effective_ids
    ):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place.name)
    if info.st_nlink > 1 and not (info.st_nlink == 2 and unshared(place.folder, info)):
        _write_in_place(place, data, expected, manner.store)
        return
    try:
        _swap(place, data, expected, info, manner)
    except OSError as error:
        if error.errno not in _MUST_STAY:
            raise
        _write_in_place(place, data, expected, manner.store)


def _swap(place: _Place, data: bytes, expected: bytes, info: os.stat_result, manner: WriteOptions) -> None:
    with _Temporary(place.folder, 0o600) as new:
        new.fill(data, sync=manner.sync)
        new.copy_metadata(place, info)
        # Locked only once everything is written: other sessions wait for the check and the exchange alone.
        with folder_lock(place.folder):
            _check_content(place, expected)
            _take_place(new, place, expected, manner)
    if manner.sync:
        place.sync()


def _take_place(new: _Temporary, place: _Place, expected: bytes, manner: WriteOptions) -> None:
    with ExitStack() as on_failure:  # a second name left behind would force later writes to happen in place
        if manner.keep is not None:
            backup = FolderEntry(place.folder, manner.keep.name)
            with contextlib.suppress(OSError):
                place.link(backup)
            on_failure.callback(backup.unlink, missing_ok=True)
        if manner.store is not None:
            on_failure.callback(manner.store.unlink, missing_ok=True)
            _store(place, manner.store, expected)
        if exchange_names(new.place.name, place.name, place.folder):
            _check_taken(new, place, expected)
        else:
            new.take(place)
        on_failure.pop_all()


def _store(place: _Place, store: Path, expected: bytes) -> None:
    """Hard-links the file to ``store`` and syncs it: another program may just have written to it."""
    try:
        os.link(place.name, store, src_dir_fd=place.folder, follow_symlinks=False)
    except OSError:
        write_durable(store, expected)
    else:
        sync_file(store)


def write_durable(path: Path, data: bytes) -> None:
    """Writes a new file, private to this user, and syncs it to the disk.

    Raises ``OSError``; the file does not exist then.
    """
    descriptor = os.open(path, _CREATE | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _write_all(descriptor, data)
        os.fsync(descriptor)
    except BaseException:
        path.unlink()
        raise
    finally:
        os.close(descriptor)
    sync_file(path.parent)


def sync_file(path: Path) -> None:
    """Syncs a file's content, or a folder's names, to the disk."""
    descriptor = os.open(path, _READ | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_taken(new: _Temporary, place: _Place, expected: bytes) -> None:
    """Restores what another program, without locks, saved between the check and the exchange."""
    try:
        _check_content(_Place(place.folder, new.place.name, place.subject), expected)
    except ToolFailure:
        exchange_names(new.place.name, place.name, place.folder)
        raise


def _write_in_place(place: _Place, data: bytes, expected: bytes, store: Path | None) -> None:
    """Writes a file that must stay the same inode; a write that fails half way restores the old bytes."""
    with folder_lock(place.folder):
        _check_content(place, expected)
        if store is not None:
            write_durable(store, expected)
        descriptor = place.open(os.O_WRONLY)
        with ExitStack() as on_exit:
            on_exit.callback(os.close, descriptor)
            with ExitStack() as on_failure:
                on_failure.callback(_rewrite, descriptor, expected)
                _rewrite(descriptor, data)
                on_failure.pop_all()


def _rewrite(descriptor: int, data: bytes) -> None:
    """Truncates only after everything is written: until then the old bytes keep their space on the disk."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class _Temporary:
    """A new file in the folder of the one to replace; deleted at the end unless it replaced it."""

    def __init__(self, there: int, mode: int) -> None:
        self.place = FolderEntry(there, hidden_name("tmp"))
        self._descriptor = self.place.open(_CREATE, mode)
        self._taken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        if not self._taken:
            self.place.unlink(missing_ok=True)

    def fill(self, data: bytes, *, sync: bool) -> None:
        _write_all(self._descriptor, data)
        if sync:
            os.fsync(self._descriptor)

    def set_mode(self, mode: int | None) -> None:
        if mode is not None:
            os.fchmod(self._descriptor, mode)

    def take(self, place: _Place) -> None:
        """Renames the temporary file to ``place``."""
        self.place.rename(place)
        self._taken = True

    def copy_metadata(self, place: _Place, info: os.stat_result) -> None:
        """Copies owner, extended attributes, mode. Raises ``PermissionError`` if the owner cannot be set."""
        own = os.fstat(self._descriptor)
        if (own.st_uid, own.st_gid) != (info.st_uid, info.st_gid):
            os.fchown(self._descriptor, info.st_uid, info.st_gid)
        with contextlib.suppress(OSError), open_reader(place.open(_READ), place.subject) as old:
            copy_attributes(old.fileno(), self._descriptor)
        os.fchmod(self._descriptor, stat.S_IMODE(info.st_mode))


def copy_attributes(old: int, new: int) -> None:
    """Copies the extended attributes, with access lists, of an open file or folder, as far as possible."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(old):
                with contextlib.suppress(OSError):
                    os.setxattr(new, name, os.getxattr(old, name))


def _check_content(place: _Place, expected: bytes) -> None:
    """Raises ``conflict`` if the file does not hold ``expected``."""
    # Piece by piece: the content of a large file is in memory often enough.
    try:
        descriptor = place.open(_READ)
    except FileNotFoundError:
        raise conflict_failure(place.subject, "was deleted") from None
    position = 0
    with open_reader(descriptor, place.subject) as file:
        while piece := file.read(_PIECE):
            if piece != expected[position : position + len(piece)]:
                raise conflict_failure(place.subject, "was changed")
            position += len(piece)
    if position != len(expected):
        raise conflict_failure(place.subject, "was changed")


def conflict_failure(subject: str, what: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.CONFLICT,
        f"{subject} {what} in the meantime. Nothing was overwritten. Read it and call again.",
    )
