"""Changes by a command in the workspace can be undone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nbtools import ErrorCode, Session
from nbtools.core.settings import Settings
from nbtools.testing import ONCE, ScriptedConfirmer, temporary_workspace
from tests.tools.test_undo import FILES, YOLO, tree

COMMANDS = {
    "a redirect": "echo changed > a.py",
    "created": "mkdir -p new/deep && echo x > new/deep/f",
    "deleted": "rm b.txt",
    "a deleted folder": "rm -r dir",
    "a move": "mv a.py dir/z.py",
    "a mode": "chmod 755 b.txt",
    "all at once": "echo more >> a.py; rm b.txt; mkdir m; mv dir/x m/; chmod 600 dir/deep/y; printf '\\0\\377' > bin",
    "same length, at once": "printf 'B\\n' > b.txt",
    "one that fails": "echo changed > a.py; exit 3",
}


@pytest.mark.parametrize("what", COMMANDS)
async def test_a_change_by_a_command_is_undone_and_redone(what: str) -> None:
    with temporary_workspace(FILES) as root:
        before = tree(root)
        async with Session(root, policy=YOLO) as session:
            result = await session.call("shell", {"command": COMMANDS[what]}, id="cmd")
            assert result.ok, result.error
            after = tree(root)
            assert after != before
            undone = await session.undo()
            assert undone.ok, undone.error
            assert tree(root) == before
            again = await session.undo(session.history[-1].request.id)
            assert again.ok, again.error
            assert tree(root) == {
                path: what
                for path, what in after.items()
                if what[0] is not None or path in before or _full(after, path)
            }


def _full(state: dict[str, tuple[object, int]], folder: str) -> bool:
    return any(path.startswith(f"{folder}/") and what[0] is not None for path, what in state.items())


async def test_each_command_has_its_own_changes() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call("shell", {"command": "echo 1 > one"}, id="c1")
            await session.call("write", {"path": "two", "content": "2\n"}, id="w")
            (root / "mine").write_text("a person's\n")
            await session.call("shell", {"command": "echo 3 > three; cat mine"}, id="c3")
            assert {change.id: change.files for change in session.changes} == {
                "c1": ("one",),
                "w": ("two",),
                "c3": ("three",),
            }
            assert (await session.undo("c1")).ok
            assert not (root / "one").exists()
            assert (root / "mine").exists()


async def test_a_command_that_changes_nothing_leaves_no_entry() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            for command in ("ls", "true; false", "touch a.py"):
                await session.call("shell", {"command": command})
            assert session.changes == ()


async def test_files_ignored_by_git_are_neither_stored_nor_changed() -> None:
    with temporary_workspace({**FILES, ".gitignore": "*.log\n", "old.log": "old\n"}) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(
                "shell", {"command": "echo new > old.log; echo x > new.log; echo '#' > .gitignore"}
            )
            (change,) = session.changes
            assert change.files == (".gitignore",)
            assert (await session.undo()).ok
            assert (root / "old.log").read_text() == "new\n"
            await session.call("shell", {"command": "echo newer > old.log; echo x > new.txt"})
            assert (await session.undo()).ok
            assert not (root / "new.txt").exists()
            assert (root / "old.log").read_text() == "new\n"


async def test_a_command_in_a_large_workspace_says_that_it_cannot_be_undone() -> None:
    with temporary_workspace(FILES) as root:
        for settings, why in (
            (Settings(snapshot_files=2), "the workspace has more than 2 files"),
            (Settings(snapshot_bytes=10), "the workspace's files have more than 10 bytes"),
        ):
            async with Session(root, policy=YOLO, settings=settings) as session:
                result = await session.call("shell", {"command": "echo x > b.txt"})
                assert result.ok
                assert f"its changes cannot be undone: {why}" in str(result.llm_content)
                assert "cannot be undone" not in str(
                    (await session.call("shell", {"command": "ls"})).llm_content
                )
                assert session.changes == ()


async def test_the_approval_request_lists_changes_that_cannot_be_undone() -> None:
    confirmer = ScriptedConfirmer(*[ONCE] * 4)
    with temporary_workspace(FILES) as root:
        async with Session(root, confirmer=confirmer, settings=Settings(snapshot_files=2)) as session:
            for command in ("echo x > b.txt", "echo y > b.txt"):
                assert (await session.call("shell", {"command": command})).ok
            session.settings = Settings()
            assert (await session.call("shell", {"command": "echo z > b.txt"})).ok
            assert (await session.call("shell", {"command": "echo zz > b.txt"})).ok
    notes = [confirmation.details.note for confirmation in confirmer.asked]
    assert [note.partition(":")[0] for note in notes] == ["", "its changes cannot be undone", "", ""]


async def test_a_command_that_cannot_be_started_in_the_background_leaves_no_entry() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            before = await session.call("shell", {"command": "echo x > b.txt"})
            assert before.ok
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("LONG", "x" * 3_000_000)  # more than the system starts a program with
                failed = await session.call(
                    "shell", {"command": "echo y > b.txt", "background": True}, id="bg"
                )
            assert failed.error is not None
            assert session.workspace.journal.running_commands() == ()
            assert "bg" not in {change.id for change in session.changes}


async def test_a_background_commands_changes_are_recorded_when_it_ends_or_is_undone() -> None:
    with temporary_workspace(FILES) as root:
        before = tree(root)
        async with Session(root, policy=YOLO) as session:
            started = await session.call(
                "shell", {"command": "echo x > b.txt; echo ready; sleep 60", "background": True}, id="bg"
            )
            assert started.ok, started.error
            await session.call("shell_output", {"id": "1", "wait": 5})
            undone = await session.undo("bg")
            assert undone.ok, undone.error
            assert tree(root) == before
            await session.call("shell", {"command": "echo y > b.txt", "background": True}, id="short")
            await session.call("shell_output", {"id": "2", "wait": 5})
        async with Session(root, policy=YOLO) as later:
            assert (await later.undo("short")).ok
            assert tree(root) == before


async def test_changes_by_the_command_of_an_interrupted_kernel_can_be_undone(tmp_path: Path) -> None:
    import sys

    for name, text in {"a.txt": "a\n", "b.txt": "b\n"}.items():
        (tmp_path / name).write_text(text)
    program = """
import asyncio, os, sys
from nbtools import Policy, Session
async def main():
    async with Session(sys.argv[1], policy=Policy(mode="yolo")) as session:
        await session.call("shell", {"command": f"echo changed > a.txt; rm b.txt; kill -9 {os.getpid()}"}, id="killed")
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, timeout=30)
    assert not (tmp_path / "b.txt").exists()
    async with Session(tmp_path, policy=YOLO) as session:
        await session.call("shell", {"command": "echo more > c.txt"}, id="more")
        undone = await session.undo("killed")
        assert undone.ok, undone.error
        assert {path: what for path, (what, _) in tree(tmp_path).items()} == {
            "a.txt": b"a\n",
            "b.txt": b"b\n",
            "c.txt": b"more\n",
        }


async def test_an_edit_while_a_command_runs_stays_the_edits() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call("shell", {"command": "echo ready; sleep 60", "background": True}, id="bg")
            await session.call("edit", {"path": "a.py", "old": "two", "new": "TWO"}, id="edit")
            assert {change.id: change.files for change in session.changes if change.files} == {
                "edit": ("a.py",)
            }
            nothing = await session.undo("bg")
            assert nothing.error is not None
            assert nothing.error.code in (ErrorCode.INVALID_TOOL_PARAMS, ErrorCode.EDIT_NO_CHANGE)
            assert "TWO" in (root / "a.py").read_text()
