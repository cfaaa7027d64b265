"""Ends the processes of a kernel that has died.  ``supervisor`` runs this file as a separate program.

Its stdin is a pipe whose other end only the kernel has.  A line announces a command (``+ mark output``), its
start (``= mark pid start``) or its end (``- mark``).  When the input or the kernel ends, all commands still
running are ended, and then this program.

``PR_SET_PDEATHSIG`` is no alternative: it reacts to the death of the *thread* that started the command, does
not reach grandchildren, and is cleared when a program changes its user.

Few imports keep the start fast (25 ms) and the process small.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that must not end the watchdog: it ends by itself, soon after the kernel."""
_GRACE = 2.0
"""Seconds between the request to end and SIGKILL."""
_END_TIMEOUT = 30.0
"""Seconds after which processes that hang in system calls are given up."""
_PAUSE = 0.05
_CHUNK = 1 << 16
_MARK = b"NBTOOLS_CALL_"
_MARK_LENGTH = len(_MARK) + 32


class WatchedCommand:
    """A command or terminal: its mark, the name of its output in ``/proc``, and its first process.

    The pid may have been reused unless the process started at ``start`` (in clock ticks; 0: unknown).
    """

    __slots__ = ("mark", "output", "pid", "start")

    def __init__(self, mark: str, output: str) -> None:
        self.mark, self.output, self.pid, self.start = mark, output, 0, 0


class Process:
    """A running process; zombies do not count."""

    __slots__ = ("group", "pid", "session", "start")

    def __init__(self, pid: int, group: int, session: int, start: int) -> None:
        self.pid, self.group, self.session, self.start = pid, group, session, start


def find_process(pid: int) -> Process | None:
    """Returns the process with that pid; None if there is none or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return Process(pid, int(fields[2]), int(fields[3]), int(fields[19]))


class OrphanedProcesses:
    """Finds and ends the processes of commands whose kernel has died.  No other process is ever signalled."""

    def __init__(self, commands: list[WatchedCommand]) -> None:
        self._commands = commands
        self._marks = {command.mark.encode() for command in commands}
        self._outputs = {command.output for command in commands if command.output}
        self._known: set[tuple[int, int]] = set()

    def found(self) -> list[Process]:
        """Returns the running processes of the commands, by mark, output, group or session."""
        running = {
            int(name): process
            for name in os.listdir("/proc")
            if name.isdigit() and (process := find_process(int(name)))
        }
        groups = self._groups(running)
        found = [
            process
            for process in running.values()
            if process.pid != os.getpid()
            and (
                process.group in groups
                or process.session in groups
                or self._is_marked(process.pid)
                or self._holds_output(process.pid)
            )
        ]
        self._known |= {(process.pid, process.start) for process in found}
        return found

    def _groups(self, running: dict[int, Process]) -> set[int]:
        """Returns the numbers of groups and sessions that certainly belong to the commands.

        A number is not reused while a process of the group lives, so a process found before confirms it.
        """
        known = [process for process in running.values() if (process.pid, process.start) in self._known]
        confirmed = {number for process in known for number in (process.group, process.session)}
        return {
            command.pid
            for command in self._commands
            if command.pid and self._owns_pid(command, running.get(command.pid), confirmed)
        }

    def _owns_pid(self, command: WatchedCommand, leader: Process | None, confirmed: set[int]) -> bool:
        if leader is None:
            # At the first scan, the kernel has kept the pid from reuse until now.
            return not self._known or command.pid in confirmed
        return leader.start == command.start

    def _is_marked(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                data = file.read()
        except OSError:
            return False
        at = data.find(_MARK)
        while at >= 0:
            if data[at : at + _MARK_LENGTH] in self._marks:
                return True
            at = data.find(_MARK, at + 1)
        return False

    def _holds_output(self, pid: int) -> bool:
        try:
            return any(os.readlink(f"/proc/{pid}/fd/{number}") in self._outputs for number in (1, 2))
        except OSError:
            return False

    def end(self) -> None:
        """Requests all processes to end, and kills them after ``_GRACE`` seconds."""
        began = time.monotonic()
        signalled: set[tuple[int, int]] = set()
        empty_scans = 0
        while empty_scans < 2 and time.monotonic() - began < _END_TIMEOUT:
            found = self.found()
            # One scan may miss the child of a process that ended during the scan.
            empty_scans = 0 if found else empty_scans + 1
            late = time.monotonic() - began >= _GRACE
            for process in found:
                if late:
                    send(process, signal.SIGKILL)
                elif (process.pid, process.start) not in signalled:
                    signalled.add((process.pid, process.start))
                    # Interactive shells react only to the first; stopped processes need the last.
                    send(process, signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)
            time.sleep(_PAUSE)


def send(process: Process, *numbers: int) -> None:
    """Sends signals to a process, unless its pid has been reused."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        descriptor = -1
    try:
        current = find_process(process.pid)
        for number in numbers if current is not None and current.start == process.start else ():
            if descriptor < 0:
                os.kill(process.pid, number)
            else:
                signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        pass
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def end_groups(groups: list[int]) -> None:
    """Ends process groups, on systems without ``/proc`` (macOS)."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        _signal_groups(groups, number)
    end = time.monotonic() + _GRACE
    while time.monotonic() < end and _signal_groups(groups, 0):
        time.sleep(_PAUSE)
    _signal_groups(groups, signal.SIGKILL)


def _signal_groups(groups: list[int], number: int) -> bool:
    reached = False
    for group in groups:
        try:
            os.killpg(group, number)
            reached = True
        except (ProcessLookupError, PermissionError):
            pass
    return reached


def listen(pipe: int, owner: int) -> list[WatchedCommand]:
    """Reads announcements until the kernel closes the pipe or dies; returns commands that still run."""
    commands: dict[str, WatchedCommand] = {}
    os.set_blocking(pipe, False)
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    try:  # the pipe is not enough: a forked child may keep it open after the kernel has died
        descriptor = os.pidfd_open(owner)
    except (AttributeError, OSError):  # not supported: the parent is checked every second
        descriptor = -1
    if descriptor >= 0:
        poll.register(descriptor, select.POLLIN)
    rest = b""
    open_ = True
    while open_:
        ready = poll.poll(None if descriptor >= 0 else 1_000)
        open_ = os.getppid() == owner and all(ready_descriptor != descriptor for ready_descriptor, _ in ready)
        while chunk := _read(pipe):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _note(commands, line.decode().split(" "))
        open_ = open_ and chunk is None
    return list(commands.values())


def _read(pipe: int) -> bytes | None:
    """Reads a chunk; empty at the end of the input, None if there is no data now."""
    try:
        return os.read(pipe, _CHUNK)
    except BlockingIOError:
        return None


def _note(commands: dict[str, WatchedCommand], words: list[str]) -> None:
    match words:
        case ["+", mark, output]:
            commands[mark] = WatchedCommand(mark, output)
        case ["=", mark, pid, start]:
            commands[mark].pid, commands[mark].start = int(pid), int(start)
        case ["-", mark]:
            commands.pop(mark, None)


def main() -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    remaining = listen(0, int(sys.argv[1]))
    if remaining and os.path.isdir("/proc/self"):
        OrphanedProcesses(remaining).end()
    elif remaining:
        end_groups([command.pid for command in remaining if command.pid])


if __name__ == "__main__":
    main()
