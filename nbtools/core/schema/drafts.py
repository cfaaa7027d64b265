"""Tells the drafts of JSON Schema apart, and whether a foreign schema can be used at all.

Servers write schemas by hand, for any draft, mostly without ``$schema``:
the same keyword has another form in another draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_TYPES = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
_NAMES = {
    "draft-03": "Draft3Validator",
    "draft-04": "Draft4Validator",
    "draft-06": "Draft6Validator",
    "draft-07": "Draft7Validator",
    "2019-09": "Draft201909Validator",
    "2020-12": "Draft202012Validator",
}
NEWEST = "Draft202012Validator"
ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
"""A schema that accepts every object."""
DECLARED = "nbtools/declared"
"""The keyword for the schema that an MCP server declares, where the protocol does not allow it."""


def draft_of(schema: Mapping[str, Any]) -> str:
    """Returns the validator class of ``jsonschema`` for the draft that the schema is written for:
    as it says, else by its keywords.
    """
    said = schema.get("$schema")
    if isinstance(said, str):
        return next((validator for name, validator in _NAMES.items() if name in said), NEWEST)
    draft = NEWEST
    for node in _nodes(schema):
        if any(isinstance(node.get(name), bool) for name in ("exclusiveMinimum", "exclusiveMaximum")):
            return "Draft4Validator"
        if isinstance(node.get("items"), list):
            draft = "Draft7Validator"
    return draft


def schema_problem(schema: object) -> str:
    """Returns why a schema of arguments cannot be used, in one line; empty where it can.
    An empty one accepts every object.
    """
    if not isinstance(schema, Mapping):
        return f"it is {schema!r:.60}, not a JSON Schema"
    if schema.get("type", "object") != "object":
        return f"its type is {schema['type']!r:.60}, not 'object'"
    return malformed_part(schema)


def malformed_part(schema: Mapping[str, Any]) -> str:
    """Returns the first keyword whose form belongs to no draft, in words; empty where there is none."""
    old = draft_of(schema) == "Draft3Validator"
    return next((problem for node in _nodes(schema) if (problem := _node_problem(node, old=old))), "")


def usable_schema(schema: object) -> dict[str, Any]:
    """Returns the schema of arguments with its type, or ``ANY_OBJECT`` for one that cannot be used."""
    if not isinstance(schema, Mapping) or not schema or schema_problem(schema):
        return ANY_OBJECT
    return dict(schema) if "type" in schema else {"type": "object", **schema}


def _nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the schema and all in it. Not recursive: a server's may be nested deeper than Python allows."""
    waiting: list[object] = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        yield node
        waiting += (node[name] for name in _SCHEMAS & node.keys())
        for name in _LISTS & node.keys():
            waiting += node[name] if isinstance(node[name], list) else ()
        for name in _MAPS & node.keys():
            waiting += node[name].values() if isinstance(node[name], Mapping) else ()


_SCHEMAS = frozenset(("additionalProperties", "additionalItems", "unevaluatedItems", "contains")) | {
    *("propertyNames", "not", "if", "then", "else", "items")
}
_LISTS = frozenset(("anyOf", "allOf", "oneOf", "prefixItems", "items"))
_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))


def _node_problem(node: Mapping[str, Any], *, old: bool) -> str:
    for name, fits in _FORMS.items():
        if name in node and not fits(node[name]):
            if old and name in ("required", "type"):  # of draft 3
                continue
            return f"its {name} is {node[name]!r:.60}"
    return ""


def _is_schema(value: object) -> bool:
    return isinstance(value, Mapping | bool)


def _is_type(value: object) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _is_schemas(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_schema, value.values()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)  # type: ignore[operator, call-overload]


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_FORMS: dict[str, Callable[[object], bool]] = {
    "type": _is_type,
    "enum": lambda value: isinstance(value, list),
    "required": _is_names,
    "items": lambda value: _is_schema(value) or (isinstance(value, list) and all(map(_is_schema, value))),
    "multipleOf": lambda value: _is_number(value) and value > 0,  # type: ignore[operator]
    "pattern": lambda value: isinstance(value, str),
    "format": lambda value: isinstance(value, str),
    "uniqueItems": lambda value: isinstance(value, bool),
    "$ref": lambda value: isinstance(value, str),
    **dict.fromkeys(
        ("exclusiveMinimum", "exclusiveMaximum"), lambda value: isinstance(value, bool) or _is_number(value)
    ),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count
    ),
    **dict.fromkeys(_SCHEMAS - {"items"}, _is_schema),
    **dict.fromkeys(_LISTS - {"items"}, _is_schemas),
    **dict.fromkeys(_MAPS, _is_map),
}
"""The form of each keyword in some draft.
Keywords that are not here are not checked by ``jsonschema``, or accept everything.
"""
