"""Syntax highlighting of lines as spans, and operations on spans: adding marks, shortening, joining."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from nbtools.cards.card_model import Span
from nbtools.cards.hidden_characters import reveal

MAX_CHARACTERS = 24_000
"""Longer texts are not highlighted; that would take too long."""

_WORDS = (
    ("Token.Comment", "c"),
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"),
    ("Token.Name.Function", "d"),
    ("Token.Name.Class", "d"),
    ("Token.Name.Tag", "k"),
    ("Token.Name.Attribute", "d"),
    ("Token.Name.Builtin", "b"),
    ("Token.Name.Exception", "b"),
    ("Token.Name.Decorator", "b"),
    ("Token.Generic.Heading", "k"),
    ("Token.Generic.Subheading", "k"),
)

_LANGUAGES = {
    suffix: language
    for language, suffixes in {
        "python": "py pyi pyw",
        "javascript": "js mjs cjs jsx",
        "typescript": "ts mts cts tsx",
        "json": "json ipynb jsonl",
        "html": "html htm",
        "xml": "xml svg xsd",
        "css": "css",
        "scss": "scss",
        "markdown": "md markdown",
        "rst": "rst",
        "yaml": "yml yaml",
        "toml": "toml lock",
        "ini": "ini cfg conf",
        "bash": "sh bash zsh bashrc profile",
        "make": "mk makefile",
        "docker": "dockerfile",
        "c": "c h",
        "cpp": "cpp cc cxx hpp hh hxx",
        "csharp": "cs",
        "java": "java",
        "kotlin": "kt kts",
        "scala": "scala",
        "go": "go",
        "rust": "rs",
        "swift": "swift",
        "ruby": "rb rake gemfile",
        "perl": "pl pm",
        "php": "php",
        "lua": "lua",
        "r": "r",
        "julia": "jl",
        "haskell": "hs",
        "sql": "sql",
        "diff": "diff patch",
        "tex": "tex",
        "cmake": "cmake",
    }.items()
    for suffix in suffixes.split()
}
"""File suffix → pygments language.  pygments' own search by file name takes 0.4 s,
because it looks for plugins.
"""
LANGUAGES = frozenset(_LANGUAGES.values())


def known_language(name: str) -> str:
    """Returns the language of this name or file suffix; empty if it is unknown."""
    language = _LANGUAGES.get(name, name)
    return language if language in LANGUAGES else ""


def coloured(path: str, lines: list[str], language: str = "") -> list[list[Span]]:
    """Highlights consecutive ``lines`` of the file ``path`` (without line ends);
    they stay plain where the language is unknown.

    ``language`` overrides the file's suffix; it is one of pygments' names or ``text``.
    """
    lexer = _lexer(language or _language(path)) if sum(map(len, lines)) <= MAX_CHARACTERS else None
    plain: list[list[Span]] = [[(line, "")] if line else [] for line in lines]
    if lexer is None:
        return plain
    text = "".join(f"{line}\n" for line in lines)  # pygments needs the line ends, for example of headings
    tokens = [(_word(kind), value) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    result = _by_line(tokens)[:-1]
    return (
        result if len(result) == len(lines) and sum(len(value) for _, value in tokens) == len(text) else plain
    )


def _by_line(tokens: list[tuple[str, str]]) -> list[list[Span]]:
    lines: list[list[Span]] = [[]]
    for word, value in tokens:
        first, *rest = value.split("\n")
        _join(lines[-1], first, word)
        for part in rest:
            lines.append([])
            _join(lines[-1], part, word)
    return lines


def _join(line: list[Span], text: str, word: str) -> None:
    if not text:
        return
    if line and (line[-1][1] == word or text.isspace()):
        line[-1] = (line[-1][0] + text, line[-1][1])
    else:
        line.append((text, word))


def _language(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return _LANGUAGES.get(name.rsplit(".", 1)[-1].lower(), "")


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    if language in {"", "text"}:
        return None
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # noqa: PLC0415 - heavy, and not every session needs it

    return get_lexer_by_name(language)


@lru_cache(maxsize=512)
def _word(kind: Any) -> str:
    name = str(kind)
    return next((word for prefix, word in _WORDS if name.startswith(prefix)), "")


MAX_COLUMNS = 500
"""Characters of a line that a card shows."""

Range = tuple[int, int]


def text_of(spans: Iterable[Span]) -> str:
    return "".join(text for text, _ in spans)


def line_spans(spans: Sequence[Span], ranges: Sequence[Range] = (), word: str = "mark") -> tuple[Span, ...]:
    """Returns a line for display: ``word`` added to the character ``ranges``, shortened around the first,
    hidden characters visible.
    """
    marked = overlay(spans, ranges, word) if ranges else spans
    first = min((start for start, _ in ranges), default=0)
    return tuple(span for text, style in _window(marked, first) for span in reveal(text, style))


def overlay(spans: Iterable[Span], ranges: Sequence[Range], word: str) -> list[Span]:
    """Returns ``spans`` with the style word ``word`` added inside the ascending ``ranges``."""
    result: list[Span] = []
    position = 0
    for text, style in spans:
        end = position + len(text)
        cursor = position
        for start, stop in ranges:
            low, high = max(start, position), min(stop, end)
            if low >= high:
                continue
            _append(result, text[cursor - position : low - position], style)
            _append(result, text[low - position : high - position], f"{style} {word}".strip())
            cursor = high
        _append(result, text[cursor - position :], style)
        position = end
    return result


def _append(spans: list[Span], text: str, style: str) -> None:
    if text:
        spans.append((text, style))


def _window(spans: Sequence[Span], first: int) -> Sequence[Span]:
    """Returns at most ``MAX_COLUMNS`` characters of a line, including ``first``, and marks what was cut."""
    total = sum(len(text) for text, _ in spans)
    if total <= MAX_COLUMNS:
        return spans
    start = 0 if first < MAX_COLUMNS - 100 else first - 100
    end = min(total, start + MAX_COLUMNS)
    visible = cut(spans, start, end)
    before = [(f"‹{start:,} characters›", "hidden")] if start else []
    after = [(f"‹{total - end:,} more characters›", "hidden")] if end < total else []
    return [*before, *visible, *after]


def cut(spans: Iterable[Span], start: int, end: int) -> list[Span]:
    """Returns the characters ``start`` to ``end`` of a line."""
    result: list[Span] = []
    position = 0
    for text, style in spans:
        _append(result, text[max(0, start - position) : max(0, end - position)], style)
        position += len(text)
    return result
