"""The working directory of Claude Code's Bash carries over inside the workspace,
and the policy judges commands where they run.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session, Settings
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome
from nbtools.core.decision import Action
from nbtools.tools.commands.folder_report import FolderReport
from tests.waiting import until


class Watching:
    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        self.asked.append(confirmation.details)
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE)


def approving(root: Path) -> Session:
    return Session(root, dialect="claude", confirmer=Watching())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "a b'\"\n$x").mkdir()
    (tmp_path / "out").symlink_to("/")
    (tmp_path / "to_sub").symlink_to("sub")
    (tmp_path / "script.sh").write_text("cd sub/deep\n")
    return tmp_path


async def folder(session: Session) -> str:
    result = await session.call("Bash", {"command": "pwd -P"})
    assert result.ok, result
    return str(result.llm_content)


@pytest.mark.parametrize(
    ("command", "then"),
    [
        ("cd sub", "sub"),
        ("cd sub && ls", "sub"),
        ("cd sub/deep; cd ..", "sub"),
        ("pushd sub > /dev/null", "sub"),
        ("cd to_sub", "sub"),
        ("source script.sh", "sub/deep"),
        (". ./script.sh", "sub/deep"),
        ("eval 'cd sub'", "sub"),
        ("cd \"$(printf 'a b\\x27\\x22\\n$x')\"", "a b'\"\n$x"),
        ("cd sub\necho 'it''s'\n", "sub"),
        ("cd sub; cat <<'X'\nit's\nX", "sub"),
        ("cd sub; (exit 0)", "sub"),
        ("cd sub; sleep 30 &", "sub"),
        ("set -e; cd sub", "sub"),
        ("trap 'echo bye' EXIT; cd sub", "sub"),
        ("pwd() { echo /; }; cd sub", "sub"),
        ("cd sub; exec 3>&1", "sub"),
        ("(cd sub)", ""),
        ("cd sub | cat", ""),
        ("bash -c 'cd sub'", ""),
        ("cd sub & wait", ""),
        ("cd sub; false", ""),
        ("cd sub; exit 0", ""),
        ("cd sub; exec true", ""),
        ("cd sub; kill $$", ""),
        ("cd nowhere", ""),
        ("cd sub; if", ""),
        ("ls sub", ""),
        ("echo /sub >&9; ls", ""),
    ],
)
async def test_the_next_command_starts_in_the_folder_of_the_last_one(
    root: Path, command: str, then: str
) -> None:
    async with approving(root) as session:
        first = await session.call("Bash", {"command": command})
        assert "reset" not in first.llm_content
        assert await folder(session) == str(root / then)


@pytest.mark.parametrize(
    "command", ["cd /", "cd ../..", "cd ../out", "cd deep; cd /usr && cd bin", "cd; true"]
)
async def test_outside_of_the_workspace_it_is_reset(root: Path, command: str) -> None:
    async with approving(root) as session:
        await session.call("Bash", {"command": "cd sub"})
        reset = await session.call("Bash", {"command": command})
        assert reset.llm_content.endswith(f"\n\n(Shell cwd was reset to {root})")
        assert reset.data.stderr == f"(Shell cwd was reset to {root})"
        assert await folder(session) == str(root)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("cd sub; exit 7", 7),
        ("cd sub; (exit 130)", 130),
        ("cd sub; false", 1),
        ("set -e; cd sub; false; echo no", 1),
    ],
)
async def test_the_report_changes_no_exit_code_and_no_output(root: Path, command: str, code: int) -> None:
    async with approving(root) as session:
        assert (await session.call("Bash", {"command": command})).llm_content == f"Exit code {code}"
        printed = await session.call(
            "Bash", {"command": "cd sub; cd ..; echo \"$# $-\"; trap 'echo bye >&2' EXIT"}
        )
        alone = await session.call(
            "shell", {"command": "cd sub; cd ..; echo \"$# $-\"; trap 'echo bye >&2' EXIT"}
        )
        assert printed.llm_content == str(alone.llm_content).split("\n(", 1)[0]
        failing = await session.call("Bash", {"command": "cd sub; trap 'echo bye >&2' EXIT; false"})
        assert failing.llm_content == "Exit code 1\nbye"


async def test_started_programs_do_not_inherit_the_pipe(root: Path) -> None:
    async with approving(root) as session:
        plain = await session.call("Bash", {"command": "ls /proc/self/fd | wc -l"})
        reporting = await session.call("Bash", {"command": "cd sub; ls /proc/self/fd | wc -l"})
    assert reporting.llm_content == plain.llm_content


async def test_a_command_that_times_out_or_is_cancelled_changes_nothing(root: Path) -> None:
    async with approving(root) as session:
        await session.call("Bash", {"command": "cd sub; sleep 60", "timeout": 300})
        assert await folder(session) == str(root)
        moved = await session.call("Bash", {"command": "cd sub; tail -f /dev/null", "timeout": 300})
        assert moved.data.background_task_id == "1"
        assert await folder(session) == str(root)
        running = asyncio.create_task(
            session.call("Bash", {"command": "cd sub; touch begun; sleep 60"}, id="one")
        )
        await until((root / "sub" / "begun").exists)
        session.cancel("one")
        await running
        assert await folder(session) == str(root)


async def test_a_background_command_starts_there_and_changes_nothing(root: Path) -> None:
    async with approving(root) as session:
        await session.call("Bash", {"command": "cd sub"})
        await session.call("Bash", {"command": "pwd -P; cd deep", "run_in_background": True})
        shown = await session.call("TaskOutput", {"task_id": "1"})
        assert shown.data.task.output == str(root / "sub")
        assert await folder(session) == str(root / "sub")


async def test_a_folder_that_is_gone_or_became_a_link(root: Path) -> None:
    async with approving(root) as session:
        await session.call("Bash", {"command": "cd sub/deep"})
        (root / "sub" / "deep").rmdir()
        assert await folder(session) == str(root)
        (root / "sub" / "deep").symlink_to("/usr")
        assert await folder(session) == str(root)


async def test_other_tools_and_dialects_stay_in_the_workspace(root: Path) -> None:
    (root / "sub" / "f").write_text("x\n")
    async with approving(root) as session:
        await session.call("Bash", {"command": "cd sub"})
        assert "f" in (await session.call("Bash", {"command": "ls"})).llm_content
        assert not (await session.call("Read", {"file_path": "f"})).ok
        shell = await session.call("shell", {"command": "pwd -P"})
        assert shell.data.text == f"{root}\n"
        session.dialect = "gemini"
        ran = await session.call("run_shell_command", {"command": "pwd -P"})
        assert f"{root}\n" in f"{ran.llm_content}\n"
    async with approving(root) as session:
        assert await folder(session) == str(root)


async def test_commands_side_by_side_start_where_they_were_judged(root: Path) -> None:
    async with approving(root) as session:
        results = await asyncio.gather(
            *(session.call("Bash", {"command": "cd sub && pwd -P"}) for _ in range(3))
        )
        assert {result.llm_content for result in results} == {str(root / "sub")}


async def test_the_policy_judges_the_command_in_the_folder_in_which_it_runs(root: Path) -> None:
    (root / "sub" / "secret").write_text("x")
    (root / "sub" / "deep" / "other").write_text("x")
    rules = Policy(
        allow=["shell(cd:*)", "shell(cat:*)", "shell(rm:*)"],
        deny=["edit(sub/secret)", "read(sub/deep/other)"],
    )
    async with Session(root, dialect="claude", policy=rules) as session:
        assert session.decide("Bash", {"command": "cat deep/other"}).action is not Action.DENY
        assert session.decide("Bash", {"command": "cat sub/deep/other"}).action is Action.DENY
        assert (await session.call("Bash", {"command": "cd sub"})).ok
        assert session.decide("Bash", {"command": "rm secret"}).action is Action.DENY
        assert session.decide("Bash", {"command": "cat deep/other"}).action is Action.DENY
        assert (await session.call("Bash", {"command": "cat deep/other"})).error is not None
        assert (await session.call("Bash", {"command": "rm secret"})).error is not None
        assert (await session.call("Bash", {"command": "cd deep"})).ok
        assert session.decide("Bash", {"command": "cat other"}).action is Action.DENY
    assert (root / "sub" / "secret").exists()


async def test_approval_names_the_folder(root: Path) -> None:
    watching = Watching()
    async with Session(root, dialect="claude", confirmer=watching) as session:
        await session.call("Bash", {"command": "cd sub && touch made"})
        await session.call("Bash", {"command": "touch more"})
    assert [details.directory for details in watching.asked][-1] == "sub"
    assert (root / "sub" / "more").exists()


async def test_undo_restores_what_a_command_changed_there(root: Path) -> None:
    (root / "sub" / "f").write_text("before\n")
    async with approving(root) as session:
        await session.call("Bash", {"command": "cd sub"})
        assert (await session.call("Bash", {"command": "echo after > f"}, id="change")).ok
        assert (root / "sub" / "f").read_text() == "after\n"
        assert (await session.undo("change")).ok
    assert (root / "sub" / "f").read_text() == "before\n"


async def test_a_view_there_counts_as_a_read(root: Path) -> None:
    (root / "sub" / "f").write_text("a\n")
    async with approving(root) as session:
        await session.call("Bash", {"command": "cd sub"})
        await session.call("Bash", {"command": "cat f"})
        assert (await session.call("Edit", {"file_path": "sub/f", "old_string": "a", "new_string": "b"})).ok


@pytest.mark.parametrize("raw", [b"", b"relative\n", b"/a\0b\n"])
def test_a_report_that_is_no_path_is_none(raw: bytes) -> None:
    report = FolderReport("cd x", wanted=True)
    try:
        if raw:
            os.write(report.descriptors[0], raw)
        assert report.folder() == ""
    finally:
        report.close()


async def test_it_carries_over_in_the_sandbox(root: Path) -> None:
    async with Session(
        root, dialect="claude", confirmer=Watching(), settings=Settings(sandbox="if_present")
    ) as session:
        assert (await session.call("Bash", {"command": "cd sub"})).ok
        assert await folder(session) == str(root / "sub")
