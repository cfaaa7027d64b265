"""Reading files through the tool."""

import os

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.core.result import FileText
from nbtools.core.tool import PathTarget
from nbtools.tools.read import LinesRead, ReadTool
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def tool(tmp_path):
    return ReadTool(Workspace(tmp_path))


async def read(tool, path="f", **ranges):
    return await tool.validate_build_and_execute({"path": path, **ranges})


async def test_a_whole_file_is_its_text(tool, tmp_path):
    (tmp_path / "f").write_bytes("größe\r\n\tx\n".encode("utf-8-sig"))
    result = await read(tool)
    assert result.llm_content == "größe\n\tx\n"
    assert result.return_display == FileText("f", 1, ("größe", "\tx"), 2)
    assert result.summary == "2 lines"
    assert result.data == LinesRead("f", 1, 2, 2)


async def test_a_long_file_says_how_to_go_on(tmp_path):
    (tmp_path / "f").write_text("".join(f"{n}\n" for n in range(1, 5313)))
    result = await read(ReadTool(Workspace(tmp_path)))
    assert result.llm_content.endswith("\n2000\n[lines 1–2000 of 5312; read on with start=2001]")
    assert result.summary == "lines 1–2000 of 5312"
    assert result.return_display.more == "lines 1–2000 of 5312; read on with start=2001"


@pytest.mark.parametrize(
    ("ranges", "text", "notice"),
    [
        ({"start": 2, "end": 3}, "2\n3\n", "[lines 2–3 of 5; read on with start=4]"),
        ({"start": 4}, "4\n5", "\n[lines 4–5 of 5]"),
        ({"end": 2}, "1\n2\n", "[lines 1–2 of 5; read on with start=3]"),
        ({"start": 5, "end": 99}, "5", "\n[lines 5–5 of 5]"),
        ({"start": 1, "end": 5}, "1\n2\n3\n4\n5", ""),
    ],
)
@pytest.mark.parametrize("whole", [20_000_000, 5])
async def test_ranges(tmp_path, ranges, text, notice, whole):
    """The same lines from a file that fits and from one that is read by range."""
    (tmp_path / "f").write_text("1\n2\n3\n4\n5")
    result = await read(ReadTool(Workspace(tmp_path), whole=whole), **ranges)
    if whole == 5 and len(text) > 5:
        assert result.error.code is ErrorCode.FILE_TOO_LARGE
    else:
        assert result.llm_content == text + notice


async def test_an_end_that_is_named_is_not_capped(tmp_path):
    (tmp_path / "f").write_text("x\n" * 9)
    assert (await read(ReadTool(Workspace(tmp_path), limit=3), start=2, end=8)).data == LinesRead("f", 2, 8, 9)


async def test_long_lines_are_cut_and_it_is_said(tmp_path):
    (tmp_path / "f").write_text("x" * 2500 + "\nshort\n")
    result = await read(ReadTool(Workspace(tmp_path)))
    assert result.llm_content == "x" * 2000 + "… [500 more characters]\nshort\n[1 long line is cut]"


async def test_an_empty_file_is_said_to_be_empty(tool, tmp_path):
    (tmp_path / "f").touch()
    result = await read(tool)
    assert (result.ok, result.llm_content, result.summary) == (True, "[the file is empty]", "empty")


async def test_bytes_that_are_no_text_are_shown_replaced(tool, tmp_path):
    (tmp_path / "f").write_bytes(b"caf\xe9\n")
    assert (await read(tool)).llm_content == "caf\ufffd\n"


@pytest.mark.parametrize(
    ("path", "ranges", "code", "words"),
    [
        ("missing.py", {}, ErrorCode.FILE_NOT_FOUND, "Did you mean src/missing.py?"),
        ("src", {}, ErrorCode.TARGET_IS_DIRECTORY, "Use ls"),
        ("picture.png", {}, ErrorCode.READ_CONTENT_FAILURE, "a PNG image, 6 bytes"),
        ("three", {"start": 9}, ErrorCode.INVALID_TOOL_PARAMS, "has 3 lines"),
        ("three", {"start": 3, "end": 2}, ErrorCode.INVALID_TOOL_PARAMS, "before start"),
        ("three", {"start": 0}, ErrorCode.INVALID_TOOL_PARAMS, "start"),
        ("three/x", {}, ErrorCode.PATH_IS_NOT_A_DIRECTORY, "a part of the path is a file"),
        ("pipe", {}, ErrorCode.READ_CONTENT_FAILURE, "a named pipe"),
        ("../out", {}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside the workspace"),
        ("out", {}, ErrorCode.PATH_NOT_IN_WORKSPACE, "leads to /etc/passwd"),
        ("loop", {}, ErrorCode.PATH_NOT_IN_WORKSPACE, "circle"),
        ("n" * 300, {}, ErrorCode.INVALID_TOOL_PARAMS, "too long"),
        ("three", {"lines": 3}, ErrorCode.INVALID_TOOL_PARAMS, "no parameter lines"),
    ],
)
async def test_what_cannot_be_read_is_one_clear_line(tool, tmp_path, path, ranges, code, words):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "missing.py").touch()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\1")
    (tmp_path / "three").write_text("1\n2\n3\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to("loop")
    result = await read(tool, path, **ranges)
    assert result.error.code is code
    assert words in result.error.message
    assert "\n" not in result.error.message


async def test_a_large_file_wants_a_range(tmp_path):
    (tmp_path / "f").write_text("12345\n" * 10)
    result = await read(ReadTool(Workspace(tmp_path), whole=50))
    assert result.error.code is ErrorCode.FILE_TOO_LARGE
    assert "(start, end)" in result.error.message


def test_what_a_call_says_of_itself(tool, tmp_path):
    (tmp_path / "a").mkdir()
    invocation = tool.build({"path": f"{tmp_path}/a/../b.py", "start": 3, "end": 9})
    assert invocation.get_description() == "b.py, lines 3–9"
    assert invocation.target() == PathTarget(("b.py",))
    assert invocation.tool_locations()[0].path == str(tool.workspace.root / "b.py")
    assert invocation.tool_locations()[0].line == 3
    assert tool.build({"path": "b.py"}).get_description() == "b.py"
    assert tool.build({"path": "b.py", "start": 3}).get_description() == "b.py, from line 3"
