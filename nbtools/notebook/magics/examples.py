"""Examples of calls for help pages: from the tool, or built from its schema,
written as a magic or as a function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.cards.magic_source import is_plain_line, quoted
from nbtools.core.errors import ToolFailure
from nbtools.core.tool import AnyToolBuilder, Example, examples_of
from nbtools.notebook.magics.command_line import format_line, parse
from nbtools.notebook.magics.flags import Grammar, Parameter

_COUNT = 2
_TEXTS = {
    "path": "README.md",
    "file": "README.md",
    "folder": ".",
    "directory": ".",
    "pattern": "TODO",
    "url": "https://example.com",
    "command": "ls",
}
"""Values of text parameters by a part of their name."""


def examples_for(tool: AnyToolBuilder, grammar: Grammar) -> tuple[Example, ...]:
    """Returns the tool's own examples, or else up to two that are built from its schema."""
    return examples_of(tool) or _built(grammar)


def example_line(grammar: Grammar, arguments: Mapping[str, Any]) -> str:
    """Returns the source of a cell that makes this call with ``%tool``,
    or with ``%%tool`` for a text of several lines.
    """
    body, written = grammar.body, dict(arguments)
    text = written.get(body.name) if body is not None else None
    if isinstance(text, str) and "\n" in text:
        del written[body.name]  # type: ignore[union-attr]
        return f"%%tool {_line(grammar, written)}\n{text}".rstrip("\n")
    return f"%tool {_line(grammar, written)}"


def function_call(grammar: Grammar, arguments: Mapping[str, Any]) -> str:
    """Returns the source of the same call of ``tools``."""
    required = [parameter.name for parameter in grammar.positional if parameter.required]
    by_place: list[str] = []
    for name in required:
        if name not in arguments:
            break
        by_place.append(name)
    named = [f"{name}={value!r}" for name, value in arguments.items() if name not in by_place]
    return f"tools.{grammar.tool}({', '.join([*(repr(arguments[name]) for name in by_place), *named])})"


def _line(grammar: Grammar, arguments: Mapping[str, Any]) -> str:
    """Returns the line as a person writes it, where that means these arguments;
    otherwise with every argument as a flag.
    """
    line = _short(grammar, arguments)
    try:
        same = is_plain_line(line) and parse(grammar, line) == dict(arguments)
    except ToolFailure:
        same = False
    return f"{grammar.tool} {line if same else format_line(grammar, arguments)}".rstrip()


def _short(grammar: Grammar, arguments: Mapping[str, Any]) -> str:
    literal = grammar.literal.name if grammar.literal else ""
    places: list[str] = []
    for parameter in grammar.positional:
        if parameter.name not in arguments or parameter.name == literal:
            break
        value = arguments[parameter.name]
        if parameter.is_list and all(
            isinstance(item, str) or list(item) == [parameter.item_text] for item in value
        ):
            places += [quoted(item if isinstance(item, str) else item[parameter.item_text]) for item in value]
        elif isinstance(value, str):
            places.append(quoted(value))
        else:
            break
    taken = [parameter.name for parameter, _ in zip(grammar.positional, places, strict=False)]
    flags = [
        _flag(grammar.named(name), value)
        for name, value in arguments.items()
        if name not in (*taken, literal)
    ]
    return " ".join([*places, *flags, *([str(arguments[literal])] if literal in arguments else [])])


def _flag(parameter: Parameter, value: Any) -> str:
    flag = f"-{parameter.short}" if parameter.short else f"--{parameter.flag}"
    if parameter.is_switch:
        return flag if value else f"--no-{parameter.flag}"
    if parameter.is_list and all(isinstance(item, str) for item in value):
        return " ".join(f"{flag} {quoted(item)}" for item in value)
    return f"{flag} {quoted(str(value))}"


def _built(grammar: Grammar) -> tuple[Example, ...]:
    needed = {parameter.name: _value(parameter) for parameter in grammar.parameters if parameter.required}
    optional = next((parameter for parameter in grammar.parameters if not parameter.required), None)
    examples = [Example("", needed)]
    if optional is not None:
        examples.append(Example("", {**needed, optional.name: _value(optional)}))
    return tuple(examples[:_COUNT])


def _value(parameter: Parameter) -> Any:
    """Returns a plausible value of the parameter's type."""
    if parameter.choices:
        return parameter.choices[-1]
    if parameter.default not in (None, "", [], False):
        return parameter.default
    text = next((value for part, value in _TEXTS.items() if part in parameter.name.lower()), "text")
    values = {"string": text, "integer": 1, "number": 1.5, "boolean": True, "object": {}}
    kinds = [
        kind
        for kind in ("string", "boolean", "integer", "number", "array", "object")
        if kind in parameter.types
    ]
    if kinds[:1] == ["array"]:
        return [values.get(parameter.item_types[0], text) if parameter.item_types else text]
    return values[kinds[0]] if kinds else None
