"""A person's edit at the prompt counts with every approving outcome;
the edited call is built and decided again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools import ErrorCode, Policy, Session
from nbtools.core.confirmation import Answer, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.hooks import BeforeCall, BeforeHook, Change
from nbtools.notebook.state.snapshot import file_changes
from nbtools.testing import ONCE, ScriptedConfirmer, temporary_workspace

APPROVALS = [
    outcome
    for outcome in ToolConfirmationOutcome
    if outcome not in (ToolConfirmationOutcome.CANCEL, ToolConfirmationOutcome.MODIFY_WITH_EDITOR)
]


def edited(outcome: ToolConfirmationOutcome, **payload: object) -> Answer:
    return Answer(outcome, ToolConfirmationPayload(**payload), by="the script")  # type: ignore[arg-type]


async def written(
    root: Path, *answers: Answer, dialect: str = "gemini", policy: Policy | None = None
) -> tuple[Session, ScriptedConfirmer]:
    person = ScriptedConfirmer(*answers)
    async with Session(root, dialect=dialect, confirmer=person, policy=policy) as session:
        await session.call("write_file" if dialect == "gemini" else "write", CALL[dialect])
    return session, person


CALL = {
    "gemini": {"file_path": "a.txt", "content": "the model's\n"},
    "nbtools": {"path": "a.txt", "content": "the model's\n"},
}


@pytest.mark.parametrize("dialect", CALL)
@pytest.mark.parametrize("outcome", APPROVALS)
async def test_an_edit_counts_with_every_approval_and_needs_one(
    outcome: ToolConfirmationOutcome, dialect: str
) -> None:
    with temporary_workspace() as root:
        session, person = await written(root, edited(outcome, new_content="mine\n"), dialect=dialect)
        assert (root / "a.txt").read_text() == "mine\n"
    assert len(person.asked) == 1
    assert session.grants == ()
    assert "mine" in str(session.history[-1].result.llm_content)


@pytest.mark.parametrize("outcome", APPROVALS)
async def test_changed_arguments_count_with_every_approval(outcome: ToolConfirmationOutcome) -> None:
    with temporary_workspace() as root:
        answer = edited(outcome, arguments={"path": "b.txt", "content": "mine\n"})
        _, person = await written(root, answer)
        assert [path.name for path in root.glob("*.txt")] == ["b.txt"]
    assert len(person.asked) == 1


@pytest.mark.parametrize(
    "payload", [{"new_content": "mine\n"}, {"arguments": {"path": "b.txt", "content": "x"}}]
)
async def test_a_cancel_never_runs_whatever_it_comes_with(payload: dict[str, object]) -> None:
    with temporary_workspace() as root:
        session, _ = await written(root, edited(ToolConfirmationOutcome.CANCEL, **payload))
        assert not list(root.glob("*.txt"))
    error = session.history[-1].result.error
    assert error is not None
    assert error.code is ErrorCode.CONFIRMATION_DENIED


@pytest.mark.parametrize("outcome", APPROVALS)
async def test_the_policy_decides_about_the_edited_call(outcome: ToolConfirmationOutcome) -> None:
    with temporary_workspace() as root:
        answer = edited(outcome, arguments={"path": "secret/b.txt", "content": "mine\n"})
        session, _ = await written(root, answer, policy=Policy(deny=["write(secret/**)"]))
        assert not list(root.rglob("*.txt"))
    error = session.history[-1].result.error
    assert error is not None
    assert error.code is ErrorCode.POLICY_VIOLATION


async def test_an_invalid_edit_runs_nothing() -> None:
    with temporary_workspace() as root:
        session, _ = await written(root, edited(ToolConfirmationOutcome.PROCEED_ONCE, arguments={"path": 7}))
        assert not list(root.glob("*.txt"))
    error = session.history[-1].result.error
    assert error is not None
    assert error.code is ErrorCode.INVALID_TOOL_PARAMS


async def test_text_that_equals_the_proposal_is_no_edit() -> None:
    with temporary_workspace() as root:
        session, _ = await written(
            root, edited(ToolConfirmationOutcome.PROCEED_ALWAYS, new_content="the model's\n")
        )
        assert (root / "a.txt").read_text() == "the model's\n"
    assert session.grants == ("write",)


async def test_a_hook_that_changes_the_edited_call_is_put_to_the_person() -> None:
    def upper(call: BeforeCall) -> Change | None:
        content = str(call.arguments["content"])
        return Change({**call.arguments, "content": content.upper()}) if content != content.upper() else None

    with temporary_workspace() as root:
        person = ScriptedConfirmer(edited(ToolConfirmationOutcome.PROCEED_ONCE, new_content="mine\n"), ONCE)
        hooks = [BeforeHook(name="upper", run=upper)]
        async with Session(root, dialect="gemini", confirmer=person, hooks=hooks) as session:
            await session.call("write_file", CALL["gemini"])
        assert (root / "a.txt").read_text() == "MINE\n"
    assert len(person.asked) == 2


async def test_a_line_that_the_person_changed_counts_once() -> None:
    with temporary_workspace() as root:
        (root / "a.txt").write_text("one\ntwo\nthree\n")
        person = ScriptedConfirmer(
            edited(ToolConfirmationOutcome.PROCEED_ONCE, new_content="one\nmine\nthree\n")
        )
        async with Session(root, confirmer=person) as session:
            await session.call("read", {"path": "a.txt"})
            result = await session.call("write", {"path": "a.txt", "content": "one\nthe model's\nthree\n"})
            changes = file_changes(session)
    assert result.return_display.changed_lines == (1, 1)
    assert result.summary.startswith("+1 −1")
    assert [(file.added, file.removed) for change in changes for file in change.files] == [(1, 1)]
