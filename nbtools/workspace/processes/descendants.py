"""Finds and ends all processes that a command started, including those that left its process group.

Each command gets a unique environment variable (its mark), which its children inherit.  On Linux a process
belongs to the command if it is in its group or session, has the mark, or has the command's output open; a
program escapes only if it clears its environment, starts a session and closes the output.  Elsewhere (macOS)
only the process group is known.

Reads ``/proc`` itself: ``psutil`` knows no sessions, outputs or programs that are just starting, and its
import takes longer (140 ms) than the start of the watchdog, which does the same without packages.
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

from nbtools.workspace.processes.supervisor import supervisor

LINUX = sys.platform.startswith("linux")


_RECENT = 2.0
"""Seconds in which pids cannot wrap around: until then only pids above the leader's are checked."""
_LOOKS = 8
_MOMENT = 0.001
"""Seconds before the second scan; multiplied by the number of the scan for further ones."""


def new_mark() -> str:
    """Returns a unique variable name that marks the processes of one command."""
    return f"NBTOOLS_CALL_{uuid.uuid4().hex}"


@dataclass(eq=False, slots=True)
class Descendants:
    """The processes of one command.

    ``leader``: the shell's pid, which is also the number of group and session; ``output``: the name of its
    output in ``/proc`` (``pipe:[…]`` or a terminal), empty once the name can be that of another output.
    """

    leader: int
    mark: str
    output: str
    started: float = field(default_factory=time.monotonic)
    names: dict[int, str] = field(default_factory=dict)
    """Names of the processes that were signalled, by pid."""
    end_signals: tuple[signal.Signals, ...] = (signal.SIGTERM,)
    """The signals that request them to end."""

    def alive(self) -> list[int]:
        """Returns the pids of the running processes, without zombies."""
        if not LINUX:
            return [self.leader] if _group_lives(self.leader) else []
        found: list[int] = []
        for looks in range(_LOOKS):
            time.sleep(looks * _MOMENT)
            first = (
                self.leader if time.monotonic() - self.started < _RECENT and _newest() >= self.leader else 0
            )
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
            checks = [(pid, self._belongs(pid)) for pid in pids if pid >= first]
            found = [pid for pid, belongs in checks if belongs]
            if found or all(belongs is not None for _, belongs in checks):
                break
        return found

    def request_end(self) -> bool:
        """Requests all processes to end; returns whether there were any."""
        signalled = [self.send(number) for number in self.end_signals]
        return any(signalled)

    def send(self, number: signal.Signals) -> list[int]:
        """Sends a signal to all processes; returns their pids."""
        found = self.alive()
        if LINUX:
            self.names.update({pid: _name(pid) for pid in found if pid not in self.names})
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)
        for pid in found if LINUX else []:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return found

    def _belongs(self, pid: int) -> bool | None:
        """Returns whether a process belongs to the command; None if it is unknown and another scan is needed.

        Unknown: it ended after it was listed, so it may have an unlisted child,
        or it is executing a new program.
        """
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, _, group, session = file.read().rpartition(b")")[2].split()[:4]
            if state in (b"Z", b"X") or pid == os.getpid():
                return False
            return (
                self.leader in (int(group), int(session)) or self._holds_output(pid) or self._is_marked(pid)
            )
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
        return f"{self.mark}=".encode() in environment if environment or _has_no_environment(pid) else None

    def _holds_output(self, pid: int) -> bool:
        try:
            return self.output != "" and any(
                os.readlink(f"/proc/{pid}/fd/{number}") == self.output for number in (1, 2)
            )
        except OSError:
            return False


GRACE = 2.0
"""Seconds between the request to end and SIGKILL."""
_RUNNING: dict[int, Descendants] = {}


def register(descendants: Descendants) -> None:
    """Registers processes to be ended when Python ends, in whatever way, until ``unregister`` is called."""
    supervisor().report_start(descendants.mark, descendants.leader)
    _at_exit()
    _RUNNING[descendants.leader] = descendants


def unregister(descendants: Descendants) -> None:
    """Removes the registration.  Call it before the leader's pid can be reused, or immediately after."""
    supervisor().report_end(descendants.mark)
    if _RUNNING.get(descendants.leader) is descendants:
        del _RUNNING[descendants.leader]


@cache
def _at_exit() -> None:
    atexit.register(_end_all, os.getpid(), _RUNNING.values())


def _end_all(owner: int, running: Collection[Descendants]) -> None:
    if os.getpid() != owner:  # a forked child must not end its parent's processes
        return
    remaining = [command for command in running if command.request_end()]
    end = time.monotonic() + GRACE
    while remaining and time.monotonic() < end:
        time.sleep(0.01)
        remaining = [command for command in remaining if command.alive()]
    for command in remaining:
        command.send(signal.SIGKILL)


def _has_no_environment(pid: int) -> bool:
    """Whether the environment is empty, not just not yet set up because a program is starting."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    memory, start, end = (int(fields[number - 3]) for number in (23, 50, 51))
    return memory == 0 or start == end != 0


def _newest() -> int:
    """Returns the most recently assigned pid; pids increase and then wrap around."""
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
        pass  # macOS also reports this for a group of zombies
    return True
