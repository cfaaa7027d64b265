"""Whatever part of a file a dialect's reading tool returns, it says where the rest is."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nbtools import Session
from nbtools.core.errors import ErrorCode

SIZES = {"few long lines": (60, 20_000), "many lines": (60_000, 60), "some lines": (2_500, 30)}
"""Lines, and characters of each."""


def request(dialect: str, start: int | None, end: int | None) -> tuple[str, dict[str, Any]]:
    named = {"path": "f", "start": start, "end": end}
    match dialect:
        case "gemini":
            named = {"file_path": "f", "start_line": start, "end_line": end}
            name = "read_file"
        case "claude":
            named = {
                "file_path": "f",
                "offset": start,
                "limit": None if end is None else end - (start or 1) + 1,
            }
            name = "Read"
        case "void":
            named = {"uri": "f", "start_line": start and str(start), "end_line": end and str(end)}
            name = "read_file"
        case _:
            name = "read"
    return name, {key: value for key, value in named.items() if value is not None}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dialect", ["nbtools", "gemini", "claude", "void"])
@pytest.mark.parametrize(("start", "end"), [(None, None), (1, 50_000), (2, None), (30, 40_000), (1, 10)])
async def test_every_cut_is_reported(
    tmp_path: Path, size: str, dialect: str, start: int | None, end: int | None
) -> None:
    count, width = SIZES[size]
    lines = [f"<{number}>".ljust(width, "x") for number in range(1, count + 1)]
    (tmp_path / "f").write_text("\n".join(lines) + "\n")
    async with Session(tmp_path, dialect=dialect) as session:
        result = await session.call(*request(dialect, start, end))
    if (
        dialect == "claude"
        and end is not None
        and sum(min(width, 2_000) for _ in lines[(start or 1) - 1 : end]) > 100_000
    ):
        assert result.error.code is ErrorCode.FILE_TOO_LARGE
        assert "offset and limit" in result.llm_content
        return
    assert result.ok, result.error
    text = str(result.llm_content)
    shown = [int(number) for number in re.findall(r"<(\d+)>", text)]
    assert shown == list(range(start or 1, len(shown) + (start or 1)))
    if shown[-1] < min(end or count, count):
        rest = re.sub(r"(?m)^(\d+\t)?<\d+>x*.*$", "", text)
        assert str(shown[-1] + 1) in rest or "more on next page" in rest


async def pages(
    session: Session, offset: int | None, limit: int | None
) -> AsyncIterator[tuple[int, list[str], int | None]]:
    """Reads with Claude Code's Read and follows its notices.

    Yields the first line's number, the lines, and the total of the notice, None if there is no notice.
    """
    while True:
        given = {"offset": offset, "limit": limit}
        result = await session.call(
            "Read", {"file_path": "f", **{name: value for name, value in given.items() if value is not None}}
        )
        assert result.ok, result.error
        text, _, notice = result.llm_content.partition("\n\n<system-reminder>PARTIAL view: ")
        numbered = [line.split("\t", 1) for line in text.split("\n")]
        first, last = int(numbered[0][0]), int(numbered[-1][0])
        assert [int(number) for number, _ in numbered] == list(range(first, last + 1))
        assert len("\n".join(line for _, line in numbered).encode()) <= 100_000
        if not notice:
            yield first, [line for _, line in numbered], None
            return
        told = re.match(r"lines (\d+)-(\d+) of (\d+)\. Use offset \((\d+)\)", notice)
        assert told is not None
        assert (int(told[1]), int(told[2]), int(told[4])) == (first, last, last + 1)
        yield first, [line for _, line in numbered], int(told[3])
        limit = None if limit is None else limit - len(numbered)
        offset = last + 1


@pytest.mark.parametrize(
    ("offset", "limit"),
    [(None, None), (1, None), (700, None), (1, 40), (3, 1), (990, 500), (None, 1_000_000)],
)
@pytest.mark.parametrize(
    ("lines", "width"),
    [(1, 1), (1, 1_999), (45, 1_999), (50, 2_000), (120, 1_900), (1_000, 90), (1_000, 130), (9_000, 30)],
)
@pytest.mark.parametrize("letter", ["x", "é", "語"])
async def test_pages_add_up_to_the_file(
    tmp_path: Path, lines: int, width: int, offset: int | None, limit: int | None, letter: str
) -> None:
    """The result of Read and its notices describe the file; a refused file is too long."""
    content = [f"{number} ".ljust(width, letter)[:width] for number in range(1, lines + 1)]
    (tmp_path / "f").write_text("\n".join(content) + "\n")
    first = offset or 1
    wanted = content[first - 1 :] if limit is None else content[first - 1 : first - 1 + limit]
    async with Session(tmp_path, dialect="claude") as session:
        if not wanted:
            assert (
                f"The file has {lines} line"
                in (await session.call("Read", {"file_path": "f", "offset": first})).llm_content
            )
        elif limit is not None and len("".join(f"{line}\n" for line in wanted).encode()) > 100_000:
            refused = await session.call("Read", {"file_path": "f", "offset": first, "limit": limit})
            assert refused.error.code is ErrorCode.FILE_TOO_LARGE
            assert not session.workspace.read_tracker.has_read(tmp_path / "f")
        else:
            found = [page async for page in pages(session, offset, limit)]
            assert [line for _, shown, _ in found for line in shown] == wanted
            assert {total for _, _, total in found[:-1]} <= {lines}


async def test_a_notebook_is_cut_between_cells_with_a_note(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": f"{number} " + "x" * 3_000}
        for number in range(60)
    ]
    (tmp_path / "n.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    )
    async with Session(tmp_path, dialect="claude") as session:
        result = await session.call("Read", {"file_path": "n.ipynb"})
    shown = re.findall(r'<cell id="cell-(\d+)">', result.llm_content)
    assert [int(index) for index in shown] == list(range(len(shown)))
    assert f"PARTIAL view: cells 1-{len(shown)} of 60." in result.llm_content
    assert len(result.data.file.cells) == len(shown)
    assert len(result.llm_content.encode()) < 110_000
