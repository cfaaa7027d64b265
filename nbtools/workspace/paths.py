"""Resolves paths component by component as the kernel does: links are followed before ``..`` is applied."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error

_MAX_LINKS = 40
"""As in Linux: a path that follows more links than this is treated as a loop."""
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4095
_MAX_PRINTED_CHARACTERS = 200


def printable_path(path: str) -> str:
    """Returns ``path`` for a message: on one line, with hidden characters escaped, and of limited length."""
    text = one_line(path)
    return text if len(text) <= _MAX_PRINTED_CHARACTERS else f"{text[:_MAX_PRINTED_CHARACTERS]}…"


def one_line(path: str) -> str:
    """Returns ``path`` for a listing: on one line, with hidden characters escaped."""
    return path if path.isprintable() else ascii(path)[1:-1]


def is_inside(root: Path, path: Path) -> bool:
    """Whether ``path`` is ``root`` or below it, compared by components: ``/a/bc`` is not inside ``/a/b``.

    Both must be real paths.
    """
    return path.parts[: len(root.parts)] == root.parts


def real_path(start: str, path: str) -> str:
    """Returns the path, absolute, without links and dots, to which ``path`` leads from ``start``.

    Components that do not exist yet are kept as written.  A ``..`` behind one raises ``OSError``, as in the
    kernel.  (``os.path.realpath`` would guess, and stops following links where a path grows long.)  Raises
    ``OSError``, and ``ToolFailure`` for a link in ``/proc``.
    """
    pending = _parts(path)
    current = os.sep if path.startswith(os.sep) else start
    links = 0
    mode: int | None = stat.S_IFDIR
    while pending:
        part = pending.pop()
        if part == os.pardir:
            if mode is None:
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), current)
            if not stat.S_ISDIR(mode):
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), current)
            current, mode = os.path.dirname(current), stat.S_IFDIR
            continue
        candidate = os.path.join(current, part)
        mode = _mode(candidate) if mode is not None else None
        if mode is None or not stat.S_ISLNK(mode):
            current = candidate
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if candidate.startswith("/proc/"):
            reason = "goes through a link in /proc, whose target differs from process to process"
            advice = "Name the file or folder itself."
            raise ToolFailure(ErrorCode.PATH_NOT_IN_WORKSPACE, f"{printable_path(path)} {reason}. {advice}")
        target = _target(candidate)
        if target is None:
            pending.append(part)
            continue
        pending += _parts(target)
        current, mode = (os.sep if target.startswith(os.sep) else current), stat.S_IFDIR
    if len(os.fsencode(current)) > _MAX_PATH_BYTES:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
    return current


def resolve_inside(root: Path, path: str) -> Path:
    """Returns the real path to which ``path`` leads; see ``Workspace.resolve``."""
    if not path or "\0" in path:
        problem = "the path has a NUL character in it" if path else "the path is empty"
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"{printable_path(path)}{': ' if path else ''}{problem}. Name a file or folder.",
        )
    try:
        real = Path(real_path(str(root), expand_home(path)))
    except OSError as error:
        raise from_os_error(error, printable_path(path)) from None
    except UnicodeEncodeError:
        problem = "a file name cannot contain these characters. Name a file or folder."
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{printable_path(path)}: {problem}") from None
    if not is_inside(root, real):
        target = "" if str(real) == path else f" (it leads to {printable_path(str(real))})"
        message = (
            f"{printable_path(path)} is outside the workspace{target}. Name a path in"
            f" {printable_path(str(root))}."
        )
        raise ToolFailure(ErrorCode.PATH_NOT_IN_WORKSPACE, message)
    return real


def expand_home(path: str) -> str:
    """Returns ``path`` with ``~`` replaced by the home folder; only ``~`` alone or at the beginning."""
    return os.path.expanduser(path) if path == "~" or path.startswith("~/") else path


def _parts(path: str) -> list[str]:
    """Returns the components without empty ones and ``.``, last first."""
    parts = [part for part in path.split(os.sep) if part not in ("", os.curdir)]
    if any(len(os.fsencode(part)) > _MAX_NAME_BYTES for part in parts):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
    return parts[::-1]


def _mode(path: str) -> int | None:
    """Returns the mode of what is at ``path`` without following links; None if nothing is there."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _target(link: str) -> str | None:
    """Returns the target of a link; None if there is no link any more."""
    try:
        return os.readlink(link)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise
