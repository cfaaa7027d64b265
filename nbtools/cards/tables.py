"""Plain tables with lines below, for output that is not a call: lists of tools, help, rules, history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from nbtools.cards.hidden_characters import seen

_seen = partial(seen, keep="\t\n")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A title, rows of cells, and lines below.  The columns ``code`` are shown as code."""

    title: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    code: frozenset[int] = frozenset({0})
    examples: tuple[tuple[str, str], ...] = ()
    """Sources of cells, with what they do; shown as code below the rows."""

    def bundle(self) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}

    def text(self) -> str:
        table = [self.head, *self.rows] if self.head else list(self.rows)
        examples = [
            line
            for source, about in self.examples
            for line in ("", *([f"# {about}"] if about else []), source)
        ]
        parts = [
            self.title,
            *_aligned(table),
            *examples,
            *(("",) if (table or examples) and self.lines else ()),
            *self.lines,
        ]
        return "\n".join(_seen(part) for at, part in enumerate(parts) if part or at)

    def html(self) -> str:
        rows = [
            [[(cell, bool(cell))] if at in self.code else _parts(cell) for at, cell in enumerate(row)]
            for row in self.rows
        ]
        from nbtools.cards.markup import render  # noqa: PLC0415 - 60 ms, which %load_ext does not need

        return render("sheet", sheet=self, rows=rows)


@dataclass(frozen=True, slots=True)
class Text(Sheet):
    """A table whose text ``value`` the command also returns."""

    value: str = ""


def _parts(text: str) -> list[tuple[str, bool]]:
    """Splits a text at backticks: pairs of a part and whether it is code."""
    pieces = text.split("`")
    return (
        [(piece, at % 2 == 1) for at, piece in enumerate(pieces) if piece]
        if len(pieces) % 2
        else [(text, False)]
    )


def _aligned(table: Iterable[Sequence[str]]) -> list[str]:
    rows = [[cell.replace("\n", " ") for cell in row] for row in table]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)] if rows else []
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
