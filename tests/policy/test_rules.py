"""Rules: what they read as, and what they cover."""

from __future__ import annotations

import pytest

from nbtools.core.errors import PolicyError
from nbtools.core.tool import CommandTarget, PathTarget
from nbtools.policy.rules import Rule, obstacle, pieces, read_rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("grep", Rule("grep")),
        ("edit(src/**)", Rule("edit", "src/**")),
        (" shell(git log:*) ", Rule("shell", "git log:*")),
        ("shell(*)", Rule("shell")),
        ("mcp__docs__*", Rule("mcp__docs__*")),
        ("shell(echo (a))", Rule("shell", "echo (a)")),
    ],
)
def test_reads_what_a_person_writes(text: str, rule: Rule) -> None:
    assert read_rule(text) == rule
    assert read_rule(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "a b", "shell(", "(x)", "edit)"])
def test_refuses_what_is_no_rule_and_shows_one(text: str) -> None:
    with pytest.raises(PolicyError, match=r"edit\(src/\*\*\)"):
        read_rule(text)


@pytest.mark.parametrize(
    ("spec", "command", "covered"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git log:*", "git log", True),
        ("git log:*", "git log -1 --oneline", True),
        ("git log *", "git log -1", True),
        ("git log:*", "git logs", False),
        ("git log:*", "git", False),
        ("git *", "FOO=1 git log", False),
        ("npm run test*", "npm run test:unit", True),
        ("npm run test*", "npm run build", False),
        ("ls:*", "'ls' -l", True),
    ],
)
def test_commands_are_covered_word_by_word(spec: str, command: str, covered: bool) -> None:
    assert Rule("shell", spec).covers(pieces(CommandTarget(command))[0]) is covered


@pytest.mark.parametrize(
    ("spec", "path", "covered"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "lib/src.py", False),
        ("*.py", "deep/down/x.py", True),
        ("./README.md", "README.md", True),
        ("/README.md", "sub/README.md", False),
        ("secrets/", "secrets/key", True),
    ],
)
def test_paths_are_covered_as_in_gitignore(spec: str, path: str, covered: bool) -> None:
    assert Rule("edit", spec).covers(path) is covered


def test_a_command_falls_into_all_its_parts() -> None:
    parts = pieces(CommandTarget("git add -A && git commit -m 'x y' | tee $(cat name)"))
    assert [part.argv[0] for part in parts if not isinstance(part, str)] == ["git", "git", "tee", "cat"]


def test_what_rules_cannot_judge_is_said() -> None:
    assert obstacle(CommandTarget("git status")) == ""
    assert "out.txt" in obstacle(CommandTarget("git status > out.txt"))
    assert obstacle(CommandTarget("git status 2>/dev/null")) == ""
    assert obstacle(CommandTarget("echo $(")) != ""
    assert obstacle(PathTarget(("a",))) == ""
