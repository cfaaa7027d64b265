"""Programs with input and two streams: everything arrives, nothing grows for ever,
nothing is left running.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import psutil
import pytest

from nbtools.workspace.processes.capture import capture


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def test_input_and_both_streams_arrive(tmp_path: Path) -> None:
    code = "import sys, os; text = sys.stdin.read(); print(text[::-1]); print(os.getcwd(), os.environ['NAME'], file=sys.stderr)"
    got = await capture(
        python(code), cwd=tmp_path, stdin="grün\n" * 50_000, seconds=60, env={"NAME": "value"}
    )
    assert got.ok
    assert got.stdout.count("nürg") == 50_000
    assert got.stderr == f"{tmp_path} value\n"


async def test_a_program_need_not_read_what_it_is_given(tmp_path: Path) -> None:
    got = await capture(["true"], cwd=tmp_path, stdin="x" * 1_000_000, seconds=60)
    assert got.ok


@pytest.mark.parametrize("argv", [["no-such-program-here"], ["./missing.sh"]])
async def test_a_missing_program_is_exit_code_127(tmp_path: Path, argv: list[str]) -> None:
    got = await capture(argv, cwd=tmp_path, seconds=60)
    assert got.ended.exit_code == 127
    assert "not found" in got.stderr
    assert not got.ok


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_flood_on_either_stream_is_stopped(tmp_path: Path, stream: str) -> None:
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 100_000)"
    got = await asyncio.wait_for(capture(python(code), cwd=tmp_path, seconds=60, most=1_000_000), 30)
    assert got.too_long == stream
    assert len(getattr(got, stream)) == 1_000_000
    assert not got.ok


async def test_time_is_limited(tmp_path: Path) -> None:
    started = time.monotonic()
    got = await capture(["sh", "-c", "echo first; sleep 60"], cwd=tmp_path, seconds=1.5)
    assert got.ended.stopped == "time"
    assert got.stdout == "first\n"
    assert time.monotonic() - started < 50


async def test_cancelling_ends_every_process(tmp_path: Path) -> None:
    seen = asyncio.Event()
    pids: list[int] = []

    def receive(chunk: bytes) -> None:
        pids.extend(map(int, chunk.split()))
        seen.set()

    task = asyncio.create_task(
        capture(["sh", "-c", "sleep 60 & echo $$ $!; wait"], cwd=tmp_path, seconds=60, receive=receive)
    )
    await asyncio.wait_for(seen.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(pids) == 2
    assert not [
        pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]
