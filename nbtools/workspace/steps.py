"""What changes of the workspace are made of.  Each step is made, or nothing of it, and can be taken back."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.workspace.atomic import Manner, conflict, make_folders, remove_folders, replace
from nbtools.workspace.files import read_if_there
from nbtools.workspace.folder_lock import folder_lock
from nbtools.workspace.moving import beside, move, remove_tree
from nbtools.workspace.nofollow import folder, look, rename, unlink


@dataclass(frozen=True, slots=True)
class Made:
    """A step that was made, and the ``folders`` made for it, outermost first; ``kept`` is what was there before, beside it."""

    step: Step
    back: Callable[[], object]
    folders: tuple[Path, ...] = ()
    kept: Path | None = None

    def take_back(self) -> None:
        """Raises ``ToolFailure`` or ``OSError`` when it cannot; what was there before stays beside."""
        self.back()
        remove_folders(self.folders)

    def settle(self) -> None:
        """Drops what was kept for taking it back."""
        if self.kept is not None:
            unlink(self.kept, missing_ok=True)


@dataclass(frozen=True, slots=True)
class Write:
    """``path`` shall hold ``after``; it must hold ``before`` until then (None: not exist).  Folders that are missing are made.

    ``mode``: a new file's; None: as new files are.  ``keep``: where the file that was there goes, or a copy of it, before that.
    """

    path: Path
    subject: str
    before: bytes | None
    after: bytes
    mode: int | None = None
    keep: Path | None = None

    def make(self, *, sync: bool) -> Made:
        if self.before is None:
            return Made(self, self._remove, self._create(sync=sync))
        kept = beside(self.path, "before")
        replace(self.path, self.after, self.before, self.subject, Manner(kept, sync, store=self.keep))
        return Made(self, lambda: self._put_back(kept), kept=kept)

    def make_alone(self) -> tuple[Path, ...]:
        """Makes it where nothing is to come after it that could fail; the folders made for it."""
        if self.before is None:
            return self._create(sync=True)
        replace(self.path, self.after, self.before, self.subject, Manner(store=self.keep))
        return ()

    def _create(self, *, sync: bool) -> tuple[Path, ...]:
        made = make_folders(self.path, self.subject)
        try:
            replace(self.path, self.after, None, self.subject, Manner(sync=sync, mode=self.mode))
        except ToolFailure:
            remove_folders(made)
            raise
        return made

    def _remove(self) -> None:
        with folder_lock(self.path.parent):
            _demand(self.path, self.after, self.subject)
            unlink(self.path)

    def _put_back(self, kept: Path) -> None:
        if look(kept) is None:
            replace(self.path, self.before or b"", self.after, self.subject)
        else:
            with folder_lock(self.path.parent):
                _demand(self.path, self.after, self.subject)
                rename(kept, self.path)
        if self.keep is not None:
            self.keep.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Remove:
    """The file at ``path``, which must hold ``before`` until then, shall be gone."""

    path: Path
    subject: str
    before: bytes

    def make(self, *, sync: bool) -> Made:
        kept = beside(self.path, "before")
        try:
            with folder_lock(self.path.parent):
                _demand(self.path, self.before, self.subject)
                rename(self.path, kept)
        except OSError as error:
            raise from_os_error(error, self.subject, ErrorCode.FILE_WRITE_FAILURE) from None
        return Made(self, lambda: move(kept, self.path, self.subject), kept=kept)


@dataclass(frozen=True, slots=True)
class Move:
    """What is at ``path`` shall be at ``to``, where nothing may be, or with ``overwrite`` a file that another file takes the place of.

    ``keep``: where a second name, or a copy, of the file that is overwritten goes.
    """

    path: Path
    to: Path
    subject: str
    overwrite: bool = False
    keep: Path | None = None

    def make(self, *, sync: bool) -> Made:
        if self.keep is not None:
            _keep(self.to, self.keep, self.subject)
        try:
            return Made(self, self._back, move(self.path, self.to, self.subject, overwrite=self.overwrite))
        except BaseException:
            if self.keep is not None:
                self.keep.unlink(missing_ok=True)
            raise

    def _back(self) -> None:
        move(self.to, self.path, self.subject)
        if self.keep is not None:
            move(self.keep, self.to, self.subject)


@dataclass(frozen=True, slots=True)
class MakeFolder:
    """There shall be a folder at ``path``; ``new``: nothing may be there yet."""

    path: Path
    subject: str
    new: bool = False

    def make(self, *, sync: bool) -> Made:
        info = look(self.path)
        if info is None:
            return Made(self, _nothing, make_folders(self.path / "-", self.subject))
        if self.new:
            raise there_already(self.subject)
        if not stat.S_ISDIR(info.st_mode):
            raise ToolFailure(ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE, f"{self.subject} is a file, not a folder. Choose another name.")
        return Made(self, _nothing)


@dataclass(frozen=True, slots=True)
class RemoveFolder:
    """The folder at ``path`` shall be gone if it is empty; else it stays."""

    path: Path
    subject: str

    def make(self, *, sync: bool) -> Made:
        try:
            with folder(self.path.parent) as above:
                os.rmdir(self.path.name, dir_fd=above)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
                raise from_os_error(error, self.subject, ErrorCode.FILE_WRITE_FAILURE) from None
            return Made(self, _nothing)
        return Made(self, lambda: make_folders(self.path / "-", self.subject))


@dataclass(frozen=True, slots=True)
class RemoveTree:
    """What is at ``path``, a folder with all that is in it too, shall be gone: it goes to ``keep``.  None: for good, and not taken back.

    ``for_good``: it is too large to be kept.  Raises ``OSError`` where something stays that was to go for good.
    """

    path: Path
    subject: str
    keep: Path | None = None
    for_good: bool = False

    def make(self, *, sync: bool) -> Made:
        if self.keep is None:
            remove_tree(self.path)
        else:
            move(self.path, self.keep, self.subject)
        return Made(self, self._back)

    def _back(self) -> None:
        if self.keep is None:
            raise ToolFailure(ErrorCode.FILE_WRITE_FAILURE, f"{self.subject} is deleted for good.")
        move(self.keep, self.path, self.subject)


@dataclass(frozen=True, slots=True)
class Restore:
    """What is kept at ``keep`` shall be at ``path``, where nothing may be."""

    keep: Path
    path: Path
    subject: str

    def make(self, *, sync: bool) -> Made:
        return Made(self, lambda: move(self.path, self.keep, self.subject), move(self.keep, self.path, self.subject))


@dataclass(frozen=True, slots=True)
class SetMode:
    """The file or folder at ``path`` shall have the mode ``after``; it must have ``before`` until then."""

    path: Path
    subject: str
    before: int
    after: int

    def make(self, *, sync: bool) -> Made:
        info = look(self.path)
        if info is None or stat.S_IMODE(info.st_mode) != self.before:
            raise conflict(self.subject, "got another mode or was deleted")
        set_mode(self.path, self.after, self.subject)
        return Made(self, lambda: set_mode(self.path, self.before, self.subject))


@dataclass(frozen=True, slots=True)
class Link:
    """``path`` shall be a link to ``after``; it must be one to ``before`` until then.  None: nothing is there."""

    path: Path
    subject: str
    before: str | None
    after: str | None

    def make(self, *, sync: bool) -> Made:
        made = make_folders(self.path, self.subject)
        try:
            self._turn(self.before, self.after)
        except OSError as error:
            remove_folders(made)
            raise from_os_error(error, self.subject, ErrorCode.FILE_WRITE_FAILURE) from None
        except ToolFailure:
            remove_folders(made)
            raise
        return Made(self, lambda: self._turn(self.after, self.before), made)

    def _turn(self, before: str | None, after: str | None) -> None:
        if link_target(self.path) != before or (before is None and look(self.path) is not None):
            raise conflict(self.subject, "was changed or deleted")
        if after is None:
            unlink(self.path)
            return
        new = beside(self.path, "link")
        with folder(self.path.parent) as above:
            os.symlink(after, new.name, dir_fd=above)
        rename(new, self.path)


Step: TypeAlias = Write | Remove | Move | MakeFolder | RemoveFolder | RemoveTree | Restore | SetMode | Link


def link_target(path: Path) -> str | None:
    """Where the link at ``path`` leads, as it is written; None where no link is."""
    try:
        with folder(path.parent) as above:
            return os.readlink(path.name, dir_fd=above)
    except OSError:
        return None


def set_mode(path: Path, mode: int, subject: str) -> None:
    """Of a file or folder, never through a link.  Raises ``ToolFailure``."""
    try:
        with folder(path.parent) as above:
            descriptor = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above)
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None


def there_already(subject: str) -> ToolFailure:
    """What to say where something new was to be made."""
    return ToolFailure(ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE, f"{subject} is there already. Nothing was changed. Choose another name.")


def _nothing() -> None:
    """What is to be taken back of a step that only made folders, or found nothing to do."""


def _keep(path: Path, to: Path, subject: str) -> None:
    """A second name for a file, or a copy of it that is on the disk."""
    try:
        with folder(path.parent) as above:
            try:
                os.link(path.name, to, src_dir_fd=above, follow_symlinks=False)
            except OSError:
                _copy(path, to)
    except OSError as error:
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None


def _copy(path: Path, to: Path) -> None:
    try:
        shutil.copy2(path, to, follow_symlinks=False)
        if not to.is_symlink():
            with to.open("rb") as file:
                os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            to.unlink()
        raise


def _demand(path: Path, expected: bytes, subject: str) -> None:
    if read_if_there(path, subject, limit=sys.maxsize - 1) != expected:
        raise conflict(subject, "was changed or deleted")
