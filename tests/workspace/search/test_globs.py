"""Glob patterns against their plain meaning."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbtools.workspace.search.globs import compile_glob, escape, last_name, literal_folder, names_hidden


@pytest.mark.parametrize(
    ("pattern", "fitting", "unfitting"),
    [
        ("*", ["a", ".a"], ["a/b"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("**", ["a", "a/b"], [""]),
        ("**/a", ["a", "b/a", "b/c/a"], ["ba"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("a/**/**/b", ["a/b", "a/x/y/b"], []),
        ("[a-c]x", ["ax", "cx"], ["dx", "/x"]),
        ("[!a]x", ["bx"], ["ax", "/x"]),
        ("[]]", ["]"], ["x"]),
        ("[!]]", ["a"], ["]", "/"]),
        ("[^a-c]", ["d", "-"], ["b"]),
        ("[+--]", ["+", ",", "-"], ["."]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[a", ["[a"], ["a"]),
        ("[!]", ["[!]"], ["a"]),
        ("x{a,b{c,d}}", ["xa", "xbc", "xbd"], ["xb"]),
        ("x{,.bak}", ["x", "x.bak"], []),
        ("a[{]b", ["a{b"], ["ab", "a[{]b"]),
        ("{a[,}]b,c}", ["a,b", "a}b", "c"], ["a", "a[", "b"]),
        ("a+(b).$", ["a+(b).$"], ["ab"]),
        ("*a*b*", ["ab", "xaxbx"], ["ba"]),
    ],
)
def test_meaning(pattern: str, fitting: list[str], unfitting: list[str]) -> None:
    regex = compile_glob(pattern)
    assert all(regex.fullmatch(path) for path in fitting)
    assert not any(regex.fullmatch(path) for path in unfitting)


def test_a_folder_before_the_pattern_is_plain() -> None:
    regex = compile_glob("*.py", "a[1]{b}")
    assert regex.fullmatch("a[1]{b}/x.py")
    assert not regex.fullmatch("a1b/x.py")


def test_a_pattern_matches_folders_and_names() -> None:
    assert [literal_folder(glob) for glob in ("*.py", "src/*.py", "./a/b/**/c", "a/{b,c}/d", "a/../b")] == [
        ".",
        "src",
        "a/b",
        "a",
        "a",
    ]
    assert [last_name(glob) for glob in ("**/*.py", "a/**", "a/*.{x,y}", "{a/b,c}", "a")] == [
        "*.py",
        "*",
        "*.{x,y}",
        "*",
        "a",
    ]
    assert [names_hidden(glob) for glob in ("**/*.py", ".github/**", "**/.env", "./a", "../a", "{a,.b}")] == [
        False,
        True,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("pattern", ["{a", "{a,{b}", "{a,b}" * 30, "[b-a]"])
def test_nonsense_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"closed|patterns|backwards"):
        compile_glob(pattern)


@given(
    st.text(st.sampled_from("ab*?[]!-{},./^\\"), max_size=15), st.text(st.sampled_from("ab./-]"), max_size=10)
)
def test_any_pattern_is_compiled_or_refused(pattern: str, path: str) -> None:
    try:
        compile_glob(pattern).fullmatch(path)
    except ValueError:
        assert "{" in pattern or "[" in pattern


@given(st.text(st.sampled_from("ab*?[]!-{},.^\\"), min_size=1), st.text(st.sampled_from("ab*?[]!-{},.^\\")))
def test_an_escaped_name_is_a_glob_of_this_very_name(name: str, other: str) -> None:
    assume(name != ".")
    regex = compile_glob(escape(name))
    assert regex.fullmatch(name)
    assert bool(regex.fullmatch(other)) == (name == other)


def test_no_pattern_stalls() -> None:
    started = time.process_time()
    compile_glob("*a" * 40 + "b").fullmatch("a" * 250)
    assert time.process_time() - started < 60
