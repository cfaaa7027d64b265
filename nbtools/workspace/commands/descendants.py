"""Finding and ending every process that a command started, also those that left its process group.

Each command gets a variable of its own in its environment, which its children inherit.  On Linux a process belongs to the command when it
is in its group or session, carries the variable, or holds the command's output; only a program that at once empties its environment,
starts a session and lets go of the output escapes.  Elsewhere (macOS) only the process group can be told.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache

from nbtools.workspace.commands.supervisor import supervisor

LINUX = sys.platform.startswith("linux")


_RECENT = 2.0
"""Seconds in which no machine uses up all its pids: until then only pids above the leader's need a look."""
_LOOKS = 8
_MOMENT = 0.001
"""Seconds before a second look, more before each further one."""


def new_mark() -> str:
    """A variable name that no other call has."""
    return f"NBTOOLS_CALL_{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True)
class Descendants:
    """The processes of one command: its shell's pid (group and session have the same number), its mark, and what its output is as
    ``/proc`` names it (``pipe:[…]`` or a terminal).
    """

    leader: int
    mark: str
    output: str
    started: float = field(default_factory=time.monotonic)
    names: dict[int, str] = field(default_factory=dict)
    """Names of all that were found and ended, by pid."""
    asking: tuple[signal.Signals, ...] = (signal.SIGTERM,)
    """What they are asked to end with."""

    def alive(self) -> list[int]:
        """Those still running; zombies are not."""
        if not LINUX:
            return [self.leader] if _group_lives(self.leader) else []
        found: list[int] = []
        for looks in range(_LOOKS):
            time.sleep(looks * _MOMENT)
            first = self.leader if time.monotonic() - self.started < _RECENT and _newest() >= self.leader else 0
            seen = [(pid, self._is_one(pid)) for pid in _pids() if pid >= first]
            found = [pid for pid, belongs in seen if belongs]
            if found or all(belongs is not None for _, belongs in seen):
                break
        return found

    def ask(self) -> bool:
        """Asks every one of them to end; whether there was one."""
        asked = [self.send(number) for number in self.asking]
        return any(asked)

    def send(self, number: signal.Signals) -> list[int]:
        """Signals every one of them; the pids it was sent to."""
        found = self.alive()
        if LINUX:
            self.names.update({pid: _name(pid) for pid in found if pid not in self.names})
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)
        for pid in found if LINUX else []:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return found

    def _is_one(self, pid: int) -> bool | None:
        """None: it has gone since it was listed, and may have left a child that was not listed yet, or another program begins in it."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, _, group, session = file.read().rpartition(b")")[2].split()[:4]
            if state in (b"Z", b"X") or pid == os.getpid():
                return False
            return self.leader in (int(group), int(session)) or self._holds_output(pid) or self._is_marked(pid)
        except (FileNotFoundError, ProcessLookupError):
            return None
        except (OSError, ValueError):
            return False

    def _is_marked(self, pid: int) -> bool | None:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
        except OSError:
            return False
        return f"{self.mark}=".encode() in environment if environment or _has_none(pid) else None

    def _holds_output(self, pid: int) -> bool:
        try:
            return any(os.readlink(f"/proc/{pid}/fd/{number}") == self.output for number in (1, 2))
        except OSError:
            return False


GRACE = 2.0
"""Seconds between the request to end and the end."""
_RUNNING: dict[int, Descendants] = {}


def begun(descendants: Descendants) -> None:
    """Has them ended when Python ends, in whatever way, unless they are ``over`` before."""
    supervisor().began(descendants.mark, descendants.leader)
    _at_exit()
    _RUNNING[descendants.leader] = descendants


def over(descendants: Descendants) -> None:
    """To be told while nobody else can have the leader's number yet, or just after."""
    supervisor().over(descendants.mark)
    if _RUNNING.get(descendants.leader) is descendants:
        del _RUNNING[descendants.leader]


@cache
def _at_exit() -> None:
    atexit.register(_end_all, os.getpid(), _RUNNING.values())


def _end_all(owner: int, running: Collection[Descendants]) -> None:
    """A forked child that exits leaves what is its parent's alone."""
    if os.getpid() != owner:
        return
    left = [one for one in running if one.ask()]
    end = time.monotonic() + GRACE
    while left and time.monotonic() < end:
        time.sleep(0.01)
        left = [one for one in left if one.alive()]
    for one in left:
        one.send(signal.SIGKILL)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _has_none(pid: int) -> bool:
    """Whether it is certain that its environment is empty: while a program begins there is a moment without any."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    memory, start, end = (int(fields[number - 3]) for number in (23, 50, 51))
    return memory == 0 or start == end != 0


def _newest() -> int:
    """The pid given last: numbers go up until the highest is reached, then begin again."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[-1])


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # macOS says so of a group that has only zombies, too
    return True
