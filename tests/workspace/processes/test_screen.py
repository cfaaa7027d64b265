"""The terminal's screen, checked against another emulator and against the documented behaviour of xterm."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtools.workspace.processes.emulator import Emulator
from nbtools.workspace.processes.screen import Screen
from nbtools.workspace.processes.screen_cells import apply_sgr
from tests.examples import examples

ROWS, COLUMNS = 5, 12


def screen_of(*chunks: bytes, rows: int = ROWS, columns: int = COLUMNS) -> Screen:
    screen = Screen(rows, columns)
    emulator = Emulator(screen, lambda _: None, lambda _: None)
    for chunk in chunks:
        emulator.feed(chunk)
    return screen


_number = st.sampled_from(("", "0", "1", "2", "3", "5", "7", "40"))
_moves = st.builds("\x1b[{}{}".format, _number, st.sampled_from("ABCDEFGdXP@L"))
_erasing = st.builds("\x1b[{}{}".format, st.sampled_from(("", "0", "1", "2")), st.sampled_from("JK"))
_jumps = st.builds("\x1b[{};{}H".format, _number, _number)
_inside = st.sampled_from(
    ("one\r\n", "\rtwo\n", "\x1bM", "\x1b[L", "\x1b[A", "\x1b[2B", "\ra long line that wraps")
)
_margins = st.builds(
    lambda margins, parts: f"\x1b[{margins[0]};{margins[1]}r\x1b[{margins[0]}H{''.join(parts)}\x1b[r\x1b[H",
    st.sampled_from(((2, 4), (1, 3), (3, 5))),
    st.lists(_inside, max_size=6),
)
# Deleting rows is not among them: the other one forgets to clear a row when the one below was never written
# to.
_words = st.text(alphabet="abcxyz .", min_size=1, max_size=20)
_plain = st.sampled_from(
    (
        "\r",
        "\n",
        "\r\n",
        "\b",
        "\t",
        "\x1bM",
        "\x1bD",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[31m",
        "\x1b[0m",
        "\x1b]0;t\x07",
    )
)
_streams = st.lists(st.one_of(_words, _words, _moves, _erasing, _jumps, _plain, _margins), max_size=25)


@given(_streams)
@settings(max_examples=examples(300), deadline=None)
def test_it_shows_what_another_emulator_shows(parts: list[str]) -> None:
    text = _settled(parts)
    theirs = pyte.Screen(COLUMNS, ROWS)
    pyte.Stream(theirs).feed(text)
    screen = screen_of(text.encode())
    assert [row.full() for row in screen.lines] == [line.ljust(COLUMNS) for line in theirs.display]
    assert (screen.cursor.row, screen.cursor.column) == (theirs.cursor.y, theirs.cursor.x)


def _settled(parts: list[str]) -> str:
    """Never a sequence right after the last column was filled:
    there the two part ways, and ours goes with xterm.
    """
    text = ""
    for part in parts:
        text += part
        text += "\r" if screen_of(text.encode()).cursor.column == COLUMNS else ""
    return text


@given(_streams, st.data())
@settings(max_examples=examples(100), deadline=None)
def test_chunks_make_no_difference(parts: list[str], data: st.DataObject) -> None:
    stream = ("".join(parts) + "ü漢é\x1b[38;5;9mx\x1b]8;;http://x\x1b\\y").encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, parted = screen_of(stream), screen_of(*chunks)
    assert whole.styled() == parted.styled()
    assert whole.cursor == parted.cursor


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from((b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b[?1049h", b"\x1b[?1049l", "漢".encode())),
        )
    )
)
@example([b"\x1b[?7l", b"a" * 11, "漢漢".encode()])
@settings(max_examples=examples(300), deadline=None)
def test_nothing_breaks_it(chunks: list[bytes]) -> None:
    screen = screen_of(*chunks)
    assert len(screen.lines) == ROWS
    assert all(len(row.cells) == len(row.styles) == COLUMNS for row in screen.lines)
    assert 0 <= screen.cursor.row < ROWS
    assert 0 <= screen.cursor.column <= COLUMNS
    screen.resize(3, 7)
    screen.resize(8, 20)
    assert [len(row.cells) for row in screen.lines] == [20] * 8
    screen.unwrapped_lines(0)


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        ("abcdefghijklmn", "abcdefghijkl\nmn"),
        ("\x1b[?7labcdefghijklmn", "abcdefghijkn"),
        ("漢字", "漢字"),
        ("漢字\x1b[2DX", "漢X"),
        ("e\u0301a", "e\u0301a"),
        ("abcdefghijk漢", "abcdefghijk\n漢"),
        ("\x1b(0lqk\x1b(B", "┌─┐"),
        ("a\x1b[3b", "aaaa"),
        ("one\x1b[?1049h\x1b[Htwo", "two"),
        ("one\x1b[?1049h\x1b[Htwo\x1b[?1049l!", "one!"),
        ("one\x1bctwo", "two"),
        ("\x1b[?2004ha\x1b[?25lb\x1b[1 qc\x1b[>4;2md", "abcd"),
        ("a\x1bP+q544e\x1b\\b\x1b_x\x1b\\c", "abc"),
        ("\x1b]0;no end\x1b[31mx", "x"),
        ("a\x1b[2;3H\x1b[sX\x1b[H\x1b[uY", "a\n  Y"),
    ],
)
def test_sequences_have_the_effect_that_xterm_gives_them(stream: str, text: str) -> None:
    assert screen_of(stream.encode()).text() == text


def test_scrolled_lines_are_stored_and_wrapped_rows_are_joined() -> None:
    screen = screen_of(
        "".join(f"line {number}\r\n" for number in range(20)).encode(), b"a long line that wraps\r\n$ "
    )
    lines, lost = screen.unwrapped_lines(0)
    assert lines == [*(f"line {number}" for number in range(20)), "a long line that wraps", "$ "]
    assert lost == 0
    assert screen.unwrapped_lines(18)[0][:2] == ["line 18", "line 19"]


def test_lines_beyond_the_limit_are_counted() -> None:
    screen = screen_of(b"x\r\n" * 20_000)
    lines, lost = screen.unwrapped_lines(0)
    assert len(lines) + lost == 20_001
    assert lost > 5_000


def test_the_lines_before_an_alternate_screen_stay() -> None:
    screen = screen_of(b"one\r\n$ vi\r\n\x1b[?1049h\x1b[2J\x1b[5;1Hvi")
    assert screen.text().strip() == "vi"
    assert screen.unwrapped_lines(0)[0] == ["one", "$ vi", ""]


def test_a_program_that_asks_is_answered() -> None:
    answers: list[bytes] = []
    told: list[str] = []
    Emulator(Screen(5, 10), told.append, answers.append).feed(b"abc\x1b[6n\x1b[5n\x1b[c\x1b]2;title\x07")
    assert answers == [b"\x1b[1;4R", b"\x1b[0n", b"\x1b[?62;22c"]
    assert told == ["2;title"]


@pytest.mark.parametrize(
    ("before", "parameters", "after"),
    [
        ("", "31", "31"),
        ("31", "1", "1;31"),
        ("1;31", "0", ""),
        ("1;31", "", ""),
        ("1;31", "22;39", ""),
        ("31", "38;5;200", "38;5;200"),
        ("", "38:2:1:2:3", "38;2;1;2;3"),
        ("48;2;1;2;3", "1", "1;48;2;1;2;3"),
        ("", "38;5", ""),
        ("", "38;5;300", ""),
        ("", "99999999999", ""),
    ],
)
def test_colours_and_weights(before: str, parameters: str, after: str) -> None:
    assert apply_sgr(before, parameters) == after


def test_colours_are_shown_as_runs() -> None:
    assert screen_of(b"a\x1b[31mbc\x1b[0m d\x1b[42m ").styled() == "a\x1b[31mbc\x1b[0m d\x1b[42m \x1b[0m"
