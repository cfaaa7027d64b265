"""Rules: what they read as."""

from __future__ import annotations

import pytest

from nbtools.core.errors import PolicyError
from nbtools.policy.rules import Rule, arguments_text, read_rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("grep", Rule("grep")),
        ("edit(src/**)", Rule("edit", "src/**")),
        (" shell(git log:*) ", Rule("shell", "git log:*")),
        ("shell(*)", Rule("shell")),
        ("shell(:*)", Rule("shell")),
        ("mcp__docs__*", Rule("mcp__docs__*")),
        ("shell(echo (a))", Rule("shell", "echo (a)")),
    ],
)
def test_reads_what_a_person_writes(text: str, rule: Rule) -> None:
    assert read_rule(text) == rule
    assert read_rule(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "a b", "shell(", "(x)", "edit)"])
def test_text_that_is_not_a_rule_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(PolicyError, match=r"edit\(src/\*\*\)"):
        read_rule(text)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"spec": "!keep"}, "begins with !"),
        ({"command": "(a+)+"}, "endless"),
        ({"command": "("}, "not a valid regular expression"),
        ({"arguments": "x" * 3000}, "2,048"),
        ({"modes": ("autoedit",)}, "auto_edit"),
        ({"spec": "x", "command": "y"}, "several conditions"),
    ],
)
def test_an_object_that_will_not_do_is_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        Rule("shell", **fields)  # type: ignore[arg-type]


def test_an_object_says_what_it_is() -> None:
    assert str(Rule("shell", command="git (log|status)")) == "shell(command /git (log|status)/)"
    assert str(Rule("edit", arguments='"path":"src/')) == 'edit(arguments /"path":"src//)'


def test_arguments_are_json_with_sorted_keys_and_marked_pairs() -> None:
    assert (
        arguments_text({"path": "ä", "all": {"b": 1, "a": [True]}})
        == '{\0"all":{"a":[true],"b":1}\0,\0"path":"ä"\0}'
    )
    assert arguments_text({}) == "{}"
