"""The tree below a folder."""

from pathlib import Path

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.tools.list import TreeData, TreeTool
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def folder(tmp_path):
    for name in (
        "src/app.py",
        "src/deep/a.py",
        "src/deep/b.py",
        "b.txt",
        ".git/HEAD",
        ".git/refs/x",
        "node_modules/p/index.js",
        "src/build/o",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12345")
    (tmp_path / "src" / "empty").mkdir()
    (tmp_path / "src" / "up").symlink_to("..")
    return tmp_path


async def tree(folder, **params):
    return await TreeTool(Workspace(folder)).validate_build_and_execute(params)


def line_of(entry):
    name = entry.path.rpartition("/")[2] + "/" * entry.folder
    return entry.branch + " ".join(filter(None, (name, entry.note)))


async def test_the_whole_tree(folder):
    result = await tree(folder)
    entries = result.return_display.entries
    assert result.llm_content.split("\n")[1:] == [line_of(entry) for entry in entries]
    assert "src/deep/a.py" in [entry.path for entry in entries]
    assert result.llm_content == (
        "./\n"
        "├── .git/ (not opened, 2 entries)\n"
        "├── node_modules/ (not opened, 1 entry)\n"
        "├── src/\n"
        "│   ├── build/ (not opened, 1 entry)\n"
        "│   ├── deep/\n"
        "│   │   ├── a.py\n"
        "│   │   └── b.py\n"
        "│   ├── empty/\n"
        "│   ├── app.py\n"
        "│   └── up → .. (symbolic link)\n"
        "└── b.txt"
    )
    assert result.summary == "6 folders, 5 files"
    assert result.data == TreeData(".", 6, 5, (".git", "node_modules", "src/build"))


async def test_a_closed_folder_that_is_named_is_opened(folder):
    assert (await tree(folder, path="node_modules")).llm_content == "node_modules/\n└── p/\n    └── index.js"
    assert (await tree(folder, path="src")).data == TreeData("src", 3, 4, ("src/build",))
    assert (await tree(folder, path="src/empty")).llm_content == "src/empty/\n(the folder is empty)"


async def test_some_levels(folder):
    result = await tree(folder, path="src", depth=1)
    assert result.llm_content.splitlines()[1:4] == [
        "├── build/ (not opened, 1 entry)",
        "├── deep/ (not opened, 2 entries)",
        "├── empty/ (not opened, 0 entries)",
    ]
    assert result.data == TreeData("src", 3, 2, ("src/build", "src/deep", "src/empty"))


async def test_room_is_shared_and_totals_are_true(tmp_path):
    for folder, count in (("a", 100), ("b", 3), ("c", 100)):
        (tmp_path / folder).mkdir()
        for number in range(count):
            (tmp_path / folder / f"{number:03}").touch()
    result = await tree(tmp_path, limit=20)
    lines = result.llm_content.splitlines()
    assert [line for line in lines if "more" in line] == [
        "│   └── … 93 more",
        "    └── … 93 more",
        "[20 of 206 entries are displayed; give the path of a folder, or a higher limit, to see more]",
    ]
    assert result.data == TreeData(".", 3, 203, ())
    assert len(lines) == 1 + 20 + 3
    assert "│   └── … 100 more" in (await tree(tmp_path, limit=3)).llm_content


async def test_a_name_cannot_draw(tmp_path):
    (tmp_path / "a\n└── b").touch()
    (tmp_path / "link").symlink_to("x\ny")
    assert len((await tree(tmp_path)).llm_content.splitlines()) == 3


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("b.txt", ErrorCode.PATH_IS_NOT_A_DIRECTORY, "Use read"),
        ("scr", ErrorCode.FILE_NOT_FOUND, "Did you mean src?"),
        ("..", ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
    ],
)
async def test_a_path_that_cannot_be_shown_is_an_error(folder, path, code, words):
    result = await tree(Path(folder), path=path)
    assert result.error.code is code
    assert words in result.error.message


async def test_folders_nested_very_deep(tmp_path):
    path = str(tmp_path)
    folders = [path := f"{path}/d" for _ in range(1_200)]
    for folder in folders:
        Path(folder).mkdir()
    try:
        assert (await tree(tmp_path, limit=20_000)).data == TreeData(".", 1_200, 0, ())
    finally:
        for folder in reversed(folders):  # pytest would not get so deep
            Path(folder).rmdir()
