"""Source code of a cell that calls a tool with given arguments."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from typing import Any

from nbtools.cards.magic_source import is_plain_line
from nbtools.core.errors import ToolFailure
from nbtools.notebook.magics.command_line import format_line, parse
from nbtools.notebook.magics.flags import Grammar


def call_source(grammar: Grammar, arguments: Mapping[str, Any]) -> str:
    """Returns the source of a cell that calls the tool with JSON values.

    It is ``%tool …``, ``%%tool …`` for text of several lines, or ``tools.name(…)`` where no magic reads as
    exactly these arguments.  What IPython or an editor would split or change becomes a Python literal, so
    that text always stays an argument.
    """
    for source in _spellings(grammar, arguments):
        if read_source(grammar, source) == arguments:
            return source
    return f"from nbtools import tools\n\n{_function(grammar.tool)}({_keywords(arguments)})"


def read_source(grammar: Grammar, source: str) -> dict[str, Any] | None:
    """Parses a ``%tool`` or ``%%tool`` cell as the magics would; None if they reject it.
    IPython ends a cell's text with a newline.
    """
    first, newline, body = source.partition("\n")
    line = first.partition(" ")[2].removeprefix(grammar.tool).strip()
    whole = grammar.body is not None and grammar.body.whole
    text = f"{body.removesuffix(chr(10))}\n" if whole else body.removesuffix("\n")
    try:
        return parse(grammar, line, text if newline else None)
    except ToolFailure:
        return None


def _spellings(grammar: Grammar, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yields the ``%tool`` line if the arguments fit on one,
    then the ``%%tool`` cell with its text below the line.

    IPython drops a last line of only spaces, and more than one newline at the end.
    """
    line = format_line(grammar, arguments)
    if is_plain_line(line):
        yield f"%tool {grammar.tool} {line}".rstrip()
    if grammar.body is not None and isinstance(body := arguments.get(grammar.body.name), str):
        lines = body.split("\n")
        line = format_line(
            grammar, {name: value for name, value in arguments.items() if name != grammar.body.name}
        )
        if all(map(is_plain_line, [line, *lines])) and not body.endswith("\n\n") and not lines[-1].isspace():
            yield f"%%tool {grammar.tool} {line}".rstrip() + f"\n{body}"


def _function(tool: str) -> str:
    return f"tools.{tool}" if _is_name(tool) else f"getattr(tools, {tool!r})"


def _keywords(arguments: Mapping[str, Any]) -> str:
    if all(map(_is_name, arguments)):
        return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"**{dict(arguments)!r}"


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)
