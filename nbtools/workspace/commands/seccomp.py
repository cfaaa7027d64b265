"""System calls that a sandboxed command does without: ways out that no namespace closes.

Sockets of other families than the usual ones are refused: by ``AF_VSOCK`` a virtual machine talks with its host whatever network it has.
The kernel's keyrings are refused because a process keeps those that it was started with, and ``io_uring`` because what is asked of it
passes no such filter.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

_FAMILIES = (1, 2, 10, 16)
"""UNIX, INET, INET6, NETLINK."""
_SYSTEMS = (
    (0xC000003E, 41, (248, 249, 250, 425)),  # x86-64
    (0x40000003, 359, (286, 287, 288, 425, 102)),  # i386, whose socketcall has its arguments where no filter sees them
    (0xC00000B7, 198, (217, 218, 219, 425)),  # aarch64
    (0x40000028, 281, (309, 310, 311, 425)),  # arm
    (0xC00000F3, 198, (217, 218, 219, 425)),  # riscv64
)
"""As the kernel calls them; their numbers of ``socket``, and of ``add_key``, ``request_key``, ``keyctl`` and ``io_uring_setup``."""
_X32 = 0x40000000
"""Set in the numbers of a second set of calls that x86-64 has."""
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _SYSTEM, _FIRST = 0, 4, 16
"""Where a filter finds what it judges; the first argument is of 32 bits on all of them, the low ones first."""
_ALLOWED, _FAILS = 0x7FFF0000, 0x00050000


def program() -> bytes:
    """What ``bwrap --seccomp`` reads.  On a system that is not known it refuses nothing."""
    blocks = [list(_block(socket, refused)) for _, socket, refused in _SYSTEMS]
    code = [_step(_LOAD, _SYSTEM)]
    for (system, *_), block in zip(_SYSTEMS, blocks, strict=True):
        code += [_step(_EQUAL, system, 0, len(block)), *block]
    return b"".join((*code, _step(_RETURN, _ALLOWED)))


def _block(socket: int, refused: tuple[int, ...]) -> Iterator[bytes]:
    """Jumps are counted from the step after."""
    last = len(refused) + len(_FAMILIES) + 2
    yield _step(_LOAD, _NUMBER)
    yield _step(_AT_LEAST, _X32, last + 2, 0)
    for at, number in enumerate(refused):
        yield _step(_EQUAL, number, last + 1 - at, 0)
    yield _step(_EQUAL, socket, 0, len(_FAMILIES) + 2)
    yield _step(_LOAD, _FIRST)
    for at, family in enumerate(_FAMILIES):
        yield _step(_EQUAL, family, len(_FAMILIES) - at, 0)
    yield _step(_RETURN, _FAILS | errno.EAFNOSUPPORT)
    yield _step(_RETURN, _ALLOWED)
    yield _step(_RETURN, _FAILS | errno.ENOSYS)


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_so, if_not, value)
