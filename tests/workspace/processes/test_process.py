"""Real programs: how they end, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from nbtools.workspace.processes.process import Limits, ProgramResult, run_program
from tests.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


class Ran:
    """A command's output and how it ended."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.ended: ProgramResult | None = None

    async def command(self, text: str, **limits: float) -> ProgramResult:
        environment = {**os.environ, "TESTED": "1"}
        self.ended = await run_program(
            ["bash", "-c", text],
            cwd=Path.cwd(),
            env=environment,
            receive=self.output.extend,
            limits=Limits(**limits),
        )
        return self.ended


def sleeping(seconds: str) -> list[psutil.Process]:
    """Processes that sleep so many seconds; each test has its own number."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["cmdline"] == ["sleep", seconds] and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


async def test_output_and_errors_come_merged_and_in_order() -> None:
    ran = Ran()
    ended = await ran.command("echo one; echo two >&2; echo three; exit 3")
    assert ran.output == b"one\ntwo\nthree\n"
    assert (ended.exit_code, ended.signal, ended.stopped, ended.background) == (3, "", "", ())


async def test_input_is_at_its_end() -> None:
    ran = Ran()
    assert (await ran.command("cat; read x || echo none")).exit_code == 0
    assert ran.output == b"none\n"


async def test_there_is_no_terminal() -> None:
    ran = Ran()
    await ran.command("tty; echo x > /dev/tty || echo refused")
    assert b"refused" in ran.output


async def test_a_signal_is_reported() -> None:
    ended = await Ran().command("kill -KILL $$")
    assert (ended.exit_code, ended.signal) == (None, "SIGKILL")


async def test_a_program_that_cannot_be_started_raises() -> None:
    with pytest.raises(FileNotFoundError):
        await run_program(["/no/such/program"], cwd=Path.cwd(), env={}, receive=print, limits=Limits())


async def test_the_time_limit_ends_the_whole_group() -> None:
    ran = Ran()
    ended = await ran.command("echo started; sleep 71.5 & sleep 71.5", seconds=1.5)
    assert (ended.stopped, ended.signal) == ("time", "SIGTERM")
    assert ran.output == b"started\n"
    assert not sleeping("71.5")


async def test_a_process_that_ignores_the_request_is_killed() -> None:
    ended = await Ran().command("trap '' TERM; sleep 72.5; sleep 72.5", seconds=1.5)
    assert (ended.stopped, ended.signal) == ("time", "SIGKILL")
    assert ended.seconds >= 2
    assert not sleeping("72.5")


async def test_silence_ends_it_but_not_while_it_prints() -> None:
    ran = Ran()
    ended = await ran.command("for i in 1 2 3 4 5 6; do echo $i; sleep 0.6; done; sleep 73.5", silence=3)
    assert ended.stopped == "silence"
    assert ran.output == b"1\n2\n3\n4\n5\n6\n"
    assert not sleeping("73.5")


async def test_background_work_that_holds_the_output_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtools.workspace.processes.process.IDLE", 2)
    ran = Ran()
    ended = await ran.command("sleep 74.5 & (sleep 0.05; echo late) & echo done")
    assert ended.exit_code == 0
    assert ended.seconds < 60
    assert set(bytes(ran.output).split()) == {b"late", b"done"}
    if sys.platform.startswith("linux"):
        assert ended.background == ("sleep",)
    assert not sleeping("74.5")


@linux
@pytest.mark.parametrize(
    "command",
    [
        "setsid sleep 75.5 >/dev/null 2>&1 & disown",
        "(setsid bash -c 'sleep 75.5 & disown' >/dev/null 2>&1 &)",
        "nohup setsid sleep 75.5 >/dev/null 2>&1 &",
        "env -i $(command -v setsid) $(command -v sleep) 75.5 &",
        "set -m; sleep 75.5 >/dev/null 2>&1 & disown",
        'python3 -c \'import os,time\nif not os.fork():\n os.setsid()\n if not os.fork(): os.execlp("sleep", "sleep", "75.5")\'',
    ],
)
async def test_no_daemon_survives(command: str) -> None:
    ended = await Ran().command(command)
    assert ended.exit_code == 0
    assert not sleeping("75.5")


@linux
async def test_none_survives_in_the_moment_when_its_program_begins() -> None:
    """It has no environment just then; each command is a chance to meet that."""
    for _ in range(40):
        await Ran().command("nohup setsid sleep 76.5 >/dev/null 2>&1 &")
    assert not sleeping("76.5")


@linux
async def test_cancelling_ends_every_process_before_it_returns() -> None:
    task = asyncio.create_task(Ran().command("setsid sleep 76.5 & sleep 76.5"))
    await until(lambda: len(sleeping("76.5")) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not sleeping("76.5")


async def test_cancelling_twice_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtools.workspace.processes.process.GRACE", 60)
    task = asyncio.create_task(Ran().command("trap '' TERM; sleep 77.5; sleep 77.5"))
    await until(lambda: sleeping("77.5"))
    task.cancel()
    await asyncio.sleep(0)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 50
    assert not sleeping("77.5")


async def test_several_at_once_keep_apart() -> None:
    runs = [Ran() for _ in range(8)]
    await asyncio.gather(
        *(
            ran.command(f"sleep 78.5 >/dev/null 2>&1 & echo {number}; sleep 0.1; exit {number}")
            for number, ran in enumerate(runs)
        )
    )
    assert [bytes(ran.output) for ran in runs] == [f"{number}\n".encode() for number in range(8)]
    assert [ran.ended.exit_code for ran in runs if ran.ended] == list(range(8))
    assert not sleeping("78.5")


def test_it_works_in_a_thread_of_its_own() -> None:
    ran = Ran()
    thread = threading.Thread(target=lambda: asyncio.run(ran.command("echo there")))
    thread.start()
    thread.join()
    assert ran.output == b"there\n"


async def test_nothing_stays_open() -> None:
    def descriptors() -> int:
        return psutil.Process().num_fds()

    await Ran().command("true")
    before = descriptors()
    for _ in range(5):
        await Ran().command("echo x; sleep 79.5 &")
        await Ran().command("sleep 79.5", seconds=0.05)
    assert descriptors() == before


async def test_much_output_is_complete() -> None:
    ran = Ran()
    await ran.command("seq 300000")
    assert ran.output.count(b"\n") == 300_000
    assert ran.output.endswith(b"300000\n")


async def test_signals_of_ours_do_not_reach_it() -> None:
    ran = Ran()
    await ran.command("ps -o pgid= -p $$; ps -o sid= -p $$; echo $$")
    group, session, pid = (int(number) for number in ran.output.split())
    assert group == session == pid != os.getpgid(0)
    assert signal.getsignal(signal.SIGCHLD) in (signal.SIG_DFL, None)
