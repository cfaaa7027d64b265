"""Builds HTML: escaped elements with class and inline style, links, and sanitized Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from html import escape
from posixpath import join, normpath
from typing import TYPE_CHECKING
from urllib.parse import quote

from nbtools.notebook.cards.model import Card, CardPlace, Span
from nbtools.notebook.cards.style import MARKS, STYLES, span_style

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

NO_MATH = "mathjax_ignore tex2jax_ignore"
"""Classes that stop Jupyter and exported pages from rendering dollar signs as formulas."""


def element(name: str, style: str, inner: str, attributes: str = "") -> str:
    """Returns an element ``<name>`` around the markup ``inner``, with the class and style ``style``; ``attributes`` are markup too."""
    return f'<{name} class="nbt-{style}" style="{STYLES[style]}"{attributes}>{inner}</{name}>'


def styled_element(name: str, style: str, extra: str, inner: str, attributes: str = "") -> str:
    """Returns an element like ``element``, with the additional CSS ``extra``."""
    return f'<{name} class="nbt-{style}" style="{STYLES[style]};{extra}"{attributes}>{inner}</{name}>'


def spans_html(spans: Iterable[Span], side: str = "") -> str:
    """Returns a line as HTML.  ``side`` (``added`` or ``removed``) colours its marks, which stay recognisable without styles."""
    return "".join(_span(text, words, side) if words else escape(text) for text, words in spans)


def _span(text: str, words: str, side: str) -> str:
    name, style = _element_of(words, side)
    return f'<{name} style="{style}">{escape(text)}</{name}>' if style else escape(text)


@lru_cache(maxsize=4096)
def _element_of(words: str, side: str) -> tuple[str, str]:
    listed = words.split()
    style = span_style(words)
    if "mark" in listed:
        return "u", f"{style};{MARKS.get(side, '')}"
    return ("b" if "hit" in listed or "bold" in listed else "span"), escape(style)


def lines_html(lines: Iterable[Sequence[Span]]) -> str:
    return "\n".join(map(spans_html, lines))


def numbered(lines: Iterable[tuple[int, Sequence[Span]]], width: int) -> str:
    """Returns lines with their numbers before them, right-aligned in ``width`` columns."""
    return "\n".join(numbered_line(number, spans_html(spans), width) for number, spans in lines)


def numbered_line(number: int, inner: str, width: int) -> str:
    return f"{element('span', 'number', f'{number:>{width}}')}  {inner}"


_ADDRESS = re.compile(r"https?://[^\s<>\"'‹›]+[^\s<>\"'‹›.,;:!?)\]}]")


def with_links(text: str) -> str:
    """Returns escaped text with its web addresses as links."""
    pieces: list[str] = []
    end = 0
    for found in _ADDRESS.finditer(text):
        pieces += [escape(text[end : found.start()]), link(found[0], escape(found[0]))]
        end = found.end()
    return "".join([*pieces, escape(text[end:])])


def link(target: str, inner: str, style: str = "link") -> str:
    return element("a", style, inner, f' href="{escape(target)}"')


def place_link(card: Card, place: CardPlace, inner: str, style: str = "link") -> str:
    """Returns ``inner`` as a link to a workspace file, or unchanged where the file is outside and no relative link can reach it."""
    if card.root.startswith("/") or place.path.startswith(("/", "~")) or "‹" in place.path or not place.path:
        return inner
    line = f"#line={place.line - 1}" if place.line else ""
    return link(quote(normpath(join(card.root, place.path))) + line, inner, style)


_TAGS = {f"h{level}" for level in range(1, 7)} | {
    *("a", "b", "blockquote", "br", "code", "del", "em", "hr", "i", "li", "ol", "p", "pre", "s", "strong", "sub", "sup"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}


def markdown_html(text: str) -> str:
    """Renders Markdown as HTML without images and scripts; markup inside it is shown as text."""
    import nh3  # noqa: PLC0415 - few cards have Markdown

    rendered: str = _parser().render(text)
    return nh3.clean(
        rendered,
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"]).disable("image")
