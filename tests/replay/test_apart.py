"""Whatever a recorded call does, and however its repository is made,
the original stays as it is and nothing is left of the copy.
"""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nbtools.core.errors import TraceError
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.replay import replay, temporary_copy
from nbtools.replay.temp_folders import PREFIX, TempFolder
from tests.replay.samples import CWD, bash, edit, git, log, shop
from tests.replay.test_copy import state

FREE = Policy(mode=Mode.YOLO)


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder in which copies are made."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(
    "command",
    [
        f"echo changed > {CWD}/price.py",
        f"cd {CWD} && echo changed > price.py",
        "cd {real} && echo changed > price.py",
        'echo changed > "{real}/price.py"',
        "git -C{real} commit -q --allow-empty -m x; git -C {real} stash -q",
        "git -C {real} branch other",
        "cp new.txt {real}/price.py; mv {real}/new.txt {real}/old.txt",
        "cd ~/shop && echo changed > price.py",
        "echo changed > $HOME/shop/price.py; echo changed > ${HOME}/shop/new.txt",
        "echo changed > inside/price.py; echo changed > file",
    ],
)
async def test_commands_that_name_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    folder = shop(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path))
    (folder / "inside").symlink_to(folder)
    (folder / "file").symlink_to(folder / "price.py")
    before = state(folder)
    call = log(tmp_path / "log.jsonl", bash(command.replace("{real}", str(folder)), "")).calls[0]
    replayed = await replay(call, folder, policy=FREE)
    assert replayed.ran
    assert "No such file" not in str(replayed)
    assert state(folder) == before
    assert git(folder, "stash", "list") == ""


async def test_a_folder_of_a_repository_and_a_command_at_its_top(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (folder / "inner").mkdir()
    (folder / "inner" / "a.txt").write_text("a\n")
    printed = f"price = 5\ntax = 2\n{CWD}/inner\nmain"
    call = log(
        tmp_path / "log.jsonl",
        bash(f"cat {CWD}/price.py; pwd; git branch --format='%(refname:short)'", printed),
        cwd=f"{CWD}/inner",
    ).calls[0]
    git(folder, "branch", "-M", "main")
    replayed = await replay(call, folder / "inner", policy=FREE)
    assert replayed.same, str(replayed)
    writing = log(tmp_path / "log.jsonl", bash(f"echo x > {CWD}/price.py", ""), cwd=f"{CWD}/inner").calls[0]
    await replay(writing, folder / "inner", policy=FREE)
    assert (folder / "price.py").read_text() == "price = 5\ntax = 2\n"


async def test_a_link_out_of_the_repository_is_not_written_through(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    outside = tmp_path / "outside.py"
    outside.write_text("price = 1\n")
    (folder / "link.py").symlink_to(outside)
    call = log(tmp_path / "log.jsonl", edit("price = 1", "price = 2", f"{CWD}/link.py")).calls[0]
    assert not (await replay(call, folder, policy=FREE)).result.ok
    assert outside.read_text() == "price = 1\n"


async def test_a_linked_worktree_and_submodules(tmp_path: Path) -> None:
    folder, other = shop(tmp_path / "shop"), shop(tmp_path / "lib")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib")
    git(folder, "commit", "-q", "-m", "with lib")
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    call = log(
        tmp_path / "log.jsonl",
        bash("git checkout -qb own; git commit -qam x; echo x > lib/price.py; true", ""),
    ).calls[0]
    for one in (folder, tmp_path / "tree"):
        before = state(folder), state(other)
        assert (await replay(call, one, policy=FREE)).ran
        assert (state(folder), state(other)) == before


async def test_variables_that_name_another_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = shop(tmp_path / "shop"), shop(tmp_path / "other")
    before = state(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    async with temporary_copy(folder, "main") as copy:
        assert copy.root.name == "shop"
        call = log(tmp_path / "log.jsonl", bash("git tag mine", "")).calls[0]
        await replay(call, folder, "main", policy=FREE)
    assert state(other) == before


async def test_a_folder_that_is_too_large_is_reported_before_anything_is_copied(
    tmp_path: Path, rooms: Path
) -> None:
    folder = shop(tmp_path / "shop")
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(3_000_000_000)
    with pytest.raises(TraceError, match="Name a smaller folder, or a commit"):
        async with temporary_copy(folder):
            pass
    async with temporary_copy(folder, "main") as copy:
        assert not (copy.root / "huge.bin").exists()
    assert list(rooms.iterdir()) == []


async def test_a_copy_is_for_its_owner_only(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (folder / ".env").write_text("TOKEN=x\n")
    async with temporary_copy(folder) as copy:
        assert stat.S_IMODE(copy.root.parent.stat().st_mode) == 0o700


async def test_two_at_once(tmp_path: Path, rooms: Path) -> None:
    folder = shop(tmp_path / "shop")
    calls = log(
        tmp_path / "log.jsonl",
        bash("echo a > a; sleep 0.3; ls", "a\nnew.txt\nprice.py"),
        bash("echo b > b; sleep 0.3; ls", ""),
    ).calls
    one, other = await asyncio.gather(*(replay(call, folder, policy=FREE) for call in calls))
    assert one.same, str(one)
    assert "+b\n" in other.difference.file_diff
    assert list(rooms.glob(f"{PREFIX}*")) == []


def test_the_next_copy_removes_leftovers_of_killed_processes_but_not_copies_in_use(rooms: Path) -> None:
    code = f"""
import os, signal, tempfile
tempfile.tempdir = {str(rooms)!r}
from nbtools.replay.temp_folders import TempFolder
room = TempFolder()
(room.path / "deep").mkdir()
(room.path / "deep" / "file").write_text("x")
(room.path / "deep").chmod(0o500)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    (left,) = rooms.iterdir()
    used = TempFolder()
    assert not left.exists()
    another = TempFolder()
    assert {used.path, another.path} == set(rooms.glob(f"{PREFIX}*"))
    used.close()
    another.close()
    assert list(rooms.iterdir()) == []


def test_somebody_elses_folder_of_that_name_is_no_concern(rooms: Path) -> None:
    (rooms / f"{PREFIX}file").write_text("x")
    (rooms / f"{PREFIX}link").symlink_to(rooms)
    TempFolder().close()
    assert len(list(rooms.iterdir())) == 2
