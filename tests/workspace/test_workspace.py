"""Nothing leaves the workspace."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, SessionError, ToolFailure
from nbtools.workspace.workspace import Workspace
from tests.examples import examples

PIECES = st.sampled_from(
    [
        "a",
        "b",
        "in",
        "out",
        "up",
        "abs",
        "loop",
        "..",
        ".",
        "",
        "etc",
        "passwd",
        "~",
        "\0",
        "root",
        "n" * 300,
        "\ud800",
    ]
)


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    """A workspace whose links lead out in every way there is."""
    outside = tmp_path_factory.mktemp("outside")
    root = outside / "root"
    (root / "a" / "b").mkdir(parents=True)
    (outside / "rooted").mkdir()
    for name, target in {
        "in": "a",
        "out": "../rooted",
        "up": "..",
        "abs": "/etc",
        "a/up": "../..",
        "a/b/loop": "loop",
        "loop": "a/../loop",
        "a/out": "../out/x",
        "a/in": str(root / "a" / "b"),
    }.items():
        (root / name).symlink_to(target)
    return Workspace(root)


@settings(max_examples=examples(500), deadline=None)
@given(
    pieces=st.lists(PIECES, max_size=7), absolute=st.sampled_from(["", "/", "{root}/", "{root}", "{root}ed/"])
)
def test_resolved_paths_are_inside_and_real(farm, pieces, absolute):
    path = absolute.format(root=farm.root) + "/".join(pieces)
    try:
        found = farm.resolve(path)
    except ToolFailure as failure:
        message = failure.message
    else:
        message = ""
        assert found == farm.root or farm.root in found.parents
        assert os.path.realpath(found) == str(found)
    assert message.isprintable()


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../rooted/x",
        "out",
        "out/x",
        "in/../../x",
        "a/up/rooted",
        "abs/passwd",
        "a/out",
        "/etc/passwd",
        "~",
    ],
)
def test_paths_that_lead_outside_are_refused(farm, path):
    with pytest.raises(ToolFailure) as caught:
        farm.resolve(path)
    assert caught.value.code is ErrorCode.PATH_NOT_IN_WORKSPACE
    assert str(farm.root) in caught.value.message


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "a/" * 3000 + "x", "\ud800"])
def test_names_that_no_file_system_accepts_are_refused(farm, path):
    with pytest.raises(ToolFailure) as caught:
        farm.resolve(path)
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS


def test_a_loop_is_refused(farm):
    with pytest.raises(ToolFailure) as caught:
        farm.resolve("loop")
    assert caught.value.code is ErrorCode.PATH_NOT_IN_WORKSPACE


def test_absolute_and_home_paths_inside_are_fine(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace = Workspace(tmp_path)
    assert workspace.resolve(str(tmp_path / "x")) == workspace.root / "x"
    assert workspace.resolve("~/x") == workspace.root / "x"
    assert Workspace("~").root == workspace.root


def test_relative(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    workspace = Workspace(tmp_path)
    assert workspace.relative(workspace.root) == "."
    assert workspace.relative(workspace.resolve("a/./b/../b")) == "a/b"


def test_spellings(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    workspace = Workspace(tmp_path)
    assert workspace.spellings("./a/../a/x") == ("a/x",)
    assert workspace.spellings(f"{workspace.root}/link/x") == ("a/x", "link/x")
    assert workspace.spellings("link") == ("a", "link")
    assert workspace.spellings(".") == (".",)


def test_the_root_may_be_a_link_or_the_whole_system(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert Workspace(tmp_path / "link").root == Path(os.path.realpath(tmp_path)) / "real"
    assert Workspace("/").resolve("etc/../etc") == Path(os.path.realpath("/etc"))


def test_a_root_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for bad in (tmp_path / "file", tmp_path / "missing", "\0"):
        with pytest.raises(SessionError, match="Name a folder"):
            Workspace(bad)
