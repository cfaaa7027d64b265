"""Layers: a deny of any holds, what is not trusted only tightens, and yolo ends with the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from nbtools.core.decision import Decision
from nbtools.core.errors import PolicyError
from nbtools.core.tool import BaseToolInvocation, Kind
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.importers.void import approval_rules
from nbtools.policy.layers import Layer
from nbtools.policy.rules import Rule
from tests.policy.some_tools import EDIT, GREP, SHELL, AnyTool

USER = Layer("user", Policy(allow=("shell(git:*)",), deny=("shell(git push:*)",)))
EMPTY = Layer("session", Policy())


def decided(
    *layers: Layer,
    tool: AnyTool = SHELL,
    command: str = "git log",
    grants: tuple[str, ...] = (),
    **params: object,
) -> Decision:
    given = params or {"command": command}
    return PolicyEngine(layers, grants).decide(tool, tool.build(given))


def test_a_decision_names_the_source_and_the_subject_of_its_rule() -> None:
    found = decided(USER, EMPTY)
    assert (found.action, found.rule, found.source) == ("allow", "shell(git:*)", "user")
    found = decided(USER, EMPTY, command="git log && git push")
    assert (found.action, found.rule, found.part, found.source) == (
        "deny",
        "shell(git push:*)",
        "git push",
        "user",
    )
    found = decided(EMPTY, tool=EDIT, paths=["a"], grants=("edit",))
    assert (found.action, found.source) == ("allow", "grant")


def test_a_deny_of_any_layer_holds_over_every_allow() -> None:
    session = Layer("session", Policy(allow=("shell", "shell(git push)")))
    assert decided(USER, session, command="git push", grants=("*",)).action == "deny"
    asking = Layer("project", Policy(ask=("shell(git log:*)",)))
    assert decided(USER, asking, session).source == "project"
    assert decided(USER, asking, session).action == "ask"


def test_a_project_that_is_not_trusted_only_tightens() -> None:
    project = Policy("auto_edit", allow=("*",), deny=("grep",), ask=("shell(git log:*)",))
    wary, trusting = Layer("project", project, trusted=False), Layer("project", project)
    assert decided(wary, tool=EDIT, paths=["a"]).action == "ask"
    assert decided(trusting, tool=EDIT, paths=["a"]).action == "allow"
    assert decided(wary, tool=GREP, x=1).action == "deny"
    assert decided(USER, wary).action == "ask"
    assert PolicyEngine([Layer("project", Policy("plan"), trusted=False)]).mode == "plan"


@pytest.mark.parametrize(
    ("modes", "mode"),
    [
        ((), "default"),
        ((("user", "auto_edit"),), "auto_edit"),
        ((("user", "auto_edit"), ("session", "default")), "default"),
        ((("user", "plan"), ("session", "")), "plan"),
        ((("user", "yolo"), ("session", "")), "default"),
        ((("project", "yolo"),), "default"),
        ((("session", "yolo"),), "yolo"),
    ],
)
def test_the_last_mode_applies_and_yolo_is_set_only_in_sessions(
    modes: tuple[tuple[str, str], ...], mode: str
) -> None:
    assert PolicyEngine([Layer(name, Policy(said)) for name, said in modes]).mode == mode


def test_rules_as_objects() -> None:
    policy = Policy(
        allow=(
            Rule("shell", command=r"git (log|status)\b"),
            Rule("edit", arguments=r'"path":"docs/'),
            Rule("grep", annotations=(("open", True),)),
        ),
        deny=(Rule("shell", "curl:*", message="Use fetch."), Rule("edit", modes=("yolo",))),
    )
    judge = PolicyEngine(policy)
    assert judge.decide(SHELL, SHELL.build({"command": "git log -1"})).action == "allow"
    assert judge.decide(SHELL, SHELL.build({"command": "git logs"})).action == "ask"
    assert (
        judge.decide(SHELL, SHELL.build({"command": "curl x"})).reason
        == "the rule shell(curl:*) denies it: Use fetch."
    )
    edit = EDIT.build({"paths": ["docs/a"]})
    assert judge.decide(EDIT, edit, {"path": "docs/a", "old": "x"}).action == "allow"
    assert judge.decide(EDIT, edit, {"path": "src/a", "old": '"path":"docs/'}).action == "ask"
    strict = PolicyEngine([Layer("session", Policy("yolo", policy.allow, (), policy.deny))])
    assert strict.decide(EDIT, edit).action == "deny"


def test_arguments_too_long_to_check_need_approval_where_a_rule_could_deny_them() -> None:
    rule = Rule("edit", arguments="a.*b.*c.*d")
    edit = EDIT.build({"paths": ["a"]})
    long = {"content": "a" * 100_000}
    assert PolicyEngine(Policy("yolo", deny=(rule,))).decide(EDIT, edit, long).action == "ask"
    assert PolicyEngine(Policy(allow=(rule,))).decide(EDIT, edit, long).action == "ask"


def test_a_rule_may_want_what_a_tool_says_of_itself() -> None:
    tool = AnyTool("mcp__docs__look", GREP.kind, asks=True)
    policy = Policy(allow=(Rule("mcp__*", annotations=(("readOnlyHint", True),)),))
    assert PolicyEngine(policy).decide(tool, tool.build({})).action == "ask"
    tool.annotations = {"readOnlyHint": True}  # type: ignore[attr-defined]
    assert PolicyEngine(policy).decide(tool, tool.build({})).action == "allow"


def test_another_tool_of_the_same_name_is_judged_by_itself() -> None:
    judge = PolicyEngine(Policy())
    tame, wild = AnyTool("deploy", Kind.OTHER, asks=False), AnyTool("deploy", Kind.OTHER, asks=True)
    assert [judge.decide(tool, tool.build({})).action for tool in (tame, wild, tame)] == [
        "allow",
        "ask",
        "allow",
    ]


class Bare(AnyTool):
    """Its calls name nothing that they act on."""

    def create_invocation(self, params: Mapping[str, Any]) -> BaseToolInvocation[Mapping[str, Any]]:
        return BaseToolInvocation(params)


@pytest.mark.parametrize("mode", ["default", "yolo", "plan"])
def test_calls_that_act_on_nothing_are_judged_like_one_that_happens_to(mode: str) -> None:
    rules = Rule("do", arguments="prod"), Rule("do*", arguments="test")
    bare, aimed = Bare("do", Kind.OTHER), AnyTool("do", Kind.OTHER)
    for policy in (
        Policy(mode),
        Policy(mode, allow=("do",)),
        Policy(mode, deny=("do",)),
        Policy(mode, deny=rules[:1], allow=rules[1:]),
    ):
        judge = PolicyEngine(policy)
        for arguments in ({}, {"to": "prod"}, {"to": "test"}, {}):
            assert judge.decide(bare, bare.build(arguments), arguments) == judge.decide(
                aimed, aimed.build(arguments), arguments
            )
    assert judge.decide(bare, bare.build({"to": "prod"}), {"to": "prod"}).action == "deny"


def test_voids_switches_are_rules() -> None:
    assert (
        PolicyEngine(Policy(allow=approval_rules("edits"))).decide(EDIT, EDIT.build({"paths": ["a"]})).action
        == "allow"
    )
    assert (
        PolicyEngine(Policy(allow=approval_rules("terminal")))
        .decide(SHELL, SHELL.build({"command": "make"}))
        .action
        == "allow"
    )
    assert approval_rules("MCP tools") == ("mcp__*",)
    with pytest.raises(PolicyError, match="edits"):
        approval_rules("edit")
