"""The MCP project's own servers: those of npm (``make .make/servers``) and those of PyPI."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import front_end
import psutil
import pytest

from nbtools import Session
from nbtools.core.errors import ToolFailure
from nbtools.core.result import Media, Several
from nbtools.mcp.config.entries import parse_server
from tests.mcp.watching import SERVERS, Displays, serving, under_way, until
from tests.warm_python import warm_python


def node() -> str:
    return str(Path(front_end.node_folder()) / "node")


def npm(server: str, *args: str) -> list[str]:
    """The arguments of node that start it."""
    program = SERVERS / "node_modules" / "@modelcontextprotocol" / f"server-{server}" / "dist" / "index.js"
    if not program.exists():
        pytest.fail(f"{program} is not installed. Install it: make .make/servers", pytrace=False)
    return [str(program), *args]


@pytest.fixture(scope="module", params=["stdio", "http", "sse"])
def everything(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The entry of server-everything, as a program and as two kinds of address."""
    if request.param == "stdio":
        yield {"command": node(), "args": npm("everything")}
        return
    mode, path = {"http": ("streamableHttp", "mcp"), "sse": ("sse", "sse")}[request.param]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        [node(), *npm("everything", mode)], env={**os.environ, "PORT": "0"}, **quiet
    ) as server:  # type: ignore[call-overload]
        try:
            yield {"type": request.param, "url": f"http://127.0.0.1:{asyncio.run(_port(server))}/{path}"}
        finally:
            server.kill()


async def _port(server: subprocess.Popen[bytes]) -> int:
    """The port that the server listens on, as soon as it does."""
    process, ports = psutil.Process(server.pid), list[int]()

    def listens() -> bool:
        assert server.poll() is None, f"the server ended with exit code {server.returncode}"
        ports[:] = [
            one.laddr.port for one in process.net_connections("tcp") if one.status == psutil.CONN_LISTEN
        ]
        return bool(ports)

    await until(listens)
    return ports[0]


async def test_everything(tmp_path: Path, everything: dict[str, Any]) -> None:
    async with serving(tmp_path, "all", everything) as session:
        one = session.mcp.get("all")
        assert (one.state, one.problem, one.server_info.protocol) == ("connected", "", "2025-11-25")
        assert "Everything Server" in one.server_info.instructions
        await _calls(session)
        await _lists(session)
        await _progress_and_cancel(session)
        await until(
            lambda: "mcp__all__get-roots-list" in session.tools.names()
        )  # it comes with a notice, after the first list


async def _calls(session: Session) -> None:
    assert (await session.call("mcp__all__echo", {"message": "hi"})).llm_content == "Echo: hi"
    weather = await session.call("mcp__all__get-structured-content", {"location": "New York"})
    assert set(weather.data) == {"temperature", "conditions", "humidity"}
    picture = await session.call("mcp__all__get-tiny-image")
    assert isinstance(picture.return_display, Several)
    assert [one.mime_type for one in picture.return_display.shown if isinstance(one, Media)] == ["image/png"]
    links = await session.call("mcp__all__get-resource-links", {"count": 2})
    assert "demo://resource" in str(links.llm_content)
    wrong = await session.call("mcp__all__get-sum", {"a": "one", "b": 2})
    assert wrong.error is not None
    assert wrong.error.code == "invalid_tool_params"


async def _lists(session: Session) -> None:
    one = session.mcp.get("all")
    prompts = {prompt.name for prompt in await one.prompts()}
    assert {"simple-prompt", "args-prompt", "completable-prompt"} <= prompts
    said = await one.get_prompt("args-prompt", {"city": "Rome", "state": "Lazio"})
    assert "Rome" in str(said.messages[0].content)
    resources = await one.resources()
    read = await one.read_resource(str(resources[0].uri))
    assert read.contents
    assert [template.uri_template for template in await one.resource_templates()]
    with pytest.raises(ToolFailure, match="MCP server all"):
        await one.read_resource("demo://nowhere")


async def _progress_and_cancel(session: Session) -> None:
    shown = Displays()
    forget = session.observe(shown)
    done = await session.call("mcp__all__trigger-long-running-operation", {"duration": 1, "steps": 4})
    assert "completed" in str(done.llm_content)
    assert shown.seen[-1].endswith("4 of 4")
    forget()
    (call,) = await under_way(
        session, ("mcp__all__trigger-long-running-operation", {"duration": 600, "steps": 4})
    )
    call.cancel()
    finished, _ = await asyncio.wait([call], timeout=30)
    assert finished
    assert (await session.call("mcp__all__echo", {"message": "still here"})).ok


async def test_completion(tmp_path: Path) -> None:
    from mcp.types import PromptReference

    async with serving(tmp_path, "all", {"command": node(), "args": npm("everything")}) as session:
        ref = PromptReference(name="completable-prompt")
        found = await session.mcp.get("all").complete(ref, "department", "E")
        assert found.completion.values == ["Engineering"]


async def test_files_and_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ahoy\n")
    async with serving(
        tmp_path, "files", {"command": node(), "args": npm("filesystem", str(tmp_path))}
    ) as session:
        entry = {
            "command": node(),
            "args": npm("memory"),
            "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")},
        }
        session.mcp.add([parse_server("memory", entry, {})])
        await session.mcp.connect("memory")
        assert (
            await session.call("mcp__files__read_text_file", {"path": str(tmp_path / "a.txt")})
        ).llm_content == "Ahoy\n"
        denied = await session.call("mcp__files__read_text_file", {"path": "/etc/passwd"})
        assert denied.error is not None
        ann = {"name": "Ann", "entityType": "person", "observations": ["sails"]}
        assert (await session.call("mcp__memory__create_entities", {"entities": [ann]})).ok
        assert (await session.call("mcp__memory__read_graph")).data["entities"] == [ann]


async def test_the_servers_of_pypi_speak_the_newest_protocol(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path)], check=True)
    async with serving(
        tmp_path, "time", {"command": warm_python(), "args": ["-m", "mcp_server_time"]}
    ) as session:
        session.mcp.add(
            [
                parse_server(name, {"command": warm_python(), "args": ["-m", f"mcp_server_{name}"]}, {})
                for name in ("git", "fetch")
            ]
        )
        await session.mcp.connect()
        assert [one.server_info.protocol for one in session.mcp.connections.values()] == ["2026-07-28"] * 3
        noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        assert "+9.0h" in str((await session.call("mcp__time__convert_time", noon)).llm_content)
        assert "trunk" in str(
            (await session.call("mcp__git__git_status", {"repo_path": str(tmp_path)})).llm_content
        )
        nobody = await session.call("mcp__fetch__fetch", {"url": "http://127.0.0.1:1/"})
        assert nobody.error is not None
        assert "mcp__fetch__fetch" in session.tools.names()


async def test_changes_are_sent_to_listeners_in_the_newest_protocol(tmp_path: Path) -> None:
    async with serving(
        tmp_path, "new", {"command": warm_python(), "args": [str(SERVERS / "growing.py")]}
    ) as session:
        assert session.mcp.get("new").server_info.protocol == "2026-07-28"
        for number in range(1_000):  # from when it listens, which is soon after it is connected
            assert (await session.call("mcp__new__grow", {"name": f"fruit{number}"})).ok
            if "mcp__new__fruit0" in session.tools.names():
                break
        assert (await session.call("mcp__new__fruit0")).llm_content == "ripe"
