"""A quick yes is one that jsonschema gives, too."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.schema.validation import PlainSchema, import_jsonschema
from tests.examples import examples

NAMES = st.sampled_from(["a", "b", "path"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 1.5, float("inf")])
    | st.sampled_from(["", "x", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPES = ["string", "integer", "number", "boolean", "null", "object", "array"]
SCHEMAS: Any = st.recursive(
    st.just({})
    | st.just(True)
    | st.sampled_from(TYPES).map(lambda name: {"type": name})
    | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True).map(lambda names: {"type": names})
    | st.just({"type": "string", "enum": ["x", "y"]})
    | st.just({"type": "integer", "minimum": 1}),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda choices: {"anyOf": choices, "default": None}, st.lists(inner, min_size=1, max_size=3)
        )
        | st.builds(
            lambda properties, required, further: {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": further,
            },
            st.dictionaries(NAMES, inner, max_size=3),
            st.lists(NAMES, max_size=2, unique=True),
            st.booleans(),
        )
    ),
    max_leaves=6,
)


@settings(max_examples=examples(400), deadline=None)
@given(schema=SCHEMAS, value=VALUES)
def test_a_quick_yes_is_a_yes(schema: Any, value: object) -> None:
    if PlainSchema(schema).accepts(value):
        assert import_jsonschema().Draft202012Validator(schema).is_valid(value)


ASKED: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "which"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "title": "Limit"},
        "how": {"type": "string", "enum": ["fast", "well"]},
        "lines": {"type": "array", "items": {"type": "number"}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value",
    [
        {"path": "x"},
        {"path": "x", "limit": None},
        {"path": "", "limit": 3, "how": "well"},
        {"path": "x", "lines": [1, 2.5]},
    ],
)
def test_schemas_of_tools_are_plain(value: object) -> None:
    assert PlainSchema(ASKED).accepts(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"path": 1},
        {"path": "x", "limit": True},
        {"path": "x", "how": "badly"},
        {"path": "x", "more": 1},
        {"path": "x", "lines": ["1"]},
        [],
    ],
)
def test_values_that_do_not_fit_are_validated_completely(value: Any) -> None:
    assert not PlainSchema(ASKED).accepts(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "x"},
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"not": {}}}},
        {"type": "object", "required": ["unknown"]},
        {"type": "object", "properties": []},
        {"type": "nonsense"},
        {"type": "array", "items": {"type": "array", "uniqueItems": True}},
        {"type": "object", "properties": {"a": {"type": "string", "required": True}}},
        {"anyOf": [{"type": "string"}] * 1_000},
        False,
    ],
)
def test_other_schemas_are_left_to_jsonschema(schema: Any) -> None:
    values: tuple[Any, ...] = ("x", 1, {}, [], {"a": "x"}, None)
    assert not any(PlainSchema(schema).accepts(value) for value in values)
