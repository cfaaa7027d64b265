"""Results of the newer kinds in blocks, in HTML without script, and in plain text."""

from __future__ import annotations

import base64

import pytest

from nbtools.cards.blocks import MAX_DIFFS, MAX_IMAGE, blocks_of
from nbtools.cards.card_model import Block, Card, DiffBlock, ImageBlock, PagesBlock, TextBlock, TodoBlock
from nbtools.cards.html import card_html
from nbtools.cards.question_blocks import question_block
from nbtools.cards.text import card_text
from nbtools.core.confirmation import Choice, Question
from nbtools.core.result import FileDiff, FileDiffs, Media, PagePicture, TodoItem, TodoList, ToolResultDisplay
from nbtools.diff.line_diff import file_diff

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def changed(name: str) -> FileDiff:
    return file_diff(name, "one\n", "two\n")


def card(*blocks: Block) -> Card:
    return Card(id="c", state="success", tool="t", icon="pencil", subject="", status="Done", blocks=blocks)


def rendered(display: ToolResultDisplay) -> tuple[str, str]:
    drawn = card(*blocks_of(display))
    return card_html(drawn), card_text(drawn)


def test_several_diffs_are_shown_under_their_paths() -> None:
    blocks = blocks_of(FileDiffs((changed("a.txt"), changed("b/c.txt"))))
    assert [block.path for block in blocks if isinstance(block, DiffBlock) and block.titled] == [
        "a.txt",
        "b/c.txt",
    ]
    page, text = rendered(FileDiffs((changed("a.txt"), changed("b/c.txt"))))
    assert page.index("a.txt") < page.index("b/c.txt")
    assert text.index("a.txt") < text.index("b/c.txt")


def test_the_rest_of_many_diffs_is_counted() -> None:
    *diffs, rest = blocks_of(FileDiffs(tuple(changed(f"{number}.txt") for number in range(MAX_DIFFS + 3))))
    assert len(diffs) == MAX_DIFFS
    assert isinstance(rest, TextBlock)
    assert "3 more files" in rest.text


def test_a_picture_is_shown() -> None:
    (block,) = blocks_of(Media("a.png", "image/png", PNG, "1 × 1"))
    assert isinstance(block, ImageBlock)
    assert base64.b64decode(block.data) == PNG
    page, text = rendered(Media("a.png", "image/png", PNG, "1 × 1"))
    assert '<img src="data:image/png;base64,' in page
    assert "1 × 1 · 70 B" in text


@pytest.mark.parametrize(
    "media",
    [
        Media("a.svg", "image/svg+xml", b"<svg onload='x'/>"),
        Media("a.pdf", "application/pdf", b"%PDF"),
        Media("a.png", "image/png", PNG.ljust(MAX_IMAGE + 1)),
    ],
)
def test_pictures_of_other_formats_or_too_large_are_only_described(media: Media) -> None:
    (block,) = blocks_of(media)
    assert isinstance(block, TextBlock)
    assert media.mime_type in block.text


def test_a_document_shows_its_text() -> None:
    caption, body = blocks_of(
        Media("a.pdf", "application/pdf", b"%PDF", "PDF document, 1 page", "Hello\u202e")
    )
    assert isinstance(caption, TextBlock)
    assert isinstance(body, TextBlock)
    assert (caption.text, body.text) == ("PDF document, 1 page · 4 B", "Hello‹U+202E›")


def test_a_document_shows_pictures_of_its_first_pages() -> None:
    pages = tuple(PagePicture(number, PNG) for number in range(3, 8))
    document = Media("a.pdf", "application/pdf", b"%PDF", "PDF document", "Hello", pages)
    block = blocks_of(document)[1]
    assert isinstance(block, PagesBlock)
    assert [page.number for page in block.pages] == [3, 4, 5, 6, 7]
    page, text = rendered(document)
    assert (page.count("<img"), "2 of 5 pages" in page, "a.pdf, page 4" in page) == (2, True, True)
    assert text.splitlines()[1:] == ["  PDF document · 4 B", "  Hello"]


def test_a_to_do_list_has_a_mark_each() -> None:
    items = (TodoItem("a <b>", "completed"), TodoItem("b", "in_progress"), TodoItem("c"))
    assert isinstance(blocks_of(TodoList(items))[0], TodoBlock)
    page, text = rendered(TodoList(items))
    assert "☑ a &lt;b&gt;" in page
    assert "▶ <b>b</b>" in page
    assert text.splitlines()[1:] == ["  ☑ a <b>", "  ▶ b", "  ☐ c"]


def test_a_question_shows_its_choices_and_its_answer() -> None:
    question = Question("Which\none?", "Colour", choices=(Choice("red", "<i>"), Choice("blue")))
    page = card_html(card(question_block(question)))
    assert "<li>red" in page
    assert "&lt;i&gt;" in page
    assert card_text(card(question_block(question, "blue"))).splitlines()[1:] == [
        "  Colour · Which",
        "  one?",
        "    1. red  <i>",
        "    2. blue",
        "  → blue",
    ]
