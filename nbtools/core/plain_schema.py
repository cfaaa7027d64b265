"""A quick yes to values that fit a plain schema: most tools' are of a few plain types, and jsonschema takes its time with those, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

from pydantic_core import CoreSchema, SchemaValidator, core_schema

_MOST_NODES = 200
"""Of a schema, which a stranger may have written: each value in an answer is held against each at most."""
_SAID_ONLY = frozenset(
    {"title", "description", "default", "examples", "$schema", "$comment", "format", "readOnly", "writeOnly", "deprecated"}
)
"""Keywords that forbid nothing."""
_TYPES: dict[str, CoreSchema] = {
    "string": core_schema.str_schema(),
    "integer": core_schema.int_schema(),
    "number": core_schema.float_schema(),
    "boolean": core_schema.bool_schema(),
    "null": core_schema.none_schema(),
}
Node: TypeAlias = Mapping[str, Any]
Left: TypeAlias = Iterator[int]
"""Nodes that may still come."""


class PlainSchema:
    """Of a schema that says no more than types and names; of any other it knows nothing."""

    def __init__(self, schema: Node) -> None:
        try:
            self._validator: SchemaValidator | None = SchemaValidator(_of(schema, iter(range(_MOST_NODES))))
        except _BeyondUs:
            self._validator = None

    def fits(self, value: object) -> bool:
        """True: it does.  False: it does not, or somebody else has to look."""
        return self._validator is not None and self._validator.isinstance_python(value, strict=True)


class _BeyondUs(Exception):  # noqa: N818 - no error
    """The schema is not that plain."""


def _of(schema: object, left: Left) -> CoreSchema:
    if next(left, None) is None or not (schema is True or isinstance(schema, Mapping)):
        raise _BeyondUs
    said = {} if schema is True else {key: value for key, value in cast("Node", schema).items() if key not in _SAID_ONLY}
    match said.pop("type", None):
        case "object":
            return _object(said, left)
        case "array":
            return core_schema.list_schema(_of(_taken(said, "items").get("items", True), left))
        case [_, *_] as names:
            return core_schema.union_schema([_of({"type": name, **said}, left) for name in names])
        case str(name):
            return _value(name, said)
        case None:
            return _any_of(_taken(said, "anyOf").get("anyOf"), left)
    raise _BeyondUs


def _taken(said: dict[str, Any], *known: str) -> dict[str, Any]:
    if said.keys() <= set(known):
        return said
    raise _BeyondUs


def _value(name: str, said: dict[str, Any]) -> CoreSchema:
    values = _taken(said, "enum").get("enum")
    if values is None and name in _TYPES:
        return _TYPES[name]
    if name == "string" and isinstance(values, list) and values and all(type(value) is str for value in values):
        return core_schema.literal_schema(values)
    raise _BeyondUs


def _any_of(choices: object, left: Left) -> CoreSchema:
    if choices is None:
        return core_schema.any_schema()
    if isinstance(choices, list) and choices:
        return core_schema.union_schema([_of(choice, left) for choice in choices])
    raise _BeyondUs


def _object(said: dict[str, Any], left: Left) -> CoreSchema:
    _taken(said, "properties", "required", "additionalProperties")
    properties, required, further = said.get("properties", {}), said.get("required", []), said.get("additionalProperties", True)
    if not (isinstance(properties, Mapping) and isinstance(required, list) and isinstance(further, bool)):
        raise _BeyondUs
    if not all(name in properties for name in map(str, required)):
        raise _BeyondUs
    fields = {name: core_schema.typed_dict_field(_of(inner, left), required=name in required) for name, inner in properties.items()}
    return core_schema.typed_dict_schema(fields, extra_behavior="allow" if further else "forbid")
