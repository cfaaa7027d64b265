"""Listings of folders."""

import os

import pytest

from nbtools.core.errors import ToolFailure
from nbtools.core.result import Entry
from nbtools.workspace.files.listing import FolderListing, list_folder
from nbtools.workspace.workspace import Workspace


def test_folders_first_then_by_name(tmp_path):
    for name in ("b", "a", "Z"):
        (tmp_path / name).write_text(name)
    (tmp_path / "z").mkdir()
    (tmp_path / ".hidden").mkdir()
    workspace = Workspace(tmp_path)
    assert list_folder(workspace.root, workspace).entries == (
        Entry(".hidden", folder=True),
        Entry("z", folder=True),
        Entry("a", size=1),
        Entry("b", size=1),
        Entry("Z", size=1),
    )


def test_links_pipes_and_what_leads_nowhere(tmp_path):
    sub = tmp_path / "sub"
    sub.mkdir()
    (sub / "up").symlink_to("..")
    (sub / "gone").symlink_to("nothing")
    os.mkfifo(sub / "pipe")
    workspace = Workspace(tmp_path)
    assert list_folder(workspace.root / "sub", workspace).entries == (
        Entry("sub/up", folder=True, link=True),
        Entry("sub/gone", link=True),
        Entry("sub/pipe"),
    )


def test_a_link_reveals_nothing_about_files_outside(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "secret").write_text("seven!!")
    root = tmp_path / "root"
    root.mkdir()
    (root / "to_file").symlink_to(tmp_path / "secret")
    (root / "to_folder").symlink_to(tmp_path / "outside")
    workspace = Workspace(root)
    assert list_folder(workspace.root, workspace).entries == (
        Entry("to_file", link=True),
        Entry("to_folder", link=True),
    )


def test_hidden_files_are_counted_and_not_named(tmp_path):
    for name in ("secret.pem", "a.txt", "keys/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "innocent").symlink_to("secret.pem")
    workspace = Workspace(tmp_path)
    workspace.hidden = ("*.pem", "keys/")
    assert list_folder(workspace.root, workspace) == FolderListing((Entry("a.txt", size=1),), hidden=3)


def test_a_folder_that_became_a_link_is_not_listed(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to("/etc")
    workspace = Workspace(tmp_path)
    with pytest.raises(ToolFailure, match="became a link"):
        list_folder(workspace.root / "inside" / "link", workspace)
