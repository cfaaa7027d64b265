"""The line that says who decided: the rule, where it stands, and what of the call it speaks of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nbtools.cards.decision_text import note_of, record_of
from nbtools.core.call import Approval
from nbtools.core.confirmation import Answer, ToolConfirmationOutcome, ToolConfirmationPayload, rules_added
from nbtools.core.decision import Action, Decision
from nbtools.core.tool import Kind
from tests.cards.calls import edit_details, executing, plan, question


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision(Action.ALLOW, "…", "edit"), "Allowed by rule edit"),
        (Decision(Action.ALLOW, "…", "edit", source="session"), "Allowed by rule edit of this session"),
        (
            Decision(Action.ALLOW, "…", "shell(ls:*)", "ls", "user"),
            "Allowed by rule shell(ls:*) of the user, for ls",
        ),
        (Decision(Action.ALLOW, "…", "shell(ls:*)", source="grant"), "Allowed by grant shell(ls:*)"),
        (
            Decision(Action.ALLOW, "…", "edit(src/**)", "src/a.py", "saved"),
            "Allowed by saved grant edit(src/**), for src/a.py",
        ),
        (
            Decision(Action.ALLOW, "…", "edit", source="grant, project"),
            "Allowed by rule edit of a grant and the project",
        ),
        (
            Decision(Action.DENY, "…", "shell(rm:*)", "rm x", "project"),
            "✕ Denied by rule shell(rm:*) of the project, for rm x",
        ),
        (Decision(Action.DENY, "plan changes nothing", "plan"), "✕ Denied by rule plan"),
    ],
)
def test_a_rule_is_named_with_its_place_and_part(decision: Decision, expected: str) -> None:
    assert record_of(executing(plan(Kind.EDIT, decision))) == expected


def test_a_call_that_changes_nothing_has_only_a_note() -> None:
    call = executing(plan(Kind.SEARCH))
    assert record_of(call) == ""
    assert note_of(call) == "allowed: searching changes nothing (mode default)"


def test_a_part_is_shown_in_one_line() -> None:
    record = record_of(
        executing(
            plan(Kind.EDIT, Decision(Action.ALLOW, "…", "shell(a:*)", "a\nb\u202e" + "c" * 100, "user"))
        )
    )
    assert "a ⏎ b‹U+202E›" in record
    assert "\n" not in record
    assert record.endswith("…")


@pytest.mark.parametrize(
    ("chosen", "save", "expected"),
    [
        ((), False, "granted for this session: edit"),
        (("edit(src/**)",), False, "granted for this session: edit(src/**)"),
        (("edit(src/**)",), True, "granted for this project: edit(src/**)"),
    ],
)
def test_an_always_is_recorded_with_the_rules_that_it_added(
    chosen: tuple[str, ...], save: bool, expected: str
) -> None:
    confirmation = replace(question(edit_details()), offers=("edit",), narrower=("edit(src/**)",))
    answer = Answer(
        ToolConfirmationOutcome.PROCEED_ALWAYS,
        ToolConfirmationPayload(rules=chosen) if chosen else None,
        save=save,
    )
    assert record_of(executing(None, Approval(confirmation, answer, 0.0))).endswith(expected)


def test_a_rule_that_was_not_offered_is_not_added() -> None:
    confirmation = replace(question(edit_details()), offers=("edit",), narrower=("edit(src/**)",))
    answer = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, ToolConfirmationPayload(rules=("delete",)))
    assert rules_added(answer, confirmation) == ()
    assert "granted" not in record_of(executing(None, Approval(confirmation, answer, 0.0)))
