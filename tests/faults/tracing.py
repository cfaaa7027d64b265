"""A process that is stopped at every system call it makes, by ptrace alone:
to be killed there, or to find the world changed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

_TRACEME, _SYSCALL, _SETOPTIONS, _SYSCALL_INFO = 0, 24, 0x4200, 0x420E
_OPTIONS = (
    0x1 | 0x8 | 0x100000
)  # marked system calls, all threads, nobody outlives the tracer; programs it starts run free
_WALL = 0x40000000
_ENTRY = 1

traceable = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
"""Elsewhere a test is skipped."""


class _Info(ctypes.Structure):
    """The beginning of ``struct ptrace_syscall_info``:
    the same on every machine, for one that enters a system call.
    """

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("_pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("nr", ctypes.c_uint64),
        ("args", ctypes.c_uint64 * 6),
        ("_rest", ctypes.c_uint64 * 2),
    )


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a traced process: after how many system calls, killed or not,
    and what it had reported by then (empty: nothing).
    """

    calls: int
    killed: bool
    told: bytes


def trace(
    operation: Callable[[], bytes],
    kill_at: Callable[[int, int], bool],
    first: Callable[[], None] | None = None,
) -> Ended:
    """Runs ``operation`` in a fork of this process, which may have no other thread,
    and stops it at each system call of each thread.

    There ``kill_at(k, number)`` is asked, k from 1, and may do to the world what it likes; True kills: the
    call is not made any more.  What ``operation`` returns is told through a pipe, when all is done.
    ``first`` is done in the fork, too, and not followed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_traced(operation, writing, first)
    os.close(writing)
    try:
        calls, killed = _follow(child, kill_at)
        return Ended(calls, killed, os.read(reading, 1 << 20))
    finally:
        os.close(reading)


def _be_traced(operation: Callable[[], bytes], writing: int, first: Callable[[], None] | None) -> None:
    code = 1
    try:
        if first is not None:
            first()
        _ptrace(_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        told = operation()
        os.write(writing, told)
        code = 0
    except BaseException as error:  # noqa: BLE001 - the tracer gets every exception, and this process never returns
        os.write(writing, f"raised {error!r}".encode())
    finally:
        os._exit(code)


def _follow(child: int, kill_at: Callable[[int, int], bool]) -> tuple[int, bool]:
    """The system calls made, and whether the process was killed."""
    os.waitpid(child, 0)
    _ptrace(_SETOPTIONS, child, 0, _OPTIONS)
    _ptrace(_SYSCALL, child, 0, 0)
    seen, calls, killed = {child}, 0, False
    while True:
        pid, status = os.waitpid(-1, _WALL)
        if not os.WIFSTOPPED(status):
            if pid == child:
                return calls, killed
            continue
        number = _entered(pid) if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80 else None
        if number is not None and not killed:
            calls += 1
            if kill_at(calls, number):
                killed = True
                os.kill(child, signal.SIGKILL)
                continue
        _ptrace(_SYSCALL, pid, 0, _signal(pid, status, seen))


def _signal(pid: int, status: int, seen: set[int]) -> int:
    """The signal to pass on: none of those that tracing itself sends."""
    number = os.WSTOPSIG(status)
    if number & 0x7F == signal.SIGTRAP or (number == signal.SIGSTOP and pid not in seen):
        seen.add(pid)
        return 0
    return number


def _entered(pid: int) -> int | None:
    """The number of the system call that begins; None where one ends."""
    info = _Info()
    _ptrace(_SYSCALL_INFO, pid, ctypes.sizeof(info), ctypes.addressof(info))
    return info.nr if info.op == _ENTRY else None


def _ptrace(request: int, pid: int, address: int, data: int) -> None:
    """Raises ``OSError``, but for a process that is gone meanwhile: ``waitpid`` tells of that."""
    if _call(request, pid, address, data) == -1 and ctypes.get_errno() != errno.ESRCH:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), f"ptrace {request:#x}")


if traceable:
    _call = ctypes.CDLL(None, use_errno=True).ptrace
    _call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    _call.restype = ctypes.c_long
