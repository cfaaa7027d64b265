"""The socket of a notebook that serves: only this user's processes reach it, and what is left of a dead one does no harm."""

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
from nbtools.dialects import NBTOOLS
from nbtools.serving.beacon import MOST_AT_ONCE, Lantern
from nbtools.serving.choosing import Chosen
from nbtools.serving.finding import Beacon, announce, beacons, folder_of, publish, withdraw
from nbtools.serving.forwarding import NotebookOffer
from nbtools.serving.offer import Offer, Wanted
from nbtools.serving.session_offer import SessionOffer, answer

CONNECT = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as sock:
    try:
        sock.connect(sys.argv[1])
        sock.sendall((40).to_bytes(4, "big") + b'{"type":"hello","version":1,"dialect":""}'[:40])
        print("answered" if sock.recv(4) else "hung up")
    except OSError as error:
        print("refused" if isinstance(error, PermissionError) else "hung up")
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a state folder of its own."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def lantern_on(root: Path, session: Session, notebook: str = "cart.ipynb") -> Lantern:
    return Lantern(root, notebook, lambda _: SessionOffer(session, session.dialect, "here"), lambda _: None)


async def test_socket_and_folder_are_for_this_user_only(root: Path) -> None:
    async with Session(root) as session:
        lantern = lantern_on(root, session)
        await lantern.light()
        (beacon,) = beacons(root)
        assert stat.S_IMODE(folder_of(root).stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(beacon.socket).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(beacon.socket).parent.stat().st_mode) == 0o700
        await lantern.put_out()
        assert beacons(root) == []
        assert not Path(beacon.socket).exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_turned_away_even_where_the_folders_are_open(root: Path) -> None:
    async with Session(root) as session:
        lantern = lantern_on(root, session)
        await lantern.light()
        path = Path(beacons(root)[0].socket)
        assert await asyncio.to_thread(as_nobody, path) == "refused"
        opened = [folder for folder in path.parents if folder != Path("/") and not folder.stat().st_mode & 0o001]
        for folder in opened:
            folder.chmod(0o755)
        path.chmod(0o666)
        assert await asyncio.to_thread(as_nobody, path) == "hung up"
        for folder in opened:
            folder.chmod(0o700)
        await lantern.put_out()


def as_nobody(path: Path) -> str:
    return subprocess.run([sys.executable, "-c", CONNECT, str(path)], capture_output=True, text=True, check=True).stdout.strip()


async def test_a_path_too_long_for_a_socket_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    monkeypatch.setenv("NBTOOLS_STATE", str(deep))
    async with Session(tmp_path) as session:
        lantern = lantern_on(tmp_path, session)
        await lantern.light()
        (beacon,) = beacons(tmp_path)
        assert not beacon.socket.startswith(str(deep))
        offer = await NotebookOffer.connect(beacon, "nbtools")
        assert any(tool["name"] == "read" for tool in await offer.tools())
        await offer.close()
        await lantern.put_out()
        assert not Path(beacon.socket).parent.exists()


async def test_what_a_killed_kernel_left_is_cleared_away(root: Path) -> None:
    beacon = announce(root, "dead.ipynb")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(beacon.socket)
    publish(root, beacon)
    async with Session(root) as session:
        chosen = Chosen(root, NBTOOLS, lambda: SessionOffer(session, NBTOOLS, "alone"))
        await chosen.start()
        assert chosen.about == "alone"
        assert beacons(root) == []
        await chosen.close()


async def test_the_notebook_that_served_last_is_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Session(root) as session, Session(root) as other:
        first = lantern_on(root, session, "first.ipynb")
        await first.light()
        chosen = Chosen(root, NBTOOLS, lambda: SessionOffer(session, NBTOOLS, "alone"))
        told: list[str] = []
        chosen.watch(lambda: told.append(chosen.about))
        await chosen.start()
        assert "first.ipynb" in chosen.about
        monkeypatch.setattr(os, "getpid", lambda: 1)  # the other notebook's kernel
        second = lantern_on(root, other, "second.ipynb")
        await second.light()
        await chosen.tools()
        assert "second.ipynb" in chosen.about
        await first.renew()
        await chosen.tools()
        assert "first.ipynb" in chosen.about
        await first.put_out()
        await chosen.tools()
        assert "second.ipynb" in chosen.about
        assert told
        await chosen.close()
        await second.put_out()


async def test_frames_that_are_none_end_the_connection_and_nothing_else(root: Path) -> None:
    async with Session(root) as session:
        lantern = lantern_on(root, session)
        await lantern.light()
        (beacon,) = beacons(root)
        for rubbish in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\2{}", b"\xff\xff\xff\xff", b"\0\0\0\x05"):
            reader, writer = await asyncio.open_unix_connection(beacon.socket)
            writer.write(rubbish)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        offer = await NotebookOffer.connect(beacon, "nbtools")
        told = await offer.call(Wanted("ls", {"path": "."}, "somebody"), lambda _: None)
        assert told["isError"] is False
        await offer.close()
        await lantern.put_out()


async def test_a_notebook_of_another_version_says_so(root: Path) -> None:
    def none(name: str) -> Offer:
        raise SessionError(f"There is no dialect {name!r}")

    lantern = Lantern(root, "cart.ipynb", none, lambda _: None)
    await lantern.light()
    with pytest.raises(SessionError, match=r"cart\.ipynb: There is no dialect 'nbtools'"):
        await NotebookOffer.connect(beacons(root)[0], "nbtools")
    await lantern.put_out()


async def test_only_data_that_is_json_already_is_structured(root: Path) -> None:
    from nbtools import ToolResult

    for data, kept in (
        ({"a": [1, None, 2.5]}, True),
        ({1: "a"}, False),
        ({"a": float("nan")}, False),
        ({"a": (1, 2)}, False),
        ([1], False),
    ):
        told = answer("id", "tool", ToolResult("text", "text", data=data))
        assert ("structuredContent" in told) is kept, data


def test_files_that_are_no_beacons_are_passed_over(root: Path) -> None:
    beacon = announce(root, "cart.ipynb")
    Path(beacon.socket).touch()
    publish(root, beacon)
    (folder_of(root) / "9.json").write_text("{")
    (folder_of(root) / "8.json").write_text(json.dumps({"notebook": 1}))
    assert [one.notebook for one in beacons(root)] == ["cart.ipynb"]
    assert isinstance(beacons(root)[0], Beacon)


async def test_more_calls_at_once_than_a_person_could_answer_are_refused(root: Path) -> None:
    asking = asyncio.Event()

    class Never:
        async def ask(self, _: Confirmation) -> Answer:
            asking.set()
            await asyncio.Event().wait()
            raise AssertionError

    async with Session(root, confirmer=Never()) as session:
        lantern = lantern_on(root, session)
        await lantern.light()
        offer = await NotebookOffer.connect(beacons(root)[0], "nbtools")
        wanted = Wanted("shell", {"command": "make"}, "many")
        calls = [asyncio.ensure_future(offer.call(wanted, lambda _: None)) for _ in range(MOST_AT_ONCE + 10)]
        done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert "under way already" in str(done.pop().result())
        await asking.wait()
        for call in waiting:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await offer.close()
        await lantern.put_out()


async def test_words_that_are_nested_without_end_end_the_connection_only(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Session(root) as session:
        lantern = lantern_on(root, session)
        await lantern.light()
        reader, writer = await asyncio.open_unix_connection(beacons(root)[0].socket)
        deep = b'{"type":"call","id":1,"name":"x","client":"x","arguments":{"a":' + b"[" * 100_000
        writer.write(len(deep).to_bytes(4, "big") + deep)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        assert not caplog.records
        await lantern.put_out()


def test_only_a_folder_that_was_made_for_a_socket_is_taken_away(root: Path, tmp_path: Path) -> None:
    kept = tmp_path / "nbtools-notes"
    kept.mkdir()
    (kept / "note.txt").write_text("mine")
    withdraw(root, Beacon("x.ipynb", str(kept / "serve.sock"), 1, 1))
    assert (kept / "note.txt").exists()
