"""Claude Code's permissions as a policy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtools.core.errors import PolicyError
from nbtools.dialects import canonical_tool_name, dialect
from nbtools.policy.importers.claude import read_claude_settings
from nbtools.policy.importers.imported import ImportedPolicy
from nbtools.policy.layers import Policy
from nbtools.policy.patterns import expression
from nbtools.policy.rules import Rule, arguments_text

SETTINGS = {
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "model": "opus",
    "permissions": {
        "allow": [
            "Bash(npm run lint)",
            "Bash(npm run test:*)",
            "Bash(git log *)",
            "Read(~/.zshrc)",
            "Edit(./src/**)",
            "WebFetch(domain:docs.python.org)",
            "mcp__github__search_issues",
            "Skill(commit)",
        ],
        "ask": ["Bash(git push:*)", "mcp__github"],
        "deny": ["Bash(curl:*)", "Read(./.env)", "Read(secrets/**)", "Edit(//etc/**)", "WebSearch"],
        "additionalDirectories": ["../docs/"],
        "defaultMode": "acceptEdits",
    },
    "hooks": {"PreToolUse": []},
}


def named(name: str) -> str:
    return canonical_tool_name(name, dialect("claude"))


def imported(settings: dict[str, Any], **more: Any) -> ImportedPolicy:
    return read_claude_settings(json.dumps(settings), named, **more)


def of(verb: str, *rules: str) -> tuple[tuple[str | Rule, ...], tuple[str, ...]]:
    found = imported({"permissions": {verb: list(rules)}})
    return getattr(found.policy, verb), found.not_carried


def test_a_whole_file() -> None:
    found = imported(SETTINGS)
    assert found.policy == Policy(
        "auto_edit",
        allow=(
            "shell(npm run lint)",
            "shell(npm run test:*)",
            "shell(git log *)",
            "read(~/.zshrc)",
            "edit(/src/**)",
            "fetch(domain:docs.python.org)",
            "mcp__github__search_issues",
        ),
        ask=("shell(git push:*)", "mcp__github__*"),
        deny=("shell(curl:*)", "read(/.env)", "read(**/secrets/**)", "edit(//etc/**)"),
    )
    told = "\n".join(found.not_carried)
    assert "allow Skill(commit) was not imported, because nbtools has no tool Skill." in told
    assert "deny WebSearch was not imported" in told
    assert "../docs/" in told
    assert "claude_hooks" in told
    assert "model" not in told


@pytest.mark.parametrize(
    ("verb", "text", "rule"),
    [
        ("allow", "Bash", "shell"),
        ("allow", "Bash(*)", "shell"),
        ("deny", "Bash(rm:*)", "shell(rm:*)"),
        ("deny", "Read", "read"),
        ("ask", "Edit(/docs/**)", "edit(/docs/**)"),
        ("deny", "Read(**/*.pem)", "read(**/*.pem)"),
        ("deny", "Read(secrets/**)", "read(**/secrets/**)"),
        ("allow", "Read(secrets/**)", "read(secrets/**)"),
        ("deny", "Read(a/b/**)", "read(a/b/**)"),
        ("deny", "NotebookEdit", "cells"),
        ("allow", "MultiEdit", "edit"),
        ("allow", "LS", "ls"),
        ("allow", "WebFetch", "fetch"),
        ("deny", "WebFetch(domain:Example.COM.)", "fetch(domain:example.com)"),
        ("allow", "WebFetch(domain:*.example.com)", "fetch(domain:*.example.com)"),
        ("allow", "mcp__docs", "mcp__docs__*"),
        ("allow", "mcp__docs__*", "mcp__docs__*"),
        ("allow", "mcp__docs__get_*", "mcp__docs__get_*"),
        ("allow", "mcp__docs__*_page", "mcp__docs__*_page"),
        ("deny", "mcp__*", "mcp__*__*"),
        ("deny", "mcp__docs__delete_*", "mcp__docs__delete_*"),
        ("deny", "mcp__my.docs", "mcp__my_docs__*"),
        ("deny", "mcp__my.docs__read.page", "mcp__my_docs__read_page"),
        ("deny", "*", "*"),
    ],
)
def test_rules_that_say_the_same(verb: str, text: str, rule: str) -> None:
    assert of(verb, text) == ((rule,), ())


@pytest.mark.parametrize(
    ("text", "covers", "not_covers"),
    [
        (
            "Bash(git * main)",
            ["git checkout main", "git push origin main"],
            ["git checkout maine", "gitx main", "git push main now"],
        ),
        (
            "Bash(git * main:*)",
            ["git push origin main", "git push origin main now"],
            ["git push origin mainly"],
        ),
        ("Bash(ls*)", ["ls", "lsof", "ls -la"], ["l"]),
        ("Bash(* --version)", ["node --version"], ["node --version2", "node -v"]),
        ("Bash(a.b * c)", ["a.b x c"], ["axb x c"]),
    ],
)
def test_a_star_in_a_command_is_anything(text: str, covers: list[str], not_covers: list[str]) -> None:
    (rule,), told = of("deny", text)
    assert told == ()
    assert isinstance(rule, Rule)
    assert [expression(rule.command).matches_start(command) for command in covers] == [True] * len(covers)
    assert [expression(rule.command).matches_start(command) for command in not_covers] == [False] * len(
        not_covers
    )


@pytest.mark.parametrize(
    ("verb", "text", "says"),
    [
        ("allow", "Agent(Explore)", "no tool Agent"),
        ("deny", "Skill(deploy *)", "no tool Skill"),
        ("allow", "mcp__*", "pattern of names"),
        ("allow", "mcp__do*__get", "pattern of names"),
        ("allow", "mcp__db__query(database:test)", "only deny and ask rules"),
        ("deny", "mcp__db__query(everything)", "names no parameter"),
        ("deny", "Read(limit:5)", "no parameter limit"),
        ("allow", "*", "pattern of names"),
        ("allow", "Write(src/**)", "write Edit(src/**) instead"),
        ("allow", "WebFetch(docs.python.org)", "names no domain"),
        ("allow", "WebFetch(domain:a.*.org)", "match more"),
        ("deny", "Bash(timeout:600000)", "no parameter timeout"),
        ("allow", "Bash(run_in_background:true)", "only deny and ask rules match parameters"),
        ("deny", "Read(!src/**)", "begins with !"),
        ("deny", "Bash(rm", "cannot be parsed"),
    ],
)
def test_rules_that_cannot_be_converted_are_reported(verb: str, text: str, says: str) -> None:
    rules, told = of(verb, text)
    assert rules == ()
    assert len(told) == 1
    assert told[0].startswith(f"{verb} {text} ")
    assert says in told[0]


def test_a_path_that_a_deny_puts_on_the_wrong_tool_is_denied_all_the_same() -> None:
    rules, told = of("deny", "Write(src/**)", "Grep(./logs/**)")
    assert rules == ("edit(**/src/**)", "read(/logs/**)")
    assert "imported as edit(src/**)" in told[0]


def test_parameters() -> None:
    (background, of_server), told = of(
        "deny", "Bash(run_in_background:true)", "mcp__db__query(database:prod*)"
    )
    assert told == ()

    def looks_at(rule: str | Rule, **arguments: Any) -> bool:
        assert isinstance(rule, Rule)
        return expression(rule.arguments).matches_anywhere(arguments_text(arguments))

    assert looks_at(background, command="sleep 9", background=True)
    assert not looks_at(background, command="sleep 9", background=False)
    assert not looks_at(background, command="sleep 9")
    assert looks_at(of_server, database="prod-2", sql="x")
    assert not looks_at(of_server, database="test", sql="prod")
    assert not looks_at(of_server, inner={"database": "prod"})


@pytest.mark.parametrize(
    ("mode", "is_"),
    [
        ("plan", "plan"),
        ("dontAsk", "dont_ask"),
        ("default", "default"),
        ("manual", "default"),
        ("acceptEdits", "auto_edit"),
    ],
)
def test_modes(mode: str, is_: str) -> None:
    assert imported({"permissions": {"defaultMode": mode}}) == ImportedPolicy(Policy(is_), ())


@pytest.mark.parametrize("mode", ["bypassPermissions", "auto"])
def test_modes_that_are_not_taken(mode: str) -> None:
    found = imported({"permissions": {"defaultMode": mode}})
    assert found.policy == Policy()
    assert mode in found.not_carried[0]


def test_paths_count_from_where_the_file_says() -> None:
    settings = {"permissions": {"deny": ["Read(/keys/**)", "Read(//etc/shadow)", "Read(~/.ssh/**)"]}}
    assert imported(settings, source="~/.claude").policy.deny == (
        "read(~/.claude/keys/**)",
        "read(//etc/shadow)",
        "read(~/.ssh/**)",
    )
    assert imported(settings, source="/srv/all/").policy.deny[0] == "read(//srv/all/keys/**)"
    assert imported(settings).policy.deny[0] == "read(/keys/**)"


def test_servers_that_are_switched_off_are_denied() -> None:
    assert imported({"disabledMcpjsonServers": ["db"]}).policy.deny == ("mcp__db__*",)


def test_nothing_is_no_problem() -> None:
    assert imported({}) == ImportedPolicy(Policy(), ())


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"permissions": {"allow": "Bash"}}', '{"permissions": {"allow": [1]}}']
)
def test_a_file_of_another_kind_is_an_error_in_one_line(text: str) -> None:
    with pytest.raises(PolicyError, match="settings") as raised:
        read_claude_settings(text, named)
    assert "\n" not in str(raised.value)
