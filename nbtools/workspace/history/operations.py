"""The operations that change files: each is made completely or not at all, and can be reverted."""

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
from nbtools.storage.folder_lock import folder_lock
from nbtools.workspace.files.atomic_write import (
    WriteOptions,
    conflict_failure,
    make_folders,
    remove_folders,
    replace_content,
)
from nbtools.workspace.files.copy_move import hidden_sibling, move, remove_tree
from nbtools.workspace.files.no_follow import open_folder, rename, status_or_none, unlink
from nbtools.workspace.files.read import read_if_exists


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """An operation that was made, the ``folders`` created for it (outermost first), and its ``backup``."""

    step: Step
    back: Callable[[], object]
    folders: tuple[Path, ...] = ()
    backup: Path | None = None

    def revert(self) -> None:
        """Reverts the operation. Raises ``ToolFailure`` or ``OSError``; the backup then stays."""
        self.back()
        remove_folders(self.folders)

    def discard_backup(self) -> None:
        """Deletes the backup that was kept for reverting."""
        if self.backup is not None:
            unlink(self.backup, missing_ok=True)


@dataclass(frozen=True, slots=True)
class Write:
    """Makes ``path``, which must hold ``before`` (None: not exist), hold ``after``. Folders are created.

    ``mode``: the mode of a new file; None: the default.
    ``keep``: where the previous file, or a copy of it, goes first.
    """

    path: Path
    subject: str
    before: bytes | None
    after: bytes
    mode: int | None = None
    keep: Path | None = None

    def make(self, *, sync: bool) -> AppliedStep:
        if self.before is None:
            return AppliedStep(self, self._remove, self._create(sync=sync))
        backup = hidden_sibling(self.path, "before")
        replace_content(
            self.path, self.after, self.before, self.subject, WriteOptions(backup, sync, store=self.keep)
        )
        return AppliedStep(self, lambda: self._restore(backup), backup=backup)

    def make_alone(self) -> tuple[Path, ...]:
        """Makes the change when no other one follows that could fail; returns the folders created for it."""
        if self.before is None:
            return self._create(sync=True)
        replace_content(self.path, self.after, self.before, self.subject, WriteOptions(store=self.keep))
        return ()

    def _create(self, *, sync: bool) -> tuple[Path, ...]:
        folders = make_folders(self.path, self.subject)
        try:
            replace_content(
                self.path, self.after, None, self.subject, WriteOptions(sync=sync, mode=self.mode)
            )
        except ToolFailure:
            remove_folders(folders)
            raise
        return folders

    def _remove(self) -> None:
        with folder_lock(self.path.parent):
            _check_content(self.path, self.after, self.subject)
            unlink(self.path)

    def _restore(self, backup: Path) -> None:
        if status_or_none(backup) is None:
            replace_content(self.path, self.before or b"", self.after, self.subject)
        else:
            with folder_lock(self.path.parent):
                _check_content(self.path, self.after, self.subject)
                rename(backup, self.path)
        if self.keep is not None:
            self.keep.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Remove:
    """Deletes the file at ``path``, which must hold ``before`` until then."""

    path: Path
    subject: str
    before: bytes

    def make(self, *, sync: bool) -> AppliedStep:
        backup = hidden_sibling(self.path, "before")
        try:
            with folder_lock(self.path.parent):
                _check_content(self.path, self.before, self.subject)
                rename(self.path, backup)
        except OSError as error:
            raise from_os_error(error, self.subject, ErrorCode.FILE_WRITE_FAILURE) from None
        return AppliedStep(self, lambda: move(backup, self.path, self.subject), backup=backup)


@dataclass(frozen=True, slots=True)
class Move:
    """Moves ``path`` to ``to``; nothing may be there, or with ``overwrite`` a file that a file replaces.

    ``keep``: where a hard link to, or a copy of, the overwritten file goes.
    """

    path: Path
    to: Path
    subject: str
    overwrite: bool = False
    keep: Path | None = None

    def make(self, *, sync: bool) -> AppliedStep:
        if self.keep is not None:
            _back_up(self.to, self.keep, self.subject)
        try:
            return AppliedStep(
                self, self._revert, move(self.path, self.to, self.subject, overwrite=self.overwrite)
            )
        except BaseException:
            if self.keep is not None:
                self.keep.unlink(missing_ok=True)
            raise

    def _revert(self) -> None:
        move(self.to, self.path, self.subject)
        if self.keep is not None:
            move(self.keep, self.to, self.subject)


@dataclass(frozen=True, slots=True)
class MakeFolder:
    """Creates a folder at ``path``; ``new``: nothing may be there yet."""

    path: Path
    subject: str
    new: bool = False

    def make(self, *, sync: bool) -> AppliedStep:
        info = status_or_none(self.path)
        if info is None:
            return AppliedStep(self, _nothing, make_folders(self.path / "-", self.subject))
        if self.new:
            raise already_exists(self.subject)
        if not stat.S_ISDIR(info.st_mode):
            raise ToolFailure(
                ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE,
                f"{self.subject} is a file, not a folder. Choose another name.",
            )
        return AppliedStep(self, _nothing)


@dataclass(frozen=True, slots=True)
class RemoveFolder:
    """Deletes the folder at ``path`` if it is empty; else it stays."""

    path: Path
    subject: str

    def make(self, *, sync: bool) -> AppliedStep:
        try:
            with open_folder(self.path.parent) as above:
                os.rmdir(self.path.name, dir_fd=above)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
                raise from_os_error(error, self.subject, ErrorCode.FILE_WRITE_FAILURE) from None
            return AppliedStep(self, _nothing)
        return AppliedStep(self, lambda: make_folders(self.path / "-", self.subject))


@dataclass(frozen=True, slots=True)
class RemoveTree:
    """Deletes what is at ``path``, also a folder with its contents, by moving it to ``keep``.

    ``keep=None``: deletes it permanently; this cannot be reverted.  ``for_good``: it is too large to be kept.
    Raises ``OSError`` if something remains that was to be deleted permanently.
    """

    path: Path
    subject: str
    keep: Path | None = None
    for_good: bool = False

    def make(self, *, sync: bool) -> AppliedStep:
        if self.keep is None:
            remove_tree(self.path)
        else:
            move(self.path, self.keep, self.subject)
        return AppliedStep(self, self._revert)

    def _revert(self) -> None:
        if self.keep is None:
            raise ToolFailure(
                ErrorCode.FILE_WRITE_FAILURE,
                f"{self.subject} was deleted permanently and cannot be restored.",
            )
        move(self.keep, self.path, self.subject)


@dataclass(frozen=True, slots=True)
class Restore:
    """Moves what is stored at ``keep`` to ``path``, where nothing may be."""

    keep: Path
    path: Path
    subject: str

    def make(self, *, sync: bool) -> AppliedStep:
        return AppliedStep(
            self, lambda: move(self.path, self.keep, self.subject), move(self.keep, self.path, self.subject)
        )


@dataclass(frozen=True, slots=True)
class SetMode:
    """Sets the mode ``after`` of the file or folder at ``path``, whose mode must be ``before``."""

    path: Path
    subject: str
    before: int
    after: int

    def make(self, *, sync: bool) -> AppliedStep:
        info = status_or_none(self.path)
        if info is None or stat.S_IMODE(info.st_mode) != self.before:
            raise conflict_failure(self.subject, "got another mode, or was deleted,")
        set_mode(self.path, self.after, self.subject)
        return AppliedStep(self, lambda: set_mode(self.path, self.before, self.subject))


@dataclass(frozen=True, slots=True)
class Link:
    """Makes ``path``, which must be a link to ``before``, a link to ``after``. None: nothing is there."""

    path: Path
    subject: str
    before: str | None
    after: str | None

    def make(self, *, sync: bool) -> AppliedStep:
        folders = make_folders(self.path, self.subject)
        try:
            self._change_target(self.before, self.after)
        except OSError as error:
            remove_folders(folders)
            raise from_os_error(error, self.subject, ErrorCode.FILE_WRITE_FAILURE) from None
        except ToolFailure:
            remove_folders(folders)
            raise
        return AppliedStep(self, lambda: self._change_target(self.after, self.before), folders)

    def _change_target(self, before: str | None, after: str | None) -> None:
        if link_target(self.path) != before or (before is None and status_or_none(self.path) is not None):
            raise conflict_failure(self.subject, "was changed or deleted")
        if after is None:
            unlink(self.path)
            return
        new = hidden_sibling(self.path, "link")
        with open_folder(self.path.parent) as above:
            os.symlink(after, new.name, dir_fd=above)
        rename(new, self.path)


Step: TypeAlias = Write | Remove | Move | MakeFolder | RemoveFolder | RemoveTree | Restore | SetMode | Link


def link_target(path: Path) -> str | None:
    """Returns the target of the link at ``path`` as it is written; None if there is no link."""
    try:
        with open_folder(path.parent) as above:
            return os.readlink(path.name, dir_fd=above)
    except OSError:
        return None


def set_mode(path: Path, mode: int, subject: str) -> None:
    """Sets the mode of a file or folder, never through a link.  Raises ``ToolFailure``."""
    try:
        with open_folder(path.parent) as above:
            descriptor = os.open(
                path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above
            )
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
    except OSError as error:
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None


def already_exists(subject: str) -> ToolFailure:
    """Returns the failure for something new at a path that exists."""
    return ToolFailure(
        ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE,
        f"{subject} already exists. Nothing was changed. Choose another name.",
    )


def _nothing() -> None:
    """Reverts nothing, for operations that only created folders or found nothing to do."""


def _back_up(path: Path, to: Path, subject: str) -> None:
    """Creates a hard link to a file, or a synced copy of it."""
    try:
        with open_folder(path.parent) as above:
            try:
                os.link(path.name, to, src_dir_fd=above, follow_symlinks=False)
            except OSError:
                try:
                    shutil.copy2(path, to, follow_symlinks=False)
                    if not to.is_symlink():
                        with to.open("rb") as file:
                            os.fsync(file.fileno())
                except BaseException:
                    with contextlib.suppress(OSError):
                        to.unlink()
                    raise
    except OSError as error:
        raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None


def _check_content(path: Path, expected: bytes, subject: str) -> None:
    if read_if_exists(path, subject, limit=sys.maxsize - 1) != expected:
        raise conflict_failure(subject, "was changed or deleted")
