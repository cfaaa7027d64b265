"""Markdown as HTML that may stand in a notebook: no markup of its own, no images, no scripts, links to the web only."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TAGS = {f"h{level}" for level in range(1, 7)} | {
    *("a", "b", "blockquote", "br", "code", "del", "em", "hr", "i", "li", "ol", "p", "pre", "s", "strong", "sub", "sup"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}


def markdown_html(text: str) -> str:
    """``text`` as HTML.  Markup inside it is shown as text."""
    import nh3  # noqa: PLC0415 - few cards hold markdown

    drawn: str = _parser().render(text)
    return nh3.clean(
        drawn,
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"]).disable("image")
