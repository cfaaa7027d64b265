"""A recorded call's card against what a live one would be."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from nbtools import traces
from nbtools.cards.blocks import blocks_of
from nbtools.cards.card_model import Card
from nbtools.cards.html import card_html
from nbtools.cards.text import card_text
from nbtools.core.result import CommandOutput, DiffStat, FileDiff, Media, TodoItem, TodoList
from nbtools.core.tool import Icon
from nbtools.traces.explorer.recorded_card import recorded_card
from nbtools.traces.model import Call, Detail
from tests.traces.explorer.samples import CLAUDE, LOGS, sample


def card(detail: Detail | None = None, cwd: str = "", **fields: Any) -> Card:
    values = {
        "session": "s",
        "id": "c",
        "seq": 0,
        "name": "Tool",
        "op": "other",
        "origin": None,
        "status": "ok",
        **fields,
    }
    return recorded_card(Call(**values), detail or Detail(args={}), cwd=cwd)


def diff(path: str = "/p/src/a.py") -> FileDiff:
    return FileDiff("", path, "a = 1\n", "a = 2\nb = 3\n", DiffStat())


@pytest.mark.parametrize("log", LOGS)
def test_every_call_of_a_log_has_a_card_that_can_be_drawn_everywhere(log: str) -> None:
    trace = traces.load(sample(log))
    for call in trace.calls:
        drawn = recorded_card(call, call.detail)
        assert Card.model_validate_json(drawn.model_dump_json()) == drawn
        assert drawn.icon in set(Icon)
        assert drawn.tool in card_text(drawn)
        assert "<script" not in card_html(drawn)


def test_blocks_are_those_of_a_live_card() -> None:
    trace = traces.load(sample(CLAUDE))
    kinds: Counter[str] = Counter()
    for call in trace.calls:
        detail = call.detail
        if call.op == "read" and call.status == "ok":
            assert recorded_card(call, detail).blocks == blocks_of(detail.display)
        kinds.update(block.type for block in recorded_card(call, detail).blocks)
    assert {"diff", "output", "code", "listing", "text", "command"} <= set(kinds)


def test_an_edit_shows_its_diff_under_its_path_in_the_project() -> None:
    drawn = card(
        Detail(args={}, display=diff()), op="edit", cwd="/p", subject="/p/src/a.py", paths=("/p/src/a.py",)
    )
    assert (drawn.subject, drawn.added, drawn.removed, drawn.status) == ("src/a.py", 2, 1, "Done")
    (block,) = drawn.blocks
    assert (block.type, block.path) == ("diff", "src/a.py")
    assert not drawn.folded


def test_a_failed_edit_shows_its_reason_and_its_texts_and_counts_no_line() -> None:
    drawn = card(
        Detail(args={}, result="no match", display="no match", changes=(diff(),)),
        op="edit",
        status="error",
        status_source="flag",
    )
    assert [block.type for block in drawn.blocks] == ["text", "text", "diff"]
    assert (drawn.state, drawn.status, drawn.added, drawn.removed) == ("error", "Failed", 0, 0)
    assert drawn.blocks[0].tone == "error"


@pytest.mark.parametrize(
    ("fields", "code", "state", "failed", "status"),
    [
        ({}, 0, "success", False, "Done"),
        ({}, None, "success", False, "Done"),
        ({"exit_code": 2}, 2, "success", True, "Exit 2"),
        ({"status": "error", "status_source": "exit_code", "exit_code": 1}, 1, "success", True, "Exit 1"),
        ({"status": "error", "status_source": "flag"}, None, "error", False, "Failed"),
        ({"status": "interrupted"}, None, "cancelled", False, "Interrupted"),
        ({"status": "denied"}, None, "cancelled", False, "Denied"),
        ({"status": "unanswered"}, None, "cancelled", False, "No answer recorded"),
        ({"status": "unknown"}, None, "cancelled", False, "Outcome not recorded"),
    ],
)
def test_a_command_says_how_it_ended(
    fields: dict[str, Any], code: int | None, state: str, failed: bool, status: str
) -> None:
    drawn = card(
        Detail(args={}, command="make", display=CommandOutput("out\n", 1, code)), op="shell", **fields
    )
    assert (drawn.state, drawn.failed, drawn.status) == (state, failed, status)
    assert [block.type for block in drawn.blocks] == ["output"]


def test_a_command_that_the_head_cannot_hold_is_shown_in_parts() -> None:
    drawn = card(Detail(args={}, command="cd src &&\nmake all", display=CommandOutput("", 0, 0)), op="shell")
    assert [block.type for block in drawn.blocks] == ["command"]
    assert "⏎" in drawn.subject


def test_colours_pictures_and_lists_are_what_they_are_in_a_live_card() -> None:
    coloured = card(Detail(args={}, display=CommandOutput("\x1b[31mred\x1b[0m\n", 1, 0)), op="shell")
    assert coloured.blocks[0].lines == ((("red", "fg1"),),)
    assert card(Detail(args={}, display=Media("a.png", "image/png", b"x"))).blocks[0].type == "image"
    assert card(Detail(args={}, display=TodoList((TodoItem("one"),))), op="plan").blocks[0].type == "todo"
    assert card(Detail(args={}, display="# Found"), op="agent").blocks[0].markdown


def test_the_foot_names_the_time_the_permission_and_the_doubts() -> None:
    record = card(at=0.0, turn=3, permission="accept-edits mode", status_source="text", live=False).record
    assert record.startswith("Recorded 19")
    assert record.endswith(
        " · turn 3 · accept-edits mode · outcome inferred from the text of the result · on a rewound branch"
    )
    assert card().record == "Recorded"


def test_it_links_to_no_file_of_another_machine() -> None:
    trace = traces.load(sample(CLAUDE))
    assert all(
        "href" not in card_html(recorded_card(call, call.detail))
        for call in trace.calls
        if call.op in ("read", "list", "edit")
    )
