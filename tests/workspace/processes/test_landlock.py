"""A program that reads only what it may."""

import subprocess
import sys
import threading
from functools import partial

import pytest

from nbtools.workspace.processes import landlock
from nbtools.workspace.processes.landlock import restrict_reads
from nbtools.workspace.search.file_search import find_files
from nbtools.workspace.search.ripgrep import (
    find_rg,
    run_ripgrep,
    without_links,
    works_with_landlock,
    workspace_files,
)
from nbtools.workspace.search.text_search import Query, count_matches, matching_lines

needs_landlock = pytest.mark.skipif(not landlock.available(), reason="no Landlock here")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("needle\n")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "file").write_text("needle\n")
    (root / "link").symlink_to("../outside")
    return root


@needs_landlock
def test_files_that_are_not_listed_cannot_be_read(root):
    cat = partial(
        subprocess.run,
        ["cat", root / "sub" / "file", root / "link" / "secret"],
        capture_output=True,
        check=False,
    )
    system = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache"]
    ended = restrict_reads([str(root), *system, str(root / "none")], cat)
    assert ended.stdout == b"needle\n"
    assert b"ermission denied" in ended.stderr
    assert cat().stdout == b"needle\nneedle\n"


@needs_landlock
def test_the_rules_go_with_the_thread(root):
    before = threading.active_count()
    with pytest.raises(FileNotFoundError):
        restrict_reads([str(root)], partial(subprocess.run, ["/no/such/program"], check=False))
    assert (root.parent / "outside" / "secret").read_text() == "needle\n"
    assert threading.active_count() == before


@needs_landlock
async def test_ripgrep_follows_no_link_out_even_where_it_follows_links(root):
    assert works_with_landlock(find_rg())
    found = bytearray()
    complaints = await run_ripgrep(
        root, ["--follow", "--files-with-matches", "--null", "needle", "./"], found.extend
    )
    assert bytes(found) == b"./sub/file\0"
    assert "Permission denied" in complaints


async def test_ignore_files_above_the_workspace_still_count(root):
    (root.parent / ".git").mkdir()
    (root.parent / ".gitignore").write_text("*.log\n")
    (root.parent / ".git" / "info").mkdir()
    (root.parent / ".git" / "info" / "exclude").write_text("sub\n")
    (root / "a.log").touch()
    (root / "b.txt").touch()
    found = bytearray()
    assert await run_ripgrep(root, ["--files", "--null"], found.extend) == ""
    assert bytes(found) == b"b.txt\0"


async def test_ignore_files_of_a_second_work_tree_and_of_the_user_count(root, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "my").mkdir(parents=True)
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/my/ignored\n")
    (home / "my" / "ignored").write_text("*.mine\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    git = tmp_path / "first" / ".git"
    (git / "worktrees" / "root").mkdir(parents=True)
    (git / "worktrees" / "root" / "commondir").write_text("../..\n")
    (git / "info").mkdir()
    (git / "info" / "exclude").write_text("*.log\n")
    (root / ".git").write_text(f"gitdir: {git}/worktrees/root\n")
    for name in ("a.log", "b.mine", "c.txt"):
        (root / name).touch()
    found = bytearray()
    assert await run_ripgrep(root, ["--files", "--null"], found.extend) == ""
    assert set(bytes(found).split(b"\0")) == {b"c.txt", b"sub/file", b""}


def test_a_ripgrep_that_needs_more_runs_without_rules(tmp_path):
    script = tmp_path / "rg"
    script.write_text(f"#!{sys.executable}\nprint(1)\n")
    script.chmod(0o755)
    assert not works_with_landlock(str(script))


def test_names_that_a_link_leads_to_are_none_of_ours(root):
    (root / "sub" / "out").symlink_to("../../outside/secret")
    names = ["sub/file", "link/secret", "sub/out", "sub/none", "sub", "none/x"]
    assert without_links(root, names) == ["sub/file"]


async def test_without_landlock_reported_paths_are_checked(root, monkeypatch):
    script = root.parent / "rg"
    script.write_text(f'#!/bin/sh\nexec {find_rg()} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("NBTOOLS_RG", str(script))
    assert not works_with_landlock(find_rg())
    (root / "sub" / "out").symlink_to("../../outside/secret")
    counted = await count_matches(root, ".", Query("needle"), names_only=False, progress=lambda _: None)
    assert counted.counts == {"sub/file": 1}
    assert await matching_lines(root, Query("needle"), [("link/secret", 0, 5), ("sub/out", 0, 5)]) == []
    assert (await find_files(root, ".", "**")).paths == ["sub/file"]
    assert list(workspace_files(root, ["link/secret", "sub/file"])) == ["sub/file"]
