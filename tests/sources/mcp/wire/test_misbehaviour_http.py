"""Servers that misbehave, over HTTP."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sources.mcp.watching import SERVERS, serving, under_way


@contextmanager
def running(way: str) -> Iterator[str]:
    """The address of a server that misbehaves that way."""
    with subprocess.Popen(
        [sys.executable, "-S", str(SERVERS / "bad_http.py"), way], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        finally:
            server.kill()


@pytest.mark.parametrize(
    ("kind", "way", "said"),
    [
        ("http", "refuses", "it answered HTTP 500 Internal Server Error"),
        ("http", "private", "it wants a login: %tools mcp login web"),
        ("http", "moved", "Redirect to http://127.0.0.1:1/elsewhere not followed"),
        ("http", "page", "Unexpected content type: text/html"),
        ("http", "hangs", "it did not answer in 2 seconds"),
        ("sse", "refuses", "it answered HTTP 500 Internal Server Error"),
        ("sse", "private", "it wants a login: %tools mcp login web"),
        ("sse", "hangs", "it did not answer in 2 seconds"),
    ],
)
async def test_one_that_cannot_be_connected_to_says_why(tmp_path: Path, kind: str, way: str, said: str) -> None:
    with running(way) as url:
        async with serving(tmp_path, "web", {"type": kind, "url": url, "timeout": 2_000 if way == "hangs" else 60_000}) as session:
            connection = session.mcp.named("web")
            assert connection.state == "failed"
            assert said in connection.problem


async def test_nobody_is_there(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        for kind in ("http", "sse"):
            async with serving(tmp_path, "web", {"type": kind, "url": url}) as session:
                assert session.mcp.named("web").problem.startswith("it cannot be reached")


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("hangs_later", "web did not answer in 4 seconds"),
        ("refuses_later", "web: it answered HTTP 503 Service Unavailable."),
        ("forgets", "web: it answered HTTP 404 Not Found."),
        ("broken_stream", "web: Failed to parse SSE message"),
        ("ended_stream", "web: SSE stream ended without a response."),
        ("huge", "it sent a message of more than 32 MB"),
        ("broken", "web: Failed to parse JSON response"),
        ("breaks_off", "web: it broke off its answer"),
    ],
)
async def test_a_call_ends_with_a_clear_error(tmp_path: Path, way: str, said: str) -> None:
    with running(way) as url:
        async with serving(tmp_path, "web", {"type": "http", "url": url, "timeout": 4_000 if way == "hangs_later" else 60_000}) as session:
            result = await session.call("mcp__web__do")
            assert result.error is not None
            assert said in result.error.message


async def test_a_call_that_hangs_is_left_at_once(tmp_path: Path) -> None:
    with running("hangs_later") as url:
        async with serving(tmp_path, "web", {"type": "http", "url": url}) as session:
            (call,) = await under_way(session, ("mcp__web__do", {}))
            call.cancel()
            done, _ = await asyncio.wait([call], timeout=30)
            assert done
