"""A form is built from an allow-list of keywords, whatever the schema has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.notebook.forms.form_schema import (
    MAX_DEPTH,
    MAX_FIELDS,
    MAX_LABEL,
    MAX_PROPERTIES,
    MAX_TEXT,
    form_schema,
    form_values,
)
from nbtools.tools import tool_factories
from nbtools.workspace.workspace import Workspace

KEYWORDS = {
    *("type", "properties", "required", "title", "description", "default", "format", "enum", "items"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*KEYWORDS, "$ref", "anyOf", "allOf", "const", "ui:help", "a"]), inner, max_size=5
        )
    ),
    max_leaves=30,
)


def fields(schema: dict[str, Any], depth: int = 0) -> list[dict[str, Any]]:
    """All schemas in a form, itself included; fails on what is not in the allow-list."""
    assert set(schema) <= KEYWORDS
    assert schema["type"] in {"object", "array", "string", "integer", "number", "boolean"}
    assert depth <= MAX_DEPTH
    assert len(schema.get("title", "")) <= MAX_LABEL
    assert len(schema.get("description", "")) <= MAX_TEXT
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return [schema, *(field for one in inner for field in fields(one, depth + 1))]


@given(st.dictionaries(st.sampled_from(["properties", "required", "$defs", "definitions", "type"]), JSON))
def test_any_schema_becomes_a_form_of_plain_keywords(schema):
    fields(form_schema(schema))


@given(st.dictionaries(st.sampled_from(["a", "b"]), JSON), JSON)
def test_any_values_are_read_without_an_exception(properties, values):
    form = form_schema({"properties": properties})
    assert set(form_values(form, values if isinstance(values, dict) else {})) <= set(form["properties"])


def test_a_huge_or_recursive_schema_is_bounded():
    node = {"type": "object", "properties": {f"p{i}": {"$ref": "#/$defs/Node"} for i in range(100)}}
    found = fields(form_schema({"properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}))
    assert len(found) <= MAX_FIELDS + 1
    assert all(len(field.get("properties", {})) <= MAX_PROPERTIES for field in found)


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1/schema.json", "#/properties/a", "file:///etc/passwd"]
)
def test_a_reference_elsewhere_is_a_field_for_json(reference):
    form = form_schema({"properties": {"a": {"$ref": reference}}})
    assert form["properties"]["a"] == {"title": "a", "type": "string", "format": "json"}


def test_patterns_markup_and_widgets_are_dropped():
    hostile = {
        "type": "string",
        "pattern": "(a+)+$",
        "ui:widget": "html",
        "format": "data-url",
        "description": "<img src=x onerror=alert(1)>",
    }
    assert form_schema({"properties": {"a": hostile}})["properties"]["a"] == {
        "title": "a",
        "type": "string",
        "description": hostile["description"],
    }
    assert form_schema({"properties": {"__proto__": {"type": "string"}}})["properties"] == {}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, {"type": "string"}),
        ({"type": ["number", "null"]}, {"type": "number"}),
        ({"enum": ["lines", "files"]}, {"type": "string", "enum": ["lines", "files"]}),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"type": "string", "format": "json"}),
        ({"type": "object"}, {"type": "string", "format": "json"}),
        ({"type": "boolean", "default": True}, {"type": "boolean", "default": True}),
    ],
)
def test_kinds_of_fields(spec, kind):
    assert form_schema({"properties": {"x": spec}})["properties"]["x"] == {"title": "x", **kind}


def test_values_of_a_form():
    form = form_schema(
        {
            "properties": {
                "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
                },
                "glob": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            }
        }
    )
    assert form_values(
        form, {"either": "5", "list": [{"n": 2.0, "other": 1}], "glob": None, "unknown": 1}
    ) == {
        "either": 5,
        "list": [{"n": 2}],
    }
    assert form_values(form, {"either": "five"}) == {"either": "five"}


@pytest.mark.parametrize("name", sorted(tool_factories(Workspace("."))))
def test_every_parameter_of_every_tool_has_a_field(name):
    schema = tool_factories(Workspace("."))[name]().schema.get("parameters") or {}
    form = form_schema(schema)
    assert set(form["properties"]) == set(schema.get("properties", {}))
    assert set(form["required"]) == set(schema.get("required", ()))
    json.dumps(form)
