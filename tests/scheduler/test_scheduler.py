"""Every call keeps the law of states, whatever is thrown at it."""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtools
from nbtools import (
    BaseDeclarativeTool,
    BaseToolInvocation,
    ErrorCode,
    Kind,
    Policy,
    Session,
    ToolFailure,
    ToolResult,
    tool,
)
from nbtools.core.call import (
    AwaitingApprovalCall,
    CallEvent,
    CancelledCall,
    ErroredCall,
    ExecutingCall,
    OutputEvent,
    ScheduledCall,
    SuccessfulCall,
    ToolCall,
    ValidatingCall,
)
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.errors import traceback_text
from nbtools.core.tool import UpdateOutput
from nbtools.hooks import Ask, before
from nbtools.testing import ALWAYS, CANCEL, ONCE, RecordingObserver, ScriptedConfirmer
from tests.examples import examples

SCHEMA = {"type": "object", "properties": {"turns": {"type": "integer"}}}


class Invocation(BaseToolInvocation[Mapping[str, Any]]):
    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        text = self.params.get("text", "done")
        for _ in range(self.params.get("turns", 0)):
            if update_output is not None:
                update_output(text)
            await asyncio.sleep(0)
        if self.params.get("forever"):
            await asyncio.Event().wait()
        match self.params.get("end"):
            case "failure":
                raise ToolFailure(ErrorCode.CONFLICT, self.params.get("text", "it changed meanwhile"))
            case "exit":
                raise SystemExit(3)
            case "bug":
                raise ZeroDivisionError("oops")
            case "system":
                raise OSError(errno.ENOSPC, "No space left on device", "disk.txt")
        return ToolResult(text, text, data=dict(self.params))


class Play(BaseDeclarativeTool[Mapping[str, Any]]):
    description = "does as it is told"
    can_update_output = True
    parameters = SCHEMA

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind

    def create_invocation(self, params: Mapping[str, Any]) -> Invocation:
        if params.get("end") == "broken build":
            raise KeyError("a bug in the tool")
        return Invocation(params)


def session(
    policy: Policy | None = None, confirmer: Any = None, observer: RecordingObserver | None = None
) -> Session:
    tools = [Play("look", Kind.READ), Play("change", Kind.EDIT)]
    return Session(
        ".", tools=tools, policy=policy, confirmer=confirmer, observers=[observer] if observer else []
    )


async def test_an_allowed_call_passes_through_four_states() -> None:
    seen = RecordingObserver()
    async with session(observer=seen) as s:
        result = await s.call("look", {"turns": 1}, id="a")
    assert result.ok
    assert seen.states("a") == ["validating", "scheduled", "executing", "success"]
    assert len(seen.events) == 5
    last = s.history[0]
    assert isinstance(last, SuccessfulCall)
    assert last.last.plan.decision.reason == "reading changes nothing (mode default)"


async def test_an_asked_call_waits_for_its_yes() -> None:
    seen, person = RecordingObserver(), ScriptedConfirmer(ONCE)
    async with session(confirmer=person, observer=seen) as s:
        assert (await s.call("change", {}, id="a")).ok
    assert seen.states("a") == ["validating", "awaiting_approval", "scheduled", "executing", "success"]
    assert person.asked[0].offers == ("change",)


async def test_always_asks_once() -> None:
    person = ScriptedConfirmer(ALWAYS)
    async with session(confirmer=person) as s:
        assert (await s.call("change", {})).ok
        assert (await s.call("change", {})).ok
        assert s.grants == ("change",)
        assert s.revoke("change")
        assert s.decide("change", {}).action == "ask"
    assert len(person.asked) == 1


async def test_a_denial_is_reported_and_runs_nothing() -> None:
    async with session(
        confirmer=ScriptedConfirmer(Answer(ToolConfirmationOutcome.CANCEL, reason="not today"))
    ) as s:
        result = await s.call("change", {})
    assert result.error is not None
    assert result.error.code == ErrorCode.CONFIRMATION_DENIED
    assert "not today" in result.error.message
    assert isinstance(s.history[0], CancelledCall)


async def test_nobody_to_ask_says_how_to_allow() -> None:
    async with session() as s:
        result = await s.call("change", {})
    assert result.error is not None
    assert result.error.code == ErrorCode.CONFIRMATION_REQUIRED
    assert "Policy(allow=['change'])" in result.error.message


async def test_policy_denies_without_a_question() -> None:
    person = ScriptedConfirmer()
    async with session(Policy(mode="plan"), person) as s:
        result = await s.call("change", {})
    assert result.error is not None
    assert result.error.code == ErrorCode.POLICY_VIOLATION
    assert person.asked == []


async def test_modified_arguments_are_validated_and_asked_again() -> None:
    changed = Answer(
        ToolConfirmationOutcome.MODIFY_WITH_EDITOR, ToolConfirmationPayload(arguments={"turns": 3})
    )
    person, seen = ScriptedConfirmer(changed, ONCE), RecordingObserver()
    async with session(confirmer=person, observer=seen) as s:
        result = await s.call("change", {"turns": 1}, id="a")
    assert result.data == {"turns": 3}
    assert result.llm_content.endswith("[The person changed the call before it ran; it ran with turns=3]")
    assert seen.states("a")[1:3] == ["awaiting_approval", "awaiting_approval"]
    wrong = Answer(
        ToolConfirmationOutcome.MODIFY_WITH_EDITOR, ToolConfirmationPayload(arguments={"turns": "many"})
    )
    async with session(confirmer=ScriptedConfirmer(wrong)) as s:
        result = await s.call("change", {})
    assert result.error is not None
    assert result.error.code == ErrorCode.INVALID_TOOL_PARAMS


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("failure", ErrorCode.CONFLICT, "it changed meanwhile"),
        ("bug", ErrorCode.UNHANDLED_EXCEPTION, "look failed with ZeroDivisionError: oops"),
        ("system", ErrorCode.NO_SPACE_LEFT, "disk.txt: no space is left"),
        ("broken build", ErrorCode.UNHANDLED_EXCEPTION, "KeyError"),
        ("exit", ErrorCode.UNHANDLED_EXCEPTION, "SystemExit: 3"),
    ],
)
async def test_every_exception_becomes_a_result(end: str, code: ErrorCode, words: str) -> None:
    async with session() as s:
        result = await s.call("look", {"end": end})
    assert result.error is not None
    assert result.error.code == code
    assert words in result.error.message
    assert isinstance(s.history[0], ErroredCall)


@tool
def looks_up(name: str) -> str:
    """Looks a name up.

    name: what to look up
    """
    try:
        return {"one": "1"}[name]
    except KeyError as missing:
        raise LookupError(f"nothing is called {name}") from missing


async def test_a_result_has_the_traceback_of_an_exception_from_the_tools_own_code_on() -> None:
    async with Session(".", tools=[looks_up], policy=Policy(allow=["looks_up"])) as s:
        result = await s.call("looks_up", {"name": "two"})
    files = re.findall(r'File "(.+?)", line', result.traceback)
    assert files == [__file__, __file__], "that of the cause, then that of the exception"
    assert result.traceback.endswith("LookupError: nothing is called two\n")
    async with session() as s:
        own = await s.call("look", {"end": "bug"})
    assert own.traceback.endswith("ZeroDivisionError: oops\n")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("there is no text")


@tool
def cannot_say_why() -> str:
    """Fails, and cannot say why."""
    raise UnprintableError


async def test_an_exception_without_a_text_becomes_a_result_too() -> None:
    async with Session(".", tools=[cannot_say_why], policy=Policy(allow=["cannot_say_why"])) as s:
        result = await s.call("cannot_say_why", {})
        assert s.active == ()
    assert result.error is not None
    assert result.error.code == ErrorCode.UNHANDLED_EXCEPTION
    assert "UnprintableError" in result.error.message


def raises() -> None:
    raise ValueError("no")


def test_a_package_whose_name_begins_like_ours_is_not_left_out_of_a_traceback() -> None:
    space: dict[str, Any] = {"raises": raises}
    exec(
        compile("def calls():\n    raises()", f"{Path(nbtools.__file__).parent}_more/tools.py", "exec"), space
    )
    with pytest.raises(ValueError, match="no") as caught:
        space["calls"]()
    entry = caught.value.__traceback__
    assert entry is not None
    assert "_more/tools.py" in traceback_text(caught.value.with_traceback(entry.tb_next))


class BrokenConfirmer:
    async def ask(self, confirmation: Confirmation) -> Answer:
        raise RuntimeError("the widget is gone")


async def test_a_broken_confirmer_runs_nothing_and_leaves_no_live_call() -> None:
    async with session(confirmer=BrokenConfirmer()) as s:
        result = await s.call("change", {})
        assert s.active == ()
    assert not result.ok


class Waiting:
    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.taken_back = False

    async def ask(self, confirmation: Confirmation) -> Answer:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.taken_back = True
            raise
        return ONCE


async def test_a_grant_that_comes_just_before_the_question_answers_it() -> None:
    class Granting:
        def notice(self, event: CallEvent) -> None:
            if isinstance(event, AwaitingApprovalCall):
                s.allow("change")

    class Silent:
        async def ask(self, confirmation: Confirmation) -> Answer:
            await asyncio.Event().wait()
            return ONCE

    async with asyncio.timeout(30), session(confirmer=Silent()) as s:
        s.observe(Granting())
        assert (await s.call("change", {})).ok


async def test_cancel_takes_a_question_back() -> None:
    person = Waiting()
    async with session(confirmer=person) as s:
        task = asyncio.create_task(s.call("change", {}, id="a"))
        await person.asked.wait()
        assert s.cancel("a")
        result = await task
        assert not s.cancel("a")
    assert person.taken_back
    assert result.error is not None
    assert result.error.code == ErrorCode.CANCELLED


async def test_no_observer_and_no_result_gets_a_secret_of_a_running_a_finished_a_failed_and_a_cancelled_call() -> (
    None
):
    call, seen = {"turns": 1, "text": f"a ghp_{'a1B2c3' * 6}"}, RecordingObserver()
    async with session(observer=seen) as s:
        results = [await s.call("look", call), await s.call("look", {**call, "end": "failure"})]
        running = asyncio.create_task(s.call("look", {**call, "forever": True}, id="a"))
        while not any(
            isinstance(event, OutputEvent) and event.call.request.id == "a" for event in seen.events
        ):
            await asyncio.sleep(0)
        s.cancel("a")
        results.append(await running)
    clean = "a [redacted: GitHub token]"
    assert [event.display for event in seen.events if isinstance(event, OutputEvent)] == [clean] * 3
    assert (results[0].llm_content, results[0].return_display, results[1].error.message) == (
        clean,
        clean,
        clean,
    )
    assert clean in str(results[2].llm_content)
    assert "ghp_" not in str(
        [(result.llm_content, result.return_display, result.error) for result in results]
    )


async def test_cancel_ends_a_running_and_a_queued_call_and_lets_the_others_in() -> None:
    seen = RecordingObserver()
    async with session(Policy(mode="yolo"), observer=seen) as s:
        first = asyncio.create_task(s.call("change", {"forever": True}, id="first"))
        second = asyncio.create_task(s.call("change", {}, id="second"))
        third = asyncio.create_task(s.call("change", {}, id="third"))
        while "executing" not in seen.states("first") or "scheduled" not in seen.states("third"):
            await asyncio.sleep(0)
        assert s.cancel("second")
        assert (await second).error is not None
        assert s.cancel("first")
        assert (await first).error is not None
        assert (await third).ok
    assert seen.states("second") == ["validating", "scheduled", "cancelled"]


async def test_cancelling_the_caller_cancels_the_call_and_propagates() -> None:
    seen = RecordingObserver()
    async with session(observer=seen) as s:
        task = asyncio.create_task(s.call("look", {"forever": True}, id="a"))
        while "executing" not in seen.states("a"):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(s.history[-1], CancelledCall)


async def test_a_caller_goes_on_after_its_call_was_cancelled() -> None:
    async with session() as s:

        async def caller() -> str:
            result = await s.call("look", {"forever": True}, id="a")
            await asyncio.sleep(0)
            return str(result.error and result.error.code)

        task = asyncio.create_task(caller())
        while not any(isinstance(call, ExecutingCall) for call in s.active):
            await asyncio.sleep(0)
        s.cancel("a")
        assert await task == "cancelled"
        assert task.cancelling() == 0


async def test_a_caller_cancelled_together_with_its_call_is_cancelled() -> None:
    async with session() as s:
        task = asyncio.create_task(s.call("look", {"forever": True}, id="a"))
        while not any(isinstance(call, ExecutingCall) for call in s.active):
            await asyncio.sleep(0)
        s.cancel("a")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert s.active == ()


async def test_an_id_belongs_to_one_call_at_a_time() -> None:
    async with session() as s:
        task = asyncio.create_task(s.call("look", {"forever": True}, id="a"))
        while not s.active:
            await asyncio.sleep(0)
        twin = await s.call("look", {}, id="a")
        assert twin.error is not None
        assert "id 'a'" in twin.error.message
        s.cancel("a")
        assert (await task).error is not None
        assert (await s.call("look", {}, id="a")).ok


async def test_closing_ends_running_calls() -> None:
    s = session()
    task = asyncio.create_task(s.call("look", {"forever": True}))
    while not s.active:
        await asyncio.sleep(0)
    await s.close()
    assert (await task).error is not None
    assert s.active == ()


@settings(max_examples=examples(40), deadline=None)
@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["look", "change", "nothing"]),
            st.fixed_dictionaries(
                {"turns": st.integers(0, 4), "end": st.sampled_from(["", "failure", "bug", "broken build"])}
            ),
            st.sampled_from([ONCE, ALWAYS, CANCEL]),
            st.integers(-1, 6),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_storm_of_calls_keeps_the_law(calls: list[tuple[str, dict[str, Any], Answer, int]]) -> None:
    asyncio.run(_storm(calls))


class ByCall:
    def __init__(self, answers: dict[str, Answer]) -> None:
        self._answers = answers

    async def ask(self, confirmation: Confirmation) -> Answer:
        await asyncio.sleep(0)
        return self._answers[confirmation.call_id]


FOLLOWS: dict[type[ToolCall], tuple[type[ToolCall], ...]] = {
    ValidatingCall: (AwaitingApprovalCall, ScheduledCall, ErroredCall, CancelledCall),
    # Approval is requested again when a person modified the call.
    AwaitingApprovalCall: (AwaitingApprovalCall, ScheduledCall, ErroredCall, CancelledCall),
    ScheduledCall: (ExecutingCall, ErroredCall, CancelledCall),
    # Approval is requested again when execution met a conflict and changed nothing.
    ExecutingCall: (AwaitingApprovalCall, SuccessfulCall, ErroredCall, CancelledCall),
    SuccessfulCall: (),
    ErroredCall: (),
    CancelledCall: (),
}
"""The states that may follow a state of a call."""


async def _storm(calls: list[tuple[str, dict[str, Any], Answer, int]]) -> None:
    seen = RecordingObserver()
    async with session(
        confirmer=ByCall({str(n): call[2] for n, call in enumerate(calls)}), observer=seen
    ) as s:
        tasks = [
            asyncio.create_task(s.call(name, params, id=str(n)))
            for n, (name, params, _, _) in enumerate(calls)
        ]
        for turn in range(8):
            await asyncio.sleep(0)
            for n, call in enumerate(calls):
                if call[3] == turn:
                    s.cancel(str(n))
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        assert s.active == ()
        assert len(s.history) == len(calls)
    for n in range(len(calls)):
        mine = [call for call in seen.calls if call.request.id == str(n)]
        assert mine[0].state == "validating"
        assert all(type(after) in FOLLOWS[type(before)] for before, after in pairwise(mine))
        assert mine[-1].state in ("success", "error", "cancelled")
    _never_crowded(seen)


def _never_crowded(seen: RecordingObserver) -> None:
    running: dict[str, str] = {}
    for call in seen.calls:
        running.pop(call.request.id, None)
        if isinstance(call, ExecutingCall):
            running[call.request.id] = call.request.name
            assert len(running) <= 5
            assert "change" not in running.values() or len(running) == 1


class Collecting:
    """Leaves every question open until the test answers it."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Future[Answer]] = {}
        self.withdrawn: list[str] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        self.open[confirmation.call_id] = asyncio.get_running_loop().create_future()
        try:
            return await self.open[confirmation.call_id]
        except asyncio.CancelledError:
            self.withdrawn.append(confirmation.call_id)
            raise

    async def wait_for(self, *call_ids: str) -> None:
        while not set(call_ids) <= self.open.keys():
            await asyncio.sleep(0)


@settings(max_examples=examples(50))
@given(
    st.lists(st.sampled_from(["change", "alter", "ruled", "hooked"]), min_size=1, max_size=6), st.booleans()
)
async def test_always_answers_the_open_questions_that_it_covers_and_no_others(
    names: list[str], by_person: bool
) -> None:
    """A question that a rule or a hook asks is open after it, as it would be asked again by the next call."""
    person = Collecting()
    tools = [Play(name, Kind.EDIT) for name in ("change", "alter", "ruled", "hooked")]
    hook = before("hooked", name="careful")(lambda _: [Ask("look at it")])
    async with (
        asyncio.timeout(30),
        Session(".", tools=tools, policy=Policy(ask=["ruled"]), confirmer=person, hooks=[hook]) as s,
    ):
        calls = {
            f"{number}": asyncio.create_task(s.call(name, {}, id=f"{number}"))
            for number, name in enumerate(["change", *names])
        }
        await person.wait_for(*calls)
        covered = {number for number, name in enumerate(["change", *names]) if name == "change"}
        if by_person:
            s.allow("change")
        else:
            person.open["0"].set_result(ALWAYS)
        for number in covered:
            assert (await calls[f"{number}"]).ok
        for rule in ("ruled", "hooked"):
            s.allow(rule)
        for _ in range(20):
            await asyncio.sleep(0)
        rest = {call_id for call_id, call in calls.items() if not call.done()}
        assert rest == {f"{number}" for number in range(len(calls)) if number not in covered}
        assert set(person.withdrawn) == {f"{number}" for number in covered} - (set() if by_person else {"0"})
        for call_id in rest:
            person.open[call_id].set_result(CANCEL)
            assert not (await calls[call_id]).ok
        by_grant = [
            call for call in s.history if isinstance(call, SuccessfulCall) and call.last.approval is None
        ]
        assert {call.last.plan.decision.source for call in by_grant} <= {"grant"}
        assert len(by_grant) == len(person.withdrawn)


@pytest.mark.parametrize(("policy", "asks"), [(Policy(), False), (Policy(ask=["write(a.txt)"]), True)])
async def test_writing_the_same_content_asks_nothing_unless_a_rule_does(
    tmp_path: Path, policy: Policy, asks: bool
) -> None:
    (tmp_path / "a.txt").write_text("the same\n")
    person = ScriptedConfirmer(CANCEL)
    async with Session(tmp_path, policy=policy, confirmer=person) as s:
        await s.call("read", {"path": "a.txt"})
        result = await s.call("write", {"path": "a.txt", "content": "the same\n"})
        assert result.ok is not asks
        assert len(person.asked) == asks
        assert not (await s.call("write", {"path": "a.txt", "content": "another\n"})).ok
    assert (tmp_path / "a.txt").read_text() == "the same\n"
