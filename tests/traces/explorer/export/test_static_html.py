"""The explorer in a saved notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser

import pytest

import nbtools
from nbtools.traces.explorer.explorer_view import TraceFact
from nbtools.traces.explorer.export.static_html import MAX_LINES, UNFOLDED_LINES, trace_html, trace_text
from nbtools.traces.explorer.line_style import StepLine
from nbtools.traces.explorer.summary import Summary
from tests.traces.explorer.samples import LOGS, sample

SVG = {"svg", "path", "d", "fill", "height", "stroke", "stroke-width", "viewbox", "width"}
ALLOWED = {
    "div",
    "span",
    "b",
    "bdi",
    "details",
    "summary",
    "class",
    "style",
    "title",
    "dir",
    "role",
    "aria-label",
    "aria-hidden",
    "id",
} | SVG
EVIL = '<script>alert("x")</script>\'"&'


class Elements(HTMLParser):
    """The names of elements and attributes, and the text; fails where something is left open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def line(number: int, **fields: object) -> StepLine:
    values = {
        "icon": "terminal",
        "name": "Bash",
        "subject": f"make {number}",
        "right": "",
        "tone": "done",
        "depth": 0,
    }
    return StepLine(**{"line": number, "number": str(number), **values, **fields})  # type: ignore[arg-type]


def html_of(summary: Summary, lines: Sequence[StepLine]) -> str:
    return trace_html(summary, lines, [one.number for one in lines])


def text_of(summary: Summary, lines: Sequence[StepLine]) -> str:
    return trace_text(summary, lines, len(lines))


@pytest.mark.parametrize("log", LOGS)
def test_a_log_is_readable_without_scripts_and_in_bounds(log: str) -> None:
    shown = nbtools.open_trace(sample(log))
    bundle = shown.bundle()
    elements = Elements(bundle["text/html"])
    assert elements.names <= ALLOWED
    assert shown.summary.title in elements.text
    assert shown.summary.title in bundle["text/plain"]
    assert len(bundle["text/html"]) < 300_000
    assert shown.lines[0].subject in elements.text


def test_the_first_lines_are_shown_and_the_rest_is_counted() -> None:
    lines = [line(number) for number in range(MAX_LINES + 1234)]
    html, text = html_of(Summary("t", ()), lines), text_of(Summary("t", ()), lines)
    for shown in (Elements(html).text, text):
        assert f"make {MAX_LINES - 1}" in shown
        assert f"make {MAX_LINES}" not in shown
        assert "⋯ 1,234 more steps in the log" in shown
    assert "in the log" not in html_of(Summary("t", ()), lines[:MAX_LINES])


def test_the_first_screen_is_unfolded_and_the_others_come_with_a_click() -> None:
    before, _, folded = html_of(
        Summary("t", ()), [line(number) for number in range(UNFOLDED_LINES + 3)]
    ).partition("<details>")
    assert before.count("nbt-line") == UNFOLDED_LINES
    assert folded.count("nbt-line") == 3
    assert "⋯ show 3 more steps" in folded
    assert "<details>" not in html_of(Summary("t", ()), [line(number) for number in range(UNFOLDED_LINES)])


def test_the_content_of_a_log_is_text_and_not_markup() -> None:
    evil = line(1, name=EVIL, subject=EVIL, right=EVIL, icon=EVIL)
    html = html_of(Summary(EVIL, (TraceFact(text=EVIL, doubt=EVIL),)), [evil])
    assert "<script" not in html
    assert Elements(html).text.count(EVIL) == 5


def test_state_is_never_colour_alone() -> None:
    shown = html_of(
        Summary("t", (TraceFact(text="64 k out", doubt="placeholders"),)),
        [line(1, right="failed", tone="failed", added=2, removed=1)],
    )
    text = Elements(shown).text
    assert all(word in text for word in ("failed", "+2", "−1", "64 k out (?)"))
    spoken = html_of(Summary("t", ()), [line(1, icon="person", name="", tone="person"), line(2, live=False)])
    assert 'aria-label="You"' in spoken
    assert "rewound" in Elements(spoken).text


def test_a_session_of_nothing_has_a_head() -> None:
    assert Elements(html_of(Summary("empty.jsonl", ()), [])).text.strip() == "empty.jsonl"
    assert text_of(Summary("empty.jsonl", ()), []).splitlines()[0] == "empty.jsonl"


def test_each_step_has_a_place_to_link_to() -> None:
    html = html_of(Summary("t", ()), [line(46), line(48)])
    assert [f'id="step-{number}"' in html for number in (46, 47, 48)] == [True, False, True]


def test_a_long_path_keeps_its_end_and_a_sentence_its_beginning() -> None:
    path, said = "/home/somebody" + "/folder" * 20 + "/name.py", "a / word " * 20
    text = Elements(
        html_of(
            Summary("t", ()), [line(1, subject=path), line(2, subject=said), line(3, subject="/etc/hosts")]
        )
    ).text
    assert "…/folder" in text
    assert "folder/name.py" in text
    assert path not in text
    assert said in text
    assert "/etc/hosts" in text
