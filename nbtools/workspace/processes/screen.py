"""A terminal's screen: rows, cursor, margins and the scrollback history.

Behaves like xterm as far as text is concerned.  Rows and columns count from 0.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

from nbtools.workspace.processes.screen_cells import Row, background_of

_HISTORY = 10_000
"""Maximum number of lines in the scrollback history."""


@dataclass(slots=True)
class Cursor:
    """The cursor.  ``column`` may be one past the last column: the next character then starts a new row."""

    row: int = 0
    column: int = 0
    style: str = ""
    graphics: bool = False
    """Whether letters are displayed as line-drawing characters."""
    origin: bool = False
    """Whether rows count from the upper margin."""

    def copy(self) -> Cursor:
        return Cursor(self.row, self.column, self.style, self.graphics, self.origin)


class Screen:
    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.history: deque[Row] = deque(maxlen=_HISTORY)
        self.scrolled_off = 0
        """Total number of lines that have scrolled off the screen."""
        self.first_changed = 0
        """The first line written to since this was last set: a line number as ``scrolled_off`` counts."""
        self.reset()

    def reset(self) -> None:
        """Resets everything except the scrollback history."""
        self.lines = self._blank()
        self.cursor = Cursor()
        self.saved = Cursor()
        self.top, self.bottom = 0, self.rows - 1
        self.wraps, self.inserts, self.newline_returns = True, False, False
        self.tabs = set(range(8, 1_000, 8))
        self.main: list[Row] | None = None
        """The lines of the main screen while the alternate screen is active."""
        self._main_row = 0

    def _blank(self) -> list[Row]:
        return [Row(self.columns) for _ in range(self.rows)]

    # --- text

    def write(self, text: str) -> None:
        """Writes characters that are one column wide each."""
        cursor = self.cursor
        while text:
            row, free = self._row_for(1), self.columns - cursor.column
            part, text = text[:free], text[free:]
            if self.inserts:
                row.insert(cursor.column, len(part), "")
            row.write(cursor.column, part, cursor.style)
            cursor.column += len(part)
            if not self.wraps and cursor.column >= self.columns:
                cursor.column = self.columns - 1
                if text:
                    row.write(cursor.column, text[-1], cursor.style)
                return

    def write_any(self, text: str) -> None:
        """Writes characters of any width."""
        from wcwidth import wcwidth  # noqa: PLC0415 - 15 ms: needed for terminals that show more than ASCII

        for character in text:
            width = wcwidth(character)
            if width == 1:
                self.write(character)
            elif width == 2:
                self._write_wide(character)
            elif width == 0:
                self._combine(character)

    def _write_wide(self, character: str) -> None:
        if self.columns < 2:
            return
        row = self._row_for(2)
        if self.inserts:
            row.insert(self.cursor.column, 2, "")
        row.write_wide(self.cursor.column, character, self.cursor.style)
        self.cursor.column += 2
        if not self.wraps:
            self.cursor.column = min(self.cursor.column, self.columns - 1)

    def _row_for(self, width: int) -> Row:
        """Returns the row for the next character; wraps to a new row if ``width`` columns do not fit."""
        cursor = self.cursor
        if cursor.column + width > self.columns:
            if self.wraps:
                self.lines[cursor.row].wrapped = True
                cursor.column = 0
                self.index()
            else:
                cursor.column = self.columns - width
        if self.main is None:
            self.first_changed = min(self.first_changed, self.scrolled_off + self.cursor.row)
        return self.lines[cursor.row]

    def _combine(self, mark: str) -> None:
        row, column = self.cursor.row, self.cursor.column
        if column == 0:
            return
        cells = self.lines[row]
        if len(cells.cells[column - 1]) < 16:
            cells.combine(column - 1, mark)

    # --- moving

    def move(self, row: int, column: int) -> None:
        """Moves the cursor within the screen, or within the margins in origin mode."""
        lowest, highest = (self.top, self.bottom) if self.cursor.origin else (0, self.rows - 1)
        self.cursor.row = max(lowest, min(row + lowest, highest))
        self.cursor.column = max(0, min(column, self.columns - 1))

    def step(self, rows: int, columns: int) -> None:
        """Moves the cursor relatively; vertically it stops at a margin unless it is already beyond it."""
        cursor = self.cursor
        lowest = self.top if cursor.row >= self.top else 0
        highest = self.bottom if cursor.row <= self.bottom else self.rows - 1
        cursor.row = max(lowest, min(cursor.row + rows, highest))
        cursor.column = max(0, min(min(cursor.column, self.columns - 1) + columns, self.columns - 1))

    def to_column(self, column: int) -> None:
        self.cursor.column = max(0, min(column, self.columns - 1))

    def to_row(self, row: int) -> None:
        self.move(row, self.cursor.column)

    def tab(self) -> None:
        beyond = [stop for stop in self.tabs if stop > self.cursor.column]
        self.to_column(min(beyond, default=self.columns - 1))

    def back_tab(self) -> None:
        self.to_column(max((stop for stop in self.tabs if stop < self.cursor.column), default=0))

    def index(self) -> None:
        """Moves the cursor down one row; at the lower margin, scrolls up."""
        if self.cursor.row == self.bottom:
            self.scroll_up(1)
        elif self.cursor.row < self.rows - 1:
            self.cursor.row += 1

    def reverse_index(self) -> None:
        if self.cursor.row == self.top:
            self.scroll_down(1)
        elif self.cursor.row:
            self.cursor.row -= 1

    def save(self) -> None:
        self.saved = self.cursor.copy()

    def restore(self) -> None:
        self.cursor = self.saved.copy()
        self.cursor.row = min(self.cursor.row, self.rows - 1)
        self.cursor.column = min(self.cursor.column, self.columns)

    def set_margins(self, top: int, bottom: int) -> None:
        bottom = min(bottom, self.rows - 1)
        if 0 <= top < bottom:
            self.top, self.bottom = top, bottom
            self.move(0, 0)

    # --- rows

    def scroll_up(self, count: int) -> None:
        """Scrolls the rows between the margins; rows that leave the main screen go to the history."""
        for _ in range(min(count, self.bottom - self.top + 1)):
            row = self.lines.pop(self.top)
            if self.top == 0 and self.main is None:
                self.history.append(row)
                self.scrolled_off += 1
            self.lines.insert(self.bottom, self._erased())

    def scroll_down(self, count: int) -> None:
        for _ in range(min(count, self.bottom - self.top + 1)):
            del self.lines[self.bottom]
            self.lines.insert(self.top, self._erased())

    def insert_rows(self, count: int) -> None:
        self._shift(count, insert=True)

    def delete_rows(self, count: int) -> None:
        self._shift(count, insert=False)

    def _shift(self, count: int, *, insert: bool) -> None:
        row = self.cursor.row
        if not self.top <= row <= self.bottom:
            return
        for _ in range(min(count, self.bottom - row + 1)):
            del self.lines[self.bottom if insert else row]
            self.lines.insert(row if insert else self.bottom, self._erased())
        self.cursor.column = 0

    def _erased(self) -> Row:
        row = Row(self.columns)
        background = self._background()
        if background:
            row.erase(0, self.columns, background)
        return row

    def _background(self) -> str:
        return background_of(self.cursor.style)

    # --- erasing

    def erase_in_row(self, how: int) -> None:
        at = min(self.cursor.column, self.columns - 1)
        start, end = {0: (at, self.columns), 1: (0, at + 1), 2: (0, self.columns)}.get(how, (0, 0))
        row = self.lines[self.cursor.row]
        row.erase(start, end, self._background())
        if how != 1:
            row.wrapped = False

    def erase_in_screen(self, how: int) -> None:
        row = self.cursor.row
        if how in (0, 1):
            self.erase_in_row(how)
        for number in {0: range(row + 1, self.rows), 1: range(row), 2: range(self.rows)}.get(how, ()):
            self.lines[number] = self._erased()
        if how == 3:
            self.history.clear()

    def erase_cells(self, count: int) -> None:
        at = min(self.cursor.column, self.columns - 1)
        self.lines[self.cursor.row].erase(at, min(at + count, self.columns), self._background())

    def insert_cells(self, count: int) -> None:
        at = min(self.cursor.column, self.columns - 1)
        self.lines[self.cursor.row].insert(at, count, self._background())

    def delete_cells(self, count: int) -> None:
        at = min(self.cursor.column, self.columns - 1)
        self.lines[self.cursor.row].delete(at, count, self._background())

    # --- the alternate screen, and size

    def show_alternate(self) -> None:
        if self.main is None:
            self.main, self.lines, self._main_row = self.lines, self._blank(), self.cursor.row

    def show_main(self) -> None:
        if self.main is not None:
            self.lines, self.main = self.main, None

    def resize(self, rows: int, columns: int) -> None:
        """Resizes without reflowing text; rows below the cursor are dropped first, then rows at the top."""
        self.lines = self._resized(self.lines, rows, columns, remember=self.main is None)
        if self.main is not None:
            self.main = self._resized(self.main, rows, columns, remember=False)
        self.rows, self.columns = rows, columns
        self.top, self.bottom = 0, rows - 1
        self.cursor.row = min(self.cursor.row, rows - 1)
        self.cursor.column = min(self.cursor.column, columns - 1)

    def _resized(self, lines: list[Row], rows: int, columns: int, *, remember: bool) -> list[Row]:
        above = max(0, self.cursor.row - rows + 1)
        if remember:
            self.history.extend(lines[:above])
            self.scrolled_off += above
            self.cursor.row -= above
        remaining = lines[above : above + rows]
        for row in remaining:
            row.resize(columns)
        return remaining + [Row(columns) for _ in range(rows - len(remaining))]

    # --- content

    def text(self) -> str:
        """Returns the rows without trailing empty ones."""
        return "\n".join(row.text() for row in self.lines).rstrip("\n")

    def styled(self) -> str:
        return "\n".join(row.styled() for row in self.lines).rstrip("\n")

    @property
    def cursor_line(self) -> int:
        """The cursor's absolute line number on the main screen."""
        return self.scrolled_off + (self.cursor.row if self.main is None else self._main_row)

    def line_start(self, line: int) -> int:
        """Returns the first line of the unwrapped line that contains ``line`` (absolute numbers)."""
        main = self.lines if self.main is None else self.main
        while line > 0:
            before = line - 1 - self.scrolled_off
            if not -len(self.history) <= before < len(main):
                break
            if not (main if before >= 0 else self.history)[before].wrapped:
                break
            line -= 1
        return line

    def unwrapped_lines(self, first: int) -> tuple[list[str], int]:
        """Returns the unwrapped lines from ``first`` to the cursor, and how many were discarded."""
        oldest = self.scrolled_off - len(self.history)
        lost = max(0, oldest - first)
        main, last = (self.lines, self.cursor.row) if self.main is None else (self.main, self._main_row)
        rows = [
            *islice(self.history, max(first - oldest, 0), None),
            *main[max(first - self.scrolled_off, 0) : last + 1],
        ]
        texts: list[str] = []
        joined = ""
        for row in rows[:-1]:
            joined += row.full() if row.wrapped else row.text()
            if not row.wrapped:
                texts.append(joined)
                joined = ""
        return ([*texts, joined + self._up_to_cursor(rows[-1])] if rows else []), lost

    def _up_to_cursor(self, row: Row) -> str:
        """Returns the row's text, with the trailing blanks that the cursor has passed."""
        column = self.cursor.column if self.main is None else 0
        return max(row.text(), "".join(row.cells[:column]), key=len)
