"""Writing a file so that it holds the old or the new content, never half of one, and stays the file it was: mode, owner, links."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.workspace.exchanging import exchange
from nbtools.workspace.files import check_regular, reader
from nbtools.workspace.folder_lock import folder_lock
from nbtools.workspace.leftovers import hidden_name, unshared
from nbtools.workspace.nofollow import became_a_link, folder
from nbtools.workspace.place import Place

_MUST_STAY = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV})
"""The folder takes no new file, the owner cannot be kept, or the file is mounted there: it can only be written in place."""
_PIECE = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def make_folders(path: Path, subject: str) -> tuple[Path, ...]:
    """Makes the folders that ``path`` needs above it; those made, outermost first.  Raises ``ToolFailure`` and takes back what it made."""
    missing = []
    for above in path.parents:
        if os.path.lexists(above):
            break
        missing.append(above)
    made: list[Path] = []
    try:
        for new in reversed(missing):
            with folder(new.parent) as there:
                made += [new] if _made(new.name, there) else []
    except OSError as error:
        remove_folders(made)
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None
    except ToolFailure:
        remove_folders(made)
        raise
    return tuple(made)


def _made(name: str, there: int) -> bool:
    """False where somebody else was quicker."""
    try:
        os.mkdir(name, dir_fd=there)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=there, follow_symlinks=False).st_mode):
            raise
        return False
    return True


def remove_folders(made: list[Path] | tuple[Path, ...]) -> None:
    """Takes back what ``make_folders`` made, as far as it is still empty."""
    for new in reversed(made):
        with contextlib.suppress(OSError, ToolFailure), folder(new.parent) as there:
            os.rmdir(new.name, dir_fd=there)


@dataclass(frozen=True, slots=True)
class Manner:
    """``keep``: a name for the old file itself, to be renamed back; nothing is there where the file had to be written in place, or the
    file system knows no second names.  ``sync``: whether it lasts when the power fails now; without, the caller sees to that.  ``mode``: a
    new file's, which it has from the first moment; None: as new files are.  ``store``: a name in any folder for the old file itself, or a
    copy of it; it is on the disk before anything is changed.
    """

    keep: Path | None = None
    sync: bool = True
    mode: int | None = None
    store: Path | None = None


_ALONE = Manner()


def replace(path: Path, data: bytes, expected: bytes | None, subject: str, manner: Manner = _ALONE) -> None:
    """Makes ``data`` the content of ``path``, which must still hold ``expected`` (None: not exist).

    ``path`` comes from ``Workspace.resolve``: where it has become a link since, nothing is done.  Mode, owner and extended attributes stay;
    a file with several names keeps them.  Raises ``ToolFailure``: ``conflict`` when the content is another by now, ``permission_denied``,
    ``no_space_left``, …; the file is then as it was.
    """
    try:
        with folder(path.parent) as there:
            place = _Place(there, path.name, subject)
            if expected is None:
                _create(place, data, manner)
            else:
                _overwrite(place, data, expected, manner)
    except OSError as error:
        if expected is not None and isinstance(error, FileNotFoundError):
            raise conflict(subject, "was deleted") from None
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None


@dataclass(frozen=True, slots=True)
class _Place(Place):
    """``subject`` names it in messages."""

    subject: str


def _create(place: _Place, data: bytes, manner: Manner) -> None:
    with _Temporary(place.folder, 0o666 if manner.mode is None else 0o600) as new:
        new.get_mode(manner.mode)
        new.fill(data, sync=manner.sync)
        try:
            new.place.link(place)
        except FileExistsError:
            raise conflict(place.subject, "was created by someone else") from None
        except OSError:
            # A file system without hard links: a small gap between look and leap, instead of none.
            if place.info() is not None:
                raise conflict(place.subject, "was created by someone else") from None
            new.take(place)
    if manner.sync:
        place.sync()


def _overwrite(place: _Place, data: bytes, expected: bytes, manner: Manner) -> None:
    info = place.info()
    if info is None:
        raise conflict(place.subject, "was deleted")
    if stat.S_ISLNK(info.st_mode):
        raise became_a_link(place.subject)
    check_regular(info, place.subject)
    if not os.access(place.name, os.W_OK, dir_fd=place.folder, effective_ids=os.access in os.supports_effective_ids):
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


def _swap(place: _Place, data: bytes, expected: bytes, info: os.stat_result, manner: Manner) -> None:
    with _Temporary(place.folder, 0o600) as new:
        new.fill(data, sync=manner.sync)
        new.resemble(place, info)
        with folder_lock(place.folder):
            _demand(place, expected)
            _take_place(new, place, expected, manner)
    if manner.sync:
        place.sync()


def _take_place(new: _Temporary, place: _Place, expected: bytes, manner: Manner) -> None:
    with ExitStack() as unless_fine:  # a second name would be written in place with the first
        if manner.keep is not None:
            kept = Place(place.folder, manner.keep.name)
            with contextlib.suppress(OSError):
                place.link(kept)
            unless_fine.callback(kept.unlink, missing_ok=True)
        if manner.store is not None:
            unless_fine.callback(manner.store.unlink, missing_ok=True)
            _store(place, manner.store, expected)
        if exchange(new.place.name, place.name, place.folder):
            _check_taken(new, place, expected)
        else:
            new.take(place)
        unless_fine.pop_all()


def _store(place: _Place, store: Path, expected: bytes) -> None:
    """Gives the file a second name: no byte is copied, and only what somebody wrote just now is still to be brought to the disk."""
    try:
        os.link(place.name, store, src_dir_fd=place.folder, follow_symlinks=False)
    except OSError:
        write_lasting(store, expected)
    else:
        sync_file(store)


def write_lasting(path: Path, data: bytes) -> None:
    """Writes a new file for this user's eyes only; it is on the disk when this returns.  Raises ``OSError``, and nothing is there then."""
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
    """What it holds, and for a folder its names, are on the disk when this returns."""
    descriptor = os.open(path, _READ | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_taken(new: _Temporary, place: _Place, expected: bytes) -> None:
    """Whoever saved between look and leap, a program that knows no locks, gets their file back."""
    try:
        _demand(_Place(place.folder, new.place.name, place.subject), expected)
    except ToolFailure:
        exchange(new.place.name, place.name, place.folder)
        raise


def _write_in_place(place: _Place, data: bytes, expected: bytes, store: Path | None) -> None:
    """For a file that must stay the same one; a write that fails half way puts the old bytes back."""
    with folder_lock(place.folder):
        _demand(place, expected)
        if store is not None:
            write_lasting(store, expected)
        _write_over(place, data, expected)


def _write_over(place: _Place, data: bytes, expected: bytes) -> None:
    descriptor = place.open(os.O_WRONLY)
    with ExitStack() as at_the_end:
        at_the_end.callback(os.close, descriptor)
        with ExitStack() as unless_fine:
            unless_fine.callback(_rewrite, descriptor, expected)
            _rewrite(descriptor, data)
            unless_fine.pop_all()


def _rewrite(descriptor: int, data: bytes) -> None:
    """Shortens only after all is written: until then the old bytes keep their place on the disk."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class _Temporary:
    """A new file in the folder of the one to replace, gone at the end unless it took its place."""

    def __init__(self, there: int, mode: int) -> None:
        self.place = Place(there, hidden_name("tmp"))
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

    def get_mode(self, mode: int | None) -> None:
        if mode is not None:
            os.fchmod(self._descriptor, mode)

    def take(self, place: _Place) -> None:
        """Has its place, and no name of its own any more."""
        self.place.rename(place)
        self._taken = True

    def resemble(self, place: _Place, info: os.stat_result) -> None:
        """Takes on owner, extended attributes (access lists among them) and mode.  ``PermissionError``: it may not have that owner."""
        mine = os.fstat(self._descriptor)
        if (mine.st_uid, mine.st_gid) != (info.st_uid, info.st_gid):
            os.fchown(self._descriptor, info.st_uid, info.st_gid)
        if sys.platform == "linux":
            _copy_attributes(place, self._descriptor)
        os.fchmod(self._descriptor, stat.S_IMODE(info.st_mode))


if sys.platform == "linux":

    def _copy_attributes(place: _Place, descriptor: int) -> None:
        with contextlib.suppress(OSError), reader(place.open(_READ), place.subject) as old:
            for name in os.listxattr(old.fileno()):
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(old.fileno(), name))


def _demand(place: _Place, expected: bytes) -> None:
    """Compares piece by piece: the content of a large file is in memory often enough."""
    try:
        descriptor = place.open(_READ)
    except FileNotFoundError:
        raise conflict(place.subject, "was deleted") from None
    done = 0
    with reader(descriptor, place.subject) as file:
        while piece := file.read(_PIECE):
            if piece != expected[done : done + len(piece)]:
                raise conflict(place.subject, "was changed")
            done += len(piece)
    if done != len(expected):
        raise conflict(place.subject, "was changed")


def conflict(subject: str, what: str) -> ToolFailure:
    return ToolFailure(ErrorCode.CONFLICT, f"{subject} {what} meanwhile. Nothing was overwritten. Read it and call again.")
