"""Renders the templates of cards, and supplies their filters:
inline styles, highlighted lines, links, Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from html import escape
from itertools import groupby
from pathlib import Path
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from nbtools.cards.card_model import Card, ListingBlock, Span, TextBlock
from nbtools.cards.diff_rows import UnifiedLine, file_action, number_width, one_sided, unified_lines
from nbtools.cards.first_lines import entry_name, preview
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.cards.phrases import TODO_MARKS, size
from nbtools.cards.style import MARKS, STYLES, span_style, tint
from nbtools.core.browser import IN_BROWSER
from nbtools.core.html_templates import HtmlTemplates
from nbtools.core.message import counted

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

ICON_PATHS: dict[str, str] = json.loads(Path(__file__).with_name("icons.json").read_text(encoding="utf-8"))
"""The icons of cards and explorer by name: SVG paths in a 16 × 16 view box, stroked in the text colour.

They are also written into ``labextension/src/cards/model.ts``.
"""


@lru_cache(maxsize=4096)
def styled(part: str, *extra: str) -> Markup:
    """Returns the attribute ``style`` of a part of a card; ``extra`` are names of further styles, or CSS."""
    style = ";".join([STYLES[part], *(STYLES.get(name, name) for name in extra if name)])
    return Markup("style={}").format(Markup(_attribute(style)))  # noqa: S704 - escaped


@lru_cache(maxsize=64)
def icon(name: str, colour: str) -> Markup:
    """Returns an icon as SVG in the given colour; unknown names get a hammer."""
    return Markup(
        "<svg width=14 height=14 viewBox='0 0 16 16' fill=none stroke=currentColor stroke-width=1.3"
        " style='flex:none;{}'><path d='{}' /></svg>"
    ).format(tint(colour), ICON_PATHS.get(name, ICON_PATHS["hammer"]))


def spans_html(spans: Iterable[Span], side: str = "") -> Markup:
    """Returns a line as HTML.  ``side`` (``added`` or ``removed``) colours its marks,
    which stay recognisable without styles.
    """
    # Not a template: a large diff has thousands of lines, and a template would take three times as long.
    pieces: list[str] = []
    for text, words in spans:
        if words:
            start, end = _tags(words, side)
            pieces.append(f"{start}{escape(text, quote=False)}{end}")
        else:
            pieces.append(escape(text, quote=False))
    return Markup("".join(pieces))  # noqa: S704 - the texts are escaped


_STYLED_TAGS = {"u": {"mark"}, "b": {"hit", "bold", "k"}, "i": {"c", "italic"}}


@lru_cache(maxsize=4096)
def _tags(words: str, side: str) -> tuple[str, str]:
    """Returns the start and the end tag of a span with these style words; empty without a style."""
    listed = set(words.split())
    style = span_style(words)
    if "mark" in listed:
        style = f"{style};{MARKS.get(side, '')}"
    name = next((tag for tag, styled in _STYLED_TAGS.items() if listed & styled), "span")
    return (f"<{name} style={_attribute(style)}>", f"</{name}>") if style else ("", "")


def _attribute(value: str) -> str:
    """Returns an attribute's value, quoted only where it must be:
    a notebook's JSON has the HTML of thousands of spans.
    """
    return escape(value) if re.fullmatch(r"[\w:;,.()#%-]+", value) else f"'{escape(value)}'"


def lines_html(lines: Iterable[Sequence[Span]]) -> Markup:
    return Markup("\n").join(map(spans_html, lines))


def column(value: object, width: int) -> str:
    """Right-aligns a value in ``width`` characters."""
    return f"{value!s:>{width}}"


_ADDRESS = re.compile(r"(https?://[^\s<>\"'‹›]+[^\s<>\"'‹›.,;:!?)\]}])")


def file_link(path: str, card: Card, line: int | None = None) -> str:
    """Returns a relative link to a file of the workspace, at a line;
    empty where it is outside and no relative link can reach it.
    """
    if card.root.startswith("/") or path.startswith(("/", "~")) or "‹" in path or not path:
        return ""
    return quote(normpath(join(card.root, path))) + (f"#line={line - 1}" if line else "")


_TAGS = {f"h{level}" for level in range(1, 7)} | {
    *(
        "a",
        "b",
        "blockquote",
        "br",
        "code",
        "del",
        "em",
        "hr",
        "i",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "strong",
        "sub",
        "sup",
    ),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}


UNDERLINED = "text-decoration:underline"
"""A link within a text is recognised without colours too."""


def markdown_html(text: str) -> Markup:
    """Renders Markdown as HTML without images and scripts; markup inside it is shown as text."""
    import nh3  # noqa: PLC0415 - few cards have Markdown

    rendered: str = _parser().render(text)
    return Markup(  # noqa: S704 - nh3 keeps only the given elements and attributes
        nh3.clean(
            rendered,
            tags=_TAGS,
            attributes={"a": {"href", "title"}, "ol": {"start"}},
            set_tag_attribute_values={"a": {"style": UNDERLINED}},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer",
        )
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    return (
        MarkdownIt("commonmark", {"html": False, "linkify": False})
        .enable(["table", "strikethrough"])
        .disable("image")
    )


def _is_markdown(block: TextBlock) -> bool:
    """Returns whether a text is rendered as Markdown; in a browser, which lacks nh3, none is."""
    return block.markdown and not IN_BROWSER


def _is_tree(block: ListingBlock) -> bool:
    return any(entry.branch for entry in block.entries)


def _by_side(lines: Iterable[UnifiedLine]) -> Iterator[tuple[str, list[UnifiedLine]]]:
    return ((side, list(run)) for side, run in groupby(lines, key=lambda line: line.side))


_TEMPLATES = Path(__file__).parent / "templates"
_FILTERS: dict[str, Callable[..., Any]] = {
    "column": column,
    "by_side": _by_side,
    "counted": counted,
    "css": STYLES.__getitem__,
    "entry_name": entry_name,
    "file_link": file_link,
    "icon": icon,
    "is_markdown": _is_markdown,
    "is_tree": _is_tree,
    "lines": lines_html,
    "markdown": markdown_html,
    "number_width": number_width,
    "preview": preview,
    "one_sided": one_sided,
    "file_action": file_action,
    "one_line": one_line,
    "seen": seen,
    "size": size,
    "spans": spans_html,
    "split_addresses": _ADDRESS.split,
    "styled": styled,
    "thousands": "{:,}".format,
    "tint": tint,
    "todo_mark": TODO_MARKS.__getitem__,
    "unified_lines": unified_lines,
}


def templates(*folders: Path) -> HtmlTemplates:
    """Returns the templates in ``folders``, which may use those of cards, and their filters."""
    return HtmlTemplates(*folders, _TEMPLATES, **_FILTERS)


render = templates().render
"""Renders a template of cards: ``render("card", card=…)``."""
