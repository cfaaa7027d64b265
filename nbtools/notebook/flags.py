"""A tool's JSON Schema as a command line sees it: which words and flags there are, and what a word becomes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.tool import AnyToolBuilder

_BODIES = ("content", "command", "new", "patch")
_WHOLE = ("content", "patch")
_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}
_NONE_YET = object()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: ``types`` are JSON Schema's type names, ``item_types`` those of a list's items; ``short`` is a letter or empty."""

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
    """Whether a body keeps its last newline: all of a file does, a command has none."""
    item_text: str = ""
    """The one required text of items that are objects: a word alone stands for an item of it."""

    @property
    def flag(self) -> str:
        """Its long flag without the dashes."""
        return self.name.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        """A boolean and nothing else (but null): its flag needs no value."""
        return self._only("boolean")

    @property
    def is_list(self) -> bool:
        """A list and nothing else (but null): its flag may be given several times."""
        return self._only("array")

    def _only(self, wanted: str) -> bool:
        return set(self.types) - {"null"} == {wanted}

    def value_from(self, text: str) -> Any:
        """What a word means here.  Raises ``ToolFailure`` when it can be none of the types."""
        return _read(self.name, text, self.types, self.choices)

    def item_from(self, text: str) -> Any:
        """What a word means as one item of the list."""
        if self.item_text and not text.lstrip().startswith("{"):
            return {self.item_text: text}
        return _read(self.name, text, self.item_types or ("string",), ())

    def is_whole(self, text: str) -> bool:
        """Whether a word is all of the list, as JSON; ``[x] done`` may be an item."""
        return text.lstrip().startswith("[") and (not self.item_text or _as("array", text) is not _NONE_YET)

    def items_from(self, text: str) -> Any:
        """What a cell's text means: the list as JSON, else an item a line."""
        return (
            self.value_from(text) if self.is_whole(text) else [self.item_from(line.strip()) for line in text.splitlines() if line.strip()]
        )


@dataclass(frozen=True, slots=True)
class Grammar:
    """How one tool's line is read.  ``literal`` is the body where what follows the flags is the body as it stands."""

    tool: str
    parameters: tuple[Parameter, ...]
    body: Parameter | None
    literal: Parameter | None
    long: Mapping[str, Parameter]
    short: Mapping[str, Parameter]

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """Those that a bare word may mean, in declared order."""
        return tuple(parameter for parameter in self.parameters if not parameter.is_switch)

    def named(self, name: str) -> Parameter:
        """A parameter by name; one that the schema does not list takes any JSON."""
        found = next((parameter for parameter in self.parameters if parameter.name == name), None)
        return found or Parameter(name, _ANY, required=False)


def grammar_of(tool: AnyToolBuilder) -> Grammar:
    """The grammar of a tool's line, from its schema.  Kept, for making a schema takes a millisecond."""
    return _grammar_of(tool)  # type: ignore[arg-type]  # tools are told apart by identity


@lru_cache(maxsize=256)
def _grammar_of(tool: Any) -> Grammar:
    schema = tool.schema.get("parameters") or {}
    return grammar_from(tool.name, schema)


def grammar_from(tool: str, schema: Mapping[str, Any]) -> Grammar:
    """The grammar that a JSON Schema of type object makes."""
    required = set(schema.get("required") or ())
    definitions = {**(schema.get("definitions") or {}), **(schema.get("$defs") or {})}
    declared = {name: spec if isinstance(spec, Mapping) else {} for name, spec in (schema.get("properties") or {}).items()}
    parameters = tuple(_parameter(name, spec, name in required, definitions) for name, spec in declared.items())
    body = next((p for p in parameters if p.body), None) or next((p for name in _BODIES for p in parameters if p.name == name), None)
    literal = body if body is not None and not body.is_list and [p for p in parameters if p.required] == [body] else None
    return Grammar(
        tool,
        parameters,
        body,
        literal,
        {parameter.flag: parameter for parameter in parameters},
        {parameter.short: parameter for parameter in parameters if parameter.short},
    )


_ANY = ("boolean", "integer", "number", "null", "array", "object", "string")


def _parameter(name: str, spec: Mapping[str, Any], required: bool, definitions: Mapping[str, Any]) -> Parameter:
    branches = [_resolved(branch, definitions) for branch in _branches(_resolved(spec, definitions))]
    types = tuple(dict.fromkeys(kind for branch in branches for kind in _types(branch))) or _ANY
    items = next((_resolved(branch["items"], definitions) for branch in branches if isinstance(branch.get("items"), Mapping)), {})
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
    """The property of an object that is a text and the only one required, else nothing."""
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
        return tuple(one for one in ([declared] if isinstance(declared, str) else declared) if one in _ANY)
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
        if value is not _NONE_YET:
            return value
    wanted = " or ".join(_NOUNS[kind] for kind in types if kind != "null")
    raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{name} should be {wanted}, not {text!r}.")


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
_JSON_TYPES: dict[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "array": (list,), "object": (dict,)}


def _as(kind: str, text: str) -> Any:
    """``text`` as a value of the type, or ``_NONE_YET``."""
    if kind == "string":
        return text
    if kind == "null":
        return None if text == "null" else _NONE_YET
    if kind == "boolean":
        word = text.casefold()
        return True if word in _TRUE else False if word in _FALSE else _NONE_YET
    try:
        value = json.loads(text)
    except ValueError:
        return _NONE_YET
    return value if isinstance(value, _JSON_TYPES[kind]) and not isinstance(value, bool) else _NONE_YET
