"""A file holds the old content or the new, and stays the file it was."""

import os
import shutil
import stat
import subprocess

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.files import atomic_write


def only(folder, *names):
    """No temporary file is left."""
    return sorted(path.name for path in folder.iterdir()) == sorted(names)


def failure(*arguments):
    with pytest.raises(ToolFailure) as caught:
        atomic_write.replace_content(*arguments)
    assert "\n" not in caught.value.message
    return caught.value.code


def test_mode_and_identity_of_attributes_stay(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o4751)
    atomic_write.replace_content(path, b"new", b"old", "f")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o4751
    assert only(tmp_path, "f")


def test_extended_attributes_stay(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.nbtools", b"here")
    except (OSError, AttributeError) as error:
        pytest.skip(f"no extended attributes here: {error}")
    atomic_write.replace_content(path, b"new", b"old", "f")
    assert os.getxattr(path, "user.nbtools") == b"here"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.chown(path, 65534, 65533)
    atomic_write.replace_content(path, b"new", b"old", "f")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65533)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of others")
def test_the_owner_is_preserved_by_writing_in_place_where_necessary(open_folder, as_nobody):
    path = open_folder / "f"
    path.write_bytes(b"old, and longer")
    path.chmod(0o666)
    before = path.stat()
    with as_nobody():
        atomic_write.replace_content(path, b"new", b"old, and longer", "f")
    assert path.read_bytes() == b"new"
    assert (path.stat().st_uid, path.stat().st_ino) == (0, before.st_ino)
    assert only(open_folder, "f")


def test_a_new_file_gets_the_usual_mode(tmp_path):
    mask = os.umask(0o027)
    try:
        atomic_write.replace_content(tmp_path / "f", b"new", None, "f")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640
    assert (tmp_path / "f").stat().st_nlink == 1
    assert only(tmp_path, "f")


def test_hard_links_stay_together(tmp_path):
    (tmp_path / "f").write_bytes(b"old old old")
    (tmp_path / "g").hardlink_to(tmp_path / "f")
    atomic_write.replace_content(tmp_path / "f", b"new", b"old old old", "f")
    assert (tmp_path / "g").read_bytes() == b"new"


def test_a_file_changed_by_others_is_not_overwritten(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"theirs")
    assert failure(path, b"mine", b"old", "f") is ErrorCode.CONFLICT
    assert failure(path, b"mine", None, "f") is ErrorCode.CONFLICT
    assert path.read_bytes() == b"theirs"
    (tmp_path / "g").hardlink_to(path)
    assert failure(path, b"mine", b"old", "f") is ErrorCode.CONFLICT
    assert failure(tmp_path / "gone", b"mine", b"old", "gone") is ErrorCode.CONFLICT
    assert only(tmp_path, "f", "g")


def test_a_read_only_file_is_not_replaced_behind_its_back(open_folder, as_nobody):
    with as_nobody():
        path = open_folder / "f"
        path.write_bytes(b"old")
        path.chmod(0o444)
        assert failure(path, b"new", b"old", "f") is ErrorCode.PERMISSION_DENIED
        assert path.read_bytes() == b"old"
    assert only(open_folder, "f")


def test_an_unwritable_folder(open_folder, as_nobody):
    with as_nobody():
        folder = open_folder / "closed"
        folder.mkdir()
        path = folder / "f"
        path.write_bytes(b"old")
        folder.chmod(0o555)
        atomic_write.replace_content(path, b"new", b"old", "f")
        assert path.read_bytes() == b"new"
        assert failure(folder / "g", b"new", None, "g") is ErrorCode.PERMISSION_DENIED
        folder.chmod(0o755)


def test_an_immutable_file(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    if (
        shutil.which("chattr") is None
        or subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("this file system or user knows no immutable files")
    try:
        assert failure(path, b"new", b"old", "f") is ErrorCode.PERMISSION_DENIED
    finally:
        subprocess.run(["chattr", "-i", path], check=True)
    assert path.read_bytes() == b"old"


def test_a_full_disk_changes_nothing(tiny_disk):
    path = tiny_disk / "f"
    path.write_bytes(b"old" * 10_000)
    assert failure(path, b"n" * 100_000, b"old" * 10_000, "f") is ErrorCode.NO_SPACE_LEFT
    assert failure(tiny_disk / "g", b"n" * 100_000, None, "g") is ErrorCode.NO_SPACE_LEFT
    assert only(tiny_disk, "f")
    (tiny_disk / "other").hardlink_to(path)
    assert failure(path, b"n" * 100_000, b"old" * 10_000, "f") is ErrorCode.NO_SPACE_LEFT
    assert path.read_bytes() == b"old" * 10_000


def test_a_file_that_is_mounted_is_written_in_place(tmp_path):
    (tmp_path / "source").write_bytes(b"old")
    (tmp_path / "f").touch()
    command = ["mount", "--bind", str(tmp_path / "source"), str(tmp_path / "f")]
    if (
        shutil.which("mount") is None
        or subprocess.run(command, capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("nothing can be mounted here: that needs root")
    try:
        atomic_write.replace_content(tmp_path / "f", b"new", b"old", "f")
    finally:
        subprocess.run(["umount", tmp_path / "f"], check=True)
    assert (tmp_path / "source").read_bytes() == b"new"
    assert only(tmp_path, "f", "source")


def test_a_name_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("n" * 255)
    atomic_write.replace_content(path, b"new", None, "n")
    atomic_write.replace_content(path, b"newer", b"new", "n")
    assert path.read_bytes() == b"newer"


def test_folders_are_made_and_taken_back(tmp_path):
    made = atomic_write.make_folders(tmp_path / "a" / "b" / "f", "f")
    assert made == (tmp_path / "a", tmp_path / "a" / "b")
    assert atomic_write.make_folders(tmp_path / "a" / "b" / "f", "f") == ()
    atomic_write.remove_folders(made)
    assert only(tmp_path)


def test_folders_that_cannot_be_made_leave_nothing(tmp_path):
    with pytest.raises(ToolFailure) as caught:
        atomic_write.make_folders(tmp_path / "a" / ("n" * 256) / "f", "f")
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS
    assert only(tmp_path)
