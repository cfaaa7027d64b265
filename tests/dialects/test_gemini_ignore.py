"""Files that ``.geminiignore`` and ``.gitignore`` exclude:
from listings, searches, and files that are read by name.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session
from nbtools.core.settings import Settings
from tests.dialects.table import put, text_of

FILES = {
    "a.txt": "hit\n",
    "secret.txt": "hit\n",
    "keys/k.txt": "hit\n",
    "keys/deep/d.txt": "hit\n",
    "out.gen": "hit\n",
    "kept.gen": "hit\n",
}
RULES = {".gitignore": "*.gen\n", ".geminiignore": "# for agents\nsecret*\nkeys/\n!kept.gen\n"}
REPOSITORY = {".git/HEAD": "ref: refs/heads/main\n"}


async def call(
    root: Path, name: str, arguments: dict[str, Any], dialect: str = "gemini", **settings: Any
) -> Any:
    async with Session(
        root, dialect=dialect, policy=Policy(mode="yolo"), settings=Settings(**settings)
    ) as session:
        return await session.call(name, arguments)


async def found(root: Path, tool: str, *, git: bool, gemini: bool, **settings: Any) -> set[str]:
    """The files of FILES that the tool names, with the options to respect git's and Gemini's ignore files."""
    options = {"respect_git_ignore": git, "respect_gemini_ignore": gemini}
    calls: dict[str, dict[str, Any]] = {
        "glob": {"pattern": "**/*", **options},
        "grep_search": {"pattern": "hit", "names_only": True, "no_ignore": not (git and gemini)},
        "read_many_files": {"include": ["**"], "file_filtering_options": options},
    }
    if tool != "list_directory":
        text = text_of(await call(root, tool, calls[tool], **settings)).partition("[skipped")[0]
        return {name for name in FILES if f"{name}\n" in f"{text}\n".replace(" ---", "")}
    names = set[str]()
    for folder in (".", "keys", "keys/deep"):
        listed = text_of(
            await call(root, tool, {"dir_path": folder, "file_filtering_options": options}, **settings)
        )
        names |= {
            name
            for name in FILES
            if f"\n{name.rpartition('/')[2]} (" in listed and (name.rpartition("/")[0] or ".") == folder
        }
    return names


TOOLS = ["glob", "grep_search", "read_many_files", "list_directory"]


@pytest.mark.parametrize("repository", [REPOSITORY, {}], ids=["repository", "none"])
@pytest.mark.parametrize("tool", TOOLS)
async def test_both_ignore_files_are_respected_and_the_agents_has_the_last_word(
    tool: str, repository: dict[str, str], tmp_path: Path
) -> None:
    put(tmp_path, {**FILES, **RULES, **repository})
    assert await found(tmp_path, tool, git=True, gemini=True) == {"a.txt", "kept.gen"}


@pytest.mark.parametrize("tool", ["glob", "read_many_files", "list_directory"])
async def test_each_can_be_disregarded(tool: str, tmp_path: Path) -> None:
    put(tmp_path, {**FILES, **RULES, **REPOSITORY})
    assert await found(tmp_path, tool, git=True, gemini=False) == {*FILES} - {"out.gen", "kept.gen"}
    assert await found(tmp_path, tool, git=False, gemini=True) == {"a.txt", "kept.gen", "out.gen"}


@pytest.mark.parametrize("tool", ["glob", "grep_search", "list_directory"])
async def test_all_can_be_disregarded(tool: str, tmp_path: Path) -> None:
    put(tmp_path, {**FILES, **RULES, **REPOSITORY})
    assert await found(tmp_path, tool, git=False, gemini=False) == {*FILES}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("rules", [{}, {".geminiignore": "\n# nothing\n"}])
async def test_without_one_only_git_decides(tool: str, rules: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path, {**FILES, ".gitignore": "*.gen\n", **rules})
    assert await found(tmp_path, tool, git=True, gemini=True) == {*FILES} - {"out.gen", "kept.gen"}


READ = [
    ("secret.txt", False),
    ("keys/k.txt", False),
    ("keys/deep/d.txt", False),
    ("out.gen", False),
    ("a.txt", True),
    ("kept.gen", True),
]


@pytest.mark.parametrize(("name", "readable"), READ)
@pytest.mark.parametrize("tool", ["read_file", "read_many_files"])
async def test_an_ignored_file_is_not_read_by_its_name(
    tool: str, name: str, readable: bool, tmp_path: Path
) -> None:
    put(tmp_path, {**FILES, **RULES, **REPOSITORY})
    (tmp_path / "link").symlink_to(name)
    for path in (name, f"{tmp_path}/{name}", f"./{name}", "link"):
        result = await call(
            tmp_path, tool, {"file_path": path} if tool == "read_file" else {"include": [path]}
        )
        assert ("hit" in text_of(result)) is readable
        if tool == "read_file":
            assert (result.error is None) is readable
            assert result.error is None or result.error.code == "invalid_tool_params"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"read_ignored": True}, {"a.txt", "kept.gen", "out.gen"}),
        ({"ignore_files": ()}, {"a.txt", "secret.txt", "keys/k.txt", "keys/deep/d.txt"}),
        ({"ignore_files": (), "read_ignored": True}, {*FILES}),
        ({"ignore_files": (".aiexclude",)}, {"secret.txt", "keys/k.txt", "keys/deep/d.txt"}),
        ({"ignore_files": (".geminiignore", ".aiexclude")}, {"kept.gen"}),
        ({"ignore_files": (".aiexclude", ".geminiignore"), "read_ignored": False}, {"kept.gen"}),
    ],
)
@pytest.mark.parametrize("dialect", ["gemini", "nbtools"])
async def test_settings_say_which_ignore_files_hold(
    settings: dict[str, Any], expected: set[str], dialect: str, tmp_path: Path
) -> None:
    put(tmp_path, {**FILES, **RULES, **REPOSITORY, ".aiexclude": "a.txt\n"})
    settings = (
        {"read_ignored": False, "ignore_files": (".geminiignore",), **settings}
        if dialect == "nbtools"
        else settings
    )
    argument = "file_path" if dialect == "gemini" else "path"
    tool = "read_file" if dialect == "gemini" else "read"
    readable = {
        name for name in FILES if (await call(tmp_path, tool, {argument: name}, dialect, **settings)).ok
    }
    assert readable == expected


@pytest.mark.parametrize("dialect", ["nbtools", "claude", "void"])
async def test_other_dialects_read_named_files(dialect: str, tmp_path: Path) -> None:
    put(tmp_path, {**FILES, **RULES, **REPOSITORY})
    for name in FILES:
        assert (await call(tmp_path, "read", {"path": name}, dialect)).ok


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_hostile_ignore_file_costs_little(tool: str, tmp_path: Path) -> None:
    put(tmp_path, {f"{'a' * 60}/{'a' * 200}{number}.txt": "hit\n" for number in range(50)})
    put(
        tmp_path,
        {**FILES, ".geminiignore": "secret.txt\n" + ("*a" * 60 + "!\n" + "**/" * 200 + "x\n") * 50_000},
    )
    start = time.process_time()
    assert "secret.txt" not in await found(tmp_path, tool, git=True, gemini=True)
    assert time.process_time() - start < 20


@pytest.mark.parametrize("kind", ["folder", "pipe", "broken link"])
async def test_an_ignore_file_that_is_no_file_is_none(kind: str, tmp_path: Path) -> None:
    put(tmp_path, FILES)
    path = tmp_path / ".geminiignore"
    {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "broken link": lambda: path.symlink_to("nowhere"),
    }[kind]()
    assert (await call(tmp_path, "read_file", {"file_path": "secret.txt"})).ok
