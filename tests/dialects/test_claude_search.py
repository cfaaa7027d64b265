"""Claude Code's Glob and Grep: call in → canonical → reply."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbtools.core.errors import ErrorCode
from tests.dialects.claude_calls import Case, check, project, speaking_claude

FOUND = {"hidden": True, "ignored": True}
CONTENT = {"output_mode": "content"}

GLOB = {
    "by name, the one changed last first": Case(
        "Glob",
        {"pattern": "**/*.py"},
        "{root}/src/b.py\n{root}/a.py",
        means=("glob", {"pattern": "**/*.py", **FOUND}),
        data={
            "filenames": ["{root}/src/b.py", "{root}/a.py"],
            "numFiles": 2,
            "truncated": False,
            "totalMatches": 2,
        },
    ),
    "in a folder": Case(
        "Glob",
        {"pattern": "**/*", "path": "src"},
        "{root}/src/lib/c.js\n{root}/src/b.py",
        means=("glob", {"pattern": "**/*", "path": "src", **FOUND}),
    ),
    "hidden files": Case("Glob", {"pattern": ".e*"}, "{root}/.env"),
    "a whole path as pattern": Case(
        "Glob",
        {"pattern": "{root}/src/*.py"},
        "{root}/src/b.py",
        means=("glob", {"pattern": "*.py", "path": "{root}/src", **FOUND}),
    ),
    "a whole path without wildcards": Case(
        "Glob",
        {"pattern": "{root}/src/b.py"},
        "{root}/src/b.py",
        means=("glob", {"pattern": "b.py", "path": "{root}/src", **FOUND}),
    ),
    "a pattern that goes up": Case("Glob", {"pattern": "../*.py", "path": "src"}, "{root}/a.py"),
    "nothing": Case(
        "Glob",
        {"pattern": "**/*.zig"},
        "No files found",
        data={"filenames": [], "numFiles": 0, "truncated": False},
    ),
    "no such folder": Case(
        "Glob",
        {"pattern": "*", "path": "nope"},
        says=("<tool_use_error>Directory does not exist: ", "nope"),
        code=ErrorCode.SEARCH_PATH_NOT_FOUND,
    ),
    "a file for a folder": Case(
        "Glob",
        {"pattern": "*", "path": "a.py"},
        says=("<tool_use_error>Path is not a directory: ",),
        code=ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY,
    ),
    "NUL": Case(
        "Glob", {"pattern": "a\0b"}, says=("<tool_use_error>", "NUL"), code=ErrorCode.INVALID_TOOL_PARAMS
    ),
    "a parameter that it does not have": Case(
        "Glob",
        {"pattern": "*", "head_limit": 3},
        "<tool_use_error>InputValidationError: Glob failed due to the following issue:\n"
        "An unexpected parameter `head_limit` was provided</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
}

GREP = {
    "files, newest first": Case(
        "Grep",
        {"pattern": "todo", "-i": True},
        "Found 3 files\n.env\nsrc/lib/c.js\nsrc/b.py",
        means=(
            "grep",
            {
                "pattern": "todo",
                "mode": "files",
                "ignore_case": True,
                "hidden": True,
                "outputs": True,
                "order": "changed",
                "limit": 250,
            },
        ),
        data={"mode": "files_with_matches", "numFiles": 3, "filenames": [".env", "src/lib/c.js", "src/b.py"]},
    ),
    "one file": Case("Grep", {"pattern": "import"}, "Found 1 file\na.py"),
    "no file": Case("Grep", {"pattern": "nowhere"}, "No files found"),
    "content": Case(
        "Grep",
        {"pattern": "TODO", **CONTENT},
        "src/b.py:1:TODO = 1\nsrc/lib/c.js:1:// TODO",
        means=("grep", {"pattern": "TODO", "mode": "lines", "hidden": True, "outputs": True, "limit": 250}),
        data={
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "numLines": 2,
            "content": "src/b.py:1:TODO = 1\nsrc/lib/c.js:1:// TODO",
        },
    ),
    "content without numbers": Case(
        "Grep", {"pattern": "TODO", "glob": "*.py", "-n": False, **CONTENT}, "src/b.py:TODO = 1"
    ),
    "content of one file": Case(
        "Grep", {"pattern": "import", "path": "{root}/a.py", **CONTENT}, "1:import os"
    ),
    "only what matches": Case(
        "Grep", {"pattern": "TO..", "-o": True, "type": "js", **CONTENT}, "src/lib/c.js:1:TODO"
    ),
    "lines after": Case(
        "Grep",
        {"pattern": "return", "-A": 1, "path": "a.py", **CONTENT},
        "5:    return 1\n6-\n--\n9:    return 1",
        means=(
            "grep",
            {
                "pattern": "return",
                "path": "a.py",
                "mode": "lines",
                "after": 1,
                "hidden": True,
                "outputs": True,
                "limit": 250,
            },
        ),
    ),
    "lines before": Case(
        "Grep",
        {"pattern": "return", "-B": "1", "path": "a.py", **CONTENT},
        "4-def f():\n5:    return 1\n--\n8-def g():\n9:    return 1",
    ),
    "lines around": Case(
        "Grep",
        {"pattern": "def g", "-C": 1, **CONTENT},
        "a.py-7-\na.py:8:def g():\na.py-9-    return 1",
        means=(
            "grep",
            {
                "pattern": "def g",
                "mode": "lines",
                "context": 1,
                "hidden": True,
                "outputs": True,
                "limit": 250,
            },
        ),
    ),
    "context is -C": Case(
        "Grep",
        {"pattern": "def g", "context": 1, "-C": 9, "-A": 3, "path": "a.py", **CONTENT},
        "7-\n8:def g():\n9-    return 1",
    ),
    "context without content is ignored": Case(
        "Grep",
        {"pattern": "import", "-C": 3},
        "Found 1 file\na.py",
        means=(
            "grep",
            {
                "pattern": "import",
                "mode": "files",
                "hidden": True,
                "outputs": True,
                "order": "changed",
                "limit": 250,
            },
        ),
    ),
    "over lines": Case(
        "Grep", {"pattern": "let c;\\n", "multiline": True, **CONTENT}, "src/lib/c.js:2:let c;"
    ),
    "no content": Case("Grep", {"pattern": "nowhere", **CONTENT}, "No matches found"),
    "a page": Case(
        "Grep",
        {"pattern": "return", "head_limit": 1, **CONTENT},
        "a.py:5:    return 1\n\n[Showing results with pagination = limit: 1]",
        data={"appliedLimit": 1, "appliedOffset": None},
    ),
    "the next page": Case(
        "Grep",
        {"pattern": "return", "head_limit": 1, "offset": 1, **CONTENT},
        "a.py:9:    return 1\n\n[Showing results with pagination = offset: 1]",
        means=(
            "grep",
            {"pattern": "return", "mode": "lines", "hidden": True, "outputs": True, "limit": 1, "offset": 1},
        ),
        data={"appliedLimit": None, "appliedOffset": 1},
    ),
    "beyond the last page": Case(
        "Grep",
        {"pattern": "return", "offset": 9, **CONTENT},
        "No entries at this offset\n\n[Showing results with pagination = offset: 9]",
    ),
    "without a cap": Case(
        "Grep",
        {"pattern": "return", "head_limit": 0, **CONTENT},
        "a.py:5:    return 1\na.py:9:    return 1",
        means=(
            "grep",
            {"pattern": "return", "mode": "lines", "hidden": True, "outputs": True, "limit": 10_000},
        ),
    ),
    "counts": Case(
        "Grep",
        {"pattern": "1", "output_mode": "count", "glob": "*.py"},
        "a.py:2\nsrc/b.py:1\n\nFound 3 total occurrences across 2 files.",
        means=(
            "grep",
            {"pattern": "1", "mode": "count", "glob": "*.py", "hidden": True, "outputs": True, "limit": 250},
        ),
        data={"mode": "count", "numMatches": 3, "numFiles": 2},
    ),
    "a page of counts has the total of all": Case(
        "Grep",
        {"pattern": "1", "output_mode": "count", "glob": "*.py", "head_limit": 1},
        "a.py:2\n\nFound 3 total occurrences across 2 files.\n\n[Showing results with pagination = limit: 1]",
    ),
    "one occurrence": Case(
        "Grep",
        {"pattern": "import", "output_mode": "count"},
        "a.py:1\n\nFound 1 total occurrence across 1 file.",
    ),
    "no pattern": Case(
        "Grep",
        {"pattern": "(", **CONTENT},
        says=("<tool_use_error>", "unclosed group"),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "no kind": Case(
        "Grep",
        {"pattern": "x", "type": "nope"},
        says=("<tool_use_error>", "nope"),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "no path": Case(
        "Grep",
        {"pattern": "x", "path": "nope"},
        says=("<tool_use_error>Path does not exist: ",),
        code=ErrorCode.SEARCH_PATH_NOT_FOUND,
    ),
    "no mode": Case(
        "Grep",
        {"pattern": "x", "output_mode": "lines"},
        says=(
            "InputValidationError: Grep failed due to the following issue:\nThe parameter `output_mode` is not valid",
        ),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
}


@pytest.mark.parametrize("case", GLOB.values(), ids=GLOB)
async def test_glob(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


@pytest.mark.parametrize("case", GREP.values(), ids=GREP)
async def test_grep(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


async def test_ignored_files_are_found_by_name_and_not_searched_unless_named(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "todo").write_text("TODO\n")
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "d.py").write_text("TODO\n")
    async with speaking_claude(tmp_path) as session:
        assert "out/d.py" in (await session.call("Glob", {"pattern": "**/*.py"})).llm_content
        searched = await session.call("Grep", {"pattern": "TODO"})
        assert set(searched.data.filenames) == {"src/b.py", "src/lib/c.js"}
        named = await session.call("Grep", {"pattern": "TODO", "path": "out/d.py", "output_mode": "content"})
        assert named.llm_content == "1:TODO"


async def test_a_hundred_files_and_the_total(tmp_path: Path) -> None:
    for number in range(130):
        (tmp_path / f"{number:03}.txt").write_text("")
        os.utime(tmp_path / f"{number:03}.txt", (number, number))
    async with speaking_claude(tmp_path) as session:
        result = await session.call("Glob", {"pattern": "*.txt"})
    *paths, notice = result.llm_content.split("\n")
    assert paths[0] == f"{tmp_path}/129.txt"
    assert len(paths) == 100
    assert (
        notice
        == "(Results are truncated. Consider using a more specific path or pattern. 100 of 130 files are shown.)"
    )
    assert result.data.as_json()["truncated"] is True


async def test_250_lines_by_default(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("line\n" * 300)
    async with speaking_claude(tmp_path) as session:
        result = await session.call("Grep", {"pattern": "line", "output_mode": "content"})
        everything = await session.call(
            "Grep", {"pattern": "line", "output_mode": "content", "head_limit": 0}
        )
    assert result.data.num_lines == 250
    assert result.llm_content.endswith("\n\n[Showing results with pagination = limit: 250]")
    assert everything.data.num_lines == 300


async def test_glob_in_one_folder_that_finds_nothing_names_the_pattern_for_all(tmp_path: Path) -> None:
    project(tmp_path)
    async with speaking_claude(tmp_path) as session:
        result = await session.call("Glob", {"pattern": "*.js"})
    assert str(result.llm_content).startswith("No files found\n")
    assert 'with pattern="**/*.js"' in str(result.llm_content)
