"""Ends what a kernel left running when it died.  ``supervisor`` runs this file as a program of its own, beside the kernel.

Its input is a pipe whose other end only the kernel has.  Lines tell what is about to begin (``+ mark output``), what has (``= mark pid
start``) and what is over (``- mark``); the end of the input, or of the kernel, is the word to end all that is not over, and itself.

A parent's death could be told by ``PR_SET_PDEATHSIG``, too, but that means the death of the *thread* that started the command, reaches no
grandchildren, and is lost with a program that changes its user.

It imports next to nothing: it starts in 25 ms, and stays as small as Python is.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that may not end it: it ends by itself, soon after the kernel."""
_GRACE = 2.0
"""Seconds between the request to end and the end."""
_PATIENCE = 30.0
"""Seconds after which what hangs in the system's hands is left to it."""
_PAUSE = 0.05
_CHUNK = 1 << 16
_MARK = b"NBTOOLS_CALL_"
_MARK_LENGTH = len(_MARK) + 32


class Begun:
    """A command or terminal: its mark, what its output is as ``/proc`` names it, and its first process, whose number may be another's
    by now unless it began at ``start`` (the system's clock ticks; 0: not known).
    """

    __slots__ = ("mark", "output", "pid", "start")

    def __init__(self, mark: str, output: str) -> None:
        self.mark, self.output, self.pid, self.start = mark, output, 0, 0


class Process:
    """One that runs, as it was found: zombies do not."""

    __slots__ = ("group", "pid", "session", "start")

    def __init__(self, pid: int, group: int, session: int, start: int) -> None:
        self.pid, self.group, self.session, self.start = pid, group, session, start


def look(pid: int) -> Process | None:
    """None: there is none of that number, or not any more."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else Process(pid, int(fields[2]), int(fields[3]), int(fields[19]))


class Survivors:
    """What is left of commands whose kernel is dead.  Only such processes are ever signalled."""

    def __init__(self, commands: list[Begun]) -> None:
        self._commands = commands
        self._marks = {one.mark.encode() for one in commands}
        self._outputs = {one.output for one in commands if one.output}
        self._known: set[tuple[int, int]] = set()

    def found(self) -> list[Process]:
        """Those that run now, by mark, output, group or session."""
        there = {int(name): seen for name in os.listdir("/proc") if name.isdigit() and (seen := look(int(name)))}
        numbers = self._numbers(there)
        found = [seen for seen in there.values() if seen.pid != os.getpid() and self._is_one(seen, numbers)]
        self._known |= {(seen.pid, seen.start) for seen in found}
        return found

    def _numbers(self, there: dict[int, Process]) -> set[int]:
        """The groups and sessions that are certainly theirs.

        A number cannot be given to somebody else as long as one process of the group lives: who was found before vouches for it.
        """
        held = {number for seen in there.values() if (seen.pid, seen.start) in self._known for number in (seen.group, seen.session)}
        return {one.pid for one in self._commands if one.pid and self._is_its(one, there.get(one.pid), held)}

    def _is_its(self, one: Begun, leader: Process | None, held: set[int]) -> bool:
        if leader is None:
            return not self._known or one.pid in held  # at the first look the kernel has held the number until just now
        return leader.start == one.start

    def _is_one(self, seen: Process, numbers: set[int]) -> bool:
        return seen.group in numbers or seen.session in numbers or self._is_marked(seen.pid) or self._holds_output(seen.pid)

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
        """Asks all of them to end, and makes them after ``_GRACE`` seconds."""
        began = time.monotonic()
        asked: set[tuple[int, int]] = set()
        quiet = 0
        while quiet < 2 and time.monotonic() - began < _PATIENCE:
            found = self.found()
            quiet = 0 if found else quiet + 1  # one look may miss the child of a process that went while it looked
            late = time.monotonic() - began >= _GRACE
            for seen in found:
                if late:
                    send(seen, signal.SIGKILL)
                elif (seen.pid, seen.start) not in asked:
                    asked.add((seen.pid, seen.start))
                    send(seen, signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)  # shells at a prompt heed only the first
            time.sleep(_PAUSE)


def send(seen: Process, *numbers: int) -> None:
    """Signals that very process: not whoever has its number now."""
    try:
        descriptor = os.pidfd_open(seen.pid)
    except (AttributeError, OSError):
        descriptor = -1
    try:
        now = look(seen.pid)
        for number in numbers if now is not None and now.start == seen.start else ():
            if descriptor < 0:
                os.kill(seen.pid, number)
            else:
                signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        pass
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def end_groups(groups: list[int]) -> None:
    """The same where there is no ``/proc`` (macOS): only process groups can be told there."""
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


def listen(pipe: int, owner: int) -> list[Begun]:
    """Returns when the kernel has let go of the pipe or is dead: what it told of and is not over."""
    commands: dict[str, Begun] = {}
    os.set_blocking(pipe, False)
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    descriptor = _watched(owner)
    if descriptor >= 0:
        poll.register(descriptor, select.POLLIN)
    rest = b""
    open_ = True
    while open_:
        ready = poll.poll(None if descriptor >= 0 else 1_000)
        open_ = os.getppid() == owner and all(one != descriptor for one, _ in ready)
        while chunk := _read(pipe):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _note(commands, line.decode().split(" "))
        open_ = open_ and chunk is None
    return list(commands.values())


def _watched(owner: int) -> int:
    """A child that the kernel forked may hold the pipe open beyond its death: that is watched for itself where the system can."""
    try:
        return os.pidfd_open(owner)
    except (AttributeError, OSError):
        return -1


def _read(pipe: int) -> bytes | None:
    """Empty at the end; None: nothing more at the moment."""
    try:
        return os.read(pipe, _CHUNK)
    except BlockingIOError:
        return None


def _note(commands: dict[str, Begun], words: list[str]) -> None:
    match words:
        case ["+", mark, output]:
            commands[mark] = Begun(mark, output)
        case ["=", mark, pid, start]:
            commands[mark].pid, commands[mark].start = int(pid), int(start)
        case ["-", mark]:
            commands.pop(mark, None)


def main() -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    left = listen(0, int(sys.argv[1]))
    if left and os.path.isdir("/proc/self"):
        Survivors(left).end()
    elif left:
        end_groups([one.pid for one in left if one.pid])


if __name__ == "__main__":
    main()
