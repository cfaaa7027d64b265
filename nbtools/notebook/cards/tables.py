"""Plain tables with lines below, for output that is not a call: lists of tools, help, rules, history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

from nbtools.notebook.cards.markup import NO_MATH
from nbtools.notebook.hidden_characters import seen

_BORDER = "1px solid rgba(128,128,128,.25)"
_CELL = "text-align:left;vertical-align:top;padding:3px 14px 3px 0"
_WORDS = "white-space:pre-wrap;overflow-wrap:anywhere"
_SHORT = 28
"""Longest cell that is never wrapped, in characters."""
_seen = partial(seen, keep="\t\n")


def _cell_html(text: str) -> str:
    return escape(_seen(text))


@dataclass(frozen=True, slots=True)
class Sheet:
    """A title, rows of cells, and lines below.  The columns ``code`` are shown as code."""

    title: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    code: frozenset[int] = frozenset({0})

    def bundle(self) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}

    def text(self) -> str:
        table = [self.head, *self.rows] if self.head else list(self.rows)
        parts = [self.title, *_aligned(table), *(("",) if table and self.lines else ()), *self.lines]
        return "\n".join(_seen(part) for at, part in enumerate(parts) if part or at)

    def html(self) -> str:
        lines = "".join(f'<div style="margin-top:6px;{_WORDS};opacity:.8">{_cell_html(line)}</div>' for line in self.lines)
        style = "font-size:13px;line-height:1.45;overflow-x:auto"
        return f'<div class="nbtools-sheet {NO_MATH}" style="{style}">{self._title()}{self._table()}{lines}</div>'

    def _title(self) -> str:
        """Returns the title; its first line is bold."""
        first, _, rest = self.title.partition("\n")
        more = f'<div style="margin-bottom:4px;{_WORDS}">{_cell_html(rest)}</div>' if rest else ""
        return f'<div style="font-weight:600;margin-bottom:4px;{_WORDS}">{_cell_html(first)}</div>{more}' if first else ""

    def _table(self) -> str:
        if not self.rows:
            return ""
        head = "".join(f'<th style="{_CELL};opacity:.65;font-weight:normal">{_cell_html(cell)}</th>' for cell in self.head)
        rows = "".join(f"<tr>{''.join(self._cell(at, cell) for at, cell in enumerate(row))}</tr>" for row in self.rows)
        return f'<table style="border-collapse:collapse;margin:0">{f"<tr>{head}</tr>" if head else ""}{rows}</table>'

    def _cell(self, at: int, cell: str) -> str:
        content = f"<code>{_cell_html(cell)}</code>" if at in self.code and cell else _cell_html(cell)
        wrap = "white-space:nowrap" if len(cell) <= _SHORT else _WORDS
        return f'<td style="{_CELL};{wrap};border-top:{_BORDER}">{content}</td>'


@dataclass(frozen=True, slots=True)
class Text(Sheet):
    """A table whose text ``value`` the command also returns."""

    value: str = ""


def _aligned(table: Iterable[Sequence[str]]) -> list[str]:
    rows = [[cell.replace("\n", " ") for cell in row] for row in table]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
