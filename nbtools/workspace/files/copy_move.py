"""Copies, moves and deletes files, links and folders through open folders, without following links."""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.workspace.files.atomic_write import copy_attributes, make_folders, remove_folders
from nbtools.workspace.files.no_follow import FolderEntry, open_folder, scan_folder
from nbtools.workspace.files.temp_files import hidden_name
from nbtools.workspace.search.gitignore import IGNORE_FILES, REPOSITORY, IgnoreRules
from nbtools.workspace.workspace import Workspace

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_LISTED = os.O_RDONLY | os.O_DIRECTORY


def copy_entry(place: FolderEntry, to: FolderEntry) -> None:
    """Copies a file, link or folder with contents, modes, times and extended attributes; links stay links.

    Raises ``OSError``; what was copied until then stays.
    """
    info = place.status()
    if stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(place.name, dir_fd=place.folder), to.name, dir_fd=to.folder)
        os.utime(to.name, ns=(info.st_atime_ns, info.st_mtime_ns), dir_fd=to.folder, follow_symlinks=False)
    elif stat.S_ISDIR(info.st_mode):
        _copy_folder(place, to)
    elif stat.S_ISREG(info.st_mode):
        _copy_file(place, to)
    else:
        raise OSError(
            errno.ENOTSUP, f"{place.name} is a device, a socket or a pipe, which cannot be copied", place.name
        )


def _copy_file(place: FolderEntry, to: FolderEntry) -> None:
    with os.fdopen(place.open(_READ), "rb") as old, os.fdopen(to.open(_CREATE, 0o600), "wb") as new:
        if not stat.S_ISREG(os.fstat(old.fileno()).st_mode):
            raise OSError(errno.ENOTSUP, f"{place.name} is not an ordinary file any more", place.name)
        shutil.copyfileobj(old, new, 1 << 20)
        new.flush()
        _copy_metadata(old.fileno(), new.fileno())


def _copy_folder(place: FolderEntry, to: FolderEntry) -> None:
    os.mkdir(to.name, 0o700, dir_fd=to.folder)
    with contextlib.ExitStack() as on_exit:
        old = place.open(_LISTED)
        on_exit.callback(os.close, old)
        new = to.open(_LISTED)
        on_exit.callback(os.close, new)
        for name in sorted(os.listdir(old)):
            copy_entry(FolderEntry(old, name), FolderEntry(new, name))
        _copy_metadata(old, new)


def _copy_metadata(old: int, new: int) -> None:
    info = os.fstat(old)
    copy_attributes(old, new)
    os.fchmod(new, stat.S_IMODE(info.st_mode))
    os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns))


_NO_LINK = frozenset({errno.EPERM, errno.ENOTSUP, errno.EXDEV, errno.EMLINK, errno.ENOSYS, errno.EACCES})
"""The file system has no hard links, or the file has too many."""
_LONGEST_NAME = 255
_NO_NAME = ("", os.curdir, os.pardir, "~")
"""A path that ends so names no entry of a folder."""


def hidden_sibling(path: Path, what: str) -> Path:
    """Returns an unused hidden name in the same folder."""
    return path.with_name(hidden_name(what, path.name))


def entry_path(workspace: Workspace, path: str) -> Path:
    """Returns the path of the file, folder or link that ``path`` names; only links on the way are followed.

    Raises ``ToolFailure`` as ``Workspace.resolve`` does.
    """
    folder, name = os.path.split(path.rstrip("/"))
    if name in _NO_NAME or not _is_name(name):
        return workspace.resolve(path)
    return workspace.resolve(folder or ("/" if path.startswith("/") else ".")) / name


def _is_name(name: str) -> bool:
    """Returns whether a file system may accept the name; ``resolve`` says what is wrong with others."""
    try:
        raw = os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return b"\0" not in raw and len(raw) <= _LONGEST_NAME


def entry_spellings(workspace: Workspace, path: str) -> tuple[str, ...]:
    """Returns the names by which a rule may mean an entry; see ``Workspace.spellings``."""
    folder, name = os.path.split(path.rstrip("/"))
    if name in _NO_NAME:
        return workspace.spellings(path)
    return tuple(posixpath.normpath(f"{parent}/{name}") for parent in workspace.spellings(folder or "."))


def with_folder_slash(path: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns ``names`` with a slash if a folder is at ``path``, so that rules about its contents match."""
    return tuple(f"{name}/" for name in names) if path.is_dir() and not path.is_symlink() else names


def move(path: Path, to: Path, subject: str, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Renames ``path``, also a link itself, to ``to``; returns the folders created for it, outermost first.

    Raises ``ToolFailure`` and leaves all as it was: ``attempt_to_create_existing_file`` if something is at
    ``to``, unless both are files and ``overwrite`` is True; ``file_not_found``, ``permission_denied``,
    ``no_space_left``, …  To another file system it copies, and deletes the original when the copy is
    complete.
    """
    created = make_folders(to, subject)
    with ExitStack() as on_failure:
        on_failure.callback(remove_folders, created)
        try:
            _move(path, to, subject, overwrite=overwrite)
        except OSError as error:
            raise from_os_error(error, subject, ErrorCode.FILE_WRITE_FAILURE) from None
        on_failure.pop_all()
    return created


def remove_tree(path: Path) -> None:
    """Deletes a file, a link (not its target) or a folder. Raises ``OSError`` if something remains."""
    with open_folder(path.parent) as above:
        try:
            _remove(FolderEntry(above, path.name))
        except OSError as error:
            if isinstance(error.filename, str) and not os.path.isabs(error.filename):
                error.filename = str(path.parent / error.filename)
            raise


def _remove(place: FolderEntry) -> None:
    if place.is_folder():
        shutil.rmtree(place.name, dir_fd=place.folder)
    else:
        os.unlink(place.name, dir_fd=place.folder)


def is_same_entry(path: Path, to: Path) -> bool:
    """Whether both names are one entry: they differ in case only, and the file system ignores case."""
    if path.parent != to.parent or path.name.casefold() != to.name.casefold() or path.name == to.name:
        return False
    with open_folder(path.parent) as above:
        return _is_same(FolderEntry(above, path.name), FolderEntry(above, to.name), to.parent)


def _is_same(place: FolderEntry, to: FolderEntry, parent: Path) -> bool:
    here, there = place.status_or_none(), to.status_or_none()
    if here is None or there is None or not os.path.samestat(here, there):
        return False
    with scan_folder(parent) as entries:
        return to.name not in {entry.name for entry in entries}


def _move(path: Path, to: Path, subject: str, *, overwrite: bool) -> None:
    with open_folder(path.parent) as source_folder, open_folder(to.parent) as target_folder:
        source, target = FolderEntry(source_folder, path.name), FolderEntry(target_folder, to.name)
        info, existing = source.status(), target.status_or_none()
        if is_same_entry(path, to):
            source.rename(target)
        elif not overwrite or existing is None:
            _move_to_free(source, target, subject)
        elif stat.S_ISDIR(info.st_mode) or stat.S_ISDIR(existing.st_mode):
            raise already_exists(subject)
        elif os.path.samestat(info, existing):
            source.unlink()  # two names of one file; renaming would keep both
        else:
            _rename(source, target)


def _move_to_free(place: FolderEntry, to: FolderEntry, subject: str) -> None:
    """Moves without a race where the file system supports hard links."""
    if to.status_or_none() is not None:
        raise already_exists(subject)
    if not place.is_folder():
        try:
            place.link(to)
        except FileExistsError:
            raise already_exists(subject) from None
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
        else:
            try:
                place.unlink()
            except OSError:
                to.unlink()
                raise
            return
    _rename(place, to)


def _rename(place: FolderEntry, to: FolderEntry) -> None:
    try:
        place.rename(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # Renames the copy when it is complete; deletes the original last.
        copy = FolderEntry(to.folder, hidden_name("copy"))
        with ExitStack() as on_failure:
            on_failure.callback(_remove_if_there, copy)
            copy_entry(place, copy)
            copy.rename(to)
            on_failure.pop_all()
        _remove(place)


def _remove_if_there(place: FolderEntry) -> None:
    if place.status_or_none() is not None:
        _remove(place)


def already_exists(subject: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE,
        f"{subject} exists already. Nothing was moved. Name a path that does not exist, or delete what is"
        " there first.",
    )


_LISTED_UNLINKED = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def copy_project(folder: Path, to: Path, *, most: int) -> int:
    """Copies a folder into the empty folder ``to`` and returns the size of its files in bytes.

    Files that git ignores, ``.git``, sockets, pipes and devices are left out; links stay links.  Raises
    ``OSError``, and ``ToolFailure`` before anything is copied if there are more than ``most`` bytes.
    """
    found = list(_below(folder.resolve(), "", IgnoreRules(folder.resolve())))
    size = sum(entry.size for entry in found)
    if size > most:
        fact = f"{folder} has {size:,} bytes in files that git does not ignore; at most {most:,} are copied."
        message = f"{fact} Name a smaller folder, or a commit of it."
        raise ToolFailure(ErrorCode.FILE_TOO_LARGE, message)
    for entry in found:
        if entry.folder:
            (to / entry.path).mkdir(parents=True)
        else:
            _copy(folder / entry.path, to / entry.path)
    return size


class _Found:
    __slots__ = ("folder", "path", "size")

    def __init__(self, path: str, size: int, *, folder: bool) -> None:
        self.path, self.size, self.folder = path, size, folder


def _below(folder: Path, prefix: str, ignores: IgnoreRules) -> Iterator[_Found]:
    """Yields entries; folders come before their contents."""
    with os.scandir(folder) as iterator:
        entries = sorted(iterator, key=lambda entry: entry.name)
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == REPOSITORY or ignores.ignores(entry.name, folder=is_folder):
            continue
        path = f"{prefix}{entry.name}"
        if is_folder:
            yield _Found(path, 0, folder=True)
            below = folder / entry.name
            own = [name for name in (*IGNORE_FILES, REPOSITORY) if os.path.lexists(below / name)]
            yield from _below(below, f"{path}/", ignores.below(below, own))
        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
            yield _Found(path, entry.stat(follow_symlinks=False).st_size, folder=False)


def _copy(old: Path, new: Path) -> None:
    folders = [os.open(one.parent, _LISTED_UNLINKED) for one in (old, new)]
    try:
        copy_entry(FolderEntry(folders[0], old.name), FolderEntry(folders[1], new.name))
    finally:
        for folder in folders:
            os.close(folder)
