"""The files that a session changed, and their diffs over the session."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import nbtools
from nbtools.core.result import DiffStat, FileDiff
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.explorer_messages import TraceChanges, TraceOpened
from nbtools.traces.explorer.file_changes import Part, _follow
from tests.browser.long_log import Record, write_log
from tests.traces.explorer.asking import Problem, ask
from tests.traces.explorer.samples import CLAUDE, LOGS, sample


def changes_of(explorer: Explorer) -> TraceChanges:
    reply = ask(explorer, "changes")
    assert isinstance(reply, TraceChanges)
    return reply


def diff_of(explorer: Explorer, path: str) -> TraceOpened:
    reply = ask(explorer, "file_diff", path=path)
    assert isinstance(reply, TraceOpened)
    return reply


def texts(opened: TraceOpened) -> list[str]:
    return [block.text for block in opened.card.blocks if block.type == "text"]


@pytest.mark.parametrize("log", LOGS)
def test_every_changed_file_has_a_diff_or_says_which_steps_are_missing(log: str) -> None:
    explorer = nbtools.open_trace(sample(log))
    for file in changes_of(explorer).files:
        opened = diff_of(explorer, file.path)
        steps = [part.line for part in file.steps if part.line is not None]
        assert steps == sorted(steps)
        assert 0 < len(steps) <= file.changes
        assert opened.around[0].parts == file.steps
        named = any(text.startswith("Not in this diff: Step") for text in texts(opened))
        assert named or any(block.type == "diff" for block in opened.card.blocks), file


def test_the_diff_is_the_net_effect_of_several_changes() -> None:
    explorer = nbtools.open_trace(sample(CLAUDE))
    files = {file.path: file for file in changes_of(explorer).files}
    agent = files["e2e/agents/agent.go"]
    assert (agent.kind, agent.changes, agent.added, agent.removed, agent.complete) == ("new", 2, 145, 0, True)
    assert [part.text for part in agent.steps] == ["28", ", ", "76"]
    blocks = [block for block in diff_of(explorer, agent.path).card.blocks if block.type == "diff"]
    assert [(block.added, block.removed, block.created) for block in blocks] == [(145, 0, True)]
    refused = ask(explorer, "file_diff", path="nope")
    assert isinstance(refused, Problem)
    assert "No change of nope" in refused


def write_edits(path: Path, *edits: dict[str, Any]) -> Explorer:
    said: list[Record] = [("user", {"role": "user"}, "Change it.")]
    for number, edit in enumerate(edits):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Write" if "content" in edit else "Edit"}
        said.append(
            (
                "assistant",
                {"role": "assistant", "id": f"m{number}"},
                [use | {"input": {"file_path": "/w/a.py", **edit}}],
            )
        )
        said.append(
            (
                "user",
                {"role": "user"},
                [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}],
            )
        )
    return nbtools.open_trace(write_log(path, "/w", said))


def test_unconnected_parts_stay_separate_and_are_marked(tmp_path: Path) -> None:
    explorer = write_edits(
        tmp_path / "a.jsonl",
        {"old_string": "one\n", "new_string": "1\n"},
        {"old_string": "far away\n", "new_string": "near\n"},
        {"old_string": "1\n", "new_string": "I\n"},
    )
    opened = diff_of(explorer, "a.py")
    assert sum(block.type == "diff" for block in opened.card.blocks) == 2
    assert any("how these 2 parts" in text for text in texts(opened))
    assert {"Step 3", "Steps 2, 4"} <= set(texts(opened))


def test_a_change_taken_back_leaves_no_diff(tmp_path: Path) -> None:
    explorer = write_edits(
        tmp_path / "a.jsonl", {"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "a"}
    )
    opened = diff_of(explorer, "a.py")
    assert not any(block.type == "diff" for block in opened.card.blocks)
    assert any("the same again" in text for text in texts(opened))


def test_a_file_name_is_data(tmp_path: Path) -> None:
    explorer = write_edits(tmp_path / "a.jsonl", {"content": "x\n", "file_path": "/w/<img src=x>\u202e.py"})
    (file,) = changes_of(explorer).files
    assert "\u202e" not in file.label
    assert "\u202e" not in json.dumps(diff_of(explorer, file.path).card.model_dump(), ensure_ascii=False)


def test_only_certain_changes_are_joined() -> None:
    def follow(*pairs: tuple[str | None, str]) -> list[tuple[str | None, str]]:
        parts: list[Part] = []
        for (old, new), line in zip(pairs, itertools.count(), strict=False):
            _follow(parts, FileDiff("", "a", old, new, DiffStat()), line)
        return [(part.before, part.after) for part in parts]

    assert follow((None, "a\nb\n"), ("b\n", "c\n")) == [(None, "a\nc\n")]
    assert follow((None, "b\nb\n"), ("b\n", "c\n")) == [(None, "b\nb\n"), ("b\n", "c\n")], (
        "which of the two is not known"
    )
    assert follow(("b\n", "c\n"), ("a\nc\nd\n", "a\nx\nd\n")) == [("a\nb\nd\n", "a\nx\nd\n")], (
        "the whole text is known later"
    )
    assert follow(("b\n", "c\n"), (None, "new\n")) == [("b\n", "c\n"), (None, "new\n")]
    assert follow((None, "1\n"), (None, "2\n")) == [(None, "2\n")]
