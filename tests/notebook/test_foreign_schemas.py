"""Schemas that others write: every parameter has its flag, whatever the schema contains."""

from __future__ import annotations

import pytest

from nbtools.notebook.magics.command_line import format_line, parse
from nbtools.notebook.magics.flags import grammar_from
from nbtools.notebook.tool_functions import signature_of

NESTED = {
    "type": "object",
    "properties": {
        "order": {"$ref": "#/definitions/Order"},
        "tags": {"type": ["array", "null"], "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        "deep": {"anyOf": [{"type": "object", "additionalProperties": {"type": "object"}}, {"type": "null"}]},
    },
    "required": ["order"],
    "definitions": {"Order": {"type": "object", "properties": {"self": {"$ref": "#/definitions/Order"}}}},
}


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("""'{"self": {"self": {}}}'""", {"order": {"self": {"self": {}}}}),
        ("--order '{}' --tags a --tags b", {"order": {}, "tags": ["a", "b"]}),
        ("--order '{}' --sizes 1 --sizes 2", {"order": {}, "sizes": [1, 2]}),
        ("--order '{}' --grid '[[1, 2.5], []]'", {"order": {}, "grid": [[1, 2.5], []]}),
        ("""--order '{}' --deep '{"a": {"b": 1}}'""", {"order": {}, "deep": {"a": {"b": 1}}}),
    ],
)
def test_nested_parameters_are_json_on_the_line(line, arguments):
    grammar = grammar_from("t", NESTED)
    assert parse(grammar, line) == arguments
    assert parse(grammar, format_line(grammar, arguments)) == arguments


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": None, "required": None},
        {"properties": {"x": True}},
        {"properties": {"x": {"type": "any"}}},
        {"properties": {"x": {"type": ["file", "string"]}}},
        {"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"$ref": "#/$defs/X"}}},
        {"properties": {"x": {"$ref": "https://example.org/schema"}}},
        {"properties": {"x": {"items": True, "enum": [[1], {"a": 1}, None]}}},
        {"properties": {"x": {"type": "array", "items": [{"type": "string"}]}}},
    ],
)
def test_invalid_schemas_break_nothing(schema):
    grammar = grammar_from("t", {"type": "object", **schema})
    signature_of(grammar)
    if grammar.parameters:
        assert set(parse(grammar, "--x [1]")) == {"x"}
        assert parse(grammar, format_line(grammar, {"x": [1, {"a": None}]}))["x"] is not None
