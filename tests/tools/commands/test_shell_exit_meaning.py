"""The exit code 1 that is an answer."""

from __future__ import annotations

import pytest

from nbtools.tools.commands.shell_result import exit_meaning


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("grep a b", "no match"),
        ("/usr/bin/grep a b 2>/dev/null", "no match"),
        ("X=1 rg a", "no match"),
        ("cat b | grep a", "no match"),
        ("cd sub; git grep a", "no match"),
        ("git diff --exit-code", "there are differences"),
        ("diff a b || cmp a b", "the files differ"),
        ("grep a b && grep c d", "no match"),
        ("[ -f a ]", "the condition is false"),
        ("[[ -f a ]]", "the condition is false"),
        ("cd sub && grep a b", ""),
        ("grep a b && ls", ""),
        ("grep a b | head", ""),
        ("set -o pipefail; cat b | grep a", ""),
        ("grep a b > /no/where", ""),
        ("grep a < nothing", ""),
        ("if grep a b; then false; fi", ""),
        ("! grep a b", ""),
        ("ls", ""),
        ("git", ""),
        ("grep 'a", ""),
        ("", ""),
    ],
)
def test_exit_code_1_is_explained(command: str, meaning: str) -> None:
    assert exit_meaning(command, 1) == meaning


@pytest.mark.parametrize("exit_code", [None, 0, 2, 127])
def test_other_exit_codes_say_it_themselves(exit_code: int | None) -> None:
    assert exit_meaning("grep a b", exit_code) == ""
