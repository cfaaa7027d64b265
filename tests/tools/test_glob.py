"""Files by name, newest first."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import Listing, ToolResult
from nbtools.tools.glob import GlobData, GlobTool
from nbtools.workspace.workspace import Workspace

NAMES = [
    "a.py",
    "b.js",
    "src/c.py",
    "src/deep/d.py",
    "src/deep/e.ts",
    "src/f.tsx",
    ".github/g.yml",
    ".env",
    "out/h.py",
    "src/[x]/i.py",
]


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
        ("src/[x]/i.py", ".", ["src/[x]/i.py"]),
        ("src/[x]/*.py", ".", ["src/[x]/i.py"]),
        ("[x]/i.py", "src", ["src/[x]/i.py"]),
        ("*/i.py", "src", ["src/[x]/i.py"]),
    ],
)
async def test_patterns_match_the_expected_files(
    tool: GlobTool, pattern: str, path: str, found: list[str]
) -> None:
    result = await glob(tool, pattern, path=path)
    assert isinstance(result.return_display, Listing)
    assert [entry.path for entry in result.return_display.entries] == found
    assert result.return_display.total == len(found)
    assert str(result.llm_content).split("\n[")[0] == ("\n".join(found) or "No files")
    assert all(entry.size == NAMES.index(entry.path) for entry in result.return_display.entries)


@pytest.mark.parametrize(
    ("pattern", "path", "deeper"),
    [
        ("*.tsx", ".", "**/*.tsx"),
        ("src/*.ts", ".", "src/**/*.ts"),
        ("d.p?", "src", "**/d.p?"),
        ("**/*.zig", ".", None),
        ("nowhere/a.zig", ".", None),
        ("*.py", ".", None),
        (r"\*.tsx", ".", None),
        ("out/*.py", ".", None),
    ],
)
async def test_a_pattern_for_one_folder_that_finds_nothing_names_the_one_for_all(
    tool: GlobTool, pattern: str, path: str, deeper: str | None
) -> None:
    result = await glob(tool, pattern, path=path)
    assert [f"with pattern={json.dumps(deeper)}" in note for note in result.notes] == (
        [True] if deeper else []
    )
    if deeper:
        assert (await glob(tool, deeper, path=path)).data.total


async def test_pages_go_by_time_then_path(tool: GlobTool) -> None:
    for name in ("z.py", "y.py", "x.py"):
        path = tool.workspace.root / name
        path.touch()
        os.utime(path, (2_000_000, 2_000_000))
    first = await glob(tool, "*.py", limit=2)
    assert first.llm_content == "x.py\ny.py\n[1–2 of 4 files; the call with offset=2 returns the next page]"
    assert first.data == GlobData(("x.py", "y.py"), 4)
    assert first.summary == "4 files"
    second = await glob(tool, "*.py", limit=2, offset=2)
    assert second.llm_content == "z.py\na.py\n[3–4 of 4 files]"
    assert "no files at offset 9" in str((await glob(tool, "*.py", offset=9)).llm_content)


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"pattern": ""}, ErrorCode.INVALID_TOOL_PARAMS, "empty"),
        ({"pattern": "../*"}, ErrorCode.INVALID_TOOL_PARAMS, "stay below the folder"),
        ({"pattern": "/etc/*"}, ErrorCode.INVALID_TOOL_PARAMS, "relative"),
        ({"pattern": "{a"}, ErrorCode.INVALID_TOOL_PARAMS, "not closed"),
        ({"pattern": "{a,b}" * 20}, ErrorCode.INVALID_TOOL_PARAMS, "more than 1,000"),
        ({"pattern": "*", "path": "srk"}, ErrorCode.SEARCH_PATH_NOT_FOUND, "Did you mean src"),
        ({"pattern": "*", "path": "a.py"}, ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY, "is a file"),
        ({"pattern": "*", "path": "/"}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
    ],
)
async def test_mistakes_are_one_clear_line(
    tool: GlobTool, params: dict[str, object], code: ErrorCode, words: str
) -> None:
    with pytest.raises(ToolFailure, match=words) as caught:
        await tool.build(params).execute()
    assert caught.value.code == code


async def names(tool: GlobTool, pattern: str, **params: object) -> list[str]:
    result = await glob(tool, pattern, order="path", **params)
    assert isinstance(result.data, GlobData)
    return list(result.data.paths)


async def test_the_order_by_path_and_its_pages(tool: GlobTool) -> None:
    everything = ["a.py", "b.js", "src/[x]/i.py", "src/c.py", "src/deep/d.py", "src/deep/e.ts", "src/f.tsx"]
    assert await names(tool, "**/*") == everything
    assert await names(tool, "**/*", limit=2, offset=3) == everything[3:5]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("SRC/**/*.PY", ["src/[x]/i.py", "src/c.py", "src/deep/d.py"]),
        ("**/A.{PY,x}", ["a.py"]),
        ("**/[A-C].py", ["a.py", "src/c.py"]),
    ],
)
async def test_small_and_capital_letters(tool: GlobTool, pattern: str, found: list[str]) -> None:
    assert await names(tool, pattern, ignore_case=True) == found
    assert await names(tool, pattern) == []


async def test_ignored_and_hidden_files_when_asked(tool: GlobTool) -> None:
    assert await names(tool, "**/*.py", ignored=True) == [
        "a.py",
        "out/h.py",
        "src/[x]/i.py",
        "src/c.py",
        "src/deep/d.py",
    ]
    assert await names(tool, "**/*", hidden=True, path=".", limit=3) == [
        ".env",
        ".github/g.yml",
        ".gitignore",
    ]
    assert await names(tool, "**/*.yml", hidden=True) == [".github/g.yml"]


async def test_ignored_files_are_counted(tool: GlobTool) -> None:
    result = await glob(tool, "**/h.py")
    assert result.llm_content == "No files\n[git ignores 1 more; the call with ignored=true includes them]"
    assert result.data == GlobData((), 0, 1)
    assert (await glob(tool, "**/*.py", limit=1)).data == GlobData(("a.py",), 4, 0)


@pytest.mark.parametrize("name", ["[id].py", "a*b.py", "what?.py", "{a,b}.py", "[!x]", "back\\slash[1].py"])
async def test_a_file_is_found_by_its_own_name(tool: GlobTool, name: str) -> None:
    for folder in ("", "src/", "src/[x]/"):
        (tool.workspace.root / f"{folder}{name}").touch()
        assert f"{folder}{name}" in await names(tool, f"{folder}{name}")


async def test_links_out_of_the_workspace_are_not_followed(
    tool: GlobTool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.py").touch()
    (tool.workspace.root / "link").symlink_to(outside)
    (tool.workspace.root / "lone.py").symlink_to(outside / "secret.py")
    (tool.workspace.root / "[out]").symlink_to(outside)
    for pattern in ("**/*.py", "*/*.py", "[out]/*.py", "l*"):
        assert not [
            name for name in await names(tool, pattern, ignored=True) if "secret" in name or "lone" in name
        ]
    with pytest.raises(ToolFailure, match="link is outside the workspace"):
        await glob(tool, "link/*.py")


async def test_many_files_are_looked_at_beside_other_work(tool: GlobTool) -> None:
    for number in range(2_500):
        (tool.workspace.root / f"many{number:04}.txt").touch()
    assert (await names(tool, "many*", limit=2)) == ["many0000.txt", "many0001.txt"]
    result = await glob(tool, "many*", limit=2)
    assert isinstance(result.data, GlobData)
    assert result.data.total == 2_500


async def test_files_of_the_last_day_come_first_and_the_others_by_path(tmp_path: Path) -> None:
    now = time.time()
    for name, age in (("b", 60), ("a", 120), ("z", 90_000), ("c", 900_000)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (now - age, now - age))
    result = await GlobTool(Workspace(tmp_path)).build_and_execute({"pattern": "*", "order": "recent"})
    assert result.data.paths == ("b", "a", "c", "z")
