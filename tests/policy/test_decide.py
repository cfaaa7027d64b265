"""Deny over ask over allow, then the mode; and a stricter mode never allows more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import PolicyError
from nbtools.core.tool import Kind
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.grants import offered_grants
from nbtools.policy.modes import Mode
from tests.policy.some_tools import EDIT, GREP, SHELL, Aimed, AnyTool


def action(policy: Policy, tool: AnyTool, **params: Any) -> str:
    return PolicyEngine(policy).decide(tool, tool.build(params)).action


@pytest.mark.parametrize(
    ("mode", "grep", "edit", "shell"),
    [
        ("plan", "allow", "deny", "deny"),
        ("dont_ask", "allow", "deny", "deny"),
        ("default", "allow", "ask", "ask"),
        ("auto_edit", "allow", "allow", "ask"),
        ("yolo", "allow", "allow", "allow"),
    ],
)
def test_modes(mode: str, grep: str, edit: str, shell: str) -> None:
    policy = Policy(mode=mode)
    assert action(policy, GREP) == grep
    assert action(policy, EDIT, paths=["a"]) == edit
    assert action(policy, SHELL, command="ls") == shell


def test_deny_beats_ask_beats_allow_whatever_is_narrower() -> None:
    policy = Policy(allow=("shell(git push origin)",), ask=("shell(git push:*)",), deny=())
    assert action(policy, SHELL, command="git push origin") == "ask"
    assert action(Policy(allow=("shell(git push)",), deny=("shell",)), SHELL, command="git push") == "deny"
    assert action(Policy(mode="yolo", ask=("edit(secrets/**)",)), EDIT, paths=["secrets/key"]) == "ask"


def test_an_allow_must_cover_every_part_and_rules_may_share() -> None:
    policy = Policy(allow=("shell(git add:*)", "shell(git commit:*)"))
    assert action(policy, SHELL, command="git add -A && git commit -m x") == "allow"
    assert action(policy, SHELL, command="git add -A && rm -rf .") == "ask"
    assert action(policy, SHELL, command="git add $(rm -rf .)") == "ask"
    assert action(policy, SHELL, command="git add -A > log") == "ask"
    assert action(policy, SHELL, command="git add 'open") == "ask"
    assert action(Policy(allow=("shell($PROGRAM:*)", "shell(g*:*)")), SHELL, command="$PROGRAM x") == "ask"
    assert action(Policy(allow=("shell(g*:*)",)), SHELL, command="g{it,awk} x") == "ask"
    assert action(Policy(allow=("edit(src/**)",)), EDIT, paths=["src/a", "b"]) == "ask"


def test_a_deny_needs_only_one_part() -> None:
    policy = Policy(allow=("shell",), deny=("shell(rm:*)",))
    assert action(policy, SHELL, command="ls") == "allow"
    assert action(policy, SHELL, command="ls; echo $(rm -rf .)") == "deny"


def test_plan_changes_nothing_whatever_the_rules_allow() -> None:
    assert action(Policy(mode="plan", allow=("*",)), SHELL, command="ls") == "deny"
    assert action(Policy(mode="plan", allow=("*",)), GREP) == "allow"


def test_an_author_may_say_whether_a_tool_asks() -> None:
    assert action(Policy(), AnyTool("mine", Kind.OTHER)) == "ask"
    assert action(Policy(), AnyTool("mine", Kind.OTHER, asks=False)) == "allow"
    assert action(Policy(), AnyTool("mine", Kind.READ, asks=True)) == "ask"
    assert action(Policy(mode="plan"), AnyTool("mine", Kind.OTHER, asks=False)) == "deny"


ASK = AnyTool("ask", Kind.THINK, asks="always")


@pytest.mark.parametrize("mode", ["plan", "default", "auto_edit", "yolo"])
@pytest.mark.parametrize("allow", [(), ("ask",), ("*",)])
def test_a_tool_that_is_there_to_ask_always_asks(mode: str, allow: tuple[str, ...]) -> None:
    decision = PolicyEngine(Policy(mode, allow), grants=("ask",)).decide(ASK, ASK.build({}))
    assert (decision.action, decision.reason) == ("ask", "this tool asks before every call")


def test_a_call_that_needs_approval_is_denied_in_the_mode_dont_ask() -> None:
    decision = PolicyEngine(Policy("dont_ask", allow=("ask",))).decide(ASK, ASK.build({}))
    assert (decision.action, decision.reason) == (
        "deny",
        "this tool asks before every call, and mode dont_ask denies calls that need approval",
    )
    assert action(Policy("yolo", deny=("ask",)), ASK) == "deny"


def test_no_always_is_offered_for_what_always_asks() -> None:
    assert offered_grants(ASK, ASK.build({})).rules == ()


def test_fetching_is_offered_host_by_host() -> None:
    fetch = AnyTool("fetch", Kind.FETCH, asks=True)
    assert offered_grants(fetch, fetch.build({"paths": ["a.example", "b.example"]})).rules == (
        "fetch(a.example)",
        "fetch(b.example)",
    )
    assert offered_grants(fetch, fetch.build({})).rules == ("fetch",)
    assert PolicyEngine(Policy()).decide(fetch, fetch.build({})).reason == "mode default asks before fetching"


def test_a_decision_names_its_rule_and_reason() -> None:
    decision = PolicyEngine(Policy(deny=("shell(rm:*)",))).decide(SHELL, SHELL.build({"command": "rm x"}))
    assert (decision.rule, decision.reason) == ("shell(rm:*)", "the rule shell(rm:*) denies it")
    decision = PolicyEngine(Policy()).decide(EDIT, EDIT.build({"paths": ["a"]}))
    assert (decision.rule, decision.reason) == ("edits need approval", "mode default asks before edits")


def test_a_wrong_mode_or_rule_is_refused_at_once() -> None:
    with pytest.raises(PolicyError, match="auto_edit"):
        Policy(mode="autoedit")
    with pytest.raises(PolicyError):
        Policy(allow=("no rule at all",))
    assert Policy(allow="grep").allow == ("grep",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("git add -A && git commit -m 'a b'", ("shell(git add:*)", "shell(git commit:*)")),
        ("ls -la", ("shell(ls:*)",)),
        ("rm -rf build", ("shell(rm -rf build)",)),
        ("python x.py", ("shell(python x.py)",)),
        ("bash -c 'rm x'", ("shell(rm x)",)),
        ("nice make test && env git log", ("shell(make test:*)", "shell(git log:*)")),
        ("git --no-pager diff HEAD", ("shell(git diff:*)",)),
        ("git --version", ("shell(git --version)",)),
        ("npm --silent test", ("shell(npm test:*)",)),
        ("git", ("shell(git:*)",)),
        ("FOO=1 ls", ("shell(FOO=1 ls)",)),
        ("$PROGRAM x", ()),
        ("ls > out", ("shell(ls:*)", "edit(/out)")),
        ("ls > ../out", ()),
        ("rm -rf /", ()),
        ("nobody-knows it -x", ("shell(nobody-knows it -x)",)),
        ("docker compose logs app", ("shell(docker compose logs:*)",)),
        ("echo 'open", ("shell(echo 'open)",)),
    ],
)
def test_always_offers_the_parts_not_the_letter(command: str, offered: tuple[str, ...]) -> None:
    assert offered_grants(SHELL, SHELL.build({"command": command})).rules == offered
    assert offered_grants(EDIT, EDIT.build({"paths": ["a"]})).rules == ("edit",)


@pytest.mark.parametrize(
    "command",
    [
        "git add -A && git commit -m 'a b'",
        "ls -la",
        "rm -rf build",
        "make test",
        "ls > out",
        "nice make test > x/y && ls 2>/dev/null",
        "touch a",
        "FOO=1 ls",
    ],
)
def test_a_call_that_a_grant_covers_runs_without_approval(command: str) -> None:
    invocation = SHELL.build({"command": command})
    assert (
        PolicyEngine(Policy(), offered_grants(SHELL, invocation).rules).decide(SHELL, invocation).action
        == "allow"
    )


RULES = st.lists(
    st.sampled_from(["*", "shell", "edit", "grep", "shell(ls:*)", "edit(src/**)", "shell(git:*)"]), max_size=3
).map(tuple)
CALLS = st.sampled_from(
    [
        (SHELL, {"command": "ls -l"}),
        (SHELL, {"command": "git push"}),
        (EDIT, {"paths": ["src/a"]}),
        (GREP, {}),
    ]
)
ORDER = [Mode.PLAN, Mode.DONT_ASK, Mode.DEFAULT, Mode.AUTO_EDIT, Mode.YOLO]


@given(allow=RULES, ask=RULES, deny=RULES, call=CALLS, pair=st.tuples(st.integers(0, 4), st.integers(0, 4)))
def test_a_stricter_mode_never_allows_more(
    allow: tuple[str, ...],
    ask: tuple[str, ...],
    deny: tuple[str, ...],
    call: tuple[AnyTool, dict[str, Any]],
    pair: tuple[int, int],
) -> None:
    strict, free = sorted(pair)
    tool, params = call
    invocation = tool.build(params)
    decisions = [
        PolicyEngine(Policy(ORDER[n], allow, ask, deny)).decide(tool, invocation).action
        for n in (strict, free)
    ]
    assert not (decisions[0] == "allow" and decisions[1] != "allow")


class Further(Aimed):
    @property
    def kind(self) -> Kind:
        return Kind.EXECUTE


class Cells(AnyTool):
    def create_invocation(self, params: Mapping[str, Any]) -> Aimed:
        return Further(params) if params.get("run") else Aimed(params)


def test_a_rule_for_a_tool_does_not_allow_a_call_that_goes_further() -> None:
    cells = Cells("cells", Kind.EDIT)
    assert action(Policy(allow=("cells",)), cells) == "allow"
    assert action(Policy(allow=("cells", "*")), cells, run=True) == "ask"
    assert action(Policy(deny=("cells",)), cells, run=True) == "deny"
    assert action(Policy(mode="yolo"), cells, run=True) == "allow"
    assert offered_grants(cells, cells.build({})).rules == ("cells",)
    assert offered_grants(cells, cells.build({"run": True})).rules == ()
