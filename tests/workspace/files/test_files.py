"""Reading: ordinary files alone, whole or by lines."""

import os
import socket
from pathlib import Path

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.files import read


def test_the_limit_is_exact(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    assert read.read_bytes(path, "f", 5) == b"12345"
    with pytest.raises(ToolFailure, match="5 bytes; at most 4") as caught:
        read.read_bytes(path, "f", 4)
    assert caught.value.code is ErrorCode.FILE_TOO_LARGE


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, whose files know no size")
def test_a_file_without_a_size_is_read_to_its_end():
    assert b"Pid:" in read.read_bytes(Path(f"/proc/{os.getpid()}/status"), "status")


def test_paths_that_are_not_files_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    (tmp_path / "folder").mkdir()
    for path, words in (
        (tmp_path / "pipe", "a named pipe"),
        (tmp_path / "socket", "a socket"),
        (Path("/dev/null"), "a device"),
    ):
        with pytest.raises(ToolFailure, match=words) as caught:
            read.read_bytes(path, path.name)
        assert caught.value.code is ErrorCode.READ_CONTENT_FAILURE
    with pytest.raises(ToolFailure, match="Use ls") as caught:
        read.read_bytes(tmp_path / "folder", "folder")
    assert caught.value.code is ErrorCode.TARGET_IS_DIRECTORY


def test_a_link_that_took_the_files_place_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("s")
    (tmp_path / "f").symlink_to("secret")
    with pytest.raises(ToolFailure):
        read.read_bytes(tmp_path / "f", "f")


def test_missing(tmp_path):
    assert read.read_if_exists(tmp_path / "no", "no") is None
    with pytest.raises(ToolFailure) as caught:
        read.size_of(tmp_path / "no", "no")
    assert caught.value.code is ErrorCode.FILE_NOT_FOUND
