"""Reading: ordinary files alone, whole or by lines."""

import codecs
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace import files
from nbtools.workspace.text import split_lines


@settings(max_examples=80, deadline=None)
@given(
    lines=st.lists(st.sampled_from(["a", "bc", "", "ä", "\u0a0a\u0a00", "𝄞", "long" * 9]), max_size=30),
    final=st.booleans(),
    start=st.integers(1, 40),
    more=st.integers(0, 40),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    chunk=st.integers(1, 8),
)
def test_lines_by_chunks_are_the_lines(lines, final, start, more, codec, chunk, tmp_path_factory):
    text = "\n".join(lines) + "\n" * final
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(text.encode(codec))
    excerpt = files.read_lines(path, "f", start, start + more, chunk_size=chunk * 4)
    wanted = split_lines(text)
    assert excerpt.total == len(wanted)
    assert excerpt.data.decode(excerpt.encoding.codec) == "".join(wanted[start - 1 : start + more])


def test_a_surrogate_pair_on_the_edge_of_the_first_look(tmp_path):
    path = tmp_path / "f"
    text = "a" * 32_766 + "𝄞" * 5 + "\nend\n"
    path.write_bytes(codecs.BOM_UTF16_LE + text.encode("utf-16-le"))
    assert files.read_lines(path, "f", 2, 2).data.decode("utf-16-le") == "end\n"


def test_a_large_file_needs_little_memory(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        for _ in range(60):
            file.write(b"x" * 999_999 + b"\n")
    excerpt = files.read_lines(path, "large", 30, 31)
    assert (len(excerpt.data), excerpt.total) == (2_000_000, 60)
    with pytest.raises(ToolFailure) as caught:
        files.read_lines(path, "large", 1, 60)
    assert caught.value.code is ErrorCode.FILE_TOO_LARGE


def test_the_limit_is_exact(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    assert files.read_bytes(path, "f", 5) == b"12345"
    with pytest.raises(ToolFailure, match="5 bytes; at most 4") as caught:
        files.read_bytes(path, "f", 4)
    assert caught.value.code is ErrorCode.FILE_TOO_LARGE


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, whose files know no size")
def test_a_file_without_a_size_is_read_to_its_end():
    assert b"Pid:" in files.read_bytes(Path("/proc/self/status"), "status")


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    (tmp_path / "folder").mkdir()
    for path, words in ((tmp_path / "pipe", "a named pipe"), (tmp_path / "socket", "a socket"), (Path("/dev/null"), "a device")):
        with pytest.raises(ToolFailure, match=words) as caught:
            files.read_bytes(path, path.name)
        assert caught.value.code is ErrorCode.READ_CONTENT_FAILURE
    with pytest.raises(ToolFailure, match="Use ls") as caught:
        files.read_bytes(tmp_path / "folder", "folder")
    assert caught.value.code is ErrorCode.TARGET_IS_DIRECTORY


def test_a_link_that_took_the_files_place_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("s")
    (tmp_path / "f").symlink_to("secret")
    with pytest.raises(ToolFailure):
        files.read_bytes(tmp_path / "f", "f")


def test_missing(tmp_path):
    assert files.read_if_there(tmp_path / "no", "no") is None
    with pytest.raises(ToolFailure) as caught:
        files.size_of(tmp_path / "no", "no")
    assert caught.value.code is ErrorCode.FILE_NOT_FOUND
