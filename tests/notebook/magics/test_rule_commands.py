"""Rules in plain words, for a person who decides whether to trust them."""

from __future__ import annotations

import pytest

from nbtools.notebook.magics.rule_commands import in_words
from nbtools.policy.rules import Rule


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("shell", "every command"),
        ("shell(*)", "every command"),
        ("Bash(git:*)", "every command that begins with git"),
        ("shell(git push *)", "every command that begins with git push"),
        ("shell(git status)", "exactly the command git status"),
        ("shell(npm * test)", "every command that matches npm * test"),
        ("edit(src/**)", "changing src/**"),
        ("read(secrets/**)", "reading secrets/**"),
        ("fetch(domain:docs.python.org)", "fetching from docs.python.org"),
        ("mcp__db__*", "every call of mcp__db__*"),
        ("mcp__x(y)", "calls of mcp__x on y"),
        (Rule("shell", command="^git"), "calls of shell that match the expression"),
    ],
)
def test_a_rule_in_words(rule: str | Rule, words: str) -> None:
    assert in_words(rule, lambda name: "shell" if name == "Bash" else name) == words
