"""Asking the person, through a session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.core.confirmation import (
    Answer,
    Choice,
    Question,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
)
from nbtools.core.errors import ErrorCode
from nbtools.testing import ALWAYS, CANCEL, ONCE, ScriptedConfirmer, answers, modify
from nbtools.tools.ask import Answers, AskTool, normalize_answer
from nbtools.workspace.workspace import Workspace

COLOUR = {
    "text": "Which colour?",
    "header": "Colour",
    "choices": [{"label": "Red"}, {"label": "Blue, dark"}, {"label": "Blue"}],
}
SURE = {"text": "Sure?", "kind": "yesno"}
NAME = {"text": "What is its\nname?", "placeholder": "a short one"}


def session(tmp_path, *script, policy=None, unattended=False):
    tools = [AskTool(Workspace(tmp_path))]
    confirmer = None if unattended else ScriptedConfirmer(*script)
    return Session(tmp_path, tools=tools, policy=policy, confirmer=confirmer)


async def ask(tmp_path, *script, questions=(COLOUR,), **more):
    async with session(tmp_path, *script, **more) as s:
        return await s.call("ask", {"questions": list(questions)})


async def test_the_result_has_the_questions_and_the_answers(tmp_path):
    person = ScriptedConfirmer(answers("red", "Y", "two\nlines"))
    async with Session(tmp_path, tools=[AskTool(Workspace(tmp_path))], confirmer=person) as s:
        result = await s.call("ask", {"questions": [COLOUR, SURE, NAME]})
    assert result.llm_content == "Which colour? Red\nSure? yes\nWhat is its name? two\n  lines"
    assert result.data == Answers(("Red", "yes", "two\nlines"))
    assert result.summary == "Red, yes, two lines"
    details = person.asked[0].details
    assert (details.type, details.title, person.asked[0].offers) == ("ask", "3 questions", ())
    assert details.questions[0] == Question(
        "Which colour?", "Colour", "choice", (Choice("Red"), Choice("Blue, dark"), Choice("Blue"))
    )
    assert [question.kind for question in details.questions] == ["choice", "yesno", "text"]


@pytest.mark.parametrize(
    ("question", "typed", "meant"),
    [
        (COLOUR, " red ", "Red"),
        (COLOUR, "green", "green"),
        (COLOUR, "red, blue", "red, blue"),
        ({**COLOUR, "several": True}, "blue, RED", "Blue, Red"),
        ({**COLOUR, "several": True}, "Blue, dark, Red, Red", "Blue, dark, Red"),
        ({**COLOUR, "several": True}, "redder, , blue", "redder, Blue"),
        (SURE, "Yes.", "yes"),
        (SURE, "FALSE", "no"),
        (SURE, "only on Mondays", "only on Mondays"),
        (NAME, "yes", "yes"),
    ],
)
async def test_answers_are_understood(tmp_path, question, typed, meant):
    assert (await ask(tmp_path, answers(typed), questions=[question])).data.answers == (meant,)


@given(st.lists(st.sampled_from(["a", "b, c", "b", "d e"]), unique=True, min_size=1), st.booleans())
def test_chosen_labels_come_back_as_they_are(chosen, shout):
    question = Question(
        "?", kind="choice", choices=tuple(map(Choice, ("b", "a", "b, c", "d e"))), several=True
    )
    typed = ", ".join(chosen)
    assert normalize_answer(question, typed.upper() if shout else typed) == typed or {"b", "b, c"} <= set(
        chosen
    )


@given(st.text(max_size=30))
def test_understanding_again_changes_nothing(typed):
    for kind, several in (("choice", True), ("choice", False), ("text", False), ("yesno", False)):
        question = Question("?", kind=kind, choices=(Choice("A"), Choice("b, c")), several=several)
        once = normalize_answer(question, typed)
        assert normalize_answer(question, once) == once


@pytest.mark.parametrize(
    "policy",
    [
        Policy("yolo"),
        Policy(allow=("ask",)),
        Policy("yolo", allow=("*",)),
        Policy("plan"),
        Policy("auto_edit"),
    ],
)
async def test_no_mode_and_no_rule_answers_for_the_person(tmp_path, policy):
    assert (await ask(tmp_path, answers("Red"), policy=policy)).data.answers == ("Red",)


async def test_the_mode_dont_ask_denies_questions(tmp_path):
    result = await ask(tmp_path, policy=Policy("dont_ask"))
    assert result.error.code is ErrorCode.POLICY_VIOLATION


async def test_without_a_confirmer_the_model_is_advised_to_continue(tmp_path):
    result = await ask(tmp_path, unattended=True)
    assert result.error.code is ErrorCode.CONFIRMATION_REQUIRED
    assert "Continue with your best judgement" in result.error.message
    assert "Policy(allow" not in result.error.message


async def test_the_persons_no(tmp_path):
    assert (await ask(tmp_path, CANCEL)).error.code is ErrorCode.CONFIRMATION_DENIED


@pytest.mark.parametrize("typed", ["", " "])
async def test_a_person_may_submit_an_empty_answer(tmp_path, typed):
    result = await ask(tmp_path, answers(typed))
    assert result.ok
    assert result.data.answers == ("",)
    assert "(no answer)" in result.llm_content


async def test_a_yes_without_an_answer_is_none(tmp_path):
    assert (await ask(tmp_path, answers())).error.code is ErrorCode.CONFIRMATION_REQUIRED
    assert (await ask(tmp_path, ONCE)).error.code is ErrorCode.CONFIRMATION_REQUIRED


async def test_a_question_left_open_says_so(tmp_path):
    result = await ask(tmp_path, answers("Red", "", "", "one too many"), questions=[COLOUR, SURE, NAME])
    assert result.data.answers == ("Red", "", "")
    assert "Sure? (no answer)" in result.llm_content


async def test_always_grants_nothing_and_the_next_question_needs_an_answer(tmp_path):
    always = [
        Answer(outcome, ToolConfirmationPayload(answers=("Red",)))
        for outcome in ToolConfirmationOutcome
        if "always" in outcome
    ]
    async with session(tmp_path, *always, answers("Blue")) as s:
        for _ in always:
            assert (await s.call("ask", {"questions": [COLOUR]})).data.answers == ("Red",)
        assert (await s.call("ask", {"questions": [COLOUR]})).data.answers == ("Blue",)
        assert s.grants == ()
    assert ALWAYS.outcome in {one.outcome for one in always}


@pytest.mark.parametrize(
    "payload", [modify("x").payload, ToolConfirmationPayload(arguments={"questions": [SURE]})]
)
async def test_there_is_nothing_to_modify(tmp_path, payload):
    result = await ask(tmp_path, Answer(ToolConfirmationOutcome.MODIFY_WITH_EDITOR, payload))
    assert result.error.code is ErrorCode.INVALID_TOOL_PARAMS
    assert "answer them or deny the call" in result.error.message


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([], "at least 1"),
        ([SURE] * 5, "at most 4"),
        ([{"text": " "}], "questions.0.text"),
        ([SURE, {"text": "Which?", "kind": "choice"}], "question 2 needs at least two choices"),
        ([{"text": "Which?", "choices": [{"label": "a"}]}], "needs at least two choices"),
        ([{"text": "Which?", "choices": [{"label": "a"}, {"label": "A"}]}], "duplicate choices"),
        ([{"text": "Which?", "kind": "text", "choices": [{"label": "a"}, {"label": "b"}]}], "remove choices"),
        ([{**SURE, "several": True}], "remove choices"),
    ],
)
async def test_an_invalid_question_never_reaches_the_person(tmp_path, questions, words):
    result = await ask(tmp_path, questions=questions)
    assert result.error.code is ErrorCode.INVALID_TOOL_PARAMS
    assert words in result.error.message
