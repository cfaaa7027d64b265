"""Servers that misbehave, over HTTP."""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from nbtools.mcp.auth.oauth_flow import FLOW_ERRORS
from nbtools.mcp.client.http import login_client
from nbtools.mcp.client.stdio import MOST_MESSAGE_BYTES
from tests.mcp.watching import SERVERS, serving, under_way
from tests.workspace.web_server import reply, web_server

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in which the system counts the memory of a process."""


@contextmanager
def running(way: str) -> Iterator[str]:
    """The address of a server that misbehaves that way."""
    with subprocess.Popen(
        [sys.executable, "-S", str(SERVERS / "bad_http.py"), way],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        finally:
            server.kill()


@pytest.mark.parametrize(
    ("kind", "way", "message"),
    [
        ("http", "refuses", "it answered HTTP 500 Internal Server Error"),
        ("http", "private", "it requires a login: %tools mcp login web"),
        ("http", "moved", "Redirect to http://127.0.0.1:1/elsewhere not followed"),
        ("http", "page", "Unexpected content type: text/html"),
        ("http", "hangs", "it did not answer in 1 seconds"),
        ("http", "compressed", "it compressed its answer ('gzip')"),
        ("sse", "compressed", "it compressed its answer ('gzip')"),
        ("sse", "refuses", "it answered HTTP 500 Internal Server Error"),
        ("sse", "private", "it requires a login: %tools mcp login web"),
        ("sse", "hangs", "it did not answer in 1 seconds"),
    ],
)
async def test_one_that_cannot_be_connected_to_says_why(
    tmp_path: Path, kind: str, way: str, message: str
) -> None:
    with running(way) as url:
        async with serving(
            tmp_path, "web", {"type": kind, "url": url, "timeout": 1_000 if way == "hangs" else 60_000}
        ) as session:
            connection = session.mcp.get("web")
            assert connection.state == "failed"
            assert message in connection.problem


async def test_a_block_of_an_unknown_kind_becomes_text(tmp_path: Path) -> None:
    with running("novel") as url:
        async with serving(tmp_path, "web", {"type": "http", "url": url}) as session:
            assert (await session.call("mcp__web__do")).llm_content == '{"type": "hologram"}\nafter'


async def test_nobody_is_there(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        for kind in ("http", "sse"):
            async with serving(tmp_path, "web", {"type": kind, "url": url}) as session:
                assert session.mcp.get("web").problem.startswith("it cannot be reached")


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("hangs_later", "web did not answer in 1.5 seconds"),
        ("refuses_later", "web: it answered HTTP 503 Service Unavailable."),
        ("forgets", "web: it answered HTTP 404 Not Found."),
        ("broken_stream", "web: Failed to parse SSE message"),
        ("ended_stream", "web: SSE stream ended without a response."),
        ("huge", "it sent a message of more than 32 MB"),
        ("broken", "web: Failed to parse JSON response"),
        ("breaks_off", "web: its answer was interrupted"),
    ],
)
async def test_a_call_ends_with_a_clear_error(tmp_path: Path, way: str, message: str) -> None:
    with running(way) as url:
        async with serving(
            tmp_path, "web", {"type": "http", "url": url}, 1.5 if way == "hangs_later" else 60
        ) as session:
            result = await session.call("mcp__web__do")
            assert result.error is not None
            assert message in result.error.message


@pytest.mark.parametrize("way", ["compressed_later", "compressed_stream"])
async def test_a_compressed_answer_is_not_unpacked(tmp_path: Path, way: str) -> None:
    with running(way) as url:
        async with serving(tmp_path, "web", {"type": "http", "url": url}) as session:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            result = await session.call("mcp__web__do")
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            assert result.error is not None
            assert "it compressed its answer ('gzip')" in result.error.message
            assert (after - before) * _RSS_UNIT < 100_000_000


async def test_a_login_reads_neither_compressed_nor_endless_answers() -> None:
    async with web_server() as server, login_client(30) as http:
        server.pages["/small"] = reply(b"{}")
        server.pages["/compressed"] = reply(gzip.compress(b"{}"), content_encoding="gzip")
        server.pages["/long"] = reply(b"x" * (MOST_MESSAGE_BYTES + 1), "text/event-stream")
        assert (await http.get(server.url("/small"))).content == b"{}"
        for path in ("/compressed", "/long"):
            with pytest.raises(httpx2.StreamError) as refused:
                await http.get(server.url(path))
            assert isinstance(refused.value, FLOW_ERRORS)


async def test_responses_are_requested_uncompressed(tmp_path: Path) -> None:
    with running("tells_what_was_asked") as url:
        entry = {"type": "http", "url": url, "headers": {"accept-encoding": "gzip"}}
        async with serving(tmp_path, "web", entry) as session:
            result = await session.call("mcp__web__do")
            assert result.error is None
            assert '["identity"]' in str(result.llm_content)


async def test_a_call_that_hangs_is_left_at_once(tmp_path: Path) -> None:
    with running("hangs_later") as url:
        async with serving(tmp_path, "web", {"type": "http", "url": url}) as session:
            (call,) = await under_way(session, ("mcp__web__do", {}))
            call.cancel()
            done, _ = await asyncio.wait([call], timeout=30)
            assert done
