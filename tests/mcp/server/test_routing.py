"""``nbtools mcp`` over stdio with no notebook open: the rules decide, and what must be asked is denied."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from tests.mcp.server.agents import an_agent, text
from tests.mcp.server.conftest import server_on
from tests.warm_python import warm_python


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_reading_needs_nobody_and_writing_is_denied_with_the_way_out(
    over_stdio: StdioServerParameters, project: Path, mode: str
) -> None:
    with an_agent(over_stdio, mode=mode) as agent:
        assert "No notebook serves" in agent.instructions
        assert "round" in text(agent.call("read", path="notes.txt"))
        denied = agent.call("write", path="new.txt", content="x")
        assert denied.is_error
        assert "%tools serve" in text(denied)
        assert '%tools allow --save "write' in text(denied)
        assert not (project / "new.txt").exists()


def test_the_kind_of_a_tool_is_in_its_annotations(over_stdio: StdioServerParameters) -> None:
    with an_agent(over_stdio) as agent:
        tools = agent.tools()
    assert tools["read"].annotations.read_only_hint is True
    assert tools["shell"].annotations.read_only_hint is False
    assert tools["shell"].annotations.destructive_hint is True
    assert tools["fetch"].annotations.open_world_hint is True
    assert tools["read"].annotations.open_world_hint is False
    assert all(tool.output_schema is None for tool in tools.values())


def test_a_dialect_names_tools_and_words_replies(project: Path) -> None:
    with an_agent(server_on(project, "--dialect", "claude")) as agent:
        assert {"Read", "Bash", "Edit"} <= set(agent.tools())
        assert "1\tTODO: round" in text(agent.call("Read", file_path=str(project / "notes.txt")))


def test_the_workspace_is_the_limit(over_stdio: StdioServerParameters, project: Path) -> None:
    (project.parent / "secret.txt").write_text("s3cret")
    with an_agent(over_stdio) as agent:
        for path in ("../secret.txt", str(project.parent / "secret.txt")):
            refused = agent.call("read", path=path)
            assert refused.is_error
            assert "s3cret" not in text(refused)


def test_calls_that_the_project_forbids_are_denied(project: Path, over_stdio: StdioServerParameters) -> None:
    (project / ".nbtools").mkdir()
    (project / ".nbtools" / "policy.toml").write_text('deny = ["read(notes.txt)"]\n')
    with an_agent(over_stdio) as agent:
        assert agent.call("read", path="notes.txt").is_error
        assert not agent.call("read", path="src/cart.py").is_error


def test_wrong_words_end_with_a_line_and_a_code(tmp_path: Path) -> None:
    for words, told in (
        (["--workspace", str(tmp_path / "none")], "is not a folder"),
        (["--dialect", "klingon"], "There is no dialect 'klingon'"),
    ):
        ended = subprocess.run(
            [warm_python(), "-m", "nbtools", "mcp", *words], capture_output=True, text=True, check=False
        )
        assert ended.returncode == 2
        assert told in ended.stderr
        assert ended.stdout == ""


def test_standard_output_carries_nothing_but_the_protocol(project: Path) -> None:
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bare", "version": "1"},
    }
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "ls", "arguments": {"path": "."}},
        },
    ]
    command = [sys.executable, "-m", "nbtools", "mcp", "--workspace", str(project)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in said:
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        assert {answer["id"] for answer in answers} == {1, 2}
        server.stdin.close()
        assert server.stdout.read() == ""
        assert server.wait(60) == 0
