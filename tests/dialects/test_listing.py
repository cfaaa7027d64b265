"""A folder of 5,000 entries can be listed to its end in every dialect that has a tool for folders."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.dialects import ToolMapping, dialect, dialect_names
from tests.dialects.table import text_of

COUNT = 5_000
LISTERS = [
    pytest.param(name, mapping, id=f"{name}-{mapping.params.__name__}")
    for name in dialect_names()
    for mapping in dialect(name).mappings
    if mapping.tool == "ls"
]
NEXT_OFFSET = re.compile(r"with offset=(\d+)")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("crowded")
    for number in range(COUNT):
        (root / f"{number:04}-{'long' * 12}.txt").touch()
    return root


async def pages(session: Session, name: str, mapping: ToolMapping) -> AsyncIterator[str]:
    """Lists page after page, by the page parameter that the tool declares,
    until a page names no new entry.
    """
    folder = next(
        key for key in ("uri", "dir_path", "path") if key in mapping.params.model_json_schema()["properties"]
    )
    for page in range(1, COUNT):
        paged = {"page_number": str(page)} if "page_number" in mapping.params.model_fields else {}
        result = await session.call(name, {folder: ".", **paged})
        yield text_of(result)
        if not paged:
            return


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "mapping"), LISTERS)
async def test_all_entries_are_listed(crowded: Path, name: str, mapping: ToolMapping) -> None:
    found: set[str] = set()
    async with Session(crowded, dialect=name, policy=Policy(mode="yolo")) as session:
        async for text in pages(session, mapping.name, mapping):
            new = set(re.findall(r"\b(\d{4})-(?:long){12}\.txt", text)) - found
            if not new:
                break
            found |= new
    assert len(found) == COUNT


@pytest.mark.timeout(120)
async def test_the_canonical_tool_says_where_the_next_page_begins(crowded: Path) -> None:
    found: set[str] = set()
    offset = 0
    async with Session(crowded, policy=Policy(mode="yolo")) as session:
        while True:
            text = text_of(await session.call("ls", {"offset": offset}))
            found |= set(re.findall(r"\b(\d{4})-(?:long){12}\.txt", text))
            following = NEXT_OFFSET.search(text)
            if following is None:
                break
            offset = int(following[1])
    assert len(found) == COUNT
