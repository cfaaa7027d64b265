"""No component of a path may be a link: by each of the ways that systems offer."""

import os
from pathlib import Path

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.files import no_follow
from nbtools.workspace.files.no_follow import (
    became_link_failure,
    open_folder,
    open_no_links,
    open_walking,
    rename,
    scan_folder,
    status_or_none,
    unlink,
)

READ = os.O_RDONLY


@pytest.fixture(params=["the quickest way", "walking"])
def way(request, monkeypatch):
    """Each test runs with what this system has, and with what every system has."""
    if request.param == "walking":
        monkeypatch.setattr(no_follow, "opener", lambda: open_walking)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("inside")
    (tmp_path / "to_file").symlink_to("a/b/file")
    (tmp_path / "to_folder").symlink_to("a")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    return tmp_path


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "name",
    [
        "to_file",
        "to_folder",
        "to_folder/b/file",
        "to_folder/b",
        "a/up/a/b/file",
        "loop",
        "loop/x",
        "dangling",
        "dangling/x",
        "/proc/self/status",
        "/dev/fd/0",
    ],
)
def test_a_link_anywhere_on_the_way_is_refused_in_one_line(tree, name):
    for flags in (READ, READ | os.O_DIRECTORY, os.O_WRONLY | os.O_CREAT):
        with pytest.raises(ToolFailure, match="became a link after it was checked") as caught:
            os.close(open_no_links(tree / name, flags, 0o600))
        assert caught.value.code is ErrorCode.PATH_NOT_IN_WORKSPACE
        assert "\n" not in caught.value.message


@pytest.mark.usefixtures("way")
def test_paths_without_links_are_opened_from_the_root_and_from_a_folder(tree):
    with os.fdopen(open_no_links(tree / "a" / "b" / "file", READ)) as file:
        assert file.read() == "inside"
        assert not os.get_inheritable(file.fileno())
    with open_folder(tree / "a") as there, os.fdopen(open_no_links("b/file", READ, dir_fd=there)) as file:
        assert file.read() == "inside"
    os.close(open_no_links("/", READ | os.O_DIRECTORY))
    os.close(open_no_links(tree / "new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640))
    assert (tree / "new").stat().st_mode & 0o777 == 0o640 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.usefixtures("way")
def test_the_systems_own_errors_stay(tree):
    for name, error in (
        ("none", FileNotFoundError),
        ("none/x", FileNotFoundError),
        ("a/b/file/x", NotADirectoryError),
        ("n" * 300, OSError),
    ):
        with pytest.raises(error):
            open_no_links(tree / name, READ)
    with pytest.raises(FileExistsError):
        open_no_links(tree / "to_file", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


@pytest.mark.usefixtures("way")
def test_a_look_is_at_the_thing_itself(tree):
    assert status_or_none(tree / "a" / "b" / "file").st_size == 6
    assert status_or_none(tree / "to_file").st_size == len("a/b/file")
    assert status_or_none(tree / "none") is None
    assert status_or_none(tree / "a" / "b" / "file" / "x") is None
    assert status_or_none("/").st_ino == Path("/").stat().st_ino
    with pytest.raises(ToolFailure):
        status_or_none(tree / "to_folder" / "b")


@pytest.mark.usefixtures("way")
def test_names_change_only_where_no_link_leads(tree):
    with pytest.raises(ToolFailure):
        rename(tree / "to_folder" / "b" / "file", tree / "file")
    with pytest.raises(ToolFailure):
        rename(tree / "a" / "b" / "file", tree / "to_folder" / "file")
    with pytest.raises(ToolFailure):
        unlink(tree / "to_folder" / "b" / "file")
    rename(tree / "a" / "b" / "file", tree / "file")
    assert (tree / "file").read_text() == "inside"
    unlink(tree / "to_file")
    unlink(tree / "to_file", missing_ok=True)
    with pytest.raises(FileNotFoundError):
        unlink(tree / "to_file")


@pytest.mark.usefixtures("way")
def test_a_folder_is_listed_by_its_descriptor(tree):
    with scan_folder(tree / "a") as entries:
        found = {entry.name: entry.stat(follow_symlinks=False).st_ino for entry in entries}
    assert found == {name: (tree / "a" / name).lstat().st_ino for name in ("b", "up")}
    with pytest.raises(ToolFailure), scan_folder(tree / "to_folder"):
        pass


@pytest.mark.usefixtures("way")
def test_descriptors_do_not_pile_up(tree):
    before = len(list(Path("/dev/fd").iterdir()))
    for name in ("a/b/file", "to_file", "to_folder/b/file", "none", "a/b/file/x"):
        for _ in range(20):
            try:
                os.close(open_no_links(tree / name, READ))
            except (OSError, ToolFailure):
                continue
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_folder_that_may_be_passed_but_not_listed_is_passed(open_folder, as_nobody):
    (open_folder / "dark").mkdir()
    (open_folder / "dark" / "file").write_text("found")
    (open_folder / "dark").chmod(0o711)
    with as_nobody(), os.fdopen(open_walking(str(open_folder / "dark" / "file"), READ)) as file:
        assert file.read() == "found"


def test_the_refusal_shows_a_path_in_one_line():
    assert "\\n" in became_link_failure("a\nb").message
