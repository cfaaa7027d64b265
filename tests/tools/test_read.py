"""Reading files through the tool."""

import base64
import io
import json
import os

import pypdf
import pytest

from nbtools.core.errors import ErrorCode
from nbtools.core.result import FileText, Media
from nbtools.core.tool import PathTarget
from nbtools.tools.read import LinesRead, MediaRead, NotebookRead, ReadTool
from nbtools.traces.display_json import display_from_json, display_to_json
from nbtools.workspace.read_tracking import ReadExtent
from nbtools.workspace.workspace import Workspace
from tests.workspace.files.documents import written_document

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


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
    assert result.llm_content.endswith("\n2000\n[lines 1–2000 of 5312; continue with start=2001]")
    assert result.summary == "lines 1–2000 of 5312"
    assert (result.return_display.start, result.return_display.total, result.return_display.more) == (
        1,
        5312,
        "",
    )


@pytest.mark.parametrize(
    ("ranges", "text", "notice"),
    [
        ({"start": 2, "end": 3}, "2\n3\n", "[lines 2–3 of 5; continue with start=4]"),
        ({"start": 4}, "4\n5", "\n[lines 4–5 of 5]"),
        ({"end": 2}, "1\n2\n", "[lines 1–2 of 5; continue with start=3]"),
        ({"start": 5, "end": 99}, "5", "\n[lines 5–5 of 5]"),
        ({"start": 1, "end": 5}, "1\n2\n3\n4\n5", ""),
        ({"start": -2}, "4\n5", "\n[lines 4–5 of 5]"),
        ({"start": -2, "end": 4}, "4\n", "[lines 4–4 of 5; continue with start=5]"),
        ({"start": -9}, "1\n2\n3\n4\n5", ""),
    ],
)
@pytest.mark.parametrize("whole", [20_000_000, 5])
async def test_ranges(tmp_path, ranges, text, notice, whole):
    """Equal lines come from a file that fits and from one that is read by range."""
    (tmp_path / "f").write_text("1\n2\n3\n4\n5")
    result = await read(ReadTool(Workspace(tmp_path), whole=whole), **ranges)
    if whole == 5 and len(text) > 5:
        assert result.error.code is ErrorCode.FILE_TOO_LARGE
    else:
        assert result.llm_content == text + notice


async def test_an_end_that_is_named_is_not_capped(tmp_path):
    (tmp_path / "f").write_text("x\n" * 9)
    assert (await read(ReadTool(Workspace(tmp_path), limit=3), start=2, end=8)).data == LinesRead(
        "f", 2, 8, 9
    )


async def test_long_lines_are_cut_with_a_note(tmp_path):
    (tmp_path / "f").write_text("x" * 2500 + "\nshort\n")
    result = await read(ReadTool(Workspace(tmp_path)))
    assert result.llm_content == "x" * 2000 + "… [500 more characters]\nshort\n[1 long line is cut]"


async def test_an_empty_file_is_reported_as_empty(tool, tmp_path):
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
        ("three", {"start": 0}, ErrorCode.INVALID_TOOL_PARAMS, "start is 0"),
        ("three", {"start": -1, "end": 2}, ErrorCode.INVALID_TOOL_PARAMS, "start -1 is line 3"),
        ("three", {"pages": "1"}, ErrorCode.INVALID_TOOL_PARAMS, "not a PDF document"),
        ("three", {"pages": "x"}, ErrorCode.INVALID_TOOL_PARAMS, "is not a page range"),
        ("empty", {"start": 2}, ErrorCode.INVALID_TOOL_PARAMS, "has no lines"),
        (
            "film.txt",
            {},
            ErrorCode.READ_CONTENT_FAILURE,
            "an MP4 video, 12 bytes. Sound and video cannot be read",
        ),
        ("song.mp3", {}, ErrorCode.READ_CONTENT_FAILURE, "Sound and video cannot be read"),
        ("cut.png", {}, ErrorCode.READ_CONTENT_FAILURE, "damaged or incomplete"),
        ("broken.pdf", {}, ErrorCode.READ_CONTENT_FAILURE, "cannot be read"),
        ("three/x", {}, ErrorCode.PATH_IS_NOT_A_DIRECTORY, "a part of the path is a file"),
        ("pipe", {}, ErrorCode.READ_CONTENT_FAILURE, "a named pipe"),
        ("../out", {}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside the workspace"),
        ("out", {}, ErrorCode.PATH_NOT_IN_WORKSPACE, "leads to /etc/passwd"),
        ("loop", {}, ErrorCode.PATH_NOT_IN_WORKSPACE, "form a loop"),
        ("n" * 300, {}, ErrorCode.INVALID_TOOL_PARAMS, "too long"),
        ("three", {"lines": 3}, ErrorCode.INVALID_TOOL_PARAMS, "no parameter lines"),
    ],
)
async def test_an_unreadable_file_is_one_clear_line(tool, tmp_path, path, ranges, code, words):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "missing.py").touch()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\1")
    (tmp_path / "three").write_text("1\n2\n3\n")
    (tmp_path / "empty").touch()
    (tmp_path / "film.txt").write_bytes(b"\0\0\0\x20ftypisom")
    (tmp_path / "song.mp3").write_bytes(b"\xff\xfb\x90\0" * 9)
    (tmp_path / "cut.png").write_bytes(PIXEL[:40])
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to("loop")
    result = await read(tool, path, **ranges)
    assert result.error.code is code
    assert words in result.error.message
    assert "\n" not in result.error.message


async def test_a_large_file_whose_first_lines_are_too_much_wants_a_range(tmp_path):
    (tmp_path / "f").write_text("12345\n" * 10)
    result = await read(ReadTool(Workspace(tmp_path), whole=50))
    assert result.error.code is ErrorCode.FILE_TOO_LARGE
    assert "fewer lines (end)" in result.error.message


def test_the_description_of_a_call_names_file_and_lines(tool, tmp_path):
    (tmp_path / "a").mkdir()
    invocation = tool.build({"path": f"{tmp_path}/a/../b.py", "start": 3, "end": 9})
    assert invocation.get_description() == "b.py, lines 3–9"
    assert invocation.target() == PathTarget(("b.py",))
    assert invocation.tool_locations()[0].path == str(tool.workspace.root / "b.py")
    assert invocation.tool_locations()[0].line == 3
    assert tool.build({"path": "b.py"}).get_description() == "b.py"
    assert tool.build({"path": "b.py", "start": 3}).get_description() == "b.py, from line 3"


async def test_a_picture_is_what_its_bytes_say(tool, tmp_path):
    (tmp_path / "f.txt").write_bytes(PIXEL)
    result = await read(tool, "f.txt")
    text, data = result.llm_content
    assert text == {"text": f"f.txt: PNG image, 1 × 1 pixels, {len(PIXEL)} bytes"}
    assert data == {"inline_data": {"mime_type": "image/png", "data": base64.b64encode(PIXEL).decode()}}
    assert result.return_display == Media("f.txt", "image/png", PIXEL, "PNG image, 1 × 1 pixels")
    assert result.data == MediaRead("f.txt", "image/png", len(PIXEL))
    assert "only PDF documents have pages" in (await read(tool, "f.txt", pages="1")).error.message


async def test_text_that_is_called_a_picture_is_text(tool, tmp_path):
    (tmp_path / "logo.svg").write_text("<svg/>\n")
    (tmp_path / "list.mp3").write_text("one\n")
    assert (await read(tool, "logo.svg")).llm_content == "<svg/>\n"
    assert (await read(tool, "list.mp3")).llm_content == "one\n"


async def test_a_picture_has_a_largest_size(tmp_path):
    (tmp_path / "f.png").write_bytes(PIXEL)
    result = await read(ReadTool(Workspace(tmp_path), media=50), "f.png")
    assert result.error.code is ErrorCode.FILE_TOO_LARGE
    assert "Reduce its size" in result.error.message
    assert (await read(ReadTool(Workspace(tmp_path), whole=50), "f.png")).ok


async def test_people_see_pictures_of_pages_and_models_do_not(tool, tmp_path):
    (tmp_path / "d.pdf").write_bytes(written_document(3, "The total"))
    plain = await read(tool, "d.pdf", pages="2-3")
    tool.workspace.draws_pages = True
    drawn = await read(tool, "d.pdf", pages="2-3")
    assert [page.number for page in drawn.return_display.pages] == [2, 3]
    assert plain.return_display.pages == ()
    assert [part.keys() for part in drawn.llm_content] == [part.keys() for part in plain.llm_content]
    assert drawn.llm_content[1]["inline_data"]["mime_type"] == "application/pdf"
    assert (
        display_from_json(display_to_json(drawn.return_display)).pages == ()
    )  # logs do not keep the pictures


async def test_pages_of_a_document(tool, tmp_path):
    writer = pypdf.PdfWriter()
    for _ in range(12):
        writer.add_blank_page(100, 100)
    writer.write(tmp_path / "d.pdf")
    assert "has 12 pages" in (await read(tool, "d.pdf")).error.message
    result = await read(tool, "d.pdf", pages="2-4")
    text, part = result.llm_content
    assert text["text"].startswith("d.pdf: PDF document, pages 2–4 of 12, ")
    given = pypdf.PdfReader(io.BytesIO(base64.b64decode(part["inline_data"]["data"])))
    assert len(given.pages) == 3
    assert result.data == MediaRead("d.pdf", "application/pdf", len(result.return_display.data), 12)
    assert tool.build({"path": "d.pdf", "pages": "2-4"}).get_description() == "d.pdf, pages 2-4"


def notebook(*cells):
    shape = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({"cells": list(cells), **shape})


def code(cell_id, source, *outputs):
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": {},
        "execution_count": 1,
        "source": source,
        "outputs": list(outputs),
    }


async def test_a_notebook_is_its_cells(tool, tmp_path):
    printed = {"output_type": "stream", "name": "stdout", "text": "x" * 2_500 + "end\n"}
    markdown = {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# Title"}
    (tmp_path / "n.ipynb").write_text(notebook(markdown, code("c", "1 + 1", printed)))
    result = await read(tool, "n.ipynb")
    assert result.llm_content.startswith(
        "--- cell 1, markdown, id m\n# Title\n\n--- cell 2, code, id c\n1 + 1\n--- output of c\nxxx"
    )
    assert "[… 503 characters omitted …]" in result.llm_content
    assert result.llm_content.endswith("xend")
    assert isinstance(result.data, NotebookRead)
    assert [cell.source for cell in result.data.cells] == ["# Title", "1 + 1"]
    assert result.summary == "2 cells"
    lines = await read(tool, "n.ipynb", start=1, end=1)
    assert lines.llm_content.startswith("{")


async def test_a_long_notebook_ends_at_a_cell_and_says_so(tmp_path):
    (tmp_path / "n.ipynb").write_text(notebook(*(code(f"c{n}", "y" * 100) for n in range(9))))
    workspace = Workspace(tmp_path)
    result = await read(ReadTool(workspace, characters=300), "n.ipynb")
    assert result.llm_content.endswith("y\n[cells 1–2 of 9; read the others by id with cells]")
    assert len(result.data.cells) == 9
    assert sight(workspace, "n.ipynb") is ReadExtent.PARTIAL


async def test_a_file_named_like_a_notebook_that_is_none_is_text(tool, tmp_path):
    (tmp_path / "n.ipynb").write_text("{broken")
    result = await read(tool, "n.ipynb")
    assert result.llm_content.startswith("{broken\n[displayed as text: n.ipynb is not valid JSON")
    (tmp_path / "empty.ipynb").touch()
    assert (await read(tool, "empty.ipynb")).llm_content == "[the file is empty]"


async def test_a_page_has_a_largest_size(tmp_path):
    (tmp_path / "f").write_text("1234567\n" * 10)
    result = await read(ReadTool(Workspace(tmp_path), characters=20))
    assert result.llm_content == "1234567\n1234567\n[lines 1–2 of 10; continue with start=3]"


def sight(workspace, name):
    found = workspace.read_tracker._reads.get(workspace.root / name)
    return found and found.view


@pytest.mark.parametrize(
    ("ranges", "view"),
    [
        ({}, ReadExtent.PARTIAL),
        ({"start": 2, "end": 3}, ReadExtent.RANGE),
        ({"start": 1, "end": 9}, ReadExtent.WHOLE),
        ({"start": -1}, ReadExtent.RANGE),
    ],
)
async def test_the_lines_that_the_model_saw_are_recorded(tmp_path, ranges, view):
    (tmp_path / "f").write_text("x\n" * 9)
    workspace = Workspace(tmp_path)
    await read(ReadTool(workspace, limit=4), **ranges)
    assert sight(workspace, "f") is view
    await read(ReadTool(workspace))
    assert sight(workspace, "f") is ReadExtent.WHOLE
    workspace.read_tracker.required = True
    workspace.read_tracker.require_read(tmp_path / "f", "f", b"x\n" * 9, whole=True)


async def test_a_file_too_large_to_read_is_not_recorded_as_read(tmp_path):
    (tmp_path / "f").write_text("x\n" * 9)
    workspace = Workspace(tmp_path)
    assert (await read(ReadTool(workspace, whole=5), start=-2)).ok
    assert sight(workspace, "f") is None


async def test_the_first_lines_of_a_file_too_large_to_read_are_shown(tmp_path):
    (tmp_path / "f").write_text("".join(f"{number}\n" for number in range(1, 101)))
    result = await read(ReadTool(Workspace(tmp_path), whole=50, limit=3))
    assert result.data == LinesRead("f", 1, 3, 100)
    assert result.llm_content == "1\n2\n3\n[lines 1–3 of 100; continue with start=4]"


async def test_a_cut_line_does_not_keep_from_editing(tmp_path):
    (tmp_path / "f").write_text("x" * 3_000)
    workspace = Workspace(tmp_path)
    await read(ReadTool(workspace))
    assert sight(workspace, "f") is ReadExtent.RANGE
