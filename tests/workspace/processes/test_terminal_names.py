"""A terminal's name is given again as soon as it has closed;
the programs in the next terminal of that name are not its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbtools.workspace.processes.sandbox import SandboxedCommand
from nbtools.workspace.processes.terminal import Terminal, terminal_argv

BASH = shutil.which("bash")
PROGRAM = "import signal, sys; print('ready', flush=True); signal.pause()"
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or BASH is None, reason="needs /proc and bash"
)


@contextmanager
def another_terminal(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of somebody else in a terminal of this name."""
    opened: list[int] = []
    try:
        while not opened or os.ttyname(opened[-1]) != name:
            assert len(opened) < 200
            opened += os.openpty()
        master, slave = opened[-2:]
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        try:
            assert os.read(master, 5) == b"ready"
            yield program
        finally:
            program.kill()
            program.wait()
    finally:
        for number in opened:
            os.close(number)


async def test_closing_a_terminal_that_has_ended_spares_the_next_one_of_its_name(tmp_path: Path) -> None:
    assert BASH is not None
    terminal = Terminal(
        SandboxedCommand(terminal_argv(BASH), "", confined=False), tmp_path, dict(os.environ), 24, 80
    )
    try:
        name = terminal.name
        await terminal.wait_for_prompt(0, 30, ahead=False)
        await terminal.type("exit", enter=True)
        while terminal.open:
            await asyncio.sleep(0)
        while terminal._master >= 0:  # its end is seen by the event loop
            await asyncio.sleep(0)
        with another_terminal(name) as program:
            await terminal.close()
            assert program.poll() is None
    finally:
        await terminal.close()
