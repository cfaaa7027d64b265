"""Long answers are cut in the middle, and all of it is in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ToolFailure
from nbtools.core.result import ToolResult
from nbtools.tools.grep import GrepTool
from nbtools.tools.read import ReadTool
from nbtools.tools.write import WriteTool
from nbtools.workspace.processes.output import shorten_result
from nbtools.workspace.workspace import Workspace

_GAP = re.compile(r"\[… ([\d,]+) of ([\d,]+) characters \(([\d,]+) lines\) omitted; full text in (\S+)\]\n")


def test_output_that_fits_gives_the_same_result() -> None:
    result = ToolResult("x" * 100, "")
    assert shorten_result(result, 100) is result
    parts = ToolResult(({"text": "x" * 60}, {"text": "y" * 40}), "")
    assert shorten_result(parts, 100) is parts


def test_a_long_answer_has_its_first_fifth_and_its_last_four_fifths() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    cut = shorten_result(ToolResult(text, "shown", data=1), 10_000)
    assert isinstance(cut.llm_content, str)
    first, _, last = cut.llm_content.partition("[…")
    assert (cut.return_display, cut.data) == ("shown", 1)
    assert first.startswith("line 0\n")
    assert first.endswith("\n")
    assert 1_900 < len(first) <= 2_000
    assert last.endswith("line 9999\n")
    gap = _GAP.search(cut.llm_content)
    assert gap is not None
    assert Path(gap[4]).read_text(encoding="utf-8") == text


@given(st.lists(st.text(alphabet="ab\né", max_size=300), min_size=1, max_size=5), st.integers(10, 200))
def test_nothing_is_lost_and_the_counts_are_true(texts: list[str], limit: int) -> None:
    parts = tuple(
        {"text": text} if text else {"inline_data": {"mime_type": "image/png", "data": ""}} for text in texts
    )
    whole = "".join(texts)
    cut = shorten_result(ToolResult(parts, ""), limit).llm_content
    assert not isinstance(cut, str)
    assert [part for part in cut if "inline_data" in part] == [
        part for part in parts if "inline_data" in part
    ]
    said = "".join(part.get("text", "") for part in cut)
    if len(whole) <= limit:
        assert said == whole
        return
    gap = _GAP.search(said)
    assert gap is not None
    first, last = said[: gap.start()], said[gap.end() :]
    left_out, total, newlines = (int(gap[number].replace(",", "")) for number in (1, 2, 3))
    first = first[
        : total - left_out - len(last)
    ]  # the rest is the newline that puts the gap on a line of its own
    assert whole.startswith(first)
    assert whole.endswith(last)
    missing = whole[len(first) : len(whole) - len(last)]
    assert (left_out, total, newlines) == (len(missing), len(whole), missing.count("\n"))
    assert len(first) + len(last) <= limit
    assert Path(gap[4]).read_text(encoding="utf-8") == whole
    Path(gap[4]).unlink()


def test_the_full_output_may_be_read_and_nothing_else_outside(tmp_path: Path) -> None:
    cut = shorten_result(ToolResult("x" * 200, ""), 100).llm_content
    assert isinstance(cut, str)
    gap = _GAP.search(cut)
    assert gap is not None
    workspace = Workspace(tmp_path)
    path = workspace.resolve_to_read(gap[4])
    assert path.read_text() == "x" * 200
    assert workspace.relative(path) == str(path)
    assert workspace.spellings(gap[4]) == (str(path),)
    for outside in (str(path.parent), str(path.parent / ".." / "x"), "/etc/passwd", f"{path}\0"):
        with pytest.raises(ToolFailure):
            workspace.resolve_to_read(outside)
    with pytest.raises(ToolFailure):
        workspace.resolve(gap[4])


async def test_the_reading_tools_take_it(tmp_path: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(1_000))
    gap = _GAP.search(str(shorten_result(ToolResult(lines, ""), 1_000).llm_content))
    assert gap is not None
    workspace = Workspace(tmp_path)
    read = await ReadTool(workspace).build({"path": gap[4], "start": 500, "end": 501}).execute()
    assert str(read.llm_content).startswith("line 499\nline 500\n")
    found = await GrepTool(workspace).build({"pattern": "line 77$", "path": gap[4]}).execute()
    assert "line 77" in str(found.llm_content)
    assert found.data.total == 1
    with pytest.raises(ToolFailure):
        WriteTool(workspace).build({"path": gap[4], "content": ""})
