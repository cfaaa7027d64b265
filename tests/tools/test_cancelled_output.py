"""A cancelled call keeps the output that it had streamed:
in its result, for the model, in the history and in the log.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from nbtools import ErrorCode, Policy, Session, Settings, ToolResult, tool, traces
from nbtools.cards.card import card_of
from nbtools.core.call import CallEvent, OutputEvent
from nbtools.core.result import CommandOutput
from nbtools.plugins.discovered_tools import DiscoveredTool
from nbtools.traces.recording.recorder import Recorder
from nbtools.workspace.workspace import Workspace

LINES = "for i in $(seq 25); do echo line $i; done; exec sleep 300"
LAST = "line 25"
Cancel = Callable[[Session, "asyncio.Task[ToolResult]"], Awaitable[ToolResult]]


class Watcher:
    """Knows when a call has shown a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.shown = asyncio.Event()

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, OutputEvent) and self.text in str(event.display):
            self.shown.set()


async def by_id(session: Session, task: asyncio.Task[ToolResult]) -> ToolResult:
    assert session.cancel("it")
    return await task


async def by_its_caller(session: Session, task: asyncio.Task[ToolResult]) -> ToolResult:
    """Cancels as an interrupt does."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return session.history[-1].result


async def cancelled(
    session: Session, name: str, arguments: dict[str, Any], awaited: str, cancel: Cancel = by_id
) -> ToolResult:
    watcher = Watcher(awaited)
    stop = session.observe(watcher)
    task = asyncio.create_task(session.call(name, arguments, id="it"))
    waiting = asyncio.create_task(watcher.shown.wait())
    done, _ = await asyncio.wait({task, waiting}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    assert waiting in done, task
    stop()
    result = await cancel(session, task)
    assert session.history[-1].state == "cancelled"
    assert result.error is not None
    assert result.error.code is ErrorCode.CANCELLED
    return result


@pytest.mark.parametrize("cancel", [by_id, by_its_caller])
async def test_a_command(tmp_path: Path, cancel: Cancel) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", workspace=tmp_path)
    async with Session(tmp_path, policy=Policy(mode="yolo"), observers=[recorder]) as session:
        result = await cancelled(session, "shell", {"command": LINES}, LAST, cancel)
        card = card_of(session.history[-1])
    assert isinstance(result.return_display, CommandOutput)
    assert result.return_display.lines == 25
    assert isinstance(result.llm_content, str)
    assert [line for line in result.llm_content.splitlines() if line.startswith("line ")] == [
        f"line {n}" for n in range(1, 26)
    ]
    assert [block.type for block in card.blocks] == ["text", "output"]
    assert card.status == "Cancelled"
    (call,) = traces.load(recorder.path).calls
    assert call.status == "cancelled"
    assert LAST in str(call.detail.result)


async def test_output_of_the_last_moment_is_in_the_result(tmp_path: Path) -> None:
    """The program prints a last line between the last update and its end."""
    command = "trap 'echo bye; exit' TERM; echo ready; while :; do sleep 0.01; done"
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        result = await cancelled(session, "shell", {"command": command}, "ready")
    assert isinstance(result.return_display, CommandOutput)
    assert result.return_display.text.endswith("bye\n")


async def test_much_output_is_bounded_and_kept_in_a_file(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        result = await cancelled(session, "shell", {"command": "seq 300000; exec sleep 300"}, "300000")
    display = result.return_display
    assert isinstance(display, CommandOutput)
    assert display.lines == 300_000
    assert Path(display.full_output).read_text().endswith("\n299999\n300000\n")
    assert len(result.llm_content) < 40_000
    assert display.full_output in result.llm_content


async def test_nothing_was_printed(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        task = asyncio.create_task(session.call("shell", {"command": "exec sleep 300"}, id="it"))
        while not any(call.state == "executing" for call in session.active):
            await asyncio.sleep(0)
        result = await by_id(session, task)
    assert result.llm_content == f"Error: {result.error}"


async def test_secrets_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "s3cr3t-value-of-it")
    command = "printf 's3cr3t-'; echo value-of-it; echo shown; exec sleep 300"
    async with Session(tmp_path, policy=Policy(mode="yolo"), settings=Settings(secrets=True)) as session:
        result = await cancelled(session, "shell", {"command": command}, "shown")
    assert "s3cr3t-value" not in str(result.llm_content) + str(result.return_display)


@pytest.mark.parametrize(
    ("dialect", "name", "arguments"),
    [
        ("gemini", "run_shell_command", {"command": LINES}),
        ("claude", "Bash", {"command": LINES}),
        ("void", "run_command", {"command": LINES}),
        ("codex", "exec_command", {"cmd": LINES}),
        ("codex", "shell", {"command": ["bash", "-lc", LINES]}),
    ],
)
async def test_every_dialect_gives_it(
    tmp_path: Path, dialect: str, name: str, arguments: dict[str, Any]
) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo"), dialect=dialect) as session:
        result = await cancelled(session, name, arguments, LAST)
    assert isinstance(result.llm_content, str)
    assert not result.llm_content.startswith("line")
    assert [line for line in result.llm_content.splitlines() if line.startswith("line ")] == [
        f"line {n}" for n in range(1, 26)
    ]
    assert isinstance(result.return_display, CommandOutput)


async def test_a_streaming_function(tmp_path: Path) -> None:
    async def count(upto: int) -> AsyncIterator[str]:
        """Counts, and waits."""
        for number in range(upto):
            yield f"number {number}\n"
        await asyncio.Event().wait()

    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.tools.register(tool(count))
        result = await cancelled(session, "count", {"upto": 3}, "number 2")
    assert result.return_display == "number 0\nnumber 1\nnumber 2\n"
    assert "number 2" in result.llm_content


async def test_a_discovered_command(tmp_path: Path) -> None:
    (tmp_path / "call.py").write_text(
        "import time\nprint('one', flush=True)\nprint('two', flush=True)\ntime.sleep(300)\n"
    )
    command = [sys.executable, str(tmp_path / "call.py")]
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.tools.register(
            DiscoveredTool(Workspace(tmp_path), "count", "count", "", {"type": "object"}, command)
        )
        result = await cancelled(session, "count", {}, "two")
    assert result.return_display == "one\ntwo\n"


async def test_a_cell_in_its_kernel(tmp_path: Path) -> None:
    content = nbformat.v4.new_notebook()
    content.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content.cells = [
        nbformat.v4.new_code_cell("import time\nprint('begun', flush=True)\ntime.sleep(300)", id="a")
    ]
    (tmp_path / "nb.ipynb").write_text(nbformat.writes(content))
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        result = await cancelled(session, "cells", {"path": "nb.ipynb", "action": "run", "id": "a"}, "begun")
    assert "begun" in result.llm_content
    assert isinstance(result.return_display, CommandOutput)


async def test_a_command_in_a_terminal_goes_on(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        await session.call("terminal_open", {})
        command = {"id": "1", "command": "echo $((20 + 22)); sleep 300", "wait": 300}
        result = await cancelled(session, "terminal_run", command, "42")
        assert "42" in result.llm_content
        later = await session.call("terminal_output", {"id": "1"})
        assert later.data.running
        assert "42" in later.llm_content


@pytest.mark.parametrize("turns", range(5))
async def test_cancelled_in_the_moment_of_its_output(tmp_path: Path, turns: int) -> None:
    """The wait for output must not lose a cancellation that comes so many turns of the loop after
    the output.
    """

    def cancel(left: int) -> None:
        if left:
            asyncio.get_running_loop().call_soon(cancel, left - 1)
        else:
            session.cancel("it")

    class Canceller:
        def notice(self, event: CallEvent) -> None:
            if isinstance(event, OutputEvent):
                cancel(turns)

    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        await session.call("terminal_open", {})
        session.observe(Canceller())
        async with asyncio.timeout(30):
            result = await session.call(
                "terminal_run", {"id": "1", "command": "echo $((20 + 22)); sleep 300", "wait": 300}, id="it"
            )
    assert result.error is not None
    assert result.error.code is ErrorCode.CANCELLED
