"""Laws of decisions: what is stricter never allows more."""

from __future__ import annotations

import shlex
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.decision import Action
from nbtools.core.tool import Kind
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.layers import Layer
from nbtools.policy.modes import Mode
from nbtools.policy.path_rules import PathContext
from tests.policy.some_tools import EDIT, GREP, SHELL, AnyTool

Call: TypeAlias = tuple[AnyTool, dict[str, Any]]

GROUNDS = PathContext("/home/me/work", ("/home/me",))
DELETE, READ = AnyTool("delete", Kind.DELETE), AnyTool("read", Kind.READ)
STRENGTH = {Action.ALLOW: 0, Action.ASK: 1, Action.DENY: 2}

# fmt: off
PARTS = st.sampled_from([
    "ls -l", "git push", "git log -1", "rm -r build", "rm -rf /", "cat secrets/key", "echo x > src/a",
    "echo x > .git/config", "FOO=1 make", "nice make", "bash -c 'rm x'", "$X y", "cat $F", "cd src",
    "find . -name x", "xargs rm", "touch src/b", "python -c 1",
])
# fmt: on
JOINS = st.sampled_from([" && ", "; ", " | ", " || ", "\n", " & "])
# fmt: off
SPECS = st.sampled_from([
    "*", "shell", "edit", "read", "grep", "shell(ls:*)", "shell(git:*)", "shell(git push)", "shell(rm:*)",
    "shell(make:*)", "shell(cat:*)", "shell(* -r *)", "shell(echo:*)", "edit(src/**)", "edit(*.lock)",
    "read(secrets/**)", "read(src/**)", "edit(/)", "delete(build/)",
])
# fmt: on
RULES = st.lists(SPECS, max_size=4).map(tuple)
PATHS = st.lists(
    st.sampled_from(["src/a", "a.lock", "secrets/key", ".git/config", ".", "build/", "/etc/x"]),
    min_size=1,
    max_size=2,
)
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.tuples(st.just(SHELL), st.fixed_dictionaries({"command": PARTS})),
    st.tuples(st.sampled_from([EDIT, GREP, DELETE, READ]), st.fixed_dictionaries({"paths": PATHS})),
)
POLICIES = st.builds(Policy, mode=st.sampled_from(list(Mode)), allow=RULES, ask=RULES, deny=RULES)


def strength(policy: Policy | list[Layer], call: Call) -> int:
    tool, params = call
    return STRENGTH[PolicyEngine(policy, grounds=GROUNDS).decide(tool, tool.build(params)).action]


@given(policy=POLICIES, call=CALLS, other=st.sampled_from(list(Mode)))
def test_a_stricter_mode_never_allows_more(policy: Policy, call: Call, other: Mode) -> None:
    strict, free = sorted((Mode(policy.mode), other), key=list(Mode).index)
    in_strict, in_free = (
        strength(Policy(mode, policy.allow, policy.ask, policy.deny), call) for mode in (strict, free)
    )
    assert not (in_strict == 0 < in_free)


@given(policy=POLICIES, call=CALLS, more=SPECS)
def test_a_deny_or_an_ask_more_never_allows_more(policy: Policy, call: Call, more: str) -> None:
    now = strength(policy, call)
    assert strength(Policy(policy.mode, policy.allow, policy.ask, (*policy.deny, more)), call) >= now
    assert strength(Policy(policy.mode, policy.allow, (*policy.ask, more), policy.deny), call) >= now
    assert strength(Policy(policy.mode, (*policy.allow, more), policy.ask, policy.deny), call) <= now


@given(policy=POLICIES, first=PARTS, join=JOINS, second=PARTS)
def test_a_part_more_never_makes_a_decision_weaker(
    policy: Policy, first: str, join: str, second: str
) -> None:
    together = strength(policy, (SHELL, {"command": f"{first}{join}{second}"}))
    assert together >= max(strength(policy, (SHELL, {"command": part})) for part in (first, second))


@given(
    policy=POLICIES,
    words=st.lists(
        st.sampled_from(["ls", "git", "push", "-l", "src/a", "rm", "cat", "secrets/key", "x"]), min_size=1
    ),
    data=st.data(),
)
def test_quoting_a_safe_word_never_makes_a_command_riskier(
    policy: Policy, words: list[str], data: st.DataObject
) -> None:
    plain = strength(policy, (SHELL, {"command": " ".join(words)}))
    quotes = [data.draw(st.sampled_from(["{}", "'{}'", '"{}"', "\\{}"])) for _ in words]
    quoted = " ".join(quote.format(word) for quote, word in zip(quotes, words, strict=True))
    assert shlex.split(quoted) == words
    assert strength(policy, (SHELL, {"command": quoted})) == plain


@given(policy=POLICIES, project=POLICIES, call=CALLS)
def test_a_project_that_is_not_trusted_never_allows_more(policy: Policy, project: Policy, call: Call) -> None:
    own = Layer("session", policy)
    wary, trusting = (Layer("project", project, trusted) for trusted in (False, True))
    assert strength([wary, own], call) >= strength([own], call)
    assert not (strength([wary, own], call) == 0 < strength([trusting, own], call)) or project.mode in (
        "plan",
        "dont_ask",
    )


@given(policy=POLICIES, paths=PATHS, more=PATHS)
def test_a_path_more_never_makes_a_decision_weaker(policy: Policy, paths: list[str], more: list[str]) -> None:
    for tool in (EDIT, DELETE, GREP):
        assert strength(policy, (tool, {"paths": [*paths, *more]})) >= strength(
            policy, (tool, {"paths": paths})
        )


@given(policy=POLICIES, call=CALLS)
def test_equal_calls_get_equal_decisions(policy: Policy, call: Call) -> None:
    tool, params = call
    judge = PolicyEngine(policy, grounds=GROUNDS)
    first = judge.decide(tool, tool.build(params))
    assert (
        judge.decide(tool, tool.build(params))
        == first
        == PolicyEngine(policy, grounds=GROUNDS).decide(tool, tool.build(params))
    )
    assert first.reason
    assert first.rule
