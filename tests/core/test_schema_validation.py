"""Schemas of strangers: what they refer to stays where it is, and whatever they want checked ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtools.core.schema import validate
from nbtools.core.schema_validation import pattern_occurs


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_nothing_is_read_or_fetched_that_a_schema_refers_to(tmp_path: Path) -> None:
    elsewhere = tmp_path / "schema.json"
    elsewhere.write_text('{"type": "string"}')
    for address in (elsewhere.as_uri(), "http://127.0.0.1:9/schema.json"):
        assert validate(of(a={"$ref": address}), {"a": 1}) == [f"the schema refers to {address}, which it does not define"]
    drafts = of(a={"$ref": "https://json-schema.org/draft/2020-12/schema"})
    assert validate(drafts, {"a": {"type": "string"}}) == []
    assert validate(drafts, {"a": {"type": 5}}) != []


@pytest.mark.parametrize(
    "schema", [{"pattern": "^(a+)+$"}, {"propertyNames": {"pattern": "^(a|a)*$"}}, {"patternProperties": {"^(a+)+$": {}}}]
)
def test_a_pattern_that_takes_an_engine_for_ever_does_not_take_ours(schema: dict[str, Any]) -> None:
    text = "a" * 5_000 + "!"
    assert validate(of(a={**schema, "additionalProperties": False}), {"a": text if "pattern" in schema else {text: 1}}) != []


def test_patterns_still_hold() -> None:
    schema = of(a={"type": "string", "pattern": "^[a-z]+$"}) | {
        "patternProperties": {"^n_": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert validate(schema, {"a": "abc", "n_1": 1}) == []
    assert validate(schema, {"a": "ABC"}) == ["a: 'ABC' does not match '^[a-z]+$'"]
    assert validate(schema, {"n_1": "x"}) == ["n_1: 'x' is not of type 'integer'"]
    assert validate(schema, {"other": 1}) == ["Additional properties are not allowed ('other' was unexpected)"]
    assert validate(of(a={"uniqueItems": True}), {"a": [{"x": 1}, {"x": 1}]}) == ["a: it has elements that are the same"]


@pytest.mark.parametrize("pattern", ["([", "(?=b)", r"(a)\1", 5])
def test_a_pattern_that_cannot_be_read_or_needs_more_forbids_nothing(pattern: object) -> None:
    assert pattern_occurs(pattern, "xyz")
    assert validate(of(a={"pattern": pattern}), {"a": "xyz"}) == []


def test_a_schema_that_doubles_with_each_step_ends() -> None:
    steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(60)}
    assert validate({"$defs": {**steps, "s60": {}}, "$ref": "#/$defs/s0"}, {"a": 1}) == []
    many = [{"x": n} for n in range(50_000)]
    assert validate(of(a={"uniqueItems": True}), {"a": many}) == []
