"""Grammars of the lines of magics: words and flags, their types, help and completions.

A ``Grammar`` comes from a tool's JSON Schema (``%tool``), or is declared (``%trace``, ``%agent`` and the
sub-commands of ``%tools``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool import AnyToolBuilder, Kind

_BODIES = ("content", "command", "new", "patch")
_WHOLE = ("content", "patch")
_BOOLEANS: Mapping[str, Any] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_INVALID = object()


Offers: TypeAlias = Callable[[list[str], str], Iterable[str]]
"""Returns completions of a value, from the words before it and the beginning of its text."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: ``types`` are JSON Schema's type names, ``item_types`` those of a list's items;
    ``short`` is a letter or empty.
    """

    name: str
    types: tuple[str, ...]
    required: bool
    description: str = ""
    default: Any = None
    choices: tuple[Any, ...] = ()
    item_types: tuple[str, ...] = ()
    short: str = ""
    body: bool = False
    whole: bool = False
    """Whether a body keeps its last newline, as the content of a file does and a command does not."""
    item_text: str = ""
    """For items that are objects: their only required property, if it is a text.
    A plain word then means an object with that text.
    """
    place: Literal["any", "word", "flag"] = "any"
    """A tool's parameters may be words or flags; a declared one is either."""
    offers: Offers | None = None
    kind: str = "enum"
    """The kind of its completions, which the front end shows."""

    @property
    def flag(self) -> str:
        """The long flag without the dashes."""
        return self.name.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        """Whether it is only a boolean (or null), so that its flag needs no value."""
        return self._only("boolean")

    @property
    def is_list(self) -> bool:
        """Whether it is only a list (or null), so that its flag can be repeated."""
        return self._only("array")

    @property
    def usage(self) -> str:
        """The way it is written: ``NAME``, ``[ID …]``, ``yes|no``, ``--step STEP``."""
        plain = self.name.removesuffix("s") if self.is_list else self.name
        text = "|".join(map(str, self.choices)) or plain.replace("_", "-").upper()
        if self.place == "flag":
            return f"--{self.flag}" if self.is_switch else f"--{self.flag} {text}"
        text = f"{text} …" if self.is_list else text
        return text if self.required else f"[{text}]"

    def offered(self, words: list[str], fragment: str) -> Iterator[tuple[str, str]]:
        """Yields completions of a value, with their kinds; ``words`` are those before it."""
        values = self.choices if self.offers is None else self.offers(words, fragment)
        yield from ((str(value), self.kind) for value in values)

    def _only(self, kind: str) -> bool:
        return set(self.types) - {"null"} == {kind}

    def value_from(self, text: str) -> Any:
        """Converts a word to a value.  Raises ``ToolFailure`` when it fits none of the types."""
        return _read(self.name, text, self.types, self.choices)

    def item_from(self, text: str) -> Any:
        """Converts a word to one item of the list."""
        if self.item_text and not text.lstrip().startswith("{"):
            return {self.item_text: text}
        return _read(self.name, text, self.item_types or ("string",), ())

    def is_whole(self, text: str) -> bool:
        """Whether a word is the whole list, as JSON: never of a declared list, whose items are any texts.
        A text such as ``[x] done`` can still be an item.
        """
        if self.place != "any" or not text.lstrip().startswith("["):
            return False
        return not self.item_text or _as("array", text) is not _INVALID

    def items_from(self, text: str) -> Any:
        """Converts a cell's text to the list: from JSON, else one item per line."""
        return (
            self.value_from(text)
            if self.is_whole(text)
            else [self.item_from(line.strip()) for line in text.splitlines() if line.strip()]
        )


@dataclass(frozen=True, slots=True)
class Grammar:
    """The flags and positional arguments of one tool.
    ``literal`` is the body where it takes the rest of the line unchanged.
    """

    tool: str
    parameters: tuple[Parameter, ...]
    body: Parameter | None
    literal: Parameter | None
    long: Mapping[str, Parameter]
    short: Mapping[str, Parameter]
    for_shell: bool = False
    """Whether a shell reads the literal text, so that ``#`` in it is the shell's."""
    lead: tuple[Parameter, ...] = ()
    """The parameters whose words come before the literal text, as the number of a terminal does."""
    hint: str = ""
    """What a declared line takes, with an example: the message where its words do not fit."""
    ends_flags: Callable[[list[str]], bool] | None = None
    """Whether no flag follows these words, because another program's arguments begin."""

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """The parameters that can be positional, in declared order."""
        return tuple(one for one in self.parameters if not one.is_switch and one.place != "flag")

    @property
    def usage(self) -> str:
        """The way a declared line is written, without its first word: ``[--save] RULE …``."""
        flags = [one.usage for one in self.parameters if one.place == "flag"]
        return " ".join([*(f"[{flag}]" for flag in flags), *(one.usage for one in self.positional)])

    def flag(self, word: str) -> Parameter | None:
        """Returns the parameter of ``--flag`` or ``-f``; None for another word."""
        if word.startswith("--"):
            return self.long.get(word[2:])
        return self.short.get(word[1:]) if word.startswith("-") else None

    def named(self, name: str) -> Parameter:
        """Returns the parameter with that name; one that is not in the schema accepts any JSON."""
        found = next((parameter for parameter in self.parameters if parameter.name == name), None)
        return found or Parameter(name, ANY_TYPES, required=False)


def word(
    name: str,
    *,
    required: bool = True,
    type: str = "string",  # noqa: A002 - JSON Schema's word
    choices: tuple[str, ...] = (),
    offers: Offers | None = None,
    kind: str = "enum",
) -> Parameter:
    """Declares a positional argument."""
    return Parameter(name, (type,), required, choices=choices, offers=offers, kind=kind, place="word")


def word_list(
    name: str, *, required: bool = True, offers: Offers | None = None, kind: str = "enum"
) -> Parameter:
    """Declares the words that follow, as a list."""
    return word(name, required=required, type="array", offers=offers, kind=kind)


def flag(
    name: str,
    about: str = "",
    *,
    type: str = "string",  # noqa: A002 - as above
    short: str = "",
    offers: Offers | None = None,
    kind: str = "enum",
) -> Parameter:
    """Declares a flag: a switch if it is of type ``boolean``; one of type ``array`` may be repeated."""
    return Parameter(name, (type,), False, about, short=short, offers=offers, kind=kind, place="flag")


def switch(name: str, about: str = "") -> Parameter:
    """Declares a flag without a value."""
    return flag(name, about, type="boolean")


def declared(
    title: str,
    *parameters: Parameter,
    hint: str = "",
    ends_flags: Callable[[list[str]], bool] | None = None,
) -> Grammar:
    """Returns the grammar of a line that begins with ``title``."""
    flags = [one for one in parameters if one.place == "flag"]
    return Grammar(
        title,
        parameters,
        None,
        None,
        {one.flag: one for one in flags},
        {one.short: one for one in flags if one.short},
        hint=hint,
        ends_flags=ends_flags,
    )


def grammar_of(tool: AnyToolBuilder) -> Grammar:
    """Returns the grammar of a tool's line, from its schema.
    Cached, because building a schema takes a millisecond.
    """
    return _grammar_of(tool)  # type: ignore[arg-type]  # tools are hashed by identity


@lru_cache(maxsize=256)
def _grammar_of(tool: Any) -> Grammar:
    schema = tool.schema.get("parameters") or {}
    grammar = grammar_from(tool.name, schema)
    return _of_commands(grammar) if tool.kind is Kind.EXECUTE else grammar


def _of_commands(grammar: Grammar) -> Grammar:
    """Returns the grammar of a tool that runs commands:
    its body is the rest of the line, after the other required parameters.
    """
    body, required = grammar.body, [parameter for parameter in grammar.parameters if parameter.required]
    lead = tuple(required[:-1])
    if (
        body is None
        or body.is_list
        or required[-1:] != [body]
        or not all(one in grammar.positional and not one.is_list for one in lead)
    ):
        return replace(grammar, for_shell=True)
    return replace(grammar, for_shell=True, literal=body, lead=lead)


def grammar_from(tool: str, schema: Mapping[str, Any]) -> Grammar:
    """Returns the grammar for a JSON Schema of type object."""
    required = set(schema.get("required") or ())
    definitions = {**(schema.get("definitions") or {}), **(schema.get("$defs") or {})}
    declared = {
        name: spec if isinstance(spec, Mapping) else {}
        for name, spec in (schema.get("properties") or {}).items()
    }
    parameters = tuple(
        _parameter(name, spec, name in required, definitions) for name, spec in declared.items()
    )
    body = next((p for p in parameters if p.body), None) or next(
        (p for name in _BODIES for p in parameters if p.name == name), None
    )
    literal = (
        body
        if body is not None and not body.is_list and [p for p in parameters if p.required] == [body]
        else None
    )
    return Grammar(
        tool,
        parameters,
        body,
        literal,
        {parameter.flag: parameter for parameter in parameters},
        {parameter.short: parameter for parameter in parameters if parameter.short},
    )


ANY_TYPES = ("boolean", "integer", "number", "null", "array", "object", "string")


def _parameter(
    name: str, spec: Mapping[str, Any], required: bool, definitions: Mapping[str, Any]
) -> Parameter:
    branches = [_resolved(branch, definitions) for branch in _branches(_resolved(spec, definitions))]
    types = tuple(dict.fromkeys(kind for branch in branches for kind in _types(branch))) or ANY_TYPES
    items = next(
        (
            _resolved(branch["items"], definitions)
            for branch in branches
            if isinstance(branch.get("items"), Mapping)
        ),
        {},
    )
    return Parameter(
        name,
        types,
        required,
        str(spec.get("description", "")),
        spec.get("default"),
        tuple(choice for branch in branches for choice in _choices(branch)),
        _types(items),
        str(spec.get("flag", "")).lstrip("-")[:1],
        bool(spec.get("body", False)),
        spec.get("body") == "whole" or name in _WHOLE,
        _only_text(items, definitions),
    )


def _only_text(spec: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Returns the only required property of an object, if it is a text, else an empty string."""
    required = spec.get("required", ())
    if len(required) != 1 or _types(spec) != ("object",):
        return ""
    known = _resolved(spec.get("properties", {}).get(required[0], {}), definitions)
    return str(required[0]) if _types(known) == ("string",) else ""


def _resolved(spec: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    target = definitions.get(str(spec.get("$ref", "")).rpartition("/")[2])
    return {**target, **spec} if isinstance(target, Mapping) else spec


def _branches(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(spec.get(word), list):
            return list(spec[word])
    return [spec]


def _types(spec: Mapping[str, Any]) -> tuple[str, ...]:
    declared = spec.get("type")
    if declared is not None:
        return tuple(
            one for one in ([declared] if isinstance(declared, str) else declared) if one in ANY_TYPES
        )
    return tuple(dict.fromkeys(_type_of(choice) for choice in _choices(spec)))


def _choices(spec: Mapping[str, Any]) -> tuple[Any, ...]:
    return (spec["const"],) if "const" in spec else tuple(spec.get("enum", ()))


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _read(name: str, text: str, types: tuple[str, ...], choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if text == str(choice):
            return choice
    for kind in sorted(types, key=_ORDER.index):
        value = _as(kind, text)
        if value is not _INVALID:
            return value
    expected = " or ".join(_NOUNS[kind] for kind in types if kind != "null")
    raise refused(f"{name} must be {expected}, not {text!r}.")


def refused(problem: str) -> ToolFailure:
    """Returns the error for a line whose arguments are invalid."""
    return ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS, problem if problem.endswith((".", ")")) else f"{problem}."
    )


_ORDER = ("integer", "number", "boolean", "null", "array", "object", "string")
_NOUNS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": 'a list such as ["a", "b"]',
    "object": 'an object such as {"a": 1}',
    "string": "a text",
    "null": "null",
}
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}


def _as(kind: str, text: str) -> Any:
    """Returns ``text`` as a value of the type, or ``_INVALID``."""
    if kind == "string":
        return text
    if kind == "null":
        return None if text == "null" else _INVALID
    if kind == "boolean":
        return _BOOLEANS.get(text.casefold(), _INVALID)
    try:
        value = json.loads(text)
    except ValueError:
        return _INVALID
    return value if isinstance(value, _JSON_TYPES[kind]) and not isinstance(value, bool) else _INVALID
