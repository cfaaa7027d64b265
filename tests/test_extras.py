"""What is installed for MCP servers and for agents: not loaded before it is used, and named in one line where it is not there."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbtools.notebook import doctor

EXTRAS = ("mcp", "mcp_types", "httpx2", "keyring", "pydantic_ai", "openai", "uvicorn", "starlette")
HIDDEN = f"import sys\nfor name in {EXTRAS}: sys.modules[name] = None\n"
USE = """
import asyncio
from nbtools import Agent, NbtoolsError, Session
from nbtools.core.model import Turn, Wanted
from nbtools.sources.mcp.settings.entries import settings_of

async def said(of):
    try:
        print(await of)
    except NbtoolsError as error:
        print(error)

async def main():
    async with Session(".") as session:
        session.mcp.add([settings_of("a", {"command": "true"}, {}), settings_of("b", {"url": "http://127.0.0.1:1/mcp"}, {})])
        await session.mcp.connect()
        for connection in session.mcp.connections.values():
            print(connection.problem)
        await said(session.mcp.login("b", print))
        await said(Agent(session, "openai:gpt-5").run("hello"))

asyncio.run(main())
"""
MCP = 'pip install "nbtools-agent[mcp]" first, then start the kernel anew'


def run(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NBTOOLS_STATE": str(folder / "state"), "NBTOOLS_CONFIG": str(folder / "config")}
    argv = [sys.executable, "-c", code, *arguments]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_nothing_of_them_is_loaded_with_nbtools(tmp_path: Path) -> None:
    code = f"""
import sys, nbtools, nbtools.cli
from nbtools.sources.mcp.settings.entries import settings_of
session = nbtools.Session(".")
session.mcp.add([settings_of("a", {{"url": "http://127.0.0.1:1/mcp"}}, {{}})])
nbtools.Agent, nbtools.model_named("openai:gpt-5")
print([name for name in {EXTRAS} if name in sys.modules])
"""
    assert run(code, tmp_path).stdout.strip() == "[]"


def test_what_they_do_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    done = run(HIDDEN + USE, tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [MCP, MCP, f"{MCP}.", 'Models need pydantic-ai: pip install "nbtools-agent[agents]".']


def test_serving_says_it_too(tmp_path: Path) -> None:
    done = run(f"{HIDDEN}from nbtools.cli import main\nsys.exit(main(['mcp']))", tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip() == 'MCP needs its SDK: pip install "nbtools-agent[mcp]"'


def test_without_keyring_a_login_is_kept_in_a_file(tmp_path: Path) -> None:
    code = "import sys; sys.modules['keyring'] = None\nfrom nbtools.sources.mcp.login.tokens import Tokens\n"
    done = run(code + "a = Tokens('a', 'b'); print(a.write('x'), a.read(), a.forget(), a.read())", tmp_path)
    assert "which only you can read" in done.stdout
    assert done.stdout.strip().endswith("x None None")


def test_the_doctor_says_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {finding.name: finding for finding in doctor.findings()}
    assert found["MCP servers"].detail == f"yes: mcp {importlib.metadata.version('mcp')}, keyring {importlib.metadata.version('keyring')}"
    assert found["agents"].ok
    versions = {"mcp": "1.30.0"}

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = {finding.name: finding for finding in doctor.findings()}
    assert (found["agents"].ok, found["agents"].detail) == (True, 'no: pip install "nbtools-agent[agents]"')
    assert (found["MCP servers"].ok, found["MCP servers"].detail) == (False, "mcp: 1.30.0 is older than 2.3; needed for MCP servers")
