"""A recorded call as a cell that makes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from nbtools.core.errors import ToolFailure, TraceError
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.command_line import format_line, is_plain_line, parse
from nbtools.notebook.flags import Grammar, grammar_of
from nbtools.replay import Meaning
from nbtools.tools import tools_to_make
from nbtools.workspace.workspace import Workspace


def cell_of(meaning: Meaning) -> str:
    """A cell that runs it: ``%tool …``, ``%%tool …`` where its text has several lines, else ``tools.name(…)``.

    Whatever the log says stays an argument: a line or a text that IPython or an editor would split or change becomes a Python literal.
    """
    tool = _TOOLS.get(meaning.tool)
    if tool is None:
        raise TraceError(f"there is no tool {meaning.tool} here.")
    grammar = grammar_of(tool)
    given = _spelled(grammar, meaning.arguments)
    given = _as_edits(given) if meaning.tool == "edit" else given
    for source in _spellings(grammar, given):
        if _read(grammar, source) == given:
            return source
    return f"from nbtools import tools\n\ntools.{meaning.tool}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def _spellings(grammar: Grammar, given: Mapping[str, Any]) -> Iterator[str]:
    """One line where that is one, else the text below it."""
    line = format_line(grammar, given)
    if is_plain_line(line):
        yield f"%tool {grammar.tool} {line}".rstrip()
    if grammar.body is not None and isinstance(body := given.get(grammar.body.name), str):
        line = format_line(grammar, {name: value for name, value in given.items() if name != grammar.body.name})
        if all(map(is_plain_line, [line, *body.split("\n")])) and not body.endswith("\n\n"):
            yield f"%%tool {grammar.tool} {line}".rstrip() + f"\n{body}"


def _read(grammar: Grammar, source: str) -> dict[str, Any] | None:
    """As the magics read it; IPython ends a cell's text with a newline."""
    first, newline, body = source.partition("\n")
    line = first.partition(" ")[2].removeprefix(grammar.tool).strip()
    whole = grammar.body is not None and grammar.body.whole
    text = f"{body.removesuffix(chr(10))}\n" if whole else body.removesuffix("\n")
    try:
        return parse(grammar, line, text if newline else None)
    except ToolFailure:
        return None


def _spelled(grammar: Grammar, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON, without what is so anyway."""
    given = json.loads(json.dumps(dict(arguments), default=str))
    said = {name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in given.items()}
    return {name: value for name, value in said.items() if grammar.named(name).required or value != grammar.named(name).default}


def _as_edits(given: Mapping[str, Any]) -> dict[str, Any]:
    """Several lines go on one as JSON: one old and new as a list of one replacement."""
    if "\n" not in given.get("old", ""):
        return dict(given)
    step = {name: given[name] for name in ("old", "new", "count") if name in given}
    return {**{name: value for name, value in given.items() if name not in step}, "edits": [step]}


class _Tools:
    """Our tools by name, each made once, for their grammars: nothing is run with them."""

    def __init__(self) -> None:
        self._made: dict[str, AnyToolBuilder] = {}

    @cached_property
    def _makers(self) -> Mapping[str, Any]:
        return tools_to_make(Workspace("."))

    def get(self, name: str) -> AnyToolBuilder | None:
        if name not in self._made and name in self._makers:
            self._made[name] = self._makers[name]()
        return self._made.get(name)


_TOOLS = _Tools()
