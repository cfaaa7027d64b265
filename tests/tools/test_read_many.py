"""Reading several files."""

import base64

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.tools.read_many import ReadManyData, ReadManyTool, Skipped
from nbtools.workspace.files.read import _USE_A_PROGRAM
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.workspace import Workspace

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def folder(tmp_path):
    files = {
        "a.py": "a\n",
        "src/b.py": "b",
        "src/c.txt": "c\n",
        "src/deep/d.py": "d\n",
        "out/e.py": "e\n",
        "src/[x].py": "x\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "src" / "p.png").write_bytes(PIXEL)
    (tmp_path / "src" / "z.unknown").write_bytes(b"\0\1\2")
    return tmp_path


async def read(folder, *paths, tool=None, **params):
    return await (tool or ReadManyTool(Workspace(folder))).validate_build_and_execute(
        {"paths": paths, **params}
    )


async def test_each_file_has_a_head(folder):
    result = await read(folder, "src/b.py", "a.py")
    assert result.llm_content == "--- src/b.py ---\nb\n\n--- a.py ---\na"
    assert result.data == ReadManyData(("src/b.py", "a.py"), ())
    assert result.summary == "2 files"


@pytest.mark.parametrize(
    ("paths", "params", "files"),
    [
        (["src/**/*.py"], {}, ["src/[x].py", "src/b.py", "src/deep/d.py"]),
        (["src"], {"exclude": ["*.txt", "*.unknown", "deep/*"]}, ["src/[x].py", "src/b.py"]),
        (["src/deep", "src/*.py", "src/deep/d.py"], {}, ["src/deep/d.py", "src/[x].py", "src/b.py"]),
        (["src/[x].py"], {}, ["src/[x].py"]),
        (["out/e.py"], {}, ["out/e.py"]),
        (["*/e.py"], {"ignored": True}, ["out/e.py"]),
        (["./src/*.txt"], {}, ["src/c.txt"]),
    ],
)
async def test_patterns_and_paths_select_the_files(folder, paths, params, files):
    assert list((await read(folder, *paths, **params)).data.files) == files


async def test_absolute_globs(folder):
    assert (await read(folder, f"{folder.resolve()}/src/*.txt")).data.files == ("src/c.txt",)


async def test_skipped_files_are_named(folder):
    result = await read(folder, "src", "gone.py", "**/*.py")
    assert result.data.skipped == (
        Skipped("gone.py", "There is no file gone.py. Did you mean out/e.py?"),
        Skipped("**/*.py", "git ignores 1 file of it; the call with ignored=true includes them"),
        Skipped("src/p.png", "image/png; give its name to see it"),
        Skipped("src/z.unknown", f"src/z.unknown is binary data, 3 bytes. {_USE_A_PROGRAM}."),
    )
    assert "\n  src/p.png: image/png; give its name to see it\n" in result.llm_content


@pytest.mark.parametrize("name", ["src/p.png", "src/*.png"])
async def test_a_picture_that_is_named_is_shown(folder, name):
    result = await read(folder, "a.py", name)
    assert result.llm_content[0] == {"text": "--- a.py ---\na\n"}
    assert result.llm_content[-1] == {
        "inline_data": {"mime_type": "image/png", "data": base64.b64encode(PIXEL).decode()}
    }
    assert result.data.files == ("a.py", "src/p.png")


async def test_long_files_and_the_end_of_the_room(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text("".join(f"{name}{number:06}\n" for number in range(100)))
    workspace = Workspace(tmp_path)
    result = await read(tmp_path, "**", tool=ReadManyTool(workspace, lines=60, characters=1_000))
    assert "[lines 1–60 of 100; continue with start=61]" in result.llm_content
    assert "--- b ---\nb000000\n" in result.llm_content
    assert "of 100; continue with start=" in result.llm_content.partition("--- b ---")[2]
    assert result.data.files == ("a", "b")
    assert result.data.skipped == (
        Skipped("c", "over the size limit of this call (100 lines); read it separately"),
    )
    assert len(result.llm_content) < 1_400
    assert workspace.read_tracker._reads[tmp_path.resolve() / "a"].view is ReadExtent.PARTIAL


async def test_no_more_files_than_asked_for(folder):
    result = await read(folder, "src/**/*.py", limit=2)
    assert result.data.files == ("src/[x].py", "src/b.py")
    assert result.data.skipped == (
        Skipped("1 file more", "over the limit of 2; name fewer files or raise limit"),
    )


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        ([], ErrorCode.INVALID_TOOL_PARAMS),
        (["{a"], ErrorCode.INVALID_TOOL_PARAMS),
        (["../*"], ErrorCode.PATH_NOT_IN_WORKSPACE),
        (["/etc/*"], ErrorCode.PATH_NOT_IN_WORKSPACE),
        (["**/*.nothing"], ErrorCode.READ_MANY_FILES_SEARCH_ERROR),
    ],
)
async def test_mistakes(folder, paths, code):
    assert (await read(folder, *paths)).error.code is code
