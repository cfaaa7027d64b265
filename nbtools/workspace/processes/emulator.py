"""Terminal emulator: interprets a program's output and updates the screen."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from nbtools.workspace.processes.screen import Screen
from nbtools.workspace.processes.screen_cells import apply_sgr

_TOKEN = re.compile(
    r"(?P<ascii>[ -~]+)"
    r"|\x1b\[(?P<private>[<-?]?)(?P<numbers>[\d;:]*)(?P<middle>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b\x9c]*)(?:\x07|\x1b\\|\x9c|(?=\x1b[^\\]))"
    r"|\x1b[PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|(?=\x1b[^\\]))"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b(?P<escape>[ -/]*[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x9f]+)"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c]*\x1b?|[ -/]*)\Z")
_LONGEST = 65_536
"""Maximum length of an escape sequence; longer data is treated as text."""
_GRAPHICS = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
_MOST = 9_999
"""Maximum number in a control sequence."""


class Emulator:
    """Updates a screen from terminal output.

    ``on_osc`` gets the text of operating system commands (OSC, such as titles), ``answer`` the terminal's
    replies to programs that query its type or the cursor position.
    """

    def __init__(
        self, screen: Screen, on_osc: Callable[[str], None], answer: Callable[[bytes], None]
    ) -> None:
        self.screen = screen
        self.bracketed_paste = False
        """Whether the program has enabled bracketed paste, so that pasted newlines do not submit a line."""
        self._on_osc = on_osc
        self._answer = answer
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._last = ""
        self._by_final: dict[str, Callable[[int, int], None]] = _operations(screen)

    def feed(self, data: bytes) -> None:
        text = self._rest + self._decode(data)
        self._rest = ""
        at, end = 0, len(text)
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                if _UNFINISHED.match(text, at) and end - at <= _LONGEST:
                    self._rest = text[at:]
                    return
                at += 1  # an escape character without a sequence
                continue
            at = found.end()
            match found.lastgroup:
                case "ascii" | "text":
                    self._text(found[0])
                case "control":
                    self._control(found[0])
                case "final":
                    self._sequence(found["private"], found["numbers"], found["middle"], found["final"])
                case "escape":
                    self._escape(found["escape"])
                case "osc":
                    self._on_osc(found["osc"])

    def _text(self, text: str) -> None:
        if text.isascii() and not self.screen.cursor.graphics:
            self.screen.write(text)
        else:
            self.screen.write_any(text.translate(_GRAPHICS) if self.screen.cursor.graphics else text)
        self._last = text[-1]

    def _control(self, character: str) -> None:
        screen = self.screen
        match character:
            case "\n" | "\v" | "\f":
                screen.index()
                if screen.newline_returns:
                    screen.to_column(0)
            case "\r":
                screen.to_column(0)
            case "\b":
                screen.step(0, -1)
            case "\t":
                screen.tab()
            case "\x0e" | "\x0f":
                screen.cursor.graphics = character == "\x0e"

    def _escape(self, code: str) -> None:
        screen = self.screen
        match code:
            case "7":
                screen.save()
            case "8":
                screen.restore()
            case "D":
                screen.index()
            case "E":
                screen.index()
                screen.to_column(0)
            case "M":
                screen.reverse_index()
            case "H":
                screen.tabs.add(screen.cursor.column)
            case "c":
                screen.reset()
                self.bracketed_paste = False
            case "(0" | "(B":
                screen.cursor.graphics = code == "(0"

    def _sequence(self, private: str, text: str, middle: str, final: str) -> None:
        if final == "m" and not private and not middle:
            self.screen.cursor.style = apply_sgr(self.screen.cursor.style, text)
            return
        numbers = [min(int(part[:6] or 0), _MOST) if part.isdigit() else 0 for part in text.split(";")]
        if final in "hl" and not middle:
            for number in numbers:
                self._mode(private, number, final == "h")
        elif private or middle:
            sequence = private + middle + final
            if sequence == "!p":  # soft reset
                screen = self.screen
                screen.inserts, screen.wraps = False, True
                screen.cursor.origin, screen.cursor.style = False, ""
                screen.top, screen.bottom = 0, screen.rows - 1
            elif sequence == ">c":
                self._answer(b"\x1b[>0;0;0c")
        elif final in self._by_final:
            self._by_final[final](numbers[0], _second(numbers))
        else:
            self._other_sequence(final, numbers)

    def _other_sequence(self, final: str, numbers: list[int]) -> None:
        match final:
            case "r":
                self.screen.set_margins(max(numbers[0], 1) - 1, (_second(numbers) or self.screen.rows) - 1)
            case "c" | "n":
                self._report(final, numbers[0])
            case "b" if self._last:
                self._text(self._last * min(numbers[0] or 1, self.screen.columns * self.screen.rows))

    def _mode(self, private: str, number: int, on: bool) -> None:
        screen = self.screen
        match private, number:
            case "", 4:
                screen.inserts = on
            case "", 20:
                screen.newline_returns = on
            case "?", 6:
                screen.cursor.origin = on
                screen.move(0, 0)
            case "?", 7:
                screen.wraps = on
            case "?", 47 | 1047 | 1048 | 1049:
                self._alternate(number, on)
            case "?", 2004:
                self.bracketed_paste = on

    def _alternate(self, number: int, on: bool) -> None:
        screen = self.screen
        if on and number in (1048, 1049):
            screen.save()
        if number != 1048:
            (screen.show_alternate if on else screen.show_main)()
        if not on and number in (1048, 1049):
            screen.restore()

    def _report(self, final: str, number: int) -> None:
        cursor = self.screen.cursor
        if final == "c" and number == 0:
            self._answer(b"\x1b[?62;22c")
        elif final == "n" and number == 5:
            self._answer(b"\x1b[0n")
        elif final == "n" and number == 6:
            self._answer(b"\x1b[%d;%dR" % (cursor.row + 1, min(cursor.column, self.screen.columns - 1) + 1))


def _second(numbers: list[int]) -> int:
    return numbers[1] if len(numbers) > 1 else 0


def _operations(screen: Screen) -> dict[str, Callable[[int, int], None]]:
    """Returns the handlers of control sequences by their final letter; an omitted number is 0."""

    def clear_tabs(how: int, _: int) -> None:
        if how == 0:
            screen.tabs.discard(screen.cursor.column)
        elif how == 3:
            screen.tabs.clear()

    def tabs(count: int, step: Callable[[], None]) -> None:
        for _ in range(min(count or 1, screen.columns)):
            step()

    return {
        "@": lambda n, _: screen.insert_cells(n or 1),
        "A": lambda n, _: screen.step(-(n or 1), 0),
        "B": lambda n, _: screen.step(n or 1, 0),
        "C": lambda n, _: screen.step(0, n or 1),
        "D": lambda n, _: screen.step(0, -(n or 1)),
        "E": lambda n, _: screen.step(n or 1, -_MOST),
        "F": lambda n, _: screen.step(-(n or 1), -_MOST),
        "G": lambda n, _: screen.to_column((n or 1) - 1),
        "H": lambda n, m: screen.move((n or 1) - 1, (m or 1) - 1),
        "I": lambda n, _: tabs(n, screen.tab),
        "J": lambda n, _: screen.erase_in_screen(n),
        "K": lambda n, _: screen.erase_in_row(n),
        "L": lambda n, _: screen.insert_rows(n or 1),
        "M": lambda n, _: screen.delete_rows(n or 1),
        "P": lambda n, _: screen.delete_cells(n or 1),
        "S": lambda n, _: screen.scroll_up(n or 1),
        "T": lambda n, _: screen.scroll_down(n or 1),
        "X": lambda n, _: screen.erase_cells(n or 1),
        "Z": lambda n, _: tabs(n, screen.back_tab),
        "`": lambda n, _: screen.to_column((n or 1) - 1),
        "a": lambda n, _: screen.step(0, n or 1),
        "d": lambda n, _: screen.to_row((n or 1) - 1),
        "e": lambda n, _: screen.step(n or 1, 0),
        "f": lambda n, m: screen.move((n or 1) - 1, (m or 1) - 1),
        "g": clear_tabs,
        "s": lambda _n, _m: screen.save(),
        "u": lambda _n, _m: screen.restore(),
    }
