"""Measures the making of a card's HTML: the first one of a process, which loads and compiles the templates,
and the largest ones.

python bench/cards.py
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from report import Figure, alternate, table

from nbtools.cards import diff_rows
from nbtools.cards.card_model import Block, Card, ListingBlock, ListingEntry
from nbtools.cards.html import card_html
from nbtools.cards.tables import Sheet

ROUNDS = 15
FIRST = """
import time
from nbtools.cards.html import card_html
from nbtools.cards.card_model import Card, Line, Row, Hunk, DiffBlock
line = Line(number=1, spans=(("x", "k"),))
block = DiffBlock(path="a", added=1, removed=1, hunks=(Hunk(rows=(Row(old=line, new=line, changed=True),)),))
card = Card(id="1", state="success", tool="edit", icon="pencil", subject="a", status="Done", blocks=(block,))
start = time.perf_counter()
card_html(card)
print(time.perf_counter() - start)
"""


def card(block: Block) -> Card:
    return Card(
        id="1", state="success", tool="edit", icon="pencil", subject="a.py", status="Done", blocks=(block,)
    )


def diff() -> Card:
    """The longest diff that a card shows: a module of Python's of which every fifth line is changed."""
    lines = Path(textwrap.__file__).read_text(encoding="utf-8").splitlines(keepends=True)
    changed = (line.replace("e", "E") if number % 5 == 0 else line for number, line in enumerate(lines))
    return card(diff_rows.diff_block("a.py", "".join(lines), "".join(changed)))


def first() -> float:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    return float(done.stdout) * 1e3


def taken(draw: Callable[[], object]) -> Callable[[], float]:
    """Milliseconds of the processor."""

    def measure() -> float:
        start = time.process_time()
        draw()
        return (time.process_time() - start) * 1e3

    draw()
    return measure


def main() -> None:
    long_diff, short = diff(), card(ListingBlock(entries=(ListingEntry(path="a.py"),)))
    listing = card(
        ListingBlock(entries=tuple(ListingEntry(path=f"src/file{n}.py", size=n) for n in range(1000)))
    )
    sheet = Sheet(
        title="Tools",
        head=("name", "does"),
        rows=tuple((f"tool{n}", "Reads a file of the workspace.") for n in range(400)),
    )
    drawn = alternate(
        ROUNDS,
        split=taken(lambda: card_html(long_diff)),
        unified=taken(lambda: card_html(long_diff, view="unified")),
        listing=taken(lambda: card_html(listing)),
        sheet=taken(sheet.html),
        short=taken(lambda: card_html(short)),
        first=first,
    )
    names = {
        "split": f"diff of {diff_rows.MAX_ROWS} rows, side by side",
        "unified": f"diff of {diff_rows.MAX_ROWS} rows, unified",
        "listing": "listing of 1,000 files",
        "sheet": "table of 400 rows",
        "short": "listing of 1 file",
        "first": "the first card of a process",
    }
    table(
        f"HTML of a card, {ROUNDS} rounds",
        [Figure(names[name], values, "ms") for name, values in drawn.items()],
    )


if __name__ == "__main__":
    main()
