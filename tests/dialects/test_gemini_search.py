"""Gemini CLI's searches: the files that they leave out, and the names in their results."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools import Policy, Session
from tests.dialects.table import Case, play, put, text_of

FOLDERS = ("node_modules", ".git", "bower_components", ".svn", ".hg")
GENERATED = (".vscode", ".idea", "dist", "build", "coverage", "__pycache__")
ALL = {f"{folder}/{name}/x.txt": "hit\n" for name in (*FOLDERS, *GENERATED) for folder in ("a", "a/b")} | {
    "a/x.txt": "hit\n",
    "a/x.log": "hit\n",
    "a/x.tmp": "hit\n",
}


async def call(root: Path, name: str, arguments: dict[str, object]) -> str:
    async with Session(root, dialect="gemini", policy=Policy(mode="yolo")) as session:
        result = await session.call(name, arguments)
        assert result.error is None, text_of(result)
        return text_of(result)


@pytest.mark.parametrize("pattern", ["**/*", "**/x.txt", "a/**", "**/{x,y}.txt"])
@pytest.mark.parametrize("git", [True, False])
async def test_glob_leaves_out_dependencies_wherever_they_are(
    pattern: str, git: bool, tmp_path: Path
) -> None:
    put(tmp_path, ALL)
    found = await call(tmp_path, "glob", {"pattern": pattern, "respect_git_ignore": git})
    assert f"{tmp_path}/a/x.txt" in found
    assert f"{tmp_path}/a/b/dist/x.txt" in found
    assert not [name for name in FOLDERS if f"/{name}/" in found]
    assert "ignored" not in found


async def test_glob_searches_a_dependency_that_is_named(tmp_path: Path) -> None:
    put(tmp_path, {"node_modules/left/index.js": "", "node_modules/left/node_modules/right/index.js": ""})
    found = await call(tmp_path, "glob", {"pattern": "**/*.js", "dir_path": "node_modules/left"})
    assert found.splitlines()[1:] == [f"{tmp_path}/node_modules/left/index.js"]


async def test_glob_in_one_folder_that_finds_nothing_names_the_pattern_for_all(tmp_path: Path) -> None:
    put(tmp_path, {"a/b.js": ""})
    found = await call(tmp_path, "glob", {"pattern": "*.js"})
    assert found.startswith(f'No files found matching pattern "*.js" within {tmp_path}')
    assert 'with pattern="**/*.js"' in found


async def test_grep_leaves_out_generated_files_by_default(tmp_path: Path) -> None:
    put(tmp_path, ALL)
    names = (await call(tmp_path, "grep_search", {"pattern": "hit", "names_only": True})).splitlines()[1:]
    assert names == ["a/x.txt"]
    names = (
        await call(tmp_path, "grep_search", {"pattern": "hit", "names_only": True, "no_ignore": True})
    ).splitlines()[1:]
    assert set(names) == {name for name in ALL if "/.git/" not in name}


async def test_read_many_files_leaves_out_usually_unwanted_files(tmp_path: Path) -> None:
    put(tmp_path, {**ALL, "a/.env": "hit", "a/x.pyc": "hit", "a/x.zip": "hit"})
    assert "a/x.log" in (text := await call(tmp_path, "read_many_files", {"include": ["a/**"]}))
    assert not [
        name
        for name in (*FOLDERS, *GENERATED, ".env", ".pyc", ".zip")
        if f"--- a/{name}" in text or f"{name}/x.txt ---" in text
    ]
    assert "a/dist/x.txt" in await call(
        tmp_path, "read_many_files", {"include": ["a/**"], "useDefaultExcludes": False}
    )
    assert "hit" in await call(tmp_path, "read_many_files", {"include": ["a/dist/x.txt"]})


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        (".", ["src/lib/a.py", "src/b.py"]),
        ("src", ["lib/a.py", "b.py"]),
        ("src/b.py", ["b.py"]),
        ("way", ["lib/a.py", "b.py"]),
    ],
)
@pytest.mark.parametrize("names_only", [True, False])
async def test_grep_names_files_relative_to_the_folder_it_searches(
    folder: str, names: list[str], names_only: bool, tmp_path: Path
) -> None:
    put(tmp_path, {"src/b.py": "hit\n", "src/lib/a.py": "hit\n"})
    (tmp_path / "way").symlink_to("src")
    lines = (
        await call(tmp_path, "grep_search", {"pattern": "hit", "dir_path": folder, "names_only": names_only})
    ).splitlines()[1:]
    assert {line.removeprefix("File: ") for line in lines if names_only or line.startswith("File: ")} == set(
        names
    )


SPECIAL = ["file[1].txt", "{a,b}.txt", "[id]", "[!x].txt", "what?.txt", "star*.txt"]


@pytest.mark.parametrize("name", SPECIAL)
async def test_the_name_of_an_existing_file_means_that_file(name: str, tmp_path: Path) -> None:
    others = {
        "file1.txt": "hit\n",
        "a.txt": "hit\n",
        "i": "hit\n",
        "y.txt": "hit\n",
        "whatx.txt": "hit\n",
        "starry.txt": "hit\n",
    }
    put(tmp_path, {**{f"d/{other}": text for other, text in others.items()}, f"d/{name}": "hit\n"})
    for case_sensitive in (True, False):
        found = await call(
            tmp_path, "glob", {"pattern": name, "dir_path": "d", "case_sensitive": case_sensitive}
        )
        assert found.splitlines()[1:] == [f"{tmp_path}/d/{name}"]
    found = await call(
        tmp_path,
        "grep_search",
        {"pattern": "hit", "dir_path": "d", "include_pattern": name, "names_only": True},
    )
    assert found.splitlines()[1:] == [name]
    assert "hit" in await call(tmp_path, "read_many_files", {"include": [f"d/{name}"]})


@pytest.mark.parametrize(("name", "other"), [("file[1].txt", "file1.txt"), ("{a,b}.txt", "a.txt")])
async def test_a_listing_leaves_out_exactly_the_name_given(name: str, other: str, tmp_path: Path) -> None:
    put(tmp_path, {name: "", other: ""})
    text = await call(tmp_path, "list_directory", {"dir_path": ".", "ignore": [name]})
    assert text.splitlines()[1:] == [f"{other} (0 bytes)"]


CASES = [
    Case(
        "what git ignores is counted once",
        "list_directory",
        {"dir_path": "."},
        {".gitignore": "*.log", "a.log": "", "b.log": "", "c": "x"},
        reply="Directory listing for {root}:\n.gitignore (5 bytes)\nc (1 bytes)\n\n(2 ignored)",
    ),
    Case(
        "what the call leaves out is not counted, .git is",
        "list_directory",
        {"dir_path": ".", "ignore": ["*.md", "*.log"]},
        {".gitignore": "*.log", "a.log": "", "b.md": "", ".git/HEAD": "", "c": "x"},
        reply="Directory listing for {root}:\n.gitignore (5 bytes)\nc (1 bytes)\n\n(2 ignored)",
    ),
    Case(
        "all of it on request",
        "list_directory",
        {"dir_path": ".", "file_filtering_options": {"respect_git_ignore": False}},
        {".gitignore": "*.log", "a.log": "", ".git/HEAD": ""},
        reply="Directory listing for {root}:\n[DIR] .git\n.gitignore (5 bytes)\na.log (0 bytes)",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_listing(case: Case, tmp_path: Path) -> None:
    await play(case, "gemini", tmp_path)


async def test_links_that_lead_nowhere_are_marked(tmp_path: Path) -> None:
    put(tmp_path, {"d/a": "xx"})
    for name, target in (("broken", "nowhere"), ("out", "/etc/passwd"), ("file", "a"), ("loop", "loop")):
        (tmp_path / "d" / name).symlink_to(target)
    lines = (await call(tmp_path, "list_directory", {"dir_path": "d"})).splitlines()[1:]
    mark = "(link that leads nowhere or outside)"
    assert lines == ["a (2 bytes)", f"broken {mark}", "file (2 bytes)", f"loop {mark}", f"out {mark}"]


async def test_a_folder_of_thousands_of_entries_is_listed_whole(tmp_path: Path) -> None:
    put(tmp_path, {f"f{number}": "" for number in range(3_000)})
    assert len((await call(tmp_path, "list_directory", {"dir_path": "."})).splitlines()) == 3_001
