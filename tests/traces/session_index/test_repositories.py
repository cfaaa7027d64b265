"""Worktrees and folders of one repository have its folder as their name."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from nbtools.traces.session_index.repositories import repository_of


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def shop(tmp_path):
    """A repository with a linked worktree beside it."""
    folder = tmp_path.resolve() / "shop"
    (folder / "src" / "cart").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    git(folder, "worktree", "add", "-q", "../shop-fix")
    repository_of.cache_clear()
    yield folder
    repository_of.cache_clear()


def test_folders_and_linked_worktrees_belong_to_their_repository(shop):
    linked = shop.with_name("shop-fix")
    (linked / "src").mkdir()
    for folder in (shop, shop / "src" / "cart", linked, linked / "src", shop / "gone" / "since"):
        assert repository_of(str(folder)) == str(shop)


def test_a_folder_that_is_gone_belongs_to_the_repository_that_its_name_tells():
    for inside in (".claude/worktrees/fix-1", ".claude/worktrees/fix-1/src", ".worktrees/x"):
        assert repository_of(f"/no/such/shop/{inside}") == "/no/such/shop"
    assert repository_of(r"C:\no\shop\.claude\worktrees\fix") == r"C:\no\shop"
    for alone in ("/no/such/shop-fix", r"C:\no\shop", "relative/shop", "", "/"):
        assert repository_of(alone) == alone


def test_a_submodule_and_a_separate_git_folder_are_repositories_of_their_own(shop):
    for name, target in (("sub", "../.git/modules/sub"), ("apart", "/srv/git/apart.git")):
        (shop / name).mkdir()
        (shop / name / ".git").write_text(f"gitdir: {target}\n")
        assert repository_of(str(shop / name)) == str(shop / name)


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"\xff\xfe\0", b"x" * 100_000, b"nonsense"])
def test_a_git_file_that_git_did_not_write_names_nothing(tmp_path, content):
    folder = tmp_path.resolve() / "odd"
    folder.mkdir()
    (folder / ".git").write_bytes(content)
    repository_of.cache_clear()
    assert repository_of(str(folder)) == str(folder)


def test_pipes_and_links_are_not_opened(tmp_path):
    folder = tmp_path.resolve() / "odd"
    folder.mkdir()
    os.mkfifo(folder / ".git")
    repository_of.cache_clear()
    assert repository_of(str(folder)) == str(folder)
    (folder / ".git").unlink()
    (folder / ".git").symlink_to("/dev/zero")
    repository_of.cache_clear()
    assert repository_of(str(folder)) == str(folder)
    shutil.rmtree(folder)
