"""The socket of a notebook that serves: only this user's processes reach it,
and what is left of a dead one does no harm.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nbtools import Session
from nbtools.core.confirmation import Answer, Confirmation
from nbtools.core.errors import SessionError
from nbtools.dialects import NBTOOLS, dialect
from nbtools.mcp.server.endpoint_client import EndpointClient
from nbtools.mcp.server.endpoint_registry import (
    EndpointEntry,
    endpoint_entries,
    entries_folder,
    new_entry,
    publish_entry,
    remove_entry,
)
from nbtools.mcp.server.notebook_endpoint import NotebookEndpoint
from nbtools.mcp.server.routing import ToolRouter
from nbtools.mcp.server.server import MOST_CALLS
from nbtools.mcp.server.tool_provider import ClientCall, SessionToolProvider, ToolProvider, mcp_result

CONNECT = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as sock:
    try:
        sock.connect(sys.argv[1])
        sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\\n')
        print("answered" if sock.recv(4) else "hung up")
    except OSError as error:
        print("refused" if isinstance(error, PermissionError) else "hung up")
"""

HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"x","version":"1"}}}\n'
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a state folder of its own."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def endpoint_on(root: Path, session: Session, notebook: str = "cart.ipynb") -> NotebookEndpoint:
    return NotebookEndpoint(
        root, notebook, lambda _: SessionToolProvider(session, session.dialect, "here"), lambda _: None
    )


async def test_socket_and_folder_are_for_this_user_only(root: Path) -> None:
    async with Session(root) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        (entry,) = endpoint_entries(root)
        assert stat.S_IMODE(entries_folder(root).stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(entry.socket).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(entry.socket).parent.stat().st_mode) == 0o700
        await endpoint.stop()
        assert endpoint_entries(root) == []
        assert not Path(entry.socket).exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_turned_away_even_where_the_folders_are_open(root: Path) -> None:
    async with Session(root) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        path = Path(endpoint_entries(root)[0].socket)
        assert await asyncio.to_thread(as_nobody, path) == "refused"
        opened = [
            folder for folder in path.parents if folder != Path("/") and not folder.stat().st_mode & 0o001
        ]
        for folder in opened:
            folder.chmod(0o755)
        path.chmod(0o666)
        assert await asyncio.to_thread(as_nobody, path) == "hung up"
        for folder in opened:
            folder.chmod(0o700)
        await endpoint.stop()


def as_nobody(path: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", CONNECT, str(path)], capture_output=True, text=True, check=True
    ).stdout.strip()


async def test_a_path_too_long_for_a_socket_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    monkeypatch.setenv("NBTOOLS_STATE", str(deep))
    async with Session(tmp_path) as session:
        endpoint = endpoint_on(tmp_path, session)
        await endpoint.start()
        (entry,) = endpoint_entries(tmp_path)
        assert not entry.socket.startswith(str(deep))
        offer = await EndpointClient.connect(entry, "nbtools")
        assert any(tool["name"] == "read" for tool in await offer.tools())
        await offer.close()
        await endpoint.stop()
        assert not Path(entry.socket).parent.exists()


async def test_leftovers_of_a_killed_kernel_are_removed(root: Path) -> None:
    entry = new_entry(root, "dead.ipynb")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(entry.socket)
    publish_entry(root, entry)
    async with Session(root) as session:
        chosen = ToolRouter(root, NBTOOLS, lambda: SessionToolProvider(session, NBTOOLS, "alone"))
        await chosen.start()
        assert chosen.about == "alone"
        assert endpoint_entries(root) == []
        await chosen.close()


async def test_the_notebook_that_served_last_is_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Session(root) as session, Session(root) as other:
        first = endpoint_on(root, session, "first.ipynb")
        await first.start()
        chosen = ToolRouter(root, NBTOOLS, lambda: SessionToolProvider(session, NBTOOLS, "alone"))
        told: list[str] = []
        chosen.watch(lambda: told.append(chosen.about))
        await chosen.start()
        assert "first.ipynb" in chosen.about
        monkeypatch.setattr(os, "getpid", lambda: 1)  # the other notebook's kernel
        second = endpoint_on(root, other, "second.ipynb")
        await second.start()
        await chosen.tools()
        assert "second.ipynb" in chosen.about
        await first.prefer()
        await chosen.tools()
        assert "first.ipynb" in chosen.about
        await first.stop()
        await chosen.tools()
        assert "second.ipynb" in chosen.about
        assert told
        await chosen.close()
        await second.stop()


async def test_lines_that_are_no_messages_end_the_connection_and_nothing_else(root: Path) -> None:
    async with Session(root) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        (entry,) = endpoint_entries(root)
        no_handshake = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
        for rubbish in (b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b"\xff\xff\xff\xff", b'{"jsonrpc', no_handshake):
            reader, writer = await asyncio.open_unix_connection(entry.socket)
            writer.write(rubbish)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        offer = await EndpointClient.connect(entry, "nbtools")
        told = await offer.call(ClientCall("ls", {"path": "."}, "somebody"), lambda _: None)
        assert told["isError"] is False
        await offer.close()
        await endpoint.stop()


async def test_a_notebook_of_another_version_says_so(root: Path) -> None:
    def none(name: str) -> ToolProvider:
        raise SessionError(f"There is no dialect {name!r}")

    endpoint = NotebookEndpoint(root, "cart.ipynb", none, lambda _: None)
    await endpoint.start()
    with pytest.raises(SessionError, match=r"cart\.ipynb: There is no dialect 'nbtools'"):
        await EndpointClient.connect(endpoint_entries(root)[0], "nbtools")
    await endpoint.stop()


async def test_only_data_that_is_json_already_is_structured(root: Path) -> None:
    from nbtools import ToolResult

    for data, kept in (
        ({"a": [1, None, 2.5]}, True),
        ({1: "a"}, False),
        ({"a": float("nan")}, False),
        ({"a": (1, 2)}, False),
        ([1], False),
    ):
        told = mcp_result("id", "tool", ToolResult("text", "text", data=data))
        assert ("structuredContent" in told) is kept, data


def test_files_that_are_no_entries_are_skipped(root: Path) -> None:
    entry = new_entry(root, "cart.ipynb")
    Path(entry.socket).touch()
    publish_entry(root, entry)
    (entries_folder(root) / "9.json").write_text("{")
    (entries_folder(root) / "8.json").write_text(json.dumps({"notebook": 1}))
    assert [one.notebook for one in endpoint_entries(root)] == ["cart.ipynb"]
    assert isinstance(endpoint_entries(root)[0], EndpointEntry)


async def test_more_calls_at_once_than_a_person_could_answer_are_refused(root: Path) -> None:
    asking = asyncio.Event()

    class Never:
        async def ask(self, _: Confirmation) -> Answer:
            asking.set()
            await asyncio.Event().wait()
            raise AssertionError

    async with Session(root, confirmer=Never()) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        offer = await EndpointClient.connect(endpoint_entries(root)[0], "nbtools")
        wanted = ClientCall("shell", {"command": "make"}, "many")
        calls = [asyncio.ensure_future(offer.call(wanted, lambda _: None)) for _ in range(MOST_CALLS + 10)]
        done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert "are running already" in str(done.pop().result())
        await asking.wait()
        for call in waiting:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await offer.close()
        await endpoint.stop()


async def test_words_that_are_nested_without_end_end_the_connection_only(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Session(root) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":'
        for first in (b"", HANDSHAKE):
            reader, writer = await asyncio.open_unix_connection(endpoint_entries(root)[0].socket)
            writer.write(first)
            if first:
                assert b"protocolVersion" in await reader.readline()
            writer.write(call + b"[" * 100_000 + b"\n")
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        assert not caplog.records
        await endpoint.stop()


def test_only_a_folder_that_was_made_for_a_socket_is_taken_away(root: Path, tmp_path: Path) -> None:
    kept = tmp_path / "nbtools-notes"
    kept.mkdir()
    (kept / "note.txt").write_text("mine")
    remove_entry(root, EndpointEntry("x.ipynb", str(kept / "serve.sock"), 1, 1))
    assert (kept / "note.txt").exists()


async def test_a_line_longer_than_the_limit_ends_the_connection(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtools.mcp.server.notebook_endpoint.LONGEST_LINE", 1000)
    async with Session(root) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        reader, writer = await asyncio.open_unix_connection(endpoint_entries(root)[0].socket)
        writer.write(HANDSHAKE)
        assert b"protocolVersion" in await reader.readline()
        writer.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * 2000 + b'"}}\n')
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        await endpoint.stop()


@pytest.mark.parametrize("name", [["nbtools"], {}, 5, None])
async def test_a_dialect_that_is_no_text_is_refused(
    root: Path, caplog: pytest.LogCaptureFixture, name: object
) -> None:
    capability = {"extensions": {"nbtools/dialect": {"name": name}}}
    handshake = HANDSHAKE.replace(b'"capabilities":{}', b'"capabilities":' + json.dumps(capability).encode())
    async with Session(root) as session:
        endpoint = NotebookEndpoint(
            root, "x.ipynb", lambda one: SessionToolProvider(session, dialect(one), "here"), lambda _: None
        )
        await endpoint.start()
        reader, writer = await asyncio.open_unix_connection(endpoint_entries(root)[0].socket)
        writer.write(handshake)
        assert b"There is no dialect" in await reader.readline()
        writer.close()
        await writer.wait_closed()
        await endpoint.stop()
    assert not caplog.records


async def test_characters_that_utf8_cannot_encode_do_not_end_the_connection(root: Path) -> None:
    async with Session(root) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        offer = await EndpointClient.connect(endpoint_entries(root)[0], "nbtools")
        told = await offer.call(ClientCall("read", {"path": "a\udcff.txt"}, "x"), lambda _: None)
        assert "a?.txt" in told["content"][0]["text"]
        assert not offer.is_gone
        await offer.close()
        await endpoint.stop()


async def test_any_mcp_client_can_speak_to_the_socket(root: Path) -> None:
    from mcp import ClientSession

    from nbtools.mcp.server.socket_transport import socket_streams

    async with Session(root) as session:
        endpoint = endpoint_on(root, session)
        await endpoint.start()
        reader, writer = await asyncio.open_unix_connection(endpoint_entries(root)[0].socket)
        async with socket_streams(reader, writer) as streams, ClientSession(*streams) as client:
            await client.initialize()
            assert "read" in {tool.name for tool in (await client.list_tools()).tools}
            assert not (await client.call_tool("ls", {"path": "."})).is_error
        writer.close()
        await writer.wait_closed()
        await endpoint.stop()
