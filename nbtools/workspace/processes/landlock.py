"""Restricts the files that a program can read, with Landlock on Linux.

Landlock rules apply to a thread and the processes it starts.
So a separate thread restricts itself, starts the program, and ends.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from nbtools.core.errors import ToolFailure
from nbtools.workspace.files.no_follow import open_no_links

if TYPE_CHECKING:
    import ctypes

T = TypeVar("T")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System call numbers; the same on every architecture except Alpha."""
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_NO_NEW_PRIVILEGES = 38
_PATH = getattr(os, "O_PATH", 0)


def available() -> bool:
    """Returns whether the system supports Landlock."""
    return sys.platform == "linux" and _version() >= 1


def restrict_reads(paths: Iterable[str], start: Callable[[], T]) -> T:
    """Returns what ``start`` does; processes that it starts can read only in and below ``paths`` (real).

    Paths that do not exist or have become links are ignored.
    Raises what ``start`` raises, and ``OSError`` if Landlock fails.
    """
    rules = _rules(paths)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            _restrict(rules)
            outcome.append(start())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the calling thread
            failure.append(error)

    try:
        thread = threading.Thread(target=work, name="nbtools-landlock")
        thread.start()
        thread.join()
    finally:
        os.close(rules)
    if failure:
        raise failure[0]
    return outcome[0]


def _rules(paths: Iterable[str]) -> int:
    rules = _call(_CREATE_RULESET, struct.pack("=Q", _READ_FILE | _READ_DIR), 8, 0)
    with contextlib.ExitStack() as on_error:
        on_error.callback(os.close, rules)
        for path in paths:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError, ToolFailure):
                descriptor = open_no_links(path, _PATH)
                try:
                    is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
                    access = _READ_FILE | _READ_DIR if is_folder else _READ_FILE
                    _call(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0)
                finally:
                    os.close(descriptor)
        on_error.pop_all()
    return rules


def _restrict(rules: int) -> None:
    """Restricts the calling thread, for the rest of its life."""
    # The kernel refuses Landlock to a thread whose programs could gain privileges (setuid).
    if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    _call(_RESTRICT_SELF, rules, 0)


@functools.cache
def _version() -> int:
    """Returns the Landlock version; 0 if there is none or a container's filter blocks the query."""
    try:
        return _call(_CREATE_RULESET, None, 0, _VERSION)
    except (OSError, AttributeError):
        return 0


def _call(number: int, *arguments: bytes | int | None) -> int:
    import ctypes  # noqa: PLC0415 - takes 10 ms, needed only to search

    converted = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = _libc().syscall(ctypes.c_long(number), *converted)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


@functools.cache
def _libc() -> ctypes.CDLL:
    import ctypes  # noqa: PLC0415 - as above

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
