"""The HTML says what the card says, and nothing that a tool prints can become markup."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.cards.card import card_of
from nbtools.cards.card_model import (
    Card,
    CardPlace,
    CodeBlock,
    CommandBlock,
    CommandPart,
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
)
from nbtools.cards.html import card_html
from nbtools.cards.markup import UNDERLINED, markdown_html
from nbtools.cards.text import card_text
from nbtools.core.result import CommandOutput, FileDiff
from tests.cards.calls import AT, asking, declined, done, edit_details, edit_plan, every_state, exec_details
from tests.examples import examples

OURS = {"a", "b", "bdi", "code", "col", "colgroup", "details", "div", "em", "i", "pre", "span", "summary"}
OURS |= {"path", "svg", "table", "tbody", "td", "tr", "u"}
ATTRIBUTES = {"class", "style", "title", "dir", "href", "tabindex"}
ATTRIBUTES |= {"d", "fill", "height", "stroke", "stroke-width", "viewbox", "width"}
VIEWS: tuple[Literal["split", "unified"], ...] = ("split", "unified")


class Reader(HTMLParser):
    """Collects elements and text, and checks that they nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: dict[str, list[str]] = {}
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")
        if tag not in ("col", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


anything = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.sampled_from(
        [
            "<script>x</script>",
            '"><img src=x>',
            "' onclick=x",
            "</pre><b>",
            "javascript:x",
            "&lt;",
            "a\nb",
            "</span>",
        ]
    ),
)
words = st.one_of(
    anything, st.sampled_from(["", "k", "mark", "hit", "bold fg1", "fg3 bg2", "hidden", "bg#102030"])
)
lines = st.lists(
    st.tuples(
        anything,
        st.sampled_from(["", "k", "hit", "mark s", "bold fg1", "fg3 bg12", "bg#102030", "hidden", "warn"]),
    ),
    max_size=3,
)
spans = lines.map(tuple)


@st.composite
def blocks(draw: Any) -> Any:
    line = Line(number=draw(st.integers(1, 99)), spans=draw(spans))
    rows = (
        Row(old=line, new=line, changed=False),
        Row(old=line, new=None, changed=True),
        Row(old=None, new=line, changed=True),
    )
    return draw(
        st.sampled_from(
            [
                DiffBlock(
                    path=draw(anything),
                    added=1,
                    removed=1,
                    hunks=(Hunk(rows=rows), Hunk(rows=rows, folded=True), Hunk(rows=(), hidden=2)),
                ),
                CommandBlock(
                    parts=(
                        CommandPart(
                            operator=draw(anything),
                            spans=draw(spans),
                            note=draw(anything),
                            warning=draw(st.booleans()),
                        ),
                    )
                ),
                OutputBlock(
                    lines=(draw(spans),) * draw(st.sampled_from([1, 40])),
                    earlier=draw(st.integers(0, 3)),
                    full_output=draw(anything),
                ),
                MatchesBlock(
                    groups=(
                        MatchGroup(path=draw(anything), lines=(MatchLine(number=3, spans=draw(spans)),)),
                    ),
                    more=draw(anything),
                ),
                ListingBlock(
                    entries=(ListingEntry(path=draw(anything), folder=draw(st.booleans()), size=4),),
                    more=draw(anything),
                ),
                CodeBlock(path=draw(anything), start=1, lines=(draw(spans),), more=draw(anything)),
                TextBlock(text=draw(anything), tone="quiet"),
                TextBlock(text=draw(anything)),
            ]
        )
    )


@st.composite
def cards(draw: Any) -> Card:
    return Card(
        id=draw(anything),
        state=draw(st.sampled_from(["awaiting_approval", "success", "error", "executing", "cancelled"])),
        tool=draw(anything),
        icon=draw(anything),
        subject=draw(anything),
        status=draw(anything),
        detail=draw(anything),
        blocks=tuple(draw(st.lists(blocks(), max_size=3))),
        folded=draw(st.booleans()),
        unfold=draw(anything),
        record=draw(anything),
        note=draw(anything),
        places=(CardPlace(path=draw(anything), line=draw(st.sampled_from([None, 4]))),),
        root=draw(anything),
    )


@given(cards(), st.sampled_from(VIEWS))
@settings(max_examples=examples(200), deadline=None)
def test_no_text_ever_becomes_markup(card: Card, view: Literal["split", "unified"]) -> None:
    read = Reader(card_html(card, view=view))
    assert read.tags <= OURS
    assert set(read.attributes) <= ATTRIBUTES
    for target in read.attributes.get("href", []):
        assert ":" not in target.split("/", 1)[0] or target.startswith(("http://", "https://"))
        assert not target.startswith("//")
    for style in read.attributes["style"]:
        assert "url(" not in style
        assert "expression" not in style


@given(anything)
@settings(deadline=None)
def test_markdown_keeps_to_its_elements(text: str) -> None:
    read = Reader(
        markdown_html(
            f"# t\n\n{text}\n\n[a](javascript:x) ![i](https://x.org/i.png) <script>x</script> <b onclick=x>"
        )
    )
    assert not read.tags & {"script", "img", "iframe", "style"}
    assert set(read.attributes) <= {"href", "title", "rel", "start", "style"}
    assert set(read.attributes.get("style", ())) <= {UNDERLINED}


@pytest.mark.parametrize("event", every_state(), ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("view", VIEWS)
def test_every_state_reads_well_without_styles(event: Any, view: Literal["split", "unified"]) -> None:
    card = card_of(event, now=AT + 1)
    read = Reader(card_html(card, view=view))
    assert read.tags <= OURS
    for words_ in (card.tool, card.subject, card.status, card.detail, card.record):
        assert words_ in read.text
    assert "script" not in read.tags
    assert "style" not in read.tags


def test_a_unified_diff_keeps_signs_numbers_and_indentation() -> None:
    read = Reader(
        card_html(
            card_of(asking(edit_details("def f():\n    return 1\n", "def f():\n    return 2\n"))),
            view="unified",
        )
    )
    assert "2   −     return 1\n" in read.text
    assert "  2 +     return 2" in read.text


def test_a_folded_card_opens_with_details() -> None:
    html = card_html(card_of(declined()))
    assert "<details>" in html
    assert html.index("show diff") < html.index("<table")


def test_the_state_is_never_colour_alone() -> None:
    for event in every_state():
        card = card_of(event)
        assert card.status


def test_hidden_characters_are_visible() -> None:
    card = card_of(asking(exec_details("echo a\u202eb\u200b")))
    for shown in (Reader(card_html(card)).text, card_text(card)):
        assert "‹U+202E›" in shown
        assert "‹U+200B›" in shown


def test_output_of_a_terminal_is_text() -> None:
    card = card_of(done(CommandOutput("<b>no</b> & \x1b[31mred\x1b[0m\n", 1, 0), edit_plan()))
    html = card_html(card)
    assert "&lt;b&gt;no&lt;/b&gt; &amp; " in html
    assert "<b>no" not in html


def test_addresses_in_a_question_are_links_to_themselves() -> None:
    card = Card(
        id="1",
        state="success",
        tool="t",
        icon="globe",
        subject="",
        status="Done",
        blocks=(TextBlock(text="see https://x.org/a?b=1&c."),),
    )
    read = Reader(card_html(card))
    assert read.attributes["href"] == ["https://x.org/a?b=1&c"]


def test_files_open_at_their_line_below_the_notebook() -> None:
    diff = FileDiff("", "a.py", "a\n", "b\n", edit_details().diff_stat)
    card = card_of(done(diff, edit_plan()), root=".").model_copy(update={"root": "../project"})
    assert "../project/src/a.py#line=2" in Reader(card_html(card)).attributes["href"]
