"""Whatever part of a file a dialect's reading tool gives, it says where the rest is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nbtools import Session

SIZES = {"few long lines": (60, 20_000), "many lines": (60_000, 60), "some lines": (2_500, 30)}
"""Lines, and characters of each."""


def asked(dialect: str, start: int | None, end: int | None) -> tuple[str, dict[str, Any]]:
    named = {"path": "f", "start": start, "end": end}
    match dialect:
        case "gemini":
            named = {"file_path": "f", "start_line": start, "end_line": end}
            name = "read_file"
        case "claude":
            named = {"file_path": "f", "offset": start, "limit": None if end is None else end - (start or 1) + 1}
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
async def test_every_cut_is_told(tmp_path: Path, size: str, dialect: str, start: int | None, end: int | None) -> None:
    count, width = SIZES[size]
    lines = [f"<{number}>".ljust(width, "x") for number in range(1, count + 1)]
    (tmp_path / "f").write_text("\n".join(lines) + "\n")
    async with Session(tmp_path, dialect=dialect) as session:
        result = await session.call(*asked(dialect, start, end))
    assert result.ok, result.error
    text = str(result.llm_content)
    shown = [int(number) for number in re.findall(r"<(\d+)>", text)]
    assert shown == list(range(start or 1, len(shown) + (start or 1)))
    if shown[-1] < min(end or count, count):
        rest = re.sub(r"(?m)^(\d+\t)?<\d+>x*.*$", "", text)
        assert str(shown[-1] + 1) in rest or "more on next page" in rest
