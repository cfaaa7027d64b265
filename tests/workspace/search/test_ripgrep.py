"""Finding the bundled ripgrep, and putting its complaints into one line."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from nbtools import Session
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.search.ripgrep import find_rg, parse_unreadable, ripgrep_failure, run_ripgrep


def test_the_bundled_one_is_found_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NBTOOLS_RG", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    version = subprocess.run(
        [find_rg(), "--version"], capture_output=True, encoding="utf-8", check=True
    ).stdout
    assert version.startswith("ripgrep ")


def test_the_override_wins_and_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = tmp_path / "myrg"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    monkeypatch.setenv("NBTOOLS_RG", str(mine))
    assert find_rg() == str(mine)
    monkeypatch.setenv("NBTOOLS_RG", str(tmp_path / "none"))
    with pytest.raises(ToolFailure, match="NBTOOLS_RG is"):
        find_rg()


def test_complaints_are_one_line() -> None:
    failure = ripgrep_failure("rg: regex parse error:\n    (?:foo()\n    ^\nerror: unclosed group\n")
    assert (failure.code, failure.message.startswith("pattern: unclosed group.")) == (
        ErrorCode.INVALID_TOOL_PARAMS,
        True,
    )
    assert "Did you mean py" in ripgrep_failure("rg: unrecognized file type: pyy").message
    assert ripgrep_failure("rg: out of luck").message == "The search failed: out of luck."
    assert ripgrep_failure("").code == ErrorCode.GREP_EXECUTION_ERROR


def test_unreadable_paths_are_reported() -> None:
    assert parse_unreadable("rg: ./a: Permission denied (os error 13)\nnoise\n") == (
        "a: Permission denied (os error 13)",
    )
    assert os.access(find_rg(), os.X_OK)


@pytest.mark.parametrize("folder", ["", "sub/"])
@pytest.mark.parametrize("arguments", [("--files",), ("-e", "word", ".")], ids=["glob", "grep"])
async def test_an_ignore_file_that_is_a_pipe_does_not_hang_a_search(
    arguments: tuple[str, ...], folder: str, tmp_path: Path
) -> None:
    async def search(root: Path, name: str) -> None:
        (root / folder / ".git" / "info").mkdir(parents=True)
        (root / folder / "a.txt").write_text("word")
        os.mkfifo(root / folder / name)
        with pytest.raises(ToolFailure) as failed:
            await asyncio.wait_for(run_ripgrep(root, ("--hidden", *arguments), lambda _: None), 30)
        assert failed.value.code is ErrorCode.GREP_EXECUTION_ERROR
        assert f"{folder}{name}" in str(failed.value)

    names = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
    await asyncio.gather(*(search(tmp_path / str(number), name) for number, name in enumerate(names)))


async def test_an_ignore_file_that_is_the_null_device_is_empty(tmp_path: Path) -> None:
    (tmp_path / ".ignore").symlink_to(os.devnull)
    (tmp_path / "a.txt").write_text("word")
    output: list[bytes] = []
    await run_ripgrep(tmp_path, ("--files",), output.append)
    assert b"a.txt" in b"".join(output)


async def test_a_reused_call_id_finds_new_ignore_files_above_the_root(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a.log").write_text("needle\n")
    async with Session(root) as session:
        assert "needle" in (await session.call("grep", {"pattern": "needle"}, id="1")).llm_content
        (tmp_path / ".ignore").write_text("*.log\n")
        assert "a.log" not in (await session.call("grep", {"pattern": "needle"}, id="1")).llm_content
