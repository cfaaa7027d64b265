"""Files by name, newest first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Listing, ToolResult
from nbtools.tools.glob import GlobData, GlobTool
from nbtools.workspace.workspace import Workspace

NAMES = ["a.py", "b.js", "src/c.py", "src/deep/d.py", "src/deep/e.ts", "src/f.tsx", ".github/g.yml", ".env", "out/h.py", "src/[x]/i.py"]


@pytest.fixture
def tool(tmp_path: Path) -> GlobTool:
    for age, name in enumerate(NAMES):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * age)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / ".gitignore").write_text("out/\n")
    return GlobTool(Workspace(tmp_path))


async def glob(tool: GlobTool, pattern: str, **params: object) -> ToolResult:
    return await tool.build({"pattern": pattern, **params}).execute()


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", ".", ["a.py"]),
        ("**/*.py", ".", ["a.py", "src/c.py", "src/deep/d.py", "src/[x]/i.py"]),
        ("src/**/*.py", ".", ["src/c.py", "src/deep/d.py", "src/[x]/i.py"]),
        ("src/**", ".", ["src/c.py", "src/deep/d.py", "src/deep/e.ts", "src/f.tsx", "src/[x]/i.py"]),
        ("**/*.{ts,tsx}", ".", ["src/deep/e.ts", "src/f.tsx"]),
        ("{a,b}.*", ".", ["a.py", "b.js"]),
        ("{src,out}/*.py", ".", ["src/c.py"]),
        ("[ab].??", ".", ["a.py", "b.js"]),
        ("src/c.py", ".", ["src/c.py"]),
        ("./src/c.py", ".", ["src/c.py"]),
        ("*.py", "src", ["src/c.py"]),
        ("**/d.py", "src", ["src/deep/d.py"]),
        ("*.py", "src/[x]", ["src/[x]/i.py"]),
        ("**/*.yml", ".", []),
        (".github/**", ".", [".github/g.yml"]),
        ("**/.env", ".", [".env"]),
        ("deep", "src", []),
        ("nowhere/*.py", ".", []),
        ("a.py/*", ".", []),
    ],
)
async def test_what_fits(tool: GlobTool, pattern: str, path: str, found: list[str]) -> None:
    result = await glob(tool, pattern, path=path)
    assert isinstance(result.return_display, Listing)
    assert [entry.path for entry in result.return_display.entries] == found
    assert result.return_display.total == len(found)
    assert result.llm_content == ("\n".join(found) or "No files")
    assert all(entry.size == NAMES.index(entry.path) for entry in result.return_display.entries)


async def test_pages_go_by_time_then_path(tool: GlobTool) -> None:
    for name in ("z.py", "y.py", "x.py"):
        path = tool.workspace.root / name
        path.touch()
        os.utime(path, (2_000_000, 2_000_000))
    first = await glob(tool, "*.py", limit=2)
    assert first.llm_content == "x.py\ny.py\n[1–2 of 4 files; offset=2 shows the next]"
    assert first.data == GlobData(("x.py", "y.py"), 4)
    assert first.summary == "4 files"
    second = await glob(tool, "*.py", limit=2, offset=2)
    assert second.llm_content == "z.py\na.py\n[3–4 of 4 files]"
    assert "nothing at offset 9" in str((await glob(tool, "*.py", offset=9)).llm_content)


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"pattern": ""}, ErrorCode.INVALID_TOOL_PARAMS, "empty"),
        ({"pattern": "../*"}, ErrorCode.INVALID_TOOL_PARAMS, "below it"),
        ({"pattern": "/etc/*"}, ErrorCode.INVALID_TOOL_PARAMS, "relative"),
        ({"pattern": "{a"}, ErrorCode.INVALID_TOOL_PARAMS, "not closed"),
        ({"pattern": "{a,b}" * 20}, ErrorCode.INVALID_TOOL_PARAMS, "more than 1,000"),
        ({"pattern": "*", "path": "srk"}, ErrorCode.SEARCH_PATH_NOT_FOUND, "Did you mean src"),
        ({"pattern": "*", "path": "a.py"}, ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY, "is a file"),
        ({"pattern": "*", "path": "/"}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
    ],
)
async def test_mistakes_are_one_clear_line(tool: GlobTool, params: dict[str, object], code: ErrorCode, words: str) -> None:
    with pytest.raises(ToolFailure, match=words) as caught:
        await tool.build(params).execute()
    assert caught.value.code == code
