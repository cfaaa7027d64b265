"""Hooks written in Python: what they may do to a call and to its result,
and what becomes of those that go wrong.
"""

from __future__ import annotations

import asyncio
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import ErrorCode, Policy, Session, Settings
from nbtools.core.call import ErroredCall
from nbtools.core.decision import Action
from nbtools.core.errors import SessionError
from nbtools.hooks import Allow, Ask, Block, Change, Note, Replace, after, before
from nbtools.testing import CANCEL, ONCE, ScriptedConfirmer, modify
from tests.examples import examples


def saying(*verdicts: Any, name: str = "guard", matcher: str = "*", **options: Any) -> Any:
    return before(matcher, name=name, **options)(lambda _: verdicts)


def session(root: Path, *hooks: Any, policy: Policy | None = None, confirmer: Any = None) -> Session:
    (root / "a.txt").write_text("one\ntwo\n")
    return Session(root, hooks=hooks, policy=policy, confirmer=confirmer, settings=Settings(read_first=False))


WRITE = ("write", {"path": "new.txt", "content": "x"})


async def test_block_stops_the_call_and_tells_the_model_why(tmp_path: Path) -> None:
    async with session(tmp_path, saying(Block("not on a Friday."))) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert result.error.code is ErrorCode.POLICY_VIOLATION
    assert result.error.message == "The policy denies read: the hook guard blocks it: not on a Friday."


async def test_ask_puts_a_question_about_a_call_that_would_run(tmp_path: Path) -> None:
    person = ScriptedConfirmer(ONCE, CANCEL)
    async with session(tmp_path, saying(Ask("look twice")), confirmer=person) as s:
        assert (await s.call("read", {"path": "a.txt"})).ok
        assert (await s.call("read", {"path": "a.txt"})).error.code is ErrorCode.CONFIRMATION_DENIED
    assert person.asked[0].decision.reason == "the hook guard requires approval: look twice"
    assert person.asked[0].decision.rule == "hook guard"


async def test_allow_takes_the_place_of_a_yes_that_only_the_mode_wants(tmp_path: Path) -> None:
    async with session(tmp_path, saying(Allow("it is fine"))) as s:
        assert (await s.call(*WRITE)).ok
        assert s.history[-1].last.plan.decision.rule == "hook guard"


@pytest.mark.parametrize(
    "policy",
    [
        Policy(ask=("write(new.txt)",)),
        Policy(deny=("write",)),
        Policy(mode="plan"),
        Policy(mode="dont_ask"),
        Policy(allow=("write(new.txt)",), ask=("*",)),
    ],
)
async def test_an_allow_of_a_hook_ranks_below_every_rule(tmp_path: Path, policy: Policy) -> None:
    async with session(tmp_path, saying(Allow()), policy=policy) as s:
        result = await s.call(*WRITE)
    assert result.error.code in (ErrorCode.CONFIRMATION_REQUIRED, ErrorCode.POLICY_VIOLATION)
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize("order", list(permutations([Allow(), Ask(), Block("no")])))
async def test_deny_over_ask_over_allow_in_any_order(tmp_path: Path, order: tuple[Any, ...]) -> None:
    hooks = [saying(verdict, name=type(verdict).__name__) for verdict in order]
    async with session(tmp_path, *hooks) as s:
        assert (await s.call(*WRITE)).error.code is ErrorCode.POLICY_VIOLATION
        decided = await _decision(s)
    assert decided.action is Action.DENY
    assert decided.rule == "hook Block"


async def _decision(s: Session) -> Any:
    from nbtools.core.call import ToolCallRequest

    request = ToolCallRequest("x", *WRITE, "write")
    scheduler = s._scheduler
    return (await scheduler._run_before_hooks(request, scheduler.plan(request), scheduler.plan)).decision


async def test_changed_input_is_built_and_judged_again(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("other\n")
    async with session(tmp_path, saying(Change({"path": "b.txt"}))) as s:
        result = await s.call("read", {"path": "a.txt"})
        assert "other" in result.llm_content
        assert '[the hook guard changed the arguments; it ran with path="b.txt"]' in result.llm_content
        assert "the hook guard changed the arguments" in s.history[-1].last.plan.decision.reason
        assert s.history[-1].last.plan.arguments == {"path": "b.txt"}
    async with session(
        tmp_path, saying(Change({"path": "b.txt"})), policy=Policy(deny=("read(b.txt)",))
    ) as s:
        assert (await s.call("read", {"path": "a.txt"})).error.code is ErrorCode.POLICY_VIOLATION
    async with session(tmp_path, saying(Change({"no": 1}))) as s:
        refused = await s.call("read", {"path": "a.txt"})
        assert refused.error.code is ErrorCode.INVALID_TOOL_PARAMS
        assert "The hook guard changed the arguments to invalid ones" in refused.error.message


async def test_an_allow_covers_only_what_it_has_seen(tmp_path: Path) -> None:
    other = {"path": "other.txt", "content": "y"}
    async with session(tmp_path, saying(Allow(), name="early"), saying(Change(other), name="changer")) as s:
        assert (await s.call(*WRITE)).error.code is ErrorCode.CONFIRMATION_REQUIRED
    async with session(tmp_path, saying(Allow(), Change(other))) as s:
        assert (await s.call(*WRITE)).ok
    assert (tmp_path / "other.txt").read_text() == "y"


async def test_an_approval_from_elsewhere_covers_only_its_own_call(tmp_path: Path) -> None:
    other = {"path": "other.txt", "content": "y"}
    async with session(tmp_path, saying(Change(other))) as s:
        result = await s.call(*WRITE, approved=True)
        assert result.error.code is ErrorCode.CONFIRMATION_REQUIRED
    person = ScriptedConfirmer(ONCE)
    async with session(tmp_path, saying(Change(other)), confirmer=person) as s:
        assert (await s.call(*WRITE, approved=True)).ok
    assert [one.details.file_name for one in person.asked] == ["other.txt"]
    async with session(tmp_path, saying(Note("as it was"), Change(dict(WRITE[1])))) as s:
        assert (await s.call(*WRITE, approved=True)).ok


async def test_hooks_see_the_call_as_the_person_changed_it(tmp_path: Path) -> None:
    @before("write")
    def no_secrets(call: Any) -> Any:
        return Block("a secret") if "secret" in call.arguments["content"] else None

    person = ScriptedConfirmer(modify("my secret"))
    async with session(tmp_path, no_secrets, confirmer=person) as s:
        result = await s.call(*WRITE)
    assert "a secret" in result.error.message
    assert not (tmp_path / "new.txt").exists()


async def test_notes_reach_the_model_in_every_dialect(tmp_path: Path) -> None:
    noted = after(name="critic")(lambda _: Note("mind the gap"))
    for dialect in ("nbtools", "claude", "codex", "gemini", "void"):
        async with session(tmp_path, saying(Note("first")), noted) as s:
            s.dialect = dialect
            result = await s.call("read", {"path": "a.txt"})
            assert result.llm_content.endswith("[hook guard] first\n[hook critic] mind the gap")


async def test_a_result_is_replaced_for_good(tmp_path: Path) -> None:
    @after("read")
    async def no_secrets(call: Any) -> Any:
        return Replace(str(call.result.llm_content).replace("two", "***"))

    async with session(tmp_path, no_secrets) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert "***" in result.llm_content
    assert "two" not in repr((result.llm_content, result.return_display, result.data, result.summary))


async def test_after_hooks_see_failures_too(tmp_path: Path) -> None:
    seen: list[Any] = []
    watch = after(name="watch")(lambda call: seen.append(call.result.error.code))
    async with session(tmp_path, watch) as s:
        await s.call("read", {"path": "missing.txt"})
        assert isinstance(s.history[-1], ErroredCall)
    assert seen == [ErrorCode.FILE_NOT_FOUND]


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("there is no text")


def crash_without_text(_: Any) -> Any:
    raise UnprintableError


def crash(_: Any) -> Any:
    raise ValueError("oops")


async def late(_: Any) -> Any:
    await asyncio.Event().wait()


def strange(_: Any) -> Any:
    return True


def limit_of(run: Any) -> float:
    return 0.05 if run is late else 20


FAULTS = [
    (crash, "crashed with ValueError: oops"),
    (crash_without_text, "crashed with UnprintableError"),
    (late, "took longer than 0.05 seconds"),
    (strange, "returned true, which is not a verdict"),
]


@pytest.mark.parametrize(("run", "problem"), FAULTS)
async def test_a_failing_hook_is_reported_and_skipped(tmp_path: Path, run: Any, problem: str) -> None:
    async with session(tmp_path, before(name="bad", timeout=limit_of(run))(run)) as s:
        result = await s.call("read", {"path": "a.txt"})
        assert result.ok
        assert "the hook bad was skipped" in result.llm_content
        assert problem in result.llm_content
        assert problem in s.history[-1].last.plan.decision.reason


@pytest.mark.parametrize(("run", "problem"), FAULTS)
async def test_a_closed_hook_that_goes_wrong_lets_nothing_past(
    tmp_path: Path, run: Any, problem: str
) -> None:
    async with session(tmp_path, before(name="bad", timeout=limit_of(run), closed=True)(run)) as s:
        result = await s.call("read", {"path": "a.txt"})
        assert result.error.code is ErrorCode.POLICY_VIOLATION
        assert problem in result.error.message


@pytest.mark.parametrize(("run", "problem"), FAULTS)
async def test_a_closed_hook_withholds_what_it_could_not_look_at(
    tmp_path: Path, run: Any, problem: str
) -> None:
    async with session(tmp_path, after(name="bad", timeout=limit_of(run), closed=True)(run)) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert result.error.code is ErrorCode.POLICY_VIOLATION
    assert problem in result.error.message
    assert "two" not in repr(result)


async def test_a_failure_after_the_call_is_shown_on_the_card(tmp_path: Path) -> None:
    async with session(tmp_path, after(name="bad")(crash)) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert result.ok
    assert result.summary.endswith("the hook bad failed")
    assert "crashed with ValueError: oops" in result.llm_content


async def test_cancelling_a_call_reaches_its_hook(tmp_path: Path) -> None:
    reached, stopped = asyncio.Event(), asyncio.Event()

    @before()
    async def slow(_: Any) -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with session(tmp_path, slow) as s:
        task = asyncio.create_task(s.call("read", {"path": "a.txt"}, id="it"))
        await reached.wait()
        assert s.cancel("it")
        assert (await task).error.code is ErrorCode.CANCELLED
        assert stopped.is_set()


@pytest.mark.parametrize(
    ("matcher", "seen"),
    [
        ("read", True),
        ("Read", True),
        ("read_file", True),
        ("Re.*|Edit", True),
        ("*", True),
        ("", True),
        ("rea", False),
        ("Edit", False),
    ],
)
async def test_matchers_know_a_tool_by_any_name(tmp_path: Path, matcher: str, seen: bool) -> None:
    async with session(tmp_path, saying(Block("seen"), matcher=matcher)) as s:
        assert (await s.call("read", {"path": "a.txt"})).ok is not seen


def test_a_matcher_that_is_no_pattern_is_refused_at_once() -> None:
    with pytest.raises(SessionError, match=r"not a valid regular expression: '\('"):
        saying(Note("x"), matcher="(")


VERDICTS = st.lists(
    st.sampled_from([Allow(), Ask(), Block("no"), Note("n"), Change(dict(WRITE[1]))]), max_size=3
)
POLICIES = [
    Policy(mode=mode, **rules)
    for mode in ("plan", "default", "auto_edit", "dont_ask")
    for rules in ({}, {"ask": ("write",)})
]
STRENGTH = {Action.ALLOW: 0, Action.ASK: 1, Action.DENY: 2}


@settings(max_examples=examples(60), deadline=None)
@given(spoken=st.lists(VERDICTS, max_size=4), policy=st.sampled_from(POLICIES))
def test_hooks_never_weaken_more_than_a_default_question(
    tmp_path_factory: Any, spoken: list[Any], policy: Policy
) -> None:
    root = tmp_path_factory.mktemp("law")

    async def decide() -> tuple[Any, Any]:
        async with session(root, *(saying(*said) for said in spoken), policy=policy) as s:
            return s.decide(*WRITE), await _decision(s)

    plain, decided = asyncio.run(decide())
    said = {type(verdict) for verdicts in spoken for verdict in verdicts}
    if Block in said:
        assert decided.action is Action.DENY
    elif Ask in said:
        assert decided.action is not Action.ALLOW
    if STRENGTH[decided.action] < STRENGTH[plain.action]:
        assert plain.rule == "edits need approval"
        assert decided.rule == "hook guard"
