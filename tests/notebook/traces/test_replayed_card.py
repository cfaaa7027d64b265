"""Recorded calls run again from cells of a real kernel."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtools.replay import replay_sync
from nbtools.replay.temp_folders import PREFIX, TempFolder, parent_folder
from tests.notebook.conftest import Lab, a_kernel, card_in
from tests.notebook.traces.test_magic import card
from tests.replay.samples import bash, edit, log, shop

CARD = "application/vnd.nbtools.call.v1+json"
RANGE = "steps = %trace log.jsonl --replay 2-5 --in shop --at main"


@pytest.fixture
def recorded(project: Path) -> Path:
    """A log beside the notebook, and the repository that stands for its folder:
    step 4 does not do what is recorded.
    """
    shop(project / "shop")
    log(
        project / "log.jsonl",
        edit("price = 1", "price = 3"),
        bash("cat price.py; echo took 0.25s", "price = 3\ntax = 2\ntook 0.31s"),
        edit("tax = 9", "tax = 10"),
        bash("cat price.py", "price = 3\ntax = 10"),
        ("Skill", {"skill": "x"}, "", {}),
    )
    return project


@pytest.fixture
def copies(lab: Any) -> Iterator[Callable[[], list[Path]]]:
    """Lists the copies that this kernel has made, in a folder of its own:
    the usual one has those of other processes too.
    """
    with tempfile.TemporaryDirectory(dir=parent_folder()) as folder:
        lab.run(f"import tempfile; tempfile.tempdir = {folder!r}")
        yield lambda: list(Path(folder).glob(f"*{PREFIX}*"))
        lab.run("tempfile.tempdir = None")


def test_a_call_that_comes_out_the_same(lab: Any, recorded: Path, copies: Callable[[], list[Path]]) -> None:
    cell = lab.run("%trace log.jsonl --replay 2 --in shop --at main")
    shown = card(cell)
    assert (shown["status"], shown["detail"], shown["failed"]) == ("Same as recorded", "step 2", False)
    assert "temporary copy of commit " in shown["record"]
    assert copies() == []
    assert (recorded / "shop" / "price.py").read_text() == "price = 5\ntax = 2\n"


def test_a_call_that_does_not_shows_the_difference_and_how_to_go_on(lab: Any, recorded: Path) -> None:
    shown = card(lab.run("%trace log.jsonl --replay 2 --in shop"))
    assert (shown["status"], shown["failed"]) == ("Different from recorded", True)
    assert "not found" in str(shown["blocks"][0])
    assert "--at COMMIT" in shown["blocks"][-1]["text"]


def test_a_command_asks_with_buttons_and_says_what_it_passes_over(lab: Any, recorded: Path) -> None:
    lab.run("%tools allow write")
    cell = lab.start("r = %trace log.jsonl --replay 3 --in shop")
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert card(cell)["status"] == "Different from recorded"
    assert lab.value("r.volatile, r.ran") == ((), True)
    assert "took 0.31s" in lab.value("r.difference.original_content")


def test_the_copy_has_the_rules_of_the_notebook_and_denials_apply(lab: Any, recorded: Path) -> None:
    lab.run("%tools allow shell(cat:*)\n%tools allow shell(echo:*)")
    (recorded / "shop" / "price.py").write_text("price = 3\ntax = 2\n")
    shown = card(lab.run("%trace log.jsonl --replay 3 --in shop"))
    assert shown["status"] == "Same as recorded"
    assert "duration: 0.31s → 0.25s" in shown["blocks"][0]["text"]
    lab.run("%tools deny shell")
    refused = card(lab.run("%trace log.jsonl --replay 3 --in shop"))
    assert (refused["status"], refused["state"]) == ("Not run", "cancelled")


def test_nobody_to_ask(lab: Any, recorded: Path) -> None:
    shown = card(lab.run("%trace log.jsonl --replay 3 --in shop", stdin=False))
    assert shown["status"] == "Not run"
    assert "%tools allow" in shown["blocks"][0]["text"]


def test_obstacles_are_reported_and_nothing_is_copied(lab: Any, recorded: Path) -> None:
    nowhere = card(lab.run("%trace log.jsonl --replay 2"))
    assert nowhere["status"] == "Cannot be run again"
    assert "on this machine" in nowhere["blocks"][0]["text"]
    assert "--in FOLDER" in nowhere["blocks"][1]["text"]
    assert (
        "Skill has no equivalent"
        in card(lab.run("%trace log.jsonl --replay 6 --in shop"))["blocks"][0]["text"]
    )
    assert (
        "has no commit nowhere"
        in card(lab.run("%trace log.jsonl --replay 2 --in shop --at nowhere"))["blocks"][0]["text"]
    )


def test_a_running_replay_is_stopped_by_its_button(
    lab: Any, project: Path, copies: Callable[[], list[Path]]
) -> None:
    shop(project / "shop")
    log(project / "log.jsonl", bash("echo begun; sleep 60", "begun"))
    lab.run("%tools allow shell")
    cell = lab.start("%trace log.jsonl --replay 2 --in shop")
    lab.until(lambda: cell.outputs and "begun" in str(card_in(cell.outputs[0]["data"]).get("blocks")))
    running = card_in(cell.outputs[0]["data"])
    assert running["cancellable"]
    assert len(copies()) == 1
    lab.request("cards.cancel", call=running["id"])
    lab.until(lambda: cell.done)
    assert card(cell)["status"] == "Cancelled"
    assert copies() == []


def test_a_range_goes_to_where_results_part_and_on_by_hand(lab: Any, recorded: Path) -> None:
    lab.run("%tools allow shell")
    cell = lab.run(RANGE)
    assert cell.error == ""
    board, parted = (output["data"] for output in cell.outputs)
    assert "2 same · 1 different" in board["text/plain"]
    assert "done → text not found · different" in board["text/plain"]
    assert card_in(parted)["detail"] == "step 4"
    assert lab.value("steps.next.number, dict(steps.meaning.arguments)['command']") == ("5", "cat price.py")
    edited = card_in(lab.run("steps.again(old='tax = 2', new='tax = 10')").outputs[0]["data"])
    assert (edited["detail"], "recorded → now" in str(edited["blocks"])) == ("step 4", True)
    assert card_in(lab.run("steps.step(nonsense=1)").outputs[0]["data"])["failed"]
    assert lab.value("len(steps.done)") == 3
    last = lab.run("steps.run()")
    assert "4 of 4 calls · 3 same · 1 different" in last.outputs[0]["data"]["text/plain"]
    root = Path(lab.value("str(steps.root)"))
    assert (root / "price.py").read_text() == "price = 3\ntax = 10\n"
    lab.run("steps.close(); steps.close()")
    assert not root.exists()
    assert "is deleted" in lab.run("steps").outputs[0]["data"]["text/plain"]
    assert "start again" in lab.run("steps.step()").text


def test_steps_are_passed_over(lab: Any, recorded: Path) -> None:
    lab.run("%tools allow shell")
    lab.run(RANGE)
    assert card_in(lab.run("steps.skip()").outputs[0]["data"])["status"] == "Skipped"
    assert "all calls of the range" in lab.run("steps.skip()").text
    assert "skipped" in lab.run("steps").outputs[0]["data"]["text/html"]
    lab.run("steps.close()")


def test_a_kernels_end_takes_its_copies_along(tmp_path: Path) -> None:
    shop(tmp_path / "shop")
    log(tmp_path / "log.jsonl", edit("price = 1", "price = 3"))
    with a_kernel(tmp_path) as manager:
        lab = Lab(manager)
        lab.run("%load_ext nbtools")
        lab.run("steps = %trace log.jsonl --replay 2-2 --in shop --at main")
        root = Path(lab.value("str(steps.root)"))
        assert root.is_dir()
        lab.run("%unload_ext nbtools")
        assert not root.exists()
        lab.run("%load_ext nbtools")
        lab.run("steps = %trace log.jsonl --replay 2-2 --in shop --at main")
        killed = Path(lab.value("str(steps.root)"))
        os.kill(lab.value("__import__('os').getpid()"), signal.SIGKILL)
        lab.close()
    assert killed.is_dir()
    TempFolder().close()
    assert not killed.exists()


def test_a_replay_shows_itself_without_the_extension(tmp_path: Path) -> None:
    call = log(tmp_path / "log.jsonl", edit("price = 5", "price = 3")).calls[0]
    shown = replay_sync(call, shop(tmp_path / "shop"))._repr_mimebundle_()
    assert card_in(shown)["status"] == "Same as recorded"
    assert set(shown) == {CARD, "text/html", "text/plain"}
