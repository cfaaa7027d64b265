"""A change that is worked out, and made or not."""

import pytest

from nbtools.core.errors import ToolFailure
from nbtools.workspace.text.file_edit import FileChange


def change(path, before, after):
    return FileChange(path, "f", before, after, None if before is None else before.decode(), after.decode())


def test_made_with_its_folders(tmp_path):
    assert change(tmp_path / "a" / "f", None, b"x\n").step().make_alone() == (tmp_path / "a",)
    assert (tmp_path / "a" / "f").read_bytes() == b"x\n"


def test_a_file_that_cannot_be_created_leaves_no_folders(tiny_disk):
    with pytest.raises(ToolFailure):
        change(tiny_disk / "a" / "b" / "f", None, b"x" * 1_000_000).step().make_alone()
    assert list(tiny_disk.iterdir()) == []


def test_the_first_line(tmp_path):
    assert change(tmp_path, b"a\nb\nc", b"a\nB\nc").first_line() == 2
    assert change(tmp_path, b"a", b"a\nb").first_line() == 2
    assert change(tmp_path, None, b"a").first_line() == 1
