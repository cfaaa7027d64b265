"""Makes texts of a log safe as Markdown of a notebook:
nothing in them loads, runs, or is a heading among ours.

Markdown parsers differ in where code begins and ends.  So text outside code has no tag, image or target of a
link that is not understood, whatever a parser takes it for, and code is written so that all parsers agree on
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.highlighting import known_language

_FENCE = re.compile(r"((?:[ \t>]|[-*+] |\d+[.)] )*)(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`]*).*")
_QUOTE = re.compile(r"^[ \t]*>[ \t]?")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
"""Makes a heading of the line above."""
_PLAIN_TARGET = r"\((?:https?://[\w.-]+(?::\d+)?|mailto:)?[\w./#%@?=&+~,-]*\)"
"""A link's target on the web, a mail address, or a path;
``:`` occurs only in these schemes and before a port.
"""
_ACTIVE = rf"`{{3,}}|~{{3,}}|<|!(?=\[)|\]:|\](?=\()(?!{_PLAIN_TARGET})"
"""What begins or ends a code block, begins a tag, an image, the target of links by name,
or of a link with any other target.
"""
_CODE_OR_ACTIVE = re.compile(rf"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)|{_ACTIVE}")


def sanitize_markdown(text: str) -> str:
    """Returns Markdown whose images, tags, headings and unknown links are text, and whose code blocks end."""
    lines: list[str] = []
    rest = iter(text.splitlines())
    for line in rest:
        fence = _FENCE.fullmatch(line)
        if fence:
            code = "\n".join(_code_lines(fence[1], fence[2], rest))
            marker = fence[1].replace(">", "").strip()
            lines += [
                *([marker] if marker else []),
                "",
                code_block(code, known_language(fence[3].lower())),
                "",
            ]
        elif _UNDERLINE.fullmatch(line) and lines and lines[-1].strip():
            lines.append(f"\\{line.strip()}")
        else:
            lines.append(_sanitized_line(line))
    return "\n".join(lines).removesuffix("\n")


def _code_lines(prefix: str, fence: str, rest: Iterator[str]) -> Iterator[str]:
    """Yields the lines up to the end of a code block, without a quote's mark or the block's indentation."""
    width = 0 if ">" in prefix else len(prefix)
    for quoted in rest:
        line = _QUOTE.sub("", quoted, count=1) if ">" in prefix else quoted
        mark = line.strip()
        if len(mark) >= len(fence) and not mark.strip(fence[0]):
            return
        yield line[:width].lstrip() + line[width:]


def code_block(text: str, language: str = "text") -> str:
    """Returns text as a code block whose fence is longer than every run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _sanitized_line(line: str) -> str:
    heading = _HEADING.fullmatch(line)
    title = heading[1].rstrip().rstrip("#").rstrip() if heading else ""
    return f"**{plain(title)}**" if title else _CODE_OR_ACTIVE.sub(_sanitized, line)


def _sanitized(found: re.Match[str]) -> str:
    if found[1]:
        return inline_code(found[2]) if re.search(_ACTIVE, found[0]) else found[0]
    return "&lt;" if found[0] == "<" else _entities(found[0])


def inline_code(text: str) -> str:
    """Returns text as inline code that contains nothing that a parser could take for the end of the code."""
    return f"`{text}`" if re.fullmatch(r"[\w ./~+@:=,-]*[\w./]", text) else f"<code>{_entities(text)}</code>"


def _entities(text: str) -> str:
    return re.sub(r"[^\w ]", lambda found: f"&#{ord(found[0])};", text)


def plain(text: str) -> str:
    """Returns text for a heading: no tags, no Markdown."""
    return (
        re.sub(r"([\\`*_\[\]#<>~])", r"\\\1", one_line(text, 200))
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
    )
