"""Rules about paths: as in gitignore, from the root, the home folder or the root of the disk."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from nbtools.policy.layers import SourcedRule
from nbtools.policy.path_rules import PathContext, PathRules
from nbtools.policy.rules import Rule

GROUNDS = PathContext("/home/me/work", ("/home/me", "/data/me"), ignores_case=False)


def rules(*specs: str, narrow: bool = False, grounds: PathContext = GROUNDS) -> PathRules:
    return PathRules((SourcedRule(Rule("edit", spec), "", spec) for spec in specs), grounds, narrow=narrow)


@pytest.mark.parametrize(
    ("spec", "path", "covered"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "lib/src.py", False),
        ("src/**", "src", False),
        ("*.py", "deep/down/x.py", True),
        ("*.py", "x.pyc", False),
        ("./README.md", "README.md", True),
        ("/README.md", "sub/README.md", False),
        ("secrets/", "secrets/key", True),
        ("secrets/", "secrets", False),
        ("a[bc]/*.txt", "ab/x.txt", True),
        ("#x", "#x", True),
        ("/", "anything/at/all", True),
        ("**", "x", True),
        ("//etc/**", "/etc/passwd", True),
        ("//etc", "/etcetera", False),
        ("//home/me/work/src/**", "src/a", True),
        ("~/.ssh/**", "/home/me/.ssh/id", True),
        ("~/.ssh/**", "/data/me/.ssh/id", True),
        ("~/work/src/**", "src/a", True),
        ("~/.ssh/**", "~/.ssh/id", True),
        ("id", "/home/me/.ssh/id", False),
        ("src/**", "/home/me/work/src/a", True),
    ],
)
def test_a_rule_covers_paths_as_gitignore_does(spec: str, path: str, covered: bool) -> None:
    assert (rules(spec).find_covering(GROUNDS.resolve(path)) is not None) is covered


def test_an_allow_rule_reads_a_dot_as_the_root() -> None:
    spot = GROUNDS.resolve("deep/README.md")
    assert rules("./README.md").find_covering(spot) is not None
    assert rules("./README.md", narrow=True).find_covering(spot) is None
    assert rules("./README.md", narrow=True).find_covering(GROUNDS.resolve("README.md")) is not None


def test_a_deny_rule_for_files_applies_to_their_folder_too() -> None:
    assert rules("secrets/**").find_touching(GROUNDS.resolve("secrets")) is not None
    assert rules("a/b/c.txt").find_below(GROUNDS.resolve("a")) is not None
    assert rules("a/b/c.txt").find_below(GROUNDS.resolve(".")) is not None
    assert rules("~/.ssh/id").find_below(GROUNDS.resolve("/home")) is not None
    assert rules("a/b/c.txt").find_below(GROUNDS.resolve("ab")) is None
    assert rules("*.pem").find_possible(GROUNDS.resolve("keys/")) is not None
    assert rules("*.pem").find_possible(GROUNDS.resolve("keys")) is None


@pytest.mark.parametrize(
    ("path", "unclear"),
    [("a/b", False), ("a*", False), ("a/../b", True), ("../b", False), ("~/x", False), ("~you/x", True)],
)
def test_a_path_that_is_only_known_when_the_command_runs_is_unclear(path: str, unclear: bool) -> None:
    assert bool(GROUNDS.resolve_in_command(path, ".").unclear) is unclear
    assert GROUNDS.resolve_in_command(path, ".", known=False).unclear


def test_paths_of_commands_start_where_the_command_does() -> None:
    assert GROUNDS.resolve_in_command("b", "sub").relative == "sub/b"
    assert GROUNDS.resolve_in_command("../b", "sub").relative == "b"
    assert GROUNDS.resolve_in_command("../../b", "sub").absolute == "/home/me/b"
    assert GROUNDS.resolve_in_command("~/b", "sub").absolute == "/home/me/b"


def test_capitals_make_no_difference_where_the_file_system_makes_none() -> None:
    folded = PathContext("/Work", ignores_case=True)
    assert rules("Secrets/**", grounds=folded).find_covering(folded.resolve("sECRETS/x")) is not None
    assert rules("Secrets/**").find_covering(GROUNDS.resolve("sECRETS/x")) is None


SEGMENTS = st.sampled_from(["a", "b", "ab", "*", "**", "a*", "*.a", "[ab]", ".a"])
PATTERNS = st.builds(
    lambda front, parts, back: front + "/".join(parts) + back,
    st.sampled_from(["", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "x.a", ".a", "c"]), min_size=1, max_size=4).map("/".join)


@given(patterns=st.lists(PATTERNS, min_size=1, max_size=4), path=PATHS, folder=st.booleans())
def test_finding_rules_by_how_they_begin_changes_nothing(
    patterns: list[str], path: str, folder: bool
) -> None:
    text = f"{path}/" if folder else path
    expected = any(GitIgnoreSpec.from_lines([pattern]).match_file(text) for pattern in patterns)
    assume(not any("//" in pattern for pattern in patterns))
    assert (rules(*patterns).find_covering(GROUNDS.resolve(text)) is not None) is expected


def test_ten_thousand_rules_are_not_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    many = rules(*(f"folder{n}/**" for n in range(5_000)), *(f"name{n}" for n in range(5_000)))
    asked = [pattern for half in (many._inside,) for pattern in half._candidates("folder7/name9")]
    assert len(asked) == 2
