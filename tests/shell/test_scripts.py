"""The small languages of sed and awk: which scripts only change text."""

from __future__ import annotations

import pytest

from nbtools.shell.scripts import awk_program_is_plain, sed_script_is_plain


@pytest.mark.parametrize(
    "script",
    [
        "1,5p",
        "s/a/b/g",
        "s|a|b|;s,c,d,2",
        "/x/,/y/d",
        "/x/{s/a/b/;p}",
        "$!N",
        "1i\\\ntext",
        "a text; e rm",
        "y/ab/cd/",
        ":a;ta",
        "s/\\//e/",
        "q",
        "2q",
        "\\,x,p",
    ],
)
def test_sed_scripts_that_only_change_text(script: str) -> None:
    assert sed_script_is_plain(script)


@pytest.mark.parametrize(
    "script",
    [
        "e",
        "1e rm",
        "s/a/b/e",
        "s/a/b/w f",
        "s/a/b/gw f",
        "w f",
        "/x/w f",
        "r f",
        "R f",
        "W f",
        "p;e",
        "p\ne",
        "{e}",
        "s/a/b/;1!e x",
        "$e x",
        "/a/I e x",
        "0~2e x",
        "\\,x,e rm",
        "1,/x/e rm",
        "/[/]/e x",
        "s/a\\/b/c/e",
        "F;e",
    ],
)
def test_sed_scripts_that_may_do_more(script: str) -> None:
    assert not sed_script_is_plain(script)


def test_awk_programs() -> None:
    assert awk_program_is_plain("NR > 1 || /x/ {n += $2; print n}")
    assert not awk_program_is_plain('/"/ { system("x") } /"/')
    assert not awk_program_is_plain('{ print $1 > "f" }')
    assert not awk_program_is_plain('{ "x" | getline }')
    assert not awk_program_is_plain("{ @f() }")
