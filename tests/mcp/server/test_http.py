"""``nbtools mcp --http``: on this machine only, and only for who has the token."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.server.agents import an_agent, text
from tests.warm_python import warm_python

TOKEN = "a-token-for-tests-only"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bare", "version": "1"},
    },
}
ACCEPTS = {"Accept": "application/json, text/event-stream"}


@dataclass
class Served:
    url: str
    told: str

    def post(self, **headers: str) -> httpx2.Response:
        return httpx2.post(
            self.url,
            json=HELLO,
            timeout=60,
            headers=ACCEPTS | {name.replace("_", "-"): value for name, value in headers.items()},
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of this file, on any free port."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "notes.txt").write_text("TODO: round\n")
    command = [warm_python(), "-m", "nbtools", "mcp", "--workspace", str(folder), "--http"]
    environment = {**os.environ, "NBTOOLS_MCP_TOKEN": TOKEN}
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stderr is not None
        told = ""
        while not told.rstrip().endswith("\n}"):
            told += process.stderr.readline()
        yield Served(json.loads(told[told.index("{") :])["mcpServers"]["nbtools"]["url"], told)
        process.terminate()
        assert process.stdout is not None
        assert process.stdout.read() == ""
        assert process.wait(60) in (0, -15)


@asynccontextmanager
async def with_token(url: str) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_the_token_calls_tools(server: Served, mode: str) -> None:
    with an_agent(with_token(server.url), mode=mode) as agent:
        assert "round" in text(agent.call("read", path="notes.txt"))
        assert agent.call("write", path="new.txt", content="x").is_error


def test_without_the_token_nothing_is_answered(server: Served) -> None:
    assert server.post(Authorization=f"Bearer {TOKEN}").status_code == 200
    for shown in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": TOKEN},
        {"Authorization": f"Bearer {TOKEN}x"},
    ):
        answer = server.post(**shown)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "nbtools" not in answer.text


@pytest.mark.parametrize(
    "path", ["/", "/mcp/", "/docs", "/.well-known/oauth-protected-resource", "/mcp/../mcp"]
)
def test_other_paths_say_nothing_either(server: Served, path: str) -> None:
    for method in ("GET", "POST", "OPTIONS", "DELETE", "HEAD"):
        assert httpx2.request(method, server.url.removesuffix("/mcp") + path).status_code == 401


def test_a_large_body_is_not_read_without_the_token(server: Served) -> None:
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0)) as sock:
        sock.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: 1000000000\r\n\r\n{'x' * 1000}".encode()
        )
        assert sock.recv(100).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("token", ["", f"\r\nAuthorization: Bearer {TOKEN}"])
def test_a_socket_of_the_web_is_turned_away(server: Served, token: str) -> None:
    parts = urlsplit(server.url)
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    with socket.create_connection((parts.hostname or "", parts.port or 0)) as sock:
        sock.sendall(f"GET /mcp HTTP/1.1\r\nHost: {parts.netloc}\r\n{upgrade}{token}\r\n\r\n".encode())
        assert not sock.recv(100).startswith(b"HTTP/1.1 101")


def test_a_page_of_the_web_is_turned_away_even_with_the_token(server: Served) -> None:
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert server.post(**known, Origin="https://evil.example").status_code == 403
    assert server.post(**known, Host="evil.example").status_code == 421


def test_the_entry_is_printed_once_and_can_be_pasted(server: Served) -> None:
    assert re.match(r"http://127\.0\.0\.1:\d+/mcp$", server.url)
    entry = json.loads(server.told[server.told.index("{") :])["mcpServers"]["nbtools"]
    assert entry == {"type": "http", "url": server.url, "headers": {"Authorization": f"Bearer {TOKEN}"}}


def test_a_weak_token_is_refused(tmp_path: Path) -> None:
    command = [
        warm_python(),
        "-m",
        "nbtools",
        "mcp",
        "--workspace",
        str(tmp_path),
        "--http",
        "--token",
        "short",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "at least 16" in ended.stderr
