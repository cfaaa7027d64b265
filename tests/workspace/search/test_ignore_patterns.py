"""The patterns of ignore files mean what git means by them, and cost little whatever they are."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtools.workspace.search.gitignore import MOST_PATTERNS, IgnorePatterns
from tests.examples import examples

NAMES = ["a", "b", "ab", "a.b", "[a]", "a b", "{a}", "-", "]"]
PIECES = st.sampled_from(
    [
        "a",
        "b",
        "*",
        "**",
        "?",
        "[ab]",
        "[!a]",
        "[^a-b]",
        "[b-a]",
        "[]]",
        "[",
        "]",
        "\\",
        "\\*",
        ".",
        "é",
        "{",
        "a}",
        "-",
        "[a-]",
        "[\\]]",
        " ",
    ]
)
PATTERNS = st.builds(
    lambda no, lead, names, tail: f"{no}{lead}{'/'.join(names)}{tail}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(st.lists(PIECES, min_size=1, max_size=4).map("".join), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*", " "]),
)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def git_ignores(folder: Path, lines: list[str], path: str) -> bool:
    (folder / ".gitignore").write_text("\n".join(lines) + "\n")
    argv = [
        "git",
        "-c",
        "core.excludesFile=",
        "-C",
        str(folder),
        "check-ignore",
        "--no-index",
        "-q",
        "--stdin",
        "-z",
    ]
    return subprocess.run(argv, input=path.encode() + b"\0", check=False).returncode == 0


def ignores(patterns: IgnorePatterns, path: str) -> bool:
    """Whether the path or a folder above it is ignored."""
    names = path.split("/")
    above = ("/".join(names[:count]) for count in range(1, len(names)))
    return any(patterns.verdict(one, folder=True) for one in above) or bool(
        patterns.verdict(path, folder=False)
    )


@settings(max_examples=examples(120), deadline=None, database=None)
@given(lines=st.lists(PATTERNS, min_size=1, max_size=3), path=PATHS)
@example(["*", "!a/"], "a/b")
@example(["a/", "!a/b"], "a/b")
@example(["/*", "!/a"], "a/b/a")
@example(["**/a/**/b"], "a/b")
@example(["a/**/b/**"], "a/a/b/a")
@example(["a\\ "], "a ")
@example(["# a", "\\#", "\\!a"], "!a")
def test_they_mean_what_git_means(repository: Path, lines: list[str], path: str) -> None:
    assert ignores(IgnorePatterns(lines), path) is git_ignores(repository, lines, path)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 400,
        "**/" * 300 + "a",
        "*" * 1_900,
        "?*" * 400,
        "[!b]*" * 200,
        "a/**/" * 200 + "b",
        "(a+)+$",
        "{a,b}" * 300,
        "\\" * 1_001,
        "[" * 1_001,
    ],
)
def test_no_pattern_stalls(pattern: str) -> None:
    patterns = IgnorePatterns([pattern] * 20)
    started = time.process_time()
    for path in ("a" * 250 + "!", "a/" * 1_500 + "c", "b" * 4_000):
        patterns.verdict(path, folder=False)
    assert time.process_time() - started < 30


def test_the_number_of_patterns_is_limited() -> None:
    started = time.process_time()
    patterns = IgnorePatterns(f"name-{number}" for number in range(100_000))
    assert patterns.verdict(f"name-{MOST_PATTERNS - 1}", folder=False) is True
    assert patterns.verdict(f"name-{MOST_PATTERNS}", folder=False) is None
    for number in range(1_000):
        patterns.verdict(f"src/package/module_{number}.py", folder=False)
    assert time.process_time() - started < 30


def test_a_path_that_no_pattern_matches_has_no_verdict() -> None:
    patterns = IgnorePatterns(["", "# a", "/", "a/", "!b"])
    assert [patterns.verdict(path, folder=False) for path in ("a", "b", "c")] == [None, False, None]
    assert patterns.verdict("x/a", folder=True) is True
    assert (patterns.negates, bool(patterns), bool(IgnorePatterns(["#"]))) == (True, True, False)
    assert IgnorePatterns(["\udcff*"]).verdict("\udcffa", folder=False) is not False
