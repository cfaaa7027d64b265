"""Listing a folder through the tool."""

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.core.result import Entry, Listing
from nbtools.tools.list import LsData, LsTool
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
    assert result.return_display == Listing(
        (Entry("src", folder=True), Entry(".env", size=5), Entry("b.txt", size=5)), 3
    )
    assert result.summary == "1 folder, 2 files"
    assert result.data == LsData(".", 1, 2)


async def test_paths_are_relative_to_the_workspace(folder):
    result = await ls(folder, path="src")
    assert result.return_display.entries == (Entry("src/app.py", size=5),)
    assert result.llm_content == "app.py (5 bytes)"


async def test_omitted_entries_are_counted(folder):
    result = await ls(folder, limit=1)
    assert result.llm_content == "src/\n[1–1 of 3; the call with offset=1 returns the next page]"
    assert result.return_display.total == 3


async def test_pages(folder):
    result = await LsTool(Workspace(folder)).validate_build_and_execute({"limit": 2, "offset": 1})
    assert result.llm_content == ".env (5 bytes)\nb.txt (5 bytes)\n[2–3 of 3]"
    beyond = await LsTool(Workspace(folder)).validate_build_and_execute({"offset": 7})
    assert beyond.llm_content == "[no entries at offset 7: the folder has 3]"


async def test_names_to_leave_out(folder):
    result = await ls(folder, ignore=["*.txt", "sr?/"])
    assert result.llm_content == ".env (5 bytes)\n[2 ignored]"
    assert result.data == LsData(".", 0, 1, 2, excluded=2)
    assert (await ls(folder, ignore=["*"])).llm_content == "(the folder has no other entries)\n[3 ignored]"
    assert "not closed" in (await ls(folder, ignore=["{a"])).error.message


async def test_files_ignored_by_git_are_left_out(folder):
    (folder / ".gitignore").write_text("src/\n*.txt\n")
    assert (await ls(folder)).data == LsData(".", 1, 3)
    assert (await ls(folder, ignored=False)).data == LsData(".", 0, 2, 2)


async def test_links_are_marked(folder):
    (folder / "to_src").symlink_to("src")
    (folder / "to_file").symlink_to("b.txt")
    (folder / "nowhere").symlink_to("gone")
    lines = (await ls(folder)).llm_content.splitlines()
    assert lines[1:2] + lines[4:] == [
        "to_src/ (symbolic link)",
        "nowhere (symbolic link)",
        "to_file (symbolic link, 5 bytes)",
    ]


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
async def test_a_path_that_cannot_be_listed_is_an_error(folder, path, code, words):
    result = await ls(folder, path=path)
    assert result.error.code is code
    assert words in result.error.message
