"""Terminal text to lines and spans."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtools.core.terminal_text import plain_text, styled_lines


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", ""),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("\x1b[1;31mred\x1b[0m end", "red end"),
        ("10%\r 50%\r100%\n", "100%\n"),
        ("abcdef\rxy", "xycdef"),
        ("abcdef\r\x1b[Kxy", "xy"),
        ("abcdef\x1b[2K\rxy", "xy"),
        ("abcdef\r\x1b[3C\x1b[K", "abc"),
        ("abcdef\x1b[3D\x1b[1K", "    ef"),
        ("abc\b\bX", "aXc"),
        ("\b\bX", "X"),
        ("abc\x1b[2GX", "aXc"),
        ("abc\x1b[3CX", "abc   X"),
        ("a\nb\n\x1b[2AX\n", "X\nb\n"),
        ("one 1\ntwo 1\n\x1b[2Aone 2\x1b[K\ntwo 2\x1b[K\n", "one 2\ntwo 2\n"),
        ("a\nb\nc\x1b[2A\x1b[J", "a"),
        ("a\x1b[99A\x1b[99Bb", "ab"),
        ("\x1b]0;title\x07a\x1b]8;;javascript:x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1b]0;never ended\nb", "\nb"),
        ("\x1bPq data\x1b\\a\x1b(B\x1b=\x07\x00b\x7f", "ab"),
        ("\x1b[?25la\x1b[?25h\x1b[2J\x1b[H", "a"),
        ("\x9b31mred\x9b0m", "red"),
        ("cut off \x1b[3", "cut off "),
        ("x\x1b[999999999999Cy", None),
    ],
)
def test_lines_contain_the_text_that_a_terminal_shows(text: str, seen: str | None) -> None:
    assert seen is None or plain_text(text) == seen
    assert len(plain_text(text)) < 10_000


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("1", "bold"), ("2", "dim"), ("3", "italic"), ("4", "underline"), ("9", "strike"), ("1;4;31", "bold underline fg1"),
        ("31", "fg1"), ("97", "fg15"), ("41", "bg1"), ("100", "bg8"), ("38;5;3", "fg3"), ("38;5;208", "fg#ff8700"),
        ("48;5;232", "bg#080808"),
        ("38;2;1;2;3", "fg#010203"), ("38:2:1:2:3", "fg#010203"), ("38:2::1:2:3", "fg#010203"), ("48:5:9", "bg9"),
        ("38;2;1;2;3;1", "bold fg#010203"), ("38;5", ""), ("38;9;1", "bold strike"), ("38;5;999", ""), ("4:3", "underline"), ("4;4:0", ""),
        ("1;2;22", ""), ("3;23", ""), ("4;24", ""), ("9;29", ""), ("31;39", ""), ("41;49", ""),
        ("7", "fg0 bg7"), ("7;31;42", "fg2 bg1"), ("7;27;31", "fg1"), ("0", ""),
        ("", ""), ("1;;", ""), ("10;73", ""),
    ],
)  # fmt: skip
def test_colours(codes: str, style: str) -> None:
    assert styled_lines(f"\x1b[{codes}mx") == [[("x", style)]]


def test_colours_go_on_over_lines_until_they_are_reset() -> None:
    assert styled_lines("\x1b[31ma\nb\x1b[0mc\n\nd") == [
        [("a", "fg1")],
        [("b", "fg1"), ("c", "")],
        [],
        [("d", "")],
    ]


def test_colours_of_overwritten_text_go_with_it() -> None:
    assert styled_lines("\x1b[31mred\r\x1b[32mgr") == [[("gr", "fg2"), ("d", "fg1")]]
    assert styled_lines("\x1b[31m1%\x1b[2K\r2%") == [[("2%", "fg1")]]


def test_equal_neighbours_are_one_span() -> None:
    assert styled_lines("\x1b[1ma\x1b[0m\x1b[1mb") == [[("ab", "bold")]]


_PIECES = st.sampled_from(
    ["a", "bc", "\n", "\r", "\r\n", "\b", "\t", "\x07", "\x9b", "\x9c", "1;2", "m"]
) | st.sampled_from(
    [
        "",
        "[",
        "[K",
        "[1K",
        "[2K",
        "[J",
        "[A",
        "[2B",
        "[3C",
        "[D",
        "[9G",
        "[E",
        "[F",
        "[31m",
        "[0m",
        "[38;5;9m",
        "]0;t",
        "\\",
        "P",
    ]
).map("\x1b".__add__)
_TEXTS = st.lists(_PIECES | st.text(max_size=5)).map("".join)


@given(_TEXTS)
def test_plain_has_no_controls_and_is_stable(text: str) -> None:
    seen = plain_text(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", seen)
    assert plain_text(seen) == seen


@example("\x1b\x1b[31ma")
@given(_TEXTS)
def test_styled_and_plain_agree(text: str) -> None:
    lines = styled_lines(text)
    assert "\n".join("".join(part for part, _ in line) for line in lines) == plain_text(text).removesuffix(
        "\n"
    )
    assert all(part for line in lines for part, _ in line)


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[32m12:00:01\x1b[0m \x1b[1;34mINFO\x1b[0m handled \x1b[38;5;208m9ms\x1b[0m of work in a module\n"
        * 26_000,
        "".join(
            f"\r{number // 100:3d}%|{'#' * 40}| {number}/10000 [00:01<00:02]" for number in range(10_000)
        ),
        "".join(f"\x1b[2K\r\x1b[32m*\x1b[0m step {number} of many things" for number in range(20_000)),
        "x\r" * 300_000,
        "x\b" * 100_000,
        "\x1b]" * 200_000,
        "\x1b[" * 200_000,
        "\x1b[1A" * 100_000,
    ],
)
def test_long_output_takes_little_time(text: str) -> None:
    started = time.process_time()
    styled_lines(text)
    plain_text(text)
    assert time.process_time() - started < 30
