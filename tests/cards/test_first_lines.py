"""The first lines of long blocks, and the sentence on the rest."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.cards.card_model import (
    CodeBlock,
    DiffBlock,
    Hunk,
    Line,
    ListingBlock,
    ListingEntry,
    MatchesBlock,
    MatchGroup,
    MatchLine,
    OutputBlock,
    Row,
    TextBlock,
    TodoBlock,
    TodoEntry,
)
from nbtools.cards.first_lines import DIFF_LINES, PREVIEW_LINES, SLACK, preview, whole

LONGEST = PREVIEW_LINES + SLACK


def spans(count: int) -> Any:
    return tuple(((f"line {number}", ""),) for number in range(count))


def matches(count: int, more: str = "") -> MatchesBlock:
    hits = tuple(MatchLine(number=number + 1, spans=line) for number, line in enumerate(spans(count)))
    return MatchesBlock(
        groups=(MatchGroup(path="a", lines=hits[:10]), MatchGroup(path="b", lines=hits[10:])), more=more
    )


LONG: dict[str, Any] = {
    "code": lambda count: CodeBlock(path="a.py", start=1, lines=spans(count), total=count),
    "listing": lambda count: ListingBlock(
        entries=tuple(ListingEntry(path=f"a{number}") for number in range(count))
    ),
    "matches": matches,
    "output": lambda count: OutputBlock(lines=spans(count)),
    "todo": lambda count: TodoBlock(
        items=tuple(TodoEntry(text=f"{number}", status="pending") for number in range(count))
    ),
    "text": lambda count: TextBlock(text="\n".join(f"line {number}" for number in range(count))),
}


def length(block: Any) -> int:
    match block:
        case MatchesBlock():
            return sum(len(group.lines) for group in block.groups)
        case TextBlock():
            return len([line for line in block.text.split("\n") if not line.startswith("⋯")])
        case _:
            return len(getattr(block, {"listing": "entries", "todo": "items"}.get(block.type, "lines")))


@pytest.mark.parametrize("kind", LONG)
def test_a_long_block_is_cut_and_a_slightly_longer_one_is_not(kind: str) -> None:
    assert length(preview(LONG[kind](LONGEST))) == LONGEST
    assert length(preview(LONG[kind](LONGEST + 1))) == PREVIEW_LINES


@pytest.mark.parametrize(
    ("block", "first", "all_of_it"),
    [
        (
            CodeBlock(path="a", start=1, lines=spans(400), total=12_000),
            "Lines 1–16 of 12,000",
            "Lines 1–400 of 12,000",
        ),
        (
            CodeBlock(path="a", start=101, lines=spans(50), total=300),
            "Lines 101–116 of 300",
            "Lines 101–150 of 300",
        ),
        (
            CodeBlock(path="a", start=1, lines=spans(85), total=85, more="a note"),
            "Lines 1–16 of 85. a note",
            "a note",
        ),
        (CodeBlock(path="a", start=1, lines=spans(9), total=9), "", ""),
        (LONG["listing"](85), "16 of 85 entries", ""),
        (matches(85), "16 of 85 lines", ""),
        (
            matches(85, "1–85 of 560 matching lines"),
            "16 shown of 1–85 of 560 matching lines",
            "1–85 of 560 matching lines",
        ),
        (matches(3, "9 files cannot be read"), "9 files cannot be read", "9 files cannot be read"),
    ],
)
def test_one_sentence_counts_the_shown_loaded_and_existing_lines(
    block: Any, first: str, all_of_it: str
) -> None:
    assert (preview(block).more, whole(block).more) == (first, all_of_it)


def test_an_output_keeps_its_end() -> None:
    block = preview(OutputBlock(lines=spans(100), earlier=7))
    assert isinstance(block, OutputBlock)
    assert (block.earlier, block.lines[-1]) == (7 + 100 - PREVIEW_LINES, (("line 99", ""),))


def test_a_long_line_of_a_text_counts_as_several() -> None:
    block = preview(TextBlock(text="\n".join(["x" * 1_000] * 3)))
    assert isinstance(block, TextBlock)
    assert block.text.endswith("\n⋯ 2 more lines")


def test_the_rows_of_a_diff_are_limited_and_all_of_them_counted() -> None:
    line = Line(number=1, spans=())
    row = Row(old=line, new=line, changed=False)
    hunks = (
        Hunk(rows=(row,) * 9, folded=True),
        Hunk(rows=(row,) * (DIFF_LINES + 5)),
        Hunk(rows=(row,) * 3),
        Hunk(rows=(), hidden=4),
    )
    block = preview(DiffBlock(path="a", added=0, removed=0, hunks=hunks))
    assert isinstance(block, DiffBlock)
    assert [(len(hunk.rows), hunk.hidden) for hunk in block.hunks] == [(0, 9), (DIFF_LINES, 5), (0, 7)]
