"""No text that comes from elsewhere becomes markup, in any template:
the elements are those that there are with a plain text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, TypeVar, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from pydantic import BaseModel

from nbtools.cards.card_model import Block, Card, CardAction, CardPlace, TextBlock
from nbtools.cards.html import block_html, body_html, card_html, head_html
from nbtools.cards.tables import Sheet
from nbtools.mcp.auth import oauth_callback
from nbtools.notebook.agent.representations import html_of
from nbtools.notebook.agent.run_messages import RunFoot, RunHead, RunMessage
from nbtools.notebook.mcp.login import LoginPage
from nbtools.replay.steps_overview import render as render_steps
from nbtools.traces.comparison.comparison_messages import (
    ComparedCell,
    ComparedCheck,
    ComparedGroup,
    ComparedOutcomes,
    ComparedRun,
    ComparedTotal,
    ComparisonView,
)
from nbtools.traces.comparison.comparison_rows import OtherCall, StepRow, outcome_mark
from nbtools.traces.corpus.corpus import Ingested
from nbtools.traces.explorer.explorer_view import TraceBar, TraceFact
from nbtools.traces.explorer.export.static_html import render as render_explorer
from nbtools.traces.explorer.export.static_html import trace_html
from nbtools.traces.explorer.line_style import StepLine
from nbtools.traces.explorer.summary import Summary
from nbtools.traces.html import render as render_trace
from nbtools.traces.model import NOWHERE, Problem
from nbtools.traces.query.sql import query_result_html
from nbtools.traces.submissions.table import Bar, Column
from tests.browser.catalogue import BLOCKS

M = TypeVar("M", bound=BaseModel)
PACKAGE = Path(__file__).parents[2] / "nbtools"
TEMPLATES = sorted(
    str(path.relative_to(PACKAGE)).removesuffix(".html.jinja") for path in PACKAGE.rglob("*.jinja")
)


class Elements(HTMLParser):
    """The elements with their attributes' names, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.found.append(("!",))

    def handle_decl(self, decl: str) -> None:
        self.found.append((decl,))


def card(text: str, *blocks: Block, **more: Any) -> Card:
    place, action = CardPlace(path=text, line=3), CardAction(verb="undo", id=text, label=text, magic=text)
    fields = {
        "subject": text,
        "status": text,
        "detail": text,
        "unfold": text,
        "record": text,
        "note": text,
        "root": text,
    }
    shared = {
        "id": text,
        "tool": text,
        "icon": text,
        "added": 1,
        "removed": 1,
        "places": (place,),
        "deeds": (action,),
    }
    return Card(**{**shared, **fields, "state": "success", "blocks": blocks, **more})


def blocks(text: str) -> list[Block]:
    """The blocks of the catalogue with ``text`` in all of their fields."""
    return [with_text(block, text) for blocks in BLOCKS.values() for block in blocks]


def with_text(model: M, text: str) -> M:
    return model.model_copy(
        update={
            name: field_with_text(getattr(model, name), text, both=name == "choices")
            for name, field in type(model).model_fields.items()
            if name != "data" and get_origin(field.annotation) is not Literal
        }
    )


def field_with_text(value: object, text: str, *, both: bool) -> object:
    """The value with ``text`` for its texts.  Of the pairs of strings, spans keep their styles."""
    if isinstance(value, BaseModel):
        return with_text(value, text)
    if isinstance(value, tuple):
        if len(value) == 2 and all(isinstance(part, str) for part in value):
            return (text, text if both else value[1])
        return tuple(field_with_text(part, text, both=both) for part in value)
    return text if isinstance(value, str) else value


def blocks_of(kind: str) -> Callable[[str], str]:
    return lambda text: "".join(
        block_html(card(text), block, "split") for block in blocks(text) if block.type == kind
    )


def diff(text: str) -> str:
    first = blocks(text)[0]
    return body_html(card(text, first), view="split") + body_html(card(text, first), view="unified")


def whole_card(text: str) -> str:
    return card_html(card(text, *blocks(text))) + card_html(card(text, *blocks(text), folded=True))


def comparison(text: str) -> str:
    run = ComparedRun(
        name=text,
        title=text,
        about=text,
        log=text,
        totals=(text,) * 2,
        shares=(1, 0.5),
        parts=text,
        step=text,
    )
    checks = (ComparedCheck(source=text, states=text, rate=text),)
    outcomes = ComparedOutcomes(
        checks=checks,
        cells=(
            (ComparedCell(state="failed", text=text, inferred=True, note=text),),
            (ComparedCell(state="", text=text),),
        ),
        tasks=(
            ComparedGroup(title=text, runs=(0,), rates=(text,)),
            ComparedGroup(title=text, runs=(1,), rates=("",)),
        ),
    )
    totals = (ComparedTotal(label=text, title=text, leads=True), ComparedTotal(label=text, title=text))
    view = ComparisonView(
        explorer="", baseline=0, facts=text, runs=(run, run), totals=totals, outcomes=outcomes
    )
    other = OtherCall(run=1, text=text, ending=text)
    marks = {"numbers": (text, ""), "marks": ("failed", "alike"), "others": (other,), "parts": text}
    row = StepRow(name=text, subject=text, ending=text, note=text, **marks)
    return render_explorer(
        "comparison",
        view=view,
        outcomes=outcomes,
        totals=list(enumerate(totals)),
        files=[(text, [text, ""])],
        blocks=[(False, [row]), (True, [row])],
        more=2,
        commands=[text],
        mark_of=outcome_mark,
        tints={"passed": "#123456", "failed": "#123456", "unknown": "#123456"},
        AMBER="#123456",
        RED="#123456",
        GREY="#123456",
    )


def trace(text: str) -> str:
    tones = ("person", "agent", "quiet", "done", "failed")
    steps = [
        StepLine(
            line=0,
            number=text,
            icon=text,
            name=text,
            subject=text,
            right=text,
            tone=tone,
            depth=1,
            added=1,
            removed=1,
            live=live,
        )
        for tone in tones
        for live in (True, False)
    ] * 5
    facts = (TraceFact(text=text, doubt=text), TraceFact(text=text, bad=True), TraceFact(text=text))
    bars = [TraceBar(first=0, last=2, height=50, tone="failed")]
    return trace_html(Summary(text, facts), steps, [step.number for step in steps], bars)


def shared_facts(text: str) -> str:
    row = {"name": text, "value": text}
    return render_explorer("shared_facts", title=text, tables=[{"title": text, "rows": [row]}], removed=[row])


def learners(text: str) -> str:
    return render_explorer(
        "learners",
        title=text,
        about=f"{text} ",
        columns=[Column(text, text), Column(text, text, is_number=False)],
        rows=[(text, [Bar(6, "#123456", text)], [[text], [text, text]])],
        overlaps=[text],
        left_out=[(text, [text, text])],
        more=2,
        not_read=5,
        hint=f"{text} ",
    )


def steps(text: str) -> str:
    rows = [
        SimpleNamespace(number=text, icon=text, name=text, subject=text, state="same", ends=text, why=text)
    ] * 14
    shared = {"colours": {"same": "#123456"}, "icons": {}, "words": {"same": text}}
    return render_steps(
        "steps", title=text, facts=text, runs=[rows, rows[:3]], actions=[(text, text)], **shared
    )


def ingested(text: str) -> str:
    return Ingested((text,), (text,) * 30, {text: Problem(NOWHERE, text)}, 1, 1.0)._repr_html_()


def corpus(text: str) -> str:
    return render_trace("corpus", folder=text, facts={text: text}, unread=[text] * 30)


SAMPLES: dict[str, Callable[[str], str]] = {
    "mcp/auth/templates/login_result": lambda text: (
        oauth_callback._response("200 OK", text).decode().partition("\r\n\r\n")[2]
    ),
    "notebook/templates/agent/foot": lambda text: html_of(
        RunFoot(
            state="error", status=text, figures=(text, text), problem=text, actions=("continue", "open-trace")
        )
    ),
    "notebook/templates/agent/head": lambda text: html_of(
        RunHead(run=text, model=text, state="success", status=text, figures=(text,))
    ),
    "notebook/templates/agent/message": lambda text: html_of(
        RunMessage(block=TextBlock(text="*a*", markdown=True), thought=text)
    ),
    "cards/templates/body": lambda text: body_html(card(text, *blocks(text))),
    "cards/templates/card": whole_card,
    "cards/templates/foot": whole_card,
    "cards/templates/head": lambda text: head_html(card(text)),
    "cards/templates/sheet": lambda text: Sheet(
        title=f"{text}\n{text}", rows=((text, text),) * 2, lines=(text,), head=(text, text)
    ).html(),
    "cards/templates/blocks/diff": diff,
    **{
        f"cards/templates/blocks/{kind}": blocks_of(kind)
        for kind in (
            "audio",
            "code",
            "command",
            "image",
            "listing",
            "matches",
            "output",
            "pages",
            "question",
            "text",
            "todo",
        )
    },
    "cards/templates/elements": whole_card,
    "traces/explorer/templates/comparison": comparison,
    "traces/explorer/templates/shared_page": lambda text: render_explorer(
        "shared_page",
        title=text,
        script="1",
        style="",
        script_hash="sha256-x",
        style_hash="sha256-y",
        about=Markup(shared_facts(text)),
        about_style="",
        about_hash="sha256-z",
        has_session=True,
        data="eA==",
    ),
    "traces/explorer/templates/shared_facts": shared_facts,
    "traces/explorer/templates/learners": learners,
    "replay/templates/steps": steps,
    "traces/explorer/templates/trace": trace,
    "notebook/templates/mcp/login": lambda text: LoginPage(server=text, page=text).html(),
    "traces/templates/corpus": corpus,
    "traces/templates/elements": corpus,
    "traces/templates/ingested": ingested,
    "traces/templates/query_result": lambda text: query_result_html(
        (text, text), [(text, [text]), (None, {text: text})], 9
    ),
    "traces/templates/search_hit": lambda text: render_trace(
        "search_hit", name=text, snippet=text, source=text
    ),
}
"""Each template's HTML with a text in all of its fields."""

HOSTILE = (
    *("<script>x</script>", '"><img src=x>', "' onclick='x", "</pre></td></table><b>", "-->", "<!--"),
    *("{{ 7 * 7 }}", "{% raw %}", "&lt;b&gt;", "</span>", "]]>"),
)
# No line breaks, which are drawn as further lines.
texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="‹"), max_size=16
)
DIFFERENT = {sample: template for template, sample in reversed(SAMPLES.items())}.values()
"""One template of those that share their HTML, which has all of them in it."""


@functools.cache
def plain(template: str) -> list[tuple[str, ...]]:
    return Elements(SAMPLES[template]("plain")).found


def elements(template: str, text: str) -> list[tuple[str, ...]]:
    """The text has a letter at both ends, because a path that begins with "/" has no link."""
    return Elements(SAMPLES[template](f"x{text}x")).found


def test_every_template_has_a_sample() -> None:
    assert sorted(SAMPLES) == sorted(TEMPLATES)


@pytest.mark.parametrize("template", DIFFERENT)
@given(text=texts)
@settings(max_examples=15, deadline=None)
def test_no_text_adds_an_element_or_an_attribute(template: str, text: str) -> None:
    assert elements(template, text) == plain(template)


@pytest.mark.parametrize("template", DIFFERENT)
def test_no_text_that_is_made_to_be_markup_adds_an_element_or_an_attribute(template: str) -> None:
    assert {text for text in HOSTILE if elements(template, text) != plain(template)} == set()


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_template_switches_escaping_off(template: str) -> None:
    source = (PACKAGE / f"{template}.html.jinja").read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe|autoescape|Markup", source)


@pytest.mark.parametrize("template", TEMPLATES)
def test_no_blank_line_is_written(template: str) -> None:
    """It would end the HTML where a notebook is exported as Markdown."""
    assert not re.search(r"\n\s*\n", SAMPLES[template]("plain"))


@pytest.mark.parametrize("template", TEMPLATES)
def test_dollar_signs_in_an_output_are_not_formulas(template: str) -> None:
    """Jupyter typesets what is between two dollar signs, such as the variables of a command."""
    is_part = re.search(r"cards/templates/(blocks/|body|head)", template)
    is_page = SAMPLES[template]("plain").startswith("<!doctype html>")
    assert is_part or is_page or re.match(r"<\w+ class=[^>]*mathjax_ignore", SAMPLES[template]("plain"))


def test_html_is_written_in_templates_only() -> None:
    tag = re.compile(r"""["'>]</?(?:a|b|br|code|div|h\d|li|p|pre|small|span|table|td|th|tr|ul)[ >{]""")
    written = [path.name for path in PACKAGE.rglob("*.py") if tag.search(path.read_text(encoding="utf-8"))]
    assert written == ["safe_markdown.py"], "it writes Markdown, whose inline code may be an element"
