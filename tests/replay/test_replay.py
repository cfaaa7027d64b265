"""A call runs again in a copy, and what came of it stands beside what is recorded."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import pytest

from nbtools.core.errors import TraceError
from nbtools.core.result import CommandOutput
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.replay import Replayed, Skipped, replay, replay_sync, stepping
from nbtools.replay.output_comparison import normalize, same_changes, volatile_differences
from nbtools.testing import ONCE, ScriptedConfirmer
from tests.replay.samples import CWD, bash, codex_log, edit, exec_output, git, log, sample, shop
from tests.waiting import comes_true

FREE = Policy(mode=Mode.YOLO)


async def test_an_edit_at_a_commit(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    call = log(tmp_path / "log.jsonl", edit("price = 1", "price = 3")).calls[0]
    replayed = await replay(call, folder, "main")
    assert replayed.same
    assert replayed.ran
    assert replayed.difference.file_diff == ""
    assert (folder / "price.py").read_text() == "price = 5\ntax = 2\n"
    parted = await replay(call, folder)
    assert not parted.same
    assert "String to replace not found in file." in parted.difference.file_diff
    assert parted.basis == "the folder as it is"


async def test_a_command_asks_and_is_compared_with_what_it_printed(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    call = log(
        tmp_path / "log.jsonl",
        bash(f"cat {CWD}/price.py; pwd; echo 'took 0.25s'", f"price = 5\ntax = 2\n{CWD}\ntook 0.31s"),
    ).calls[0]
    refused = await replay(call, folder)
    assert not refused.ran
    assert not refused.same
    confirmer = ScriptedConfirmer(ONCE)
    replayed = await replay(call, folder, confirmer=confirmer)
    assert len(confirmer.asked) == 1
    assert replayed.same
    assert replayed.volatile == ("duration: 0.31s → 0.25s",)
    assert "+took 0.25s" in replayed.difference.file_diff


async def test_calls_of_codex(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    patch = f"*** Begin Patch\n*** Update File: {CWD}/price.py\n@@\n-price = 5\n+price = 6\n*** End Patch"
    told = {
        "output": f"Success. Updated the following files:\nM {CWD}/price.py\n",
        "metadata": {"exit_code": 0, "duration_seconds": 0.1},
    }
    listed = {"cmd": f"cd {CWD} && cat price.py; pwd; exit 3", "yield_time_ms": 250}
    trace = codex_log(
        tmp_path / "rollout.jsonl",
        ("exec_command", listed, exec_output(f"price = 5\ntax = 2\n{CWD}\n", 3)),
        ("apply_patch", patch, json.dumps(told)),
        ("exec_command", listed, exec_output("price = 5\n")),
    )
    printed, patched, other = [await replay(call, folder, policy=FREE) for call in trace.calls]
    assert printed.same
    assert patched.same, patched
    assert [file.places for file in patched.result.data.files] == [1]
    assert not other.same


def test_a_command_of_codex_that_printed_nothing(tmp_path: Path) -> None:
    call = codex_log(tmp_path / "rollout.jsonl", ("exec_command", {"cmd": "true"}, exec_output(""))).calls[0]
    assert isinstance(call.detail.display, CommandOutput)
    assert call.detail.display.text == ""
    assert replay_sync(call, shop(tmp_path / "shop"), policy=FREE).same


async def test_an_exit_code_is_part_of_it(tmp_path: Path) -> None:
    call = log(tmp_path / "log.jsonl", bash("echo x; exit 3", "x")).calls[0]
    replayed = await replay(call, shop(tmp_path / "shop"), policy=FREE)
    assert not replayed.same
    assert "+[exit code 3]" in replayed.difference.file_diff


def test_without_await(tmp_path: Path) -> None:
    call = log(tmp_path / "log.jsonl", edit("price = 5", "price = 3")).calls[0]
    assert replay_sync(call, shop(tmp_path / "shop")).same


async def test_a_folder_has_to_be_there(tmp_path: Path) -> None:
    call = log(tmp_path / "log.jsonl", edit("a", "b")).calls[0]
    with pytest.raises(TraceError, match="Name the folder"):
        await replay(call)


async def test_a_range_steps_to_where_results_part_and_goes_on_by_hand(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    calls = log(
        tmp_path / "log.jsonl",
        edit("price = 1", "price = 3"),
        ("Skill", {"skill": "x"}, "", {}),
        edit("tax = 9", "tax = 10"),
        bash("cat price.py", "price = 3\ntax = 10"),
    ).calls
    async with stepping(calls, folder, "main", policy=FREE) as steps:
        parted = await steps.run()
        assert parted is steps.done[-1]
        assert isinstance(steps.done[1], Skipped)
        assert [isinstance(one, Replayed) and one.same for one in steps.done] == [True, False, False]
        (steps.copy.root / "price.py").write_text("price = 3\ntax = 10\n")
        assert steps.next is calls[3]
        assert steps.meaning.arguments["command"] == "cat price.py"
        other = await steps.step({"command": "git status --short"})
        assert isinstance(other, Replayed)
        assert " M price.py" in other.difference.file_diff
        assert steps.next is None
        with pytest.raises(TraceError, match="another range"):
            await steps.step()
    assert git(folder, "status", "--short") == "M price.py\n?? new.txt"


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("claude-code/cctrace--main.jsonl", 10),
        ("claude-code/external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl", 10),
        ("claude-code/external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl", 5),
    ],
)
async def test_recorded_edits_do_the_same_to_the_recorded_file(tmp_path: Path, name: str, count: int) -> None:
    edits = [
        one
        for one in sample(name).calls
        if one.name == "Edit" and one.status == "ok" and one.detail.changes[0].original_content
    ]
    for number, call in enumerate(edits[:count]):
        folder = tmp_path / str(number)
        file = (
            folder
            / call.paths[0].partition("/Projects/external-agents/" if "external" in name else "/cctrace/")[2]
        )
        file.parent.mkdir(parents=True)
        before = call.detail.changes[0].original_content or ""
        file.write_text(before)
        replayed = await replay(call, folder, policy=FREE, confirmer=ScriptedConfirmer(ONCE))
        assert replayed.same, str(replayed)
        assert file.read_text() == before


def test_volatile_parts_are_normalized_and_reported() -> None:
    old, new = "ok 1.2s at 2026-01-01T10:00:00Z in /tmp/abc", "ok 2.3s at 2026-02-02T11:00:00Z in /tmp/def"
    assert normalize(old) == normalize(new) == "ok «duration» at «time» in «temporary path»"
    assert volatile_differences(old, new) == (
        "duration: 1.2s → 2.3s",
        "time: 2026-01-01T10:00:00Z → 2026-02-02T11:00:00Z",
        "temporary path: /tmp/abc → /tmp/def",
    )
    assert normalize("3 passed") != normalize("4 passed")


def test_tabs_that_a_patch_has_as_blanks_are_no_difference_but_an_indentation_is() -> None:
    assert same_changes("a\n+  x\n", "a\n+\tx\n") == (True, ("tabs recorded as spaces",))
    assert same_changes("a\n+  x\n", "a\n+   x\n")[0] is False


def test_an_interrupt_ends_a_replay_and_its_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    folder = shop(tmp_path / "shop")
    call = log(tmp_path / "log.jsonl", bash("touch begun; sleep 600", "")).calls[0]

    def interrupt() -> None:
        assert comes_true(lambda: list(copies.glob("nbtools-replay-*/shop/begun")))
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # pytest-asyncio may have left the one of its runner
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            replay_sync(call, folder, policy=FREE)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not list(copies.glob("nbtools-replay-*"))
