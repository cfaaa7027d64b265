"""Undo says where a command may have changed more than was saved, and only there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nbtools import ErrorCode, Session
from nbtools.core.result_data import UndoData
from nbtools.core.settings import Settings
from nbtools.testing import temporary_workspace
from nbtools.workspace.history.command_reach import NOT_SAVED, STILL_RAN, written_paths
from tests.tools.test_undo import FILES, YOLO, tree

ALL_SAVED = (
    "echo changed > a.py",
    "sed -i 's/one/b/' a.py",
    "rm b.txt",
    "mv a.py dir/z.py",
    "cp a.py copy.py && chmod 755 copy.py",
    "cd dir && sort x > sorted 2>/dev/null",
    "ls | tee listing",
)
MORE = (
    "echo x > {outside}/f; echo x > a.py",
    "touch new; cd {outside} && touch f",
    "echo x > build.log; echo x > a.py",
    "rm build.log; echo x > a.py",
    "mkdir empty; echo x > a.py",
    "ln -s a.py link; echo x > a.py",
    "echo x > outer/f; echo x > a.py",
    "rm -r dir",
    'python3 -c \'open("a.py", "w")\'',
    "(sleep 0.2; echo x > late) & echo x > a.py",
    "bash -c 'echo x > a.py'",
    "find . -name a.py -exec rm {{}} +",
)
"""Each of them also changes a saved file."""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


async def _undone(command: str, outside: Path) -> UndoData:
    with temporary_workspace({**FILES, ".gitignore": "*.log\n", "build.log": "old\n"}) as root:
        (root / "outer").symlink_to(outside)
        before = tree(root)
        async with Session(root, policy=YOLO) as session:
            assert (await session.call("shell", {"command": command.format(outside=outside)}, id="cmd")).ok
            assert tree(root) != before
            (change,) = session.changes
            result = await session.undo()
            assert result.ok, result.error
            assert isinstance(result.data, UndoData)
            assert change.unsaved == result.data.unsaved
            assert bool(result.data.unsaved) == ("may have changed more" in str(result.llm_content))
            return result.data


@pytest.mark.parametrize("command", ALL_SAVED)
async def test_undo_adds_no_note_when_all_files_of_the_command_were_saved(
    command: str, outside: Path
) -> None:
    assert (await _undone(command, outside)).unsaved == ""


@pytest.mark.parametrize("command", MORE)
async def test_undo_notes_that_any_other_command_may_have_changed_more(command: str, outside: Path) -> None:
    assert (await _undone(command, outside)).unsaved


@pytest.mark.parametrize(
    "command", ["echo x > {outside}/f", "echo x > build.log", "mkdir empty", "true && ./run"]
)
async def test_undo_does_not_claim_that_an_unsaved_command_changed_nothing(
    command: str, outside: Path
) -> None:
    with temporary_workspace(
        {**FILES, ".gitignore": "*.log\n", "build.log": "old\n", "run": "echo x > build.log\n"}
    ) as root:
        (root / "run").chmod(0o755)
        async with Session(root, policy=YOLO) as session:
            await session.call("shell", {"command": command.format(outside=outside)}, id="cmd")
            assert session.changes == ()
            for call in ("cmd", None):
                refused = await session.undo(call)
                assert refused.error is not None
                assert refused.error.code is ErrorCode.EDIT_NO_CHANGE
                assert "cmd may have changed more" in refused.error.message
            # It does not stand in the way of the changes before it.
            await session.call("write", {"path": "two", "content": "2\n"}, id="w")
            await session.call("shell", {"command": command.format(outside=outside)}, id="again")
            undone = await session.undo()
            assert undone.ok, undone.error
            assert undone.data.call == "w"


async def test_a_command_in_a_large_workspace_may_have_changed_more() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO, settings=Settings(snapshot_files=2)) as session:
            await session.call("shell", {"command": "echo x > b.txt"}, id="cmd")
            refused = await session.undo("cmd")
            assert refused.error is not None
            assert "the workspace has more than 2 files" in refused.error.message


async def test_undo_notes_that_the_command_is_still_writing() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            command = (
                "echo x > b.txt; echo ready; while test ! -e stop; do sleep 0.05; done; echo later > b.txt"
            )
            await session.call("shell", {"command": command, "background": True}, id="bg")
            await session.call("shell_output", {"id": "1", "wait": 5})
            undone = await session.undo("bg")
            assert undone.ok, undone.error
            assert isinstance(undone.data, UndoData)
            assert undone.data.unsaved == STILL_RAN
            (root / "stop").touch()
            until = time.monotonic() + 30
            while (root / "b.txt").read_text() != "later\n" and time.monotonic() < until:
                await session.call("shell_output", {"id": "1", "wait": 1})
            assert (root / "b.txt").read_text() == "later\n"


async def test_an_interrupted_command_may_have_changed_more(outside: Path) -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(
                "shell",
                {"command": f"echo x > b.txt; {outside}/none; echo ready; sleep 60", "background": True},
                id="bg",
            )
            await session.call("shell_output", {"id": "1", "wait": 5})
            async with Session(root, policy=YOLO) as other:
                await other.call("shell", {"command": "echo y > a.py"}, id="other")
                (change,) = (one for one in other.changes if one.id == "bg")
                assert change.unsaved == NOT_SAVED


def test_only_known_writes_are_listed(tmp_path: Path) -> None:
    assert written_paths("cat a | sort", tmp_path, tmp_path) == ()
    assert written_paths("echo x > a 2>/dev/null", tmp_path, tmp_path) == (tmp_path / "a",)
    assert written_paths("tee a", tmp_path / "sub", tmp_path) == (tmp_path / "sub/a",)
    for unknown in (
        "make",
        "xargs tee",
        "tee $F",
        "env A=1 tee a",
        "git commit -m x",
        "?",
        "echo 'x",
        "timeout 5 tee a",
    ):
        assert written_paths(unknown, tmp_path, tmp_path) is None
