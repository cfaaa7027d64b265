"""Whatever way a kernel ends, nothing that it started outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import KernelManager

from nbtools.workspace.processes.background import BackgroundCommands
from nbtools.workspace.processes.descendants import LINUX
from nbtools.workspace.processes.environment import environment
from nbtools.workspace.processes.supervisor import Supervisor
from nbtools.workspace.processes.watchdog import OrphanedProcesses, WatchedCommand, find_process
from tests.processes import named, words_of
from tests.waiting import comes_true

pytestmark = pytest.mark.skipif(not LINUX, reason="processes are told apart by /proc")

START = """
import asyncio, os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it, as nohup does
from pathlib import Path
from nbtools.workspace.processes.environment import environment
from nbtools.workspace.processes.background import BackgroundCommands
from nbtools.workspace.processes.supervisor import supervisor
from nbtools.workspace.processes.sandbox import SandboxedCommand
from nbtools.workspace.processes.terminal import terminal_argv
from nbtools.workspace.processes.terminal import Terminals

jobs, terminals = BackgroundCommands(), Terminals()

def begin(command):
    jobs.start(command, ["bash", "-c", command], Path.cwd(), environment(os.environ))
"""
SEED = 4_100_000
"""Seconds to sleep, a number a test: processes are counted by it."""


def alive(seconds: int) -> list[int]:
    """The sleepers of a test, and what started them."""
    return [pid for pid, words in named(str(seconds)).items() if "python" not in words[0]]


def escaped(seconds: int) -> list[int]:
    """All processes whose command line has the number; one that has ended has no command line."""
    return list(named(str(seconds)))


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> Iterator[int]:
    number = SEED + abs(hash(request.node.name)) % 100_000
    yield number
    for pid in alive(number):
        os.kill(pid, signal.SIGKILL)


class Host:
    """A Python of its own that starts commands, in a process group of its own;
    it says its supervisor's pid when all have begun.
    """

    def __init__(self, code: str, folder: Path) -> None:
        last = "print(supervisor().pid, flush=True); await asyncio.sleep(1000)"
        program = f"{START}\nasync def main():\n{code}\n    {last}\nasyncio.run(main())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
            env=os.environ,
            text=True,
        )
        assert self.process.stdout is not None
        self.supervisor = int(self.process.stdout.readline())

    def end(self, number: signal.Signals = signal.SIGKILL, *, group: bool = False) -> None:
        (os.killpg if group else os.kill)(self.process.pid, number)
        self.process.wait()
        self.process.stdout.close()

    def supervisor_gone(self) -> bool:
        return comes_true(
            lambda: not psutil.pid_exists(self.supervisor) or find_process(self.supervisor) is None
        )


def test_200_background_commands_end_with_a_kernel_that_is_killed(tmp_path: Path, seconds: int) -> None:
    host = Host(f"    for _ in range(200): begin('sleep {seconds} & wait')", tmp_path)
    assert comes_true(lambda: len(alive(seconds)) >= 400)
    host.end()
    assert comes_true(lambda: not alive(seconds), 10)
    assert host.supervisor_gone()


ESCAPES = [
    "nohup sleep {} &",
    "setsid sleep {} & disown",
    "setsid -f sleep {} </dev/null >/dev/null 2>&1",
    "(setsid nohup sleep {} </dev/null >/dev/null 2>&1 &) &",
    "trap '' TERM HUP INT; sleep {}",
    "env -i sleep {} </dev/null >/dev/null 2>&1 & wait",
    "env -i setsid sleep {}",
    "sleep {} & kill -STOP $!; wait",
    "python3 -c 'import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep({})'",
]


def has_left(seconds: int) -> bool:
    """Whether it has got as far as it wants to:
    its sleep runs or is stopped, or its Python has a session of somebody who is gone.
    """
    for pid in escaped(seconds):
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            process = psutil.Process(pid)
            words = process.cmdline()
            stopped = process.status() == psutil.STATUS_STOPPED
            if (
                stopped
                or words == ["sleep", str(seconds)]
                or ("python" in "".join(words[:1]) and os.getsid(pid) not in (pid, process.ppid()))
            ):
                return True
    return False


def test_children_that_try_to_leave_end_with_it(tmp_path: Path, seconds: int) -> None:
    numbers = {seconds * 100 + at: command for at, command in enumerate(ESCAPES)}
    host = Host(
        "\n".join(f"    begin({command.format(number)!r})" for number, command in numbers.items()), tmp_path
    )
    for number, command in numbers.items():
        assert comes_true(lambda number=number: has_left(number)), command
    host.end()
    assert comes_true(lambda: not escaped(seconds), 10), named(str(seconds))


def test_terminals_and_what_runs_in_them_end_with_it(tmp_path: Path, seconds: int) -> None:
    code = (
        "    bash = SandboxedCommand(terminal_argv('bash'), '', False)\n"
        "    _, one = await terminals.open(None, bash, Path.cwd(), environment(os.environ), 24, 80)\n"
        "    await one.wait_for_prompt(0, 10, ahead=False)\n"
        f"    await one.type('(trap \"\" HUP TERM; setsid sleep {seconds} & sleep {seconds}) & sleep {seconds}', enter=True)"
    )
    host = Host(code, tmp_path)
    assert comes_true(lambda: len(alive(seconds)) >= 3)
    host.end()
    assert comes_true(lambda: not alive(seconds), 10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_group_of_the_kernel_do_not_keep_it_from_its_work(
    tmp_path: Path, seconds: int, number: signal.Signals
) -> None:
    host = Host(f"    begin('sleep {seconds}')", tmp_path)
    assert comes_true(lambda: alive(seconds))
    os.kill(host.supervisor, number)
    assert find_process(host.supervisor)
    host.end(number, group=True)
    assert comes_true(lambda: not alive(seconds), 10)
    assert host.supervisor_gone()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_comes_while_it_starts_does_not_end_it(
    tmp_path: Path, seconds: int, number: signal.Signals
) -> None:
    host = Host(f"    begin('sleep {seconds}'); os.kill(supervisor().pid, {int(number)})", tmp_path)
    assert comes_true(lambda: alive(seconds))
    host.end()
    assert comes_true(lambda: not alive(seconds), 10)
    assert host.supervisor_gone()


def test_a_child_that_the_kernel_forked_and_that_lives_on_keeps_nothing_running(
    tmp_path: Path, seconds: int
) -> None:
    code = f"    begin('sleep {seconds}')\n    if os.fork() == 0:\n        import time; time.sleep(30); os._exit(0)"
    host = Host(code, tmp_path)
    children = psutil.Process(host.process.pid).children(recursive=True)
    forked = next(
        child
        for child in children
        if words_of(child)[:1] == [sys.executable] and child.pid != host.supervisor
    )
    assert comes_true(lambda: alive(seconds))
    host.end()
    assert comes_true(lambda: not alive(seconds), 10)
    assert forked.is_running()
    forked.kill()


def test_a_kernel_that_ends_by_itself_leaves_neither_commands_nor_a_supervisor(
    tmp_path: Path, seconds: int
) -> None:
    program = f"{START}\nasync def main():\n    begin('sleep {seconds}')\n    print(supervisor().pid)\nasyncio.run(main())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True
    )
    assert not alive(seconds)
    assert not psutil.pid_exists(int(done.stdout))
    assert done.stderr == ""


def test_a_killed_supervisor_is_replaced_and_gets_the_whole_state(tmp_path: Path, seconds: int) -> None:
    killed = "os.kill(supervisor().pid, 9); os.waitid(os.P_PID, supervisor().pid, os.WEXITED | os.WNOWAIT)"
    code = f"    begin('sleep {seconds}')\n    {killed}\n    begin('sleep {seconds}')"
    host = Host(code, tmp_path)
    assert comes_true(lambda: len(alive(seconds)) == 2)
    host.end()
    assert comes_true(lambda: not alive(seconds), 10)


def test_a_number_that_somebody_else_has_by_now_is_left_alone(seconds: int) -> None:
    stranger = subprocess.Popen(["sleep", str(seconds)], start_new_session=True)
    try:
        gone = WatchedCommand("NBTOOLS_CALL_" + "0" * 32, "pipe:[1]")
        seen = find_process(stranger.pid)
        assert seen is not None
        gone.pid, gone.start = stranger.pid, seen.start - 1
        assert OrphanedProcesses([gone]).found() == []
        gone.start = seen.start
        assert [one.pid for one in OrphanedProcesses([gone]).found()] == [stranger.pid]
    finally:
        stranger.kill()
        stranger.wait()


def test_ended_processes_are_no_longer_supervised(tmp_path: Path) -> None:
    one = Supervisor()
    try:
        for number in range(20_000):
            one.announce(f"NBTOOLS_CALL_{number:032}", "pipe:[1]")
            one.report_end(f"NBTOOLS_CALL_{number:032}")
        assert one._open == {}
        assert find_process(one.pid)
    finally:
        one.stop()


async def test_many_commands_started_and_ended_leave_nothing(
    tmp_path: Path, seconds: int, all_rounds: bool
) -> None:
    jobs, commands = BackgroundCommands(), 200 if all_rounds else 50
    for _ in range(commands):
        line = f"sleep {seconds} & wait"
        jobs.start(line, ["bash", "-c", line], tmp_path, environment(os.environ))
    assert await asyncio.to_thread(comes_true, lambda: len(alive(seconds)) >= 2 * commands)
    await asyncio.gather(*(job.kill() for job in jobs.all()))
    assert alive(seconds) == []
    await jobs.close()


@pytest.mark.parametrize("restart", [True, False], ids=["restarted", "killed"])
def test_a_jupyter_kernel_that_is_restarted_or_killed_leaves_nothing(
    tmp_path: Path, seconds: int, restart: bool
) -> None:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        begun = client.execute_interactive(f"{START}\nbegin('setsid sleep {seconds} & wait')", timeout=60)
        assert begun["content"]["status"] == "ok", begun["content"]
        assert comes_true(lambda: alive(seconds))
        if restart:
            manager.restart_kernel(now=True)
        else:
            os.kill(manager.provisioner.pid, signal.SIGKILL)
        assert comes_true(lambda: not alive(seconds), 10)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
