"""A copy is the folder or its commit, and nothing that is done in it reaches the folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nbtools.core.errors import TraceError
from nbtools.replay import temporary_copy
from tests.replay.samples import git, shop


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_folder_is_copied_as_it_is_without_what_git_ignores(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (folder / "link").symlink_to("price.py")
    before = state(folder)
    async with temporary_copy(folder) as copy:
        assert sorted(path.name for path in copy.root.iterdir()) == [
            ".git",
            ".gitignore",
            "link",
            "new.txt",
            "price.py",
        ]
        assert (copy.root / "link").is_symlink()
        assert git(copy.root, "status", "--short").split("\n") == ["M price.py", "?? link", "?? new.txt"]
        assert copy.basis == "the folder as it is"
    assert not copy.root.exists()
    assert state(folder) == before


async def test_a_commit_is_checked_out_and_nothing_done_there_reaches_the_repository(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    git(folder, "tag", "v1")
    before = state(folder)
    async with temporary_copy(folder, "HEAD") as copy:
        assert (copy.root / "price.py").read_text() == "price = 1\ntax = 2\n"
        assert copy.basis == f"commit {git(folder, 'rev-parse', '--short', 'HEAD')}"
        assert git(copy.root, "tag") == "v1"
        git(copy.root, "checkout", "-q", "main")
        git(copy.root, "commit", "-q", "--allow-empty", "-m", "second")
        git(copy.root, "tag", "-d", "v1")
        git(copy.root, "stash", "list")
        assert git(copy.root, "remote") == ""
    assert state(folder) == before


async def test_hooks_of_the_repository_do_not_run(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    async with temporary_copy(folder, "main"):
        assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "url", ["ssh://example.invalid/x", "example.invalid:x", "ext::{mark} %S", "git://example.invalid/x"]
)
@pytest.mark.parametrize("commit", ["", "HEAD"])
async def test_nothing_is_fetched_into_a_partial_clone(tmp_path: Path, url: str, commit: str) -> None:
    """The repository's settings name the programs that would fetch what is missing."""
    whole = shop(tmp_path / "whole")
    git(whole, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{whole}", "partial")
    mark = tmp_path / "mark"
    mark.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/ran\n")
    mark.chmod(0o755)
    folder = tmp_path / "partial"
    settings = {
        "core.sshCommand": f"{mark}",
        "core.gitProxy": f"{mark}",
        "remote.origin.url": url.format(mark=mark),
        **{f"protocol.{name}.allow": "always" for name in ("ssh", "ext", "git")},
    }
    for name, value in settings.items():
        git(folder, "config", name, value)
    with suppress(TraceError):
        async with temporary_copy(folder, commit, recorded="0123456789" * 4):
            pass
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def in_tmp() -> Iterator[Path]:
    """Returns a folder whose objects are copied, because sandboxed commands could not see them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


async def test_links_among_the_objects_are_not_followed(in_tmp: Path) -> None:
    folder, private = shop(in_tmp / "shop"), in_tmp / "private"
    private.write_text("private")
    objects = folder / ".git" / "objects"
    (objects / "file").symlink_to(private)
    (objects / "loop").symlink_to(".")
    async with temporary_copy(folder) as copy:
        assert not (copy.root / ".git" / "objects").resolve().is_relative_to(objects)
        copied = [
            path
            for path in (copy.root / ".git" / "objects").rglob("*")
            if path.is_file() and not path.is_symlink()
        ]
        assert copied
        assert all(path.read_bytes() != b"private" for path in copied)
    os.mkfifo(objects / "pipe")
    with pytest.raises(TraceError, match="neither a file nor a folder"):
        async with temporary_copy(folder):
            pass


async def test_a_loop_of_absolute_links_is_copied(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (folder / "loop").symlink_to(folder / "loop")
    async with temporary_copy(folder) as copy:
        assert (copy.root / "loop").is_symlink()


@pytest.mark.parametrize("commit", ["a\0b", "\ud800", "\n"])
async def test_a_recorded_commit_that_is_no_argument_is_not_there(tmp_path: Path, commit: str) -> None:
    async with temporary_copy(shop(tmp_path / "shop"), recorded=commit) as copy:
        assert "is not in its repository" in copy.basis


async def test_a_folder_in_a_repository_is_copied_with_the_whole_repository(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (folder / "inner").mkdir()
    (folder / "inner" / "a.txt").write_text("a")
    async with temporary_copy(folder / "inner") as copy:
        assert copy.root.name == "inner"
        assert (copy.root.parent / "price.py").is_file()


async def test_a_recorded_commit_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    async with temporary_copy(shop(tmp_path / "shop"), recorded="0" * 40) as copy:
        assert copy.basis == "the folder as it is: the recorded commit 000000000000 is not in its repository"
        assert (copy.root / "price.py").read_text() == "price = 5\ntax = 2\n"


@pytest.mark.parametrize("commit", ["nowhere", "--help"])
async def test_a_requested_commit_has_to_exist(tmp_path: Path, commit: str) -> None:
    folder = shop(tmp_path / "shop")
    with pytest.raises(TraceError, match="has no commit"):
        async with temporary_copy(folder, commit):
            pass


async def test_a_folder_without_git(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("x")
    async with temporary_copy(tmp_path / "a") as copy:
        assert state(copy.root) == {"x.txt": b"x"}
    with pytest.raises(TraceError, match="is not in a git repository"):
        async with temporary_copy(tmp_path / "a", "main"):
            pass
