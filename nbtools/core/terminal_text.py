"""Renders terminal output as it appears on the screen.

Supported are colours and weights (SGR with 16, 256 and 24-bit colours), carriage return, backspace, cursor
moves and erasing within a line, and moves up and down as in progress bars of several lines.  All other
control sequences (titles, links, modes, bells, absolute positions) are dropped.  A tab stays a tab; every
other character counts as one column.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

Span = tuple[str, str]
"""Text and its space-separated style words, see ``nbtools.cards.card_model.Span``."""

_CSI = r"(?:\x1b\[|\x9b)"
_STRING = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROL_BYTES = bytes({*range(0x20), 0x7F} - {ord("\t"), ord("\n")})
_TOKEN = re.compile(
    rf"{_CSI}(?:(?P<sgr>[\d;:]*)m|(?P<move>\d*)(?P<to>[A-GJK`])|[0-?]*[ -/]*[@-~]?)"
    rf"|{_STRING}|(?P<cr>\r)|(?P<back>\x08)|\x1b[ -/]*[0-~]?|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_MOVES = re.compile(rf"[\r\x08]|{_CSI}\d*[A-GJK`]")
_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_LINE_CLEARED = re.compile(r"\x1b\[2K\r|\r\x1b\[[02]?K")
_VERTICAL = re.compile(rf"{_CSI}\d*[A-FJ]")
_MOST_COLUMNS = 4096
"""The most columns that a move can go past a line's end, with blanks between. No terminal is wider."""


def styled_lines(text: str) -> list[list[Span]]:
    """Returns the lines as lists of styled spans. A final newline starts no new line."""
    text = text.replace("\r\n", "\n")
    if _is_bare(text):
        lines = text.removesuffix("\n").split("\n") if text else []
        return [[(line, "")] if line else [] for line in lines]
    screen = _Screen()
    screen.feed(text)
    rows = [row.spans() if isinstance(row, _Cells) else row for row in screen.rows]
    return rows if rows[-1] else rows[:-1]


def plain_text(text: str) -> str:
    """Returns the text without styles, and without control characters except newline and tab.  Idempotent."""
    text = text.replace("\r\n", "\n")
    if _is_bare(text):
        return text
    if not _MOVES.search(text):
        uncoloured = _SGR.sub("", text)
        return _TOKEN.sub("", text) if _CONTROL.search(uncoloured) else uncoloured
    screen = _Screen()
    screen.feed(text)
    rows = (row.characters if isinstance(row, _Cells) else [part for part, _ in row] for row in screen.rows)
    return "\n".join(map("".join, rows))


def _is_bare(text: str) -> bool:
    """Whether the text has no control characters. Deleting ASCII bytes is ten times faster than searching."""
    if text.isascii():
        return len(text.encode("ascii").translate(None, _CONTROL_BYTES)) == len(text)
    return not _CONTROL.search(text)


class _Cells:
    """A line with one character and one style per column, for lines that are overwritten."""

    __slots__ = ("characters", "styles")

    def __init__(self, spans: list[Span]) -> None:
        self.characters = [character for text, _ in spans for character in text]
        self.styles = [style for text, style in spans for _ in text]

    def write(self, column: int, text: str, style: str) -> None:
        gap = column - len(self.characters)
        if gap > 0:
            self.characters.extend(" " * gap)
            self.styles.extend([""] * gap)
        self.characters[column : column + len(text)] = text
        self.styles[column : column + len(text)] = [style] * len(text)

    def erase(self, column: int, how: str) -> None:
        if how in ("", "0"):
            del self.characters[column:], self.styles[column:]
        elif how == "1":
            self.write(0, " " * (column + 1), "")
        elif how == "2":
            self.characters.clear()
            self.styles.clear()

    def spans(self) -> list[Span]:
        runs = groupby(zip(self.styles, self.characters, strict=True), key=itemgetter(0))
        return [("".join(character for _, character in run), style) for style, run in runs]


class _Screen:
    """The lines after all text so far. A line stays a list of spans until the cursor moves in it."""

    def __init__(self) -> None:
        self.rows: list[list[Span] | _Cells] = [[]]
        self.row = 0
        self.column = 0
        self.pen = _PLAIN
        self.style = ""

    def feed(self, text: str) -> None:
        if not _MOVES.search(text):
            self.rows = [self._simple(line) if line else [] for line in text.split("\n")]
            return
        for number, chunk in enumerate(text.split("\n")):
            if number:
                self._newline()
            if not chunk:
                continue
            if self.rows[self.row] or _MOVES.search(chunk):
                self._moving(chunk)
            else:
                self.rows[self.row] = self._simple(chunk)

    def _newline(self) -> None:
        self.row += 1
        self.column = 0
        if self.row == len(self.rows):
            self.rows.append([])

    def _simple(self, chunk: str) -> list[Span]:
        """Returns the spans of a text in which only colours change."""
        if "\x1b" not in chunk and not _CONTROL.search(chunk):
            return [(chunk, self.style)]
        parts = _SGR.split(chunk)
        if _CONTROL.search("".join(parts[::2])):
            parts[::2] = [_TOKEN.sub("", part) for part in parts[::2]]
        spans: list[Span] = []
        _append(spans, parts[0], self.style)
        for codes, part in zip(parts[1::2], parts[2::2], strict=True):
            self._paint(codes)
            _append(spans, part, self.style)
        return spans

    def _moving(self, chunk: str) -> None:
        chunk = self._skip_overwritten(chunk)
        at_start = not self.rows[self.row] and not self.column
        if at_start and "\x1b" not in chunk and not _CONTROL.search(chunk.replace("\r", "")):
            chunk = _overwritten(chunk)
        at = 0
        for token in _TOKEN.finditer(chunk):
            if token.start() > at:
                self._write(chunk[at : token.start()])
            at = token.end()
            self._act(token)
        if at < len(chunk):
            self._write(chunk[at:])

    def _skip_overwritten(self, chunk: str) -> str:
        """Skips what a progress bar overwrites: all before the line was last cleared, except its colours.
        Returns the rest.
        """
        cut = max((found.end() for found in _LINE_CLEARED.finditer(chunk)), default=0)
        if not cut or _VERTICAL.search(chunk, 0, cut):
            return chunk
        for codes in _SGR.findall(chunk[:cut]):
            self._paint(codes)
        self.rows[self.row] = []
        self.column = 0
        return chunk[cut:]

    def _act(self, token: re.Match[str]) -> None:
        kind = token.lastgroup
        if kind == "cr":
            self.column = 0
        elif kind == "back":
            self.column = max(0, self.column - 1)
        elif kind == "sgr":
            self._paint(token["sgr"])
        elif kind == "to":
            self._move(token["to"], token["move"])

    def _move(self, to: str, amount: str) -> None:
        if to == "K":
            self._cells().erase(self.column, amount)
        elif to == "J":
            if amount in ("", "0"):  # a terminal keeps what is above in its scrollback
                self._cells().erase(self.column, "0")
                del self.rows[self.row + 1 :]
        else:
            steps = min(int(amount[:6] or 1), _MOST_COLUMNS) or 1
            row = self.row + steps * {"A": -1, "F": -1, "B": 1, "E": 1}.get(to, 0)
            self.row = min(max(0, row), len(self.rows) - 1)
            columns = {"C": self.column + steps, "D": self.column - steps, "E": 0, "F": 0}
            column = steps - 1 if to in "G`" else columns.get(to, self.column)
            self.column = max(0, min(column, len(self._cells().characters) + _MOST_COLUMNS))

    def _cells(self) -> _Cells:
        row = self.rows[self.row]
        if not isinstance(row, _Cells):
            row = self.rows[self.row] = _Cells(row)
        return row

    def _write(self, text: str) -> None:
        self._cells().write(self.column, text, self.style)
        self.column += len(text)

    def _paint(self, codes: str) -> None:
        self.pen, self.style = _painted(self.pen, codes)


def _overwritten(chunk: str) -> str:
    """Returns what is visible of lines that overwrite each other by carriage returns only."""
    visible = ""
    for frame in reversed(chunk.split("\r")):
        visible += frame[len(visible) :]
    return visible


def _append(spans: list[Span], text: str, style: str) -> None:
    if spans and text and spans[-1][1] == style:
        spans[-1] = (spans[-1][0] + text, style)
    elif text:
        spans.append((text, style))


class _Pen(NamedTuple):
    """The current style: colours as ``0`` … ``15`` or ``#rrggbb``, empty for the terminal's default."""

    foreground: str = ""
    background: str = ""
    flags: frozenset[str] = frozenset()


_PLAIN = _Pen()
_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike", 21: "underline"}
_FLAG_RESETS = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}, 27: {"inverse"}, 29: {"strike"}}


def _words(pen: _Pen) -> str:
    foreground, background = pen.foreground, pen.background
    if "inverse" in pen.flags:
        foreground, background = background or "0", foreground or "7"
    flags = [flag for flag in ("bold", "dim", "italic", "underline", "strike") if flag in pen.flags]
    colours = [f"fg{foreground}" if foreground else "", f"bg{background}" if background else ""]
    return " ".join([*flags, *filter(None, colours)])


@lru_cache(maxsize=1024)
def _painted(pen: _Pen, codes: str) -> tuple[_Pen, str]:
    """Returns the pen after ``CSI codes m``, and its style words."""
    rest = codes.split(";")
    while rest:
        first, *details = rest.pop(0).split(":")
        code = _number(first)
        if code in (38, 48):
            colour = _colour([part for part in details if part] if details else _take_colour(rest))
            if colour and code == 38:
                pen = pen._replace(foreground=colour)
            elif colour:
                pen = pen._replace(background=colour)
        elif code == 4 and details[:1] == ["0"]:
            pen = pen._replace(flags=pen.flags - {"underline"})
        else:
            pen = _simply_painted(pen, code)
    return pen, _words(pen)


def _simply_painted(pen: _Pen, code: int) -> _Pen:
    if code == 0:
        return _PLAIN
    if code in _FLAGS:
        return pen._replace(flags=pen.flags | {_FLAGS[code]})
    if code in _FLAG_RESETS:
        return pen._replace(flags=pen.flags - _FLAG_RESETS[code])
    for start, colour in ((30, 0), (90, 8)):
        if start <= code < start + 8:
            return pen._replace(foreground=str(code - start + colour))
        if start + 10 <= code < start + 18:
            return pen._replace(background=str(code - start - 10 + colour))
    if code == 39:
        pen = pen._replace(foreground="")
    return pen._replace(background="") if code == 49 else pen


def _take_colour(rest: list[str]) -> list[str]:
    """Removes ``5;n`` or ``2;r;g;b`` from the front of ``rest`` and returns it."""
    count = {"5": 2, "2": 4}.get(rest[0] if rest else "", 0)
    parts, rest[:count] = rest[:count], []
    return parts


def _colour(parts: list[str]) -> str:
    """Returns the colour that ``5 n`` or ``2 [space] r g b`` names, empty for an invalid one."""
    values = [_number(part) for part in parts]
    if len(values) >= 4 and values[0] == 2:
        red, green, blue = (min(value, 255) for value in values[-3:])
        return f"#{red:02x}{green:02x}{blue:02x}"
    if len(values) != 2 or values[0] != 5 or values[1] > 255:
        return ""
    return _indexed(values[1])


def _indexed(index: int) -> str:
    """Returns one of the 256 colours: 16 of the theme, a cube of 6×6×6, 24 greys."""
    if index < 16:
        return str(index)
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    steps = ((index - 16) // 36, (index - 16) // 6 % 6, (index - 16) % 6)
    levels = [55 + 40 * step if step else 0 for step in steps]
    return "#{:02x}{:02x}{:02x}".format(*levels)


def _number(digits: str) -> int:
    return int(digits[:6] or 0)
