"""Commands in the background: real shells, real servers, and nothing left behind."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from nbtools.core.call import ExecutingCall
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.result_data import ShellBackgroundData, ShellData
from nbtools.core.tool import CommandTarget, Kind
from nbtools.session import Session
from nbtools.tools.commands import background
from nbtools.tools.commands.background import ShellKillTool, ShellOutput, ShellOutputTool
from nbtools.tools.commands.shell import ShellTool
from nbtools.workspace.workspace import Workspace
from tests.waiting import until

_SERVE = (
    "from http.server import *; server = HTTPServer(('127.0.0.1', 0), SimpleHTTPRequestHandler); "
    "print(server.server_port, flush=True); server.serve_forever()"
)


class Three:
    """The three tools on one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.shell, self.output, self.killer = (
            ShellTool(workspace),
            ShellOutputTool(workspace),
            ShellKillTool(workspace),
        )

    async def start(self, command: str, **params: Any) -> ShellBackgroundData:
        result = await self.shell.build({"command": command, "background": True, **params}).execute()
        assert isinstance(result.data, ShellBackgroundData), result
        return result.data

    async def look(self, id: str, **params: Any) -> ShellOutput:  # noqa: A002
        result = await self.output.build({"id": id, **params}).execute()
        assert isinstance(result.data, ShellOutput)
        assert result.ok
        return result.data

    async def until_over(self, id: str) -> ShellOutput:  # noqa: A002
        look = await self.look(id, wait=20)
        while look.status in ("running", "left"):
            look = await self.look(id, wait=20)
        return look

    async def kill(self, id: str) -> ToolResult:  # noqa: A002
        return await self.killer.build({"id": id}).execute()


@pytest.fixture
async def three(tmp_path: Path) -> AsyncIterator[Three]:
    workspace = Workspace(tmp_path)
    yield Three(workspace)
    await workspace.close()


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_it_starts_at_once_and_says_where_its_output_goes(three: Three) -> None:
    result = await three.shell.build({"command": "echo one; sleep 60", "background": True}).execute()
    assert isinstance(result.data, ShellBackgroundData)
    assert (result.data.id, result.data.seconds) == ("1", 0)
    assert lives(result.data.pid)
    assert result.data.full_output in str(result.llm_content)
    assert "id 1" in str(result.llm_content)
    look = await three.look("1", wait=20)
    assert (look.status, look.text, look.new_lines, look.exit_code) == ("running", "one\n", 1, None)
    assert Path(result.data.full_output).read_text() == "one\n"


async def test_a_server_answers_until_it_is_ended(three: Three) -> None:
    started = await three.start(f'{sys.executable} -c "{_SERVE}"')
    port = int((await three.look(started.id, wait=20)).text)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    assert b"200 OK" in await reader.readline()
    writer.close()
    await writer.wait_closed()
    logged = await three.look(started.id, wait=20, filter="GET /")
    assert '"GET / HTTP/1.0" 200' in logged.text
    result = await three.kill(started.id)
    assert result.ok
    assert (result.data.status, result.data.signal, result.data.exit_code) == ("killed", "SIGTERM", None)
    assert "ended by SIGTERM" in str(result.llm_content)
    assert not lives(started.pid)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_every_change_of_a_command_is_reported_once(three: Three) -> None:
    os.mkfifo(three.workspace.root / "go")
    os.mkfifo(three.workspace.root / "on")
    (three.workspace.root / "half").write_text(
        "two\nthr"
    )  # cat writes it at once; bash's printf, a line at a time
    started = await three.start("echo one; read x < go; cat half; read x < on; echo ee; exit 3")
    assert (await three.look(started.id, wait=20)).text == "one\n"
    assert (await three.look(started.id)).text == ""
    (three.workspace.root / "go").write_text("\n")
    look = await three.look(started.id, wait=20)
    assert (look.text, look.new_lines, look.lines) == ("two\nthr", 2, 3)
    (three.workspace.root / "on").write_text("\n")
    look = await three.look(started.id, wait=20)
    assert look.text == "ee\n"
    look = await three.until_over(started.id)
    assert (look.status, look.exit_code, look.text) == ("exited", 3, "")


async def test_a_filter_consumes_what_it_leaves_out_and_waits_for_whole_lines(three: Three) -> None:
    os.mkfifo(three.workspace.root / "go")
    os.mkfifo(three.workspace.root / "on")
    started = await three.start(
        "echo no; printf 'err'; read x < go; echo 'or 1'; echo no; echo error 2; cat on"
    )
    waiting = asyncio.create_task(three.look(started.id, wait=20, filter="^error"))
    (three.workspace.root / "go").write_text("\n")
    assert (await waiting).text.startswith("error 1\n")
    (three.workspace.root / "on").write_text("last\n")
    assert (await three.look(started.id, wait=20, filter="last")).text == "last\n"
    assert (await three.until_over(started.id)).text == ""


async def test_much_output_is_cut_in_the_middle_but_filtered_whole(three: Three) -> None:
    started = await three.start("seq 300000")
    while (await three.look(started.id, wait=20, filter="77777$")).status == "running":
        pass
    again = await three.start("seq 300000")
    job = three.workspace.jobs.get(again.id)
    while not job.state().has_ended:
        await asyncio.wait([job._running.output_ended])
    look = await three.look(again.id)
    assert len(look.text) < 42_000
    assert look.text.startswith("1\n2\n")
    assert look.text.endswith("300000\n")
    assert again.full_output in look.text
    assert (look.lines, look.new_lines) == (300_000, 300_000)
    assert Path(again.full_output).read_text().split() == [str(number) for number in range(1, 300_001)]
    third = await three.start("seq 300000")
    found = ""
    while (look := await three.look(third.id, wait=20, filter="77777$")).status == "running":
        found += look.text
    assert (found + look.text).split() == ["77777", "177777", "277777"]


@pytest.mark.parametrize(
    ("command", "status", "exit_code", "signal_"),
    [
        ("exit 0", "exited", 0, ""),
        ("exit 7", "exited", 7, ""),
        ("kill -SEGV $$", "killed", None, "SIGSEGV"),
        ("nosuchcommand", "exited", 127, ""),
    ],
)
async def test_true_states(
    three: Three, command: str, status: str, exit_code: int | None, signal_: str
) -> None:
    look = await three.until_over((await three.start(command)).id)
    assert (look.status, look.exit_code, look.signal) == (status, exit_code, signal_)


async def test_processes_that_a_command_leaves_behind_are_reported_and_ended(three: Three) -> None:
    started = await three.start("setsid sleep 300 > /dev/null 2>&1 & sleep 300 & echo $!; exit 4")
    child = int((await three.look(started.id, wait=20)).text)
    await three.workspace.jobs.get(started.id)._running.exit
    look = await three.look(started.id)
    assert (look.status, look.exit_code) == ("left", 4)
    assert lives(child)
    result = await three.kill(started.id)
    assert (result.data.status, result.data.exit_code) == ("exited", 4)
    assert not lives(child)
    assert not _marked(three)


async def test_it_ends_what_will_not_end_and_what_went_away(three: Three) -> None:
    started = await three.start(
        "trap '' TERM; setsid bash -c \"trap '' TERM; echo deaf; while :; do sleep 1; done\"; exit 1"
    )
    assert (await three.look(started.id, wait=20)).text == "deaf\n"
    result = await three.kill(started.id)
    assert (result.data.status, result.data.signal) == ("killed", "SIGKILL")
    assert not _marked(three)
    assert (await three.kill(started.id)).data.status == "killed"


async def test_limits_hold_in_the_background_where_they_are_given(three: Three) -> None:
    timed, silent = (
        await three.start("while :; do echo x; sleep 0.1; done", timeout=0.3),
        await three.start("sleep 60", silence=0.2),
    )
    look, quiet = await three.until_over(timed.id), await three.until_over(silent.id)
    assert (look.status, look.stopped) == ("killed", "time")
    assert (quiet.status, quiet.stopped) == ("killed", "silence")


async def test_a_command_past_its_timeout_continues_in_the_background_on_request(three: Three) -> None:
    os.mkfifo(three.workspace.root / "go")
    command = {"command": "echo one; cat go; exit 5", "timeout": 3, "keep": True}
    result = await three.shell.build(command).execute()
    assert result.ok
    assert isinstance(result.data, ShellBackgroundData)
    assert result.data.seconds == 3
    assert str(result.llm_content).startswith("one\n(Still running after 3 seconds")
    (three.workspace.root / "go").write_text("two\n")
    look = await three.look(result.data.id, wait=20)
    assert look.text == "two\n"
    look = await three.until_over(result.data.id)
    assert (look.status, look.exit_code) == ("exited", 5)
    assert Path(look.full_output).read_text() == "one\ntwo\n"


async def test_a_kept_command_that_is_quick_is_as_any_other(three: Three) -> None:
    result = await three.shell.build({"command": "echo one", "keep": True}).execute()
    assert isinstance(result.data, ShellData)
    assert (result.data.exit_code, result.data.stopped) == (0, "")
    quiet = await three.shell.build({"command": "sleep 60", "keep": True, "silence": 0.2}).execute()
    assert isinstance(quiet.data, ShellData)
    assert quiet.data.stopped == "silence"
    assert not three.workspace.jobs.all()


async def test_a_kept_command_that_is_cancelled_leaves_nothing(three: Three) -> None:
    call = asyncio.create_task(
        three.shell.build({"command": "echo $$ > pid; sleep 300", "keep": True}).execute()
    )
    path = three.workspace.root / "pid"
    await until(lambda: path.exists() and path.read_text())
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not lives(int(path.read_text()))


async def test_the_list_counts_nothing_as_seen(three: Three) -> None:
    assert (await three.output.build({}).execute()).llm_content == "No background commands were started."
    first, second = await three.start("echo a"), await three.start("echo b;\nsleep 60")
    await three.workspace.jobs.get(first.id)._running.exit
    result = await three.output.build({}).execute()
    lines = str(result.llm_content).splitlines()
    assert lines[0].startswith("1  exited with 0 after")
    assert lines[1].startswith("2  running for ")
    assert lines[1].endswith("echo b; sleep 60")
    assert result.summary == "1 running, 2 in all"
    assert [look.status for look in result.data] == ["exited", "running"]
    assert (await three.look(second.id, wait=20)).text == "b\n"


async def test_unknown_ids_and_bad_filters_name_the_way_out(three: Three) -> None:
    with pytest.raises(ToolFailure, match="Background command '7' does not exist") as caught:
        three.output.build({"id": "7"})
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS
    await three.start("sleep 60")
    await three.start("sleep 60")
    with pytest.raises(ToolFailure, match="Background commands: 1, 2"):
        three.killer.build({"id": 7})
    for pattern, reason in (
        ("(", "unclosed group"),
        ("(?=a)", "look-around"),
        (r"(a)\1", "backreferences"),
        ("(a{99}){999}", "repeats"),
    ):
        with pytest.raises(ToolFailure, match=f"not a valid regular expression: .*{reason}"):
            three.output.build({"id": "1", "filter": pattern})
    with pytest.raises(ToolFailure, match="at most 600"):
        three.output.build({"id": "1", "wait": 601})


def test_kinds(tmp_path: Path) -> None:
    three = Three(Workspace(tmp_path))
    assert (three.output.kind, three.killer.kind, three.killer.asks) == (Kind.READ, Kind.EXECUTE, False)
    assert three.shell.build({"command": "ls", "background": True}).target() == CommandTarget("ls")


async def test_fifty_commands_end_with_the_session_without_an_orphan(tmp_path: Path) -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    async with Session(tmp_path, tools=(three := Three(Workspace(tmp_path))) and [three.shell]) as session:
        session.workspace = three.workspace
        started = [await three.start("setsid sleep 300 & sleep 300 & sleep 300") for _ in range(50)]
        assert len({one.id for one in started}) == 50
        marks = [three.workspace.jobs.get(one.id)._running.descendants for one in started]
        assert sum(len(mark.alive()) for mark in marks) >= 50
    assert not [mark for mark in marks if mark.alive()]
    assert len([*Path("/proc/self/fd").iterdir()]) <= before


@pytest.mark.parametrize("ending", ["", "os.kill(os.getpid(), signal.SIGINT)", "raise SystemExit(3)"])
def test_unclosed_processes_end_with_python(tmp_path: Path, ending: str) -> None:
    script = f"""
        import asyncio, os, signal, sys
        sys.path.append({str(Path(__file__).parents[3])!r})
        from tests.waiting import until
        from nbtools.workspace.workspace import Workspace
        from nbtools.tools.commands.shell import ShellTool
        async def main():
            command = "echo $$ >> pids; setsid bash -c 'echo $$ >> pids; sleep 300'; exit 1"
            await ShellTool(Workspace(".")).build({{"command": command, "background": True}}).execute()
            await until(lambda: os.path.exists("pids") and open("pids").read().count("\\n") == 2)
        asyncio.run(main())
        if not os.fork():
            raise SystemExit  # a child that ends leaves its parent's commands alone
        os.wait()
        for pid in open("pids").read().split():
            os.kill(int(pid), 0)
        print("alive", flush=True)
        {ending}
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "alive\n", done.stderr
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert not [pid for pid in pids if lives(pid)]


def _marked(three: Three) -> list[int]:
    return [pid for job in three.workspace.jobs.all() for pid in job._running.descendants.alive()]


async def test_looking_and_ending_do_not_wait_for_a_command_that_runs(tmp_path: Path) -> None:
    async with Session(tmp_path) as session:
        session.allow("shell")
        started = await session.call("shell", {"command": "echo begun; exec sleep 1000", "background": True})
        long = asyncio.create_task(session.call("shell", {"command": "exec sleep 1000"}, id="long"))
        await until(lambda: any(isinstance(call, ExecutingCall) for call in session.active))
        look = await asyncio.wait_for(session.call("shell_output", {"id": started.data.id}), 60)
        assert look.data.status == "running"
        ended = await asyncio.wait_for(session.call("shell_kill", {"id": started.data.id}), 60)
        assert ended.data.status == "killed"
        assert not long.done()
        session.cancel("long")
        assert (await long).error is not None


async def printed(started: ShellBackgroundData, end: str) -> None:
    """Waits until a command's output ends so."""
    await until(lambda: Path(started.full_output).read_text().endswith(end))


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(?:(a|aa)(?:a|aa)*)+$|^(\w+\s?)*x$|^((a|a?)+)+x$"])
async def test_a_filter_that_takes_other_engines_for_ever_ends(tmp_path: Path, pattern: str) -> None:
    three = Three(Workspace(tmp_path))
    line = "a" * 60 + "!"
    started = await three.start(f"echo {line}")
    await printed(started, f"{line}\n")
    assert (await three.look(started.id, filter=pattern)).text == ""
    await three.workspace.close()


async def test_a_slow_filter_is_stopped_and_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_FILTER_TIMEOUT", 0.0)
    three = Three(Workspace(tmp_path))
    started = await three.start("printf 'a\\nb!\\n'")
    await printed(started, "b!\n")
    with pytest.raises(ToolFailure, match="simpler") as failure:
        await three.look(started.id, filter="!")
    assert failure.value.code is ErrorCode.TIMEOUT
    monkeypatch.undo()
    assert (await three.look(started.id, filter="!")).text == "b!\n"
    await three.workspace.close()


def test_the_time_of_a_filter_is_that_of_all_lines_together(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(
        background, "time", SimpleNamespace(monotonic=lambda: next(clock))
    )  # each line takes a second
    matches = background._matcher("x")
    assert all(matches("x") for _ in range(5))
    with pytest.raises(ToolFailure) as failure:
        matches("x")
    assert failure.value.code is ErrorCode.TIMEOUT


async def test_the_whole_output_waits_for_the_end(three: Three) -> None:
    os.mkfifo(three.workspace.root / "go")
    started = await three.start("echo one; cat go; echo two")
    assert (await three.look(started.id, wait=20)).text == "one\n"
    (three.workspace.root / "go").write_text("")
    look = await three.look(started.id, wait=20, whole=True)
    assert (look.text, look.lines, look.status, look.whole) == ("one\ntwo\n", 2, "exited", True)
    assert (await three.look(started.id)).text == ""


async def test_the_whole_output_of_a_command_that_goes_on(three: Three) -> None:
    started = await three.start("echo one; exec tail -f /dev/null")
    assert (await three.look(started.id, wait=20)).text == "one\n"
    look = await three.look(started.id, wait=0.05, whole=True)
    assert (look.text, look.status) == ("one\n", "running")


def test_whole_is_for_one_command_without_a_filter(three: Three) -> None:
    for arguments in ({"whole": True}, {"id": "1", "whole": True, "filter": "x"}):
        with pytest.raises(ToolFailure, match="whole") as caught:
            three.output.build(arguments)
        assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS
