"""Every state of a call says what it must."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from nbtools.cards.blocks import MAX_LINES
from nbtools.cards.card import bundle, card_of
from nbtools.cards.card_model import (
    MIME,
    Card,
    DiffBlock,
    MatchesBlock,
    OutputBlock,
    QuestionBlock,
    TextBlock,
)
from nbtools.cards.phrases import FAILED
from nbtools.core.call import Approval, CancelledCall, ErroredCall, OutputEvent, ScheduledCall, ValidatingCall
from nbtools.core.confirmation import (
    Answer,
    Choice,
    Question,
    ToolAskConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
)
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, Raised, ToolError
from nbtools.core.result import (
    CellPlace,
    CommandOutput,
    Entry,
    FileDiffs,
    FileText,
    Listing,
    Match,
    Matches,
    Media,
    ToolResult,
    failed,
)
from nbtools.core.result_data import ShellData
from nbtools.core.tool import Kind
from nbtools.diff.line_diff import file_diff
from tests.cards.calls import (
    AT,
    EDITS_ASK,
    NEW,
    OLD,
    approval,
    asking,
    broken,
    declined,
    done,
    edit_details,
    edit_plan,
    every_state,
    exec_details,
    executing,
    plan,
    question,
    request,
)

CLOCK = time.strftime("%H:%M", time.localtime(AT))


@pytest.mark.parametrize("event", every_state(), ids=lambda event: type(event).__name__)
def test_every_state_gives_all_three(event: Any) -> None:
    card = card_of(event, now=AT + 5)
    shown = bundle(card)
    assert list(shown) == [MIME, "text/html", "text/plain"]
    assert Card.model_validate(shown[MIME]) == card
    for text in (shown["text/html"], shown["text/plain"]):
        assert isinstance(text, str)
        assert card.status in text
        assert card.tool in text


def test_every_error_code_has_words() -> None:
    assert set(FAILED) == set(ErrorCode)
    assert all(0 < len(words) <= 26 for words in FAILED.values())


@pytest.mark.parametrize("code", ErrorCode)
def test_a_failure_says_its_message(code: ErrorCode) -> None:
    card = card_of(broken(code))
    assert card.state == "error"
    assert card.status == FAILED[code]
    assert card.blocks == (TextBlock(text="It did not work. Do otherwise.", tone="error"),)
    assert not card.folded


def test_the_traceback_of_an_own_tool_is_folded() -> None:
    raised = Raised(
        'Traceback (most recent call last):\n  File "cell 5", line 3, in query\nValueError: <b>no</b>\n'
    )
    call = broken(ErrorCode.UNHANDLED_EXCEPTION)
    card = card_of(structs.replace(call, result=replace(call.result, data=raised)))
    message, folded = card.blocks
    assert message == TextBlock(text="It did not work. Do otherwise.", tone="error")
    assert folded == TextBlock(text=raised.traceback.strip(), tone="quiet", title="Traceback")
    shown = bundle(card)
    assert Card.model_validate(shown[MIME]) == card
    assert "ValueError" not in str(shown["text/plain"])
    html = str(shown["text/html"])
    assert "ValueError: &lt;b&gt;no" in html[html.index("<details>") : html.index("</details>")]


def test_a_failed_call_still_shows_what_it_had() -> None:
    output = CommandOutput("half\n", 1, None)
    result = ToolResult("x", output, ToolError(ErrorCode.TIMEOUT, "Ended after 120 s."))
    card = card_of(ErroredCall(request(), executing(), result, AT + 120))
    assert [block.type for block in card.blocks] == ["text", "output"]
    assert card.detail == "2 min"


class TestAsking:
    def test_an_edit_shows_its_diff_and_why_it_asks(self) -> None:
        card = card_of(asking(edit_details()))
        assert card.status == "Needs your answer"
        assert (card.added, card.removed) == (2, 1)
        assert isinstance(card.blocks[0], DiffBlock)
        assert card.note == f"Approval required: {EDITS_ASK.reason}"
        assert not card.folded

    def test_a_diff_names_its_file_where_the_head_does_not(self) -> None:
        """The card is like that of a fact to be remembered, whose head is the fact."""
        there, elsewhere = (
            card_of(asking(replace(edit_details(), file_name=name))).blocks[0]
            for name in ("src/a.py", "memory.md")
        )
        assert isinstance(there, DiffBlock)
        assert isinstance(elsewhere, DiffBlock)
        assert (there.titled, elsewhere.titled) == (False, True)

    def test_the_first_of_several_files_is_called_by_its_own_name(self) -> None:
        details = replace(
            edit_details(),
            file_name="src/b.py",
            others=(file_diff("src/c.py", "c", "d"),),
            note="Found but for blanks.",
        )
        note, first, second = card_of(asking(details)).blocks
        assert isinstance(first, DiffBlock)
        assert isinstance(second, DiffBlock)
        assert [first.path, second.path] == ["src/b.py", "src/c.py"]
        assert note == TextBlock(text="⚠ Found but for blanks.", tone="warning")

    def test_several_questions_are_named_by_their_headers(self) -> None:
        questions = (Question("Which?", "Colour"), Question("Why?", "Reason"))
        assert (
            card_of(asking(ToolAskConfirmationDetails("2 questions", questions))).subject == "Colour · Reason"
        )
        unnamed = (*questions, Question("Really?"))
        assert card_of(asking(ToolAskConfirmationDetails("3 questions", unnamed))).subject == "3 questions"

    def test_a_command_says_where_it_runs(self) -> None:
        assert card_of(asking(exec_details("ls", "cart"))).subject == "in cart/"
        assert card_of(asking(exec_details("ls"))).subject == "in the workspace"
        named = replace(exec_details("ls", "src"), shell="bash")
        assert card_of(asking(named)).subject == "in src/ · runs in bash"


class TestRunning:
    def test_it_counts_seconds_and_lines(self) -> None:
        card = card_of(OutputEvent(executing(), CommandOutput("x\n", 1204, None)), now=AT + 12.4)
        assert (card.status, card.detail) == ("Running", "12.4 s · 1,204 lines")
        assert card.cancellable
        assert card.blocks[0].type == "output"

    def test_it_says_when_it_ends(self) -> None:
        class Params:
            timeout = 120

        assert card_of(executing(plan(Kind.EXECUTE, params=Params()))).note == "ends after 120 s"

    def test_only_a_running_call_can_be_cancelled(self) -> None:
        assert [card.state for card in map(card_of, every_state()) if card.cancellable] == [
            "executing",
            "executing",
        ]


class TestDone:
    def test_an_approved_edit_folds_to_two_lines(self) -> None:
        card = card_of(done(file_diff("src/a.py", OLD, NEW), edit_plan(), approval()))
        assert card.folded
        assert card.unfold == "show diff"
        assert card.record == f"✓ Approved once by you, {CLOCK} · approval required: {EDITS_ASK.reason}"
        assert card.places[0].path == "src/a.py"
        assert (card.status, card.detail) == ("Done", "0.25 s")

    def test_an_edit_that_nobody_saw_is_unfolded(self) -> None:
        by_rule = Decision(Action.ALLOW, "the rule edit(src/**) allows it", "edit(src/**)")
        card = card_of(done(file_diff("src/a.py", OLD, NEW), structs.replace(edit_plan(), decision=by_rule)))
        assert not card.folded
        assert card.record == "Allowed by rule edit(src/**)"

    def test_reading_is_allowed_quietly(self) -> None:
        card = card_of(done("text"))
        assert card.record == ""
        assert card.note == "allowed: searching changes nothing (mode default)"

    def test_changes_are_recorded_even_without_a_rule(self) -> None:
        everything = Decision(Action.ALLOW, "everything runs (mode yolo)", "everything runs")
        assert (
            card_of(done("text", plan(Kind.EDIT, everything))).record
            == "Allowed: everything runs (mode yolo)"
        )

    def test_a_search_says_its_summary_and_shows_its_hits(self) -> None:
        found = Matches(
            (
                Match("a.ipynb", 1, "x", cell=CellPlace("ab", 4)),
                Match("a.ipynb", 1, "y", cell=CellPlace("#5", 5, output=True)),
            ),
            2,
            1,
        )
        (block,) = card_of(done(found, summary="2 matches in 1 file")).blocks
        assert isinstance(block, MatchesBlock)
        assert [(group.path, group.part, group.cell) for group in block.groups] == [
            ("a.ipynb", "cell 4", "ab"),
            ("a.ipynb", "cell 5 output", ""),
        ]
        shown = bundle(card_of(done(found, summary="2 matches in 1 file")))
        assert "a.ipynb cell 4" in shown["text/plain"]
        assert "a.ipynb cell 4" in shown["text/html"]
        matches = Matches((Match("a.py", 3, "x = round(1)", ((4, 10),)), Match("b.py", 1, "round")), 2, 2)
        card = card_of(done(matches, summary="2 matches in 2 files"))
        block = card.blocks[0]
        assert isinstance(block, MatchesBlock)
        assert card.status == "2 matches in 2 files"
        assert block.groups[0].lines[0].spans == (("x = ", ""), ("round(", "hit"), ("1)", ""))
        assert not card.folded

    def test_a_text_that_is_its_own_summary_is_shown_once(self) -> None:
        assert card_of(done("No matches.", summary="No matches.")).blocks == ()

    @pytest.mark.parametrize(
        ("exit_code", "status", "failed_"), [(0, "Done", False), (3, "Exit 3", True), (None, "Ended", False)]
    )
    def test_a_command_says_how_it_ended(self, exit_code: int | None, status: str, *, failed_: bool) -> None:
        card = card_of(done(CommandOutput("x\n", 1, exit_code), plan(Kind.EXECUTE)))
        assert (card.state, card.status, card.failed) == ("success", status, failed_)

    def test_long_things_are_bounded_and_not_folded(self) -> None:
        text = FileText("a.txt", 1, tuple(f"line {number}" for number in range(1000)), 1000)
        card = card_of(done(text))
        assert not card.folded
        assert card.blocks[0].type == "code"
        assert (len(card.blocks[0].lines), card.blocks[0].total) == (MAX_LINES, 1000)

    def test_a_short_listing_is_unfolded(self) -> None:
        card = card_of(done(Listing((Entry("src", folder=True), Entry("a", size=3)), 2)))
        assert card.blocks[0].type == "listing"
        assert not card.folded

    def test_output_is_the_tail(self) -> None:
        text = "".join(f"line {number}\n" for number in range(5000))
        card = card_of(done(CommandOutput(text, 5000, 0, "out.txt"), plan(Kind.EXECUTE)))
        block = card.blocks[0]
        assert isinstance(block, OutputBlock)
        assert block.lines[-1] == (("line 4999", ""),)
        assert len(block.lines) == 200
        assert block.earlier == 4800

    def test_a_command_in_its_own_words(self) -> None:
        raised = CommandOutput("ValueError\n", 1, 1, status="Raised ValueError")
        card = card_of(done(raised, plan(Kind.EXECUTE)))
        assert (card.status, card.failed) == ("Raised ValueError", True)
        background = CommandOutput("", 0, None, note="runs in the background, id 1")
        card = card_of(done(background, plan(Kind.EXECUTE), summary="runs in the background, id 1"))
        assert (card.status, card.blocks) == ("Runs in the background, id 1", ())

    def test_a_change_says_besides_what_the_head_does_not(self) -> None:
        diff = file_diff("src/a.py", OLD, NEW)
        assert (
            card_of(done(diff, edit_plan(), summary="+2 −1 · close match")).detail == "close match · 0.25 s"
        )
        assert card_of(done(diff, edit_plan(), summary="+2 −1")).detail == "0.25 s"
        preview = card_of(
            done(FileDiffs((diff, diff)), plan(), summary="3 places in 2 files, +4 −2, not applied")
        )
        assert preview.status == "Not applied: 3 places in 2 files"

    def test_a_picture_says_what_it_is_below(self) -> None:
        card = card_of(done(Media("a.png", "image/png", b"x", "1 × 1"), plan(Kind.READ), summary="1 × 1"))
        assert card.status == "Done"

    @pytest.mark.parametrize("display", ["line\n" * 40, "word " * 1000])
    def test_a_long_text_is_not_folded(self, display: str) -> None:
        assert not card_of(done(display)).folded

    def test_answers_are_shown_below_their_questions(self) -> None:
        asked = ToolAskConfirmationDetails(
            "A question", (Question("Which?", "Colour", choices=(Choice("red"), Choice("blue"))),)
        )
        payload = ToolConfirmationPayload(answers=("blue",))
        given = Approval(question(asked), Answer(ToolConfirmationOutcome.PROCEED_ONCE, payload), AT)
        card = card_of(done("blue", plan(Kind.THINK, description="Which?"), given, "blue"))
        assert (card.status, card.subject) == ("Answered", "Colour")
        assert card.blocks == (QuestionBlock(header="", text="Which?", answer="blue"),)

    def test_places_are_those_that_are_still_there(self) -> None:
        changed, deleted = file_diff("src/a.py", OLD, NEW), file_diff("src/b.py", "b", "")
        several = card_of(done(FileDiffs((changed, deleted)), plan(Kind.EDIT, path="src")))
        assert [place.path for place in several.places] == ["src/a.py"]
        alone = card_of(done(changed, plan(Kind.EDIT, path="src")))
        assert [place.path for place in alone.places] == ["src/a.py"]
        assert [block.path for block in alone.blocks if isinstance(block, DiffBlock)] == ["src/a.py"]
        assert card_of(done("gone", plan(Kind.DELETE, path="src/b.py"))).places == ()


class TestDecisions:
    def test_always_names_what_it_added(self) -> None:
        approved = approval(ToolConfirmationOutcome.PROCEED_ALWAYS)
        assert card_of(done("x", edit_plan(), approved)).record.endswith(
            "· granted for this session: tool(src/**)"
        )

    def test_a_manual_change_is_noted(self) -> None:
        assert " · with your changes · " in card_of(done("x", edit_plan(), approval(modified=True))).record

    def test_a_denied_call_still_shows_its_request(self) -> None:
        card = card_of(declined(reason="Use cents."))
        assert card.status == "Denied"
        assert card.record.startswith("✕ Denied by you, ")
        assert card.record.endswith(f"approval required: {EDITS_ASK.reason} · “Use cents.”")
        assert [block.type for block in card.blocks] == ["diff"]
        assert card.unfold == "show diff"

    def test_a_denial_names_its_rule(self) -> None:
        decision = Decision(Action.DENY, "the rule shell(rm *) denies it", "shell(rm *)")
        last = ScheduledCall(request(), plan(Kind.EXECUTE, decision), None, AT)
        card = card_of(ErroredCall(request(), last, failed(ToolError(ErrorCode.POLICY_VIOLATION, "No.")), AT))
        assert card.record == "✕ Denied by rule shell(rm *)"
        assert card.status == "Not allowed"

    def test_a_question_taken_back_says_so(self) -> None:
        stopped = failed(ToolError(ErrorCode.CANCELLED, "Stopped."))
        card = card_of(CancelledCall(request(), asking(edit_details()), stopped, None, AT))
        assert (card.status, card.unfold) == ("Cancelled", "show diff")
        assert (
            card.record
            == f"✕ Cancelled before anybody answered, {CLOCK} · approval required: {EDITS_ASK.reason}"
        )

    def test_without_a_person_the_question_is_shown(self) -> None:
        how = failed(ToolError(ErrorCode.CONFIRMATION_REQUIRED, "Allow it with …"))
        card = card_of(ErroredCall(request(), asking(edit_details()), how, AT))
        assert card.status == "Approval required"
        assert [block.type for block in card.blocks] == ["text", "diff"]
        assert not card.folded

    def test_a_stopped_call_says_so(self) -> None:
        card = card_of(
            CancelledCall(
                request(), executing(), failed(ToolError(ErrorCode.CANCELLED, "Stopped.")), None, AT + 2
            )
        )
        assert (card.status, card.detail) == ("Cancelled", "2.0 s")
        assert card.blocks == (TextBlock(text="Stopped.", tone="quiet"),)


def test_an_unknown_tool_has_a_card_without_an_invocation() -> None:
    last = ValidatingCall(request("grpe"), AT)
    card = card_of(
        ErroredCall(
            request("grpe"), last, failed(ToolError(ErrorCode.TOOL_NOT_REGISTERED, "There is none.")), AT
        )
    )
    assert (card.tool, card.subject, card.status) == ("grpe", "src/a.py", "No such tool")


def test_a_place_outside_the_workspace_stays_absolute(tmp_path: Any) -> None:
    reading = plan(Kind.READ, path=str(tmp_path / "x.txt"))
    assert card_of(done("x", reading)).places[0].path == str(tmp_path / "x.txt")
    assert card_of(done("x", reading), root=str(tmp_path)).places[0].path == "x.txt"


def test_a_folder_that_a_command_runs_in_is_no_place_to_open(tmp_path: Any) -> None:
    assert card_of(done("x", plan(Kind.EXECUTE, path=str(tmp_path / "sub"))), root=str(tmp_path)).places == ()
    assert card_of(done("x", plan(Kind.READ, path=str(tmp_path))), root=str(tmp_path)).places == ()


def test_a_description_is_one_line_with_everything_visible() -> None:
    card = card_of(executing(plan(description="rm a\n\u202eb\x1b[2J")))
    assert card.subject == "rm a ⏎ ‹U+202E›b‹U+001B›[2J"


def test_the_reason_for_asking_is_a_rule_where_there_is_one() -> None:
    rule = replace(EDITS_ASK, reason="the rule edit(src/**) asks for it", rule="edit(src/**)")
    assert (
        card_of(asking(edit_details(), rule)).note == "Approval required: the rule edit(src/**) asks for it"
    )


WORDS = "In a sandbox: writes stay in the workspace, no network"


@pytest.mark.parametrize(
    ("words", "note", "ending"),
    [(WORDS, "", WORDS[1:]), ("", "", ""), (WORDS, f"could not write; {WORDS}", "")],
    ids=["ending", "off", "in the body"],
)
def test_the_sandbox_of_a_command_is_in_the_record(words: str, note: str, ending: str) -> None:
    call = done(CommandOutput("x", 1, 0, "", note), plan(Kind.EXECUTE))
    data = ShellData(0, "", 1, 2, 0.1, "", text="x", sandbox=words)
    record = card_of(structs.replace(call, result=replace(call.result, data=data))).record
    assert record.endswith(ending)
    assert ("sandbox" in record) is bool(ending)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            ToolResult("a <b>", Matches((Match("a.py", 3, "a <b>"),), 1, 1), summary="1 match"),
            ("1 match", "a.py", "a &lt;b&gt;"),
        ),
        (
            failed(ToolError(ErrorCode.FILE_NOT_FOUND, "There is no <b>.")),
            (FAILED[ErrorCode.FILE_NOT_FOUND], "There is no &lt;b&gt;."),
        ),
    ],
)
def test_a_result_alone_has_a_card_for_front_ends_that_show_values(
    result: ToolResult, words: tuple[str, ...]
) -> None:
    mime_type, html = result._mime_()
    assert mime_type == "text/html"
    assert "<b>" not in html
    assert all(word in html for word in words)


def test_paths_are_of_the_folder_in_which_the_kernel_is_now(monkeypatch, tmp_path) -> None:
    for folder in (tmp_path, tmp_path / "below"):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        card = card_of(done(file_diff("src/a.py", OLD, NEW), edit_plan()))
        assert [place.path for place in card.places] == ["src/a.py"]
