"""Listing a folder through the tool."""

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.core.result import Entry, Listing
from nbtools.tools.ls import FolderListed, LsTool
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def folder(tmp_path):
    for name in ("src/app.py", "b.txt", ".env"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("12345")
    return tmp_path


async def ls(folder, limit=1000, **params):
    return await LsTool(Workspace(folder), limit=limit).validate_build_and_execute(params)


async def test_folders_first_with_sizes_and_hidden_names(folder):
    result = await ls(folder)
    assert result.llm_content == "src/\n.env (5 bytes)\nb.txt (5 bytes)"
    assert result.return_display == Listing((Entry("src", folder=True), Entry(".env", size=5), Entry("b.txt", size=5)), 3)
    assert result.summary == "1 folder, 2 files"
    assert result.data == FolderListed(".", 1, 2)


async def test_paths_are_relative_to_the_workspace(folder):
    result = await ls(folder, path="src")
    assert result.return_display.entries == (Entry("src/app.py", size=5),)
    assert result.llm_content == "app.py (5 bytes)"


async def test_what_is_left_out_is_said(folder):
    result = await ls(folder, limit=1)
    assert result.llm_content == "src/\n[2 more of 3 are not listed; use glob to find them by name]"
    assert result.return_display.total == 3


async def test_an_empty_folder(tmp_path):
    result = await ls(tmp_path)
    assert (result.llm_content, result.summary) == ("(the folder is empty)", "empty")


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("b.txt", ErrorCode.PATH_IS_NOT_A_DIRECTORY, "Use read"),
        ("scr", ErrorCode.FILE_NOT_FOUND, "Did you mean src?"),
        ("..", ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
    ],
)
async def test_what_cannot_be_listed(folder, path, code, words):
    result = await ls(folder, path=path)
    assert result.error.code is code
    assert words in result.error.message
