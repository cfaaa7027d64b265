"""Programs that are spoken to line by line."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from nbtools.workspace.processes.line_process import LineProcess, open_line_process
from tests.processes import words_of

ECHO = "import sys\nfor line in sys.stdin:\n    print('you said', line, end='', flush=True)"


async def talk(
    code: str,
    root: Path,
    what: Callable[[LineProcess, asyncio.Queue[bytes], asyncio.Event], Awaitable[None]],
    longest: int = 1_000_000,
) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    over = asyncio.Event()
    argv = [sys.executable, "-c", code]
    async with open_line_process(
        argv,
        cwd=root,
        env=dict(os.environ),
        on_line=heard.put_nowait,
        on_end=over.set,
        max_line_bytes=longest,
    ) as talking:
        async with asyncio.timeout(60):
            await what(talking, heard, over)


async def test_lines_go_there_and_back(tmp_path: Path) -> None:
    async def what(talking: LineProcess, heard: asyncio.Queue[bytes], _: asyncio.Event) -> None:
        for text in (b"one", b"x" * 500_000, "é".encode()):
            await talking.send_line(text)
            assert await heard.get() == b"you said " + text

    await talk(ECHO, tmp_path, what)


async def test_its_end_and_its_error_output_are_reported(tmp_path: Path) -> None:
    async def what(talking: LineProcess, heard: asyncio.Queue[bytes], over: asyncio.Event) -> None:
        await over.wait()
        assert heard.get_nowait() == b"bye"
        assert talking.stderr == "no more"

    await talk("import sys; print('bye'); sys.exit('no more')", tmp_path, what)


async def test_an_endless_line_ends_it(tmp_path: Path) -> None:
    async def what(talking: LineProcess, heard: asyncio.Queue[bytes], over: asyncio.Event) -> None:
        await over.wait()
        assert talking.too_long
        assert heard.empty()

    await talk("while True: print('x' * 100_000, end='')", tmp_path, what)


@pytest.mark.parametrize("deaf", ["", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"])
async def test_nothing_is_left_of_it(tmp_path: Path, deaf: str) -> None:
    pids: list[int] = []

    async def what(_: LineProcess, heard: asyncio.Queue[bytes], __: asyncio.Event) -> None:
        pids.extend(map(int, (await heard.get()).split()))

    child = "child = subprocess.Popen(['sleep', '60']); print(os.getpid(), child.pid, flush=True)"
    code = f"import os, subprocess, time; {deaf} {child}; time.sleep(60)"
    await talk(code, tmp_path, what)
    assert len(pids) == 2
    assert [
        pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ] == []


async def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        async with open_line_process(
            ["/no/such"], cwd=tmp_path, env={}, on_line=print, on_end=print, max_line_bytes=10
        ):
            pass


@pytest.mark.parametrize("turns", range(6))
async def test_cancelling_a_start_leaves_no_process(tmp_path: Path, turns: int) -> None:
    async def begin() -> None:
        async with open_line_process(
            ["sleep", "600"],
            cwd=tmp_path,
            env=dict(os.environ),
            on_line=print,
            on_end=lambda: None,
            max_line_bytes=1_000,
        ):
            await asyncio.Event().wait()

    before = psutil.Process().children(recursive=True)
    pipes = psutil.Process().num_fds()
    beginning = asyncio.create_task(begin())
    for _ in range(turns):
        await asyncio.sleep(0)
    beginning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beginning
    await asyncio.sleep(0)
    assert [
        one
        for one in psutil.Process().children(recursive=True)
        if one not in before and "600" in words_of(one)
    ] == []
    gc.collect()
    assert psutil.Process().num_fds() <= pipes + 1  # who ends what is left of programs is started once
