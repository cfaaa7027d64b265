"""Schemas of strangers: what they refer to stays where it is, and whatever they want checked ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtools.core.schema.json_schema import validate
from nbtools.core.schema.patterns import pattern_occurs


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_nothing_is_read_or_fetched_that_a_schema_refers_to(tmp_path: Path) -> None:
    elsewhere = tmp_path / "schema.json"
    elsewhere.write_text('{"type": "string"}')
    for address in (elsewhere.as_uri(), "http://127.0.0.1:9/schema.json"):
        assert validate(of(a={"$ref": address}, b={"type": "string"}), {"a": 1, "b": 2}) == [
            "b: 2 is not of type 'string'"
        ]
    drafts = of(a={"$ref": "https://json-schema.org/draft/2020-12/schema"})
    assert validate(drafts, {"a": {"type": "string"}}) == []
    assert validate(drafts, {"a": {"type": 5}}) != []


@pytest.mark.parametrize("ref", ["#/$defs/missing", "#/properties/b/nowhere", "#unknown", "other.json"])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda ref: ref,
        lambda ref: {"type": "array", "items": ref},
        lambda ref: {"not": ref},
        lambda ref: {"oneOf": [ref, {"type": "array"}]},
        lambda ref: {"anyOf": [{"type": "string"}, ref]},
        lambda ref: {"allOf": [ref, {"type": "array"}]},
        lambda ref: {"if": ref, "then": {"type": "string"}},
        lambda ref: {"contains": ref, "maxContains": 0},
        lambda ref: {"items": {"$ref": "#/$defs/relay"}},
    ],
)
def test_a_reference_to_nowhere_restricts_nothing_and_the_rest_is_checked(
    wrap: Callable[[Any], Any], ref: str
) -> None:
    schema = of(a=wrap({"$ref": ref}), b={"type": "integer"}) | {"$defs": {"relay": {"$ref": ref}}}
    assert validate(schema, {"a": [1], "b": 1}) == []
    assert validate(schema, {"a": [1], "b": "x"}) == ["b: 'x' is not of type 'integer'"]


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(a+)+$"},
        {"propertyNames": {"pattern": "^(a|a)*$"}},
        {"patternProperties": {"^(a+)+$": {}}},
    ],
)
def test_a_pattern_that_takes_an_engine_for_ever_does_not_take_ours(schema: dict[str, Any]) -> None:
    text = "a" * 5_000 + "!"
    assert (
        validate(
            of(a={**schema, "additionalProperties": False}), {"a": text if "pattern" in schema else {text: 1}}
        )
        != []
    )


def test_patterns_still_hold() -> None:
    schema = of(a={"type": "string", "pattern": "^[a-z]+$"}) | {
        "patternProperties": {"^n_": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert validate(schema, {"a": "abc", "n_1": 1}) == []
    assert validate(schema, {"a": "ABC"}) == ["a: 'ABC' does not match '^[a-z]+$'"]
    assert validate(schema, {"n_1": "x"}) == ["n_1: 'x' is not of type 'integer'"]
    assert validate(schema, {"other": 1}) == [
        "Additional properties are not allowed ('other' was unexpected)"
    ]
    assert validate(of(a={"uniqueItems": True}), {"a": [{"x": 1}, {"x": 1}]}) == [
        "a: it has elements that are the same"
    ]


@pytest.mark.parametrize(
    "pattern", ["([", "(?=b)", r"(a)\1", "b(?:[xyz]{0,90}[xyz]){600}", "b{10}{10}{10}{10}", "b" * 30_000, 5]
)
def test_a_pattern_that_cannot_be_read_or_needs_more_forbids_nothing(pattern: object) -> None:
    assert pattern_occurs(pattern, "xyz")
    assert validate(of(a={"pattern": pattern}), {"a": "xyz"}) == []


def test_a_schema_that_doubles_with_each_step_ends() -> None:
    steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(60)}
    assert validate({"$defs": {**steps, "s60": {}}, "$ref": "#/$defs/s0"}, {"a": 1}) == []
    many = [{"x": n} for n in range(50_000)]
    assert validate(of(a={"uniqueItems": True}), {"a": many}) == []


@pytest.mark.parametrize(
    "pattern", ["[ab]*a(?:[ab]{0,40}[ab]){90}$", "[ab]*a[ab]{9000}$", "[ab]*a" + "[ab]" * 400 + "$"]
)
def test_a_pattern_of_many_states_ends(pattern: str) -> None:
    began = time.process_time()
    pattern_occurs(pattern, "ab" * 5_000)
    assert pattern_occurs(pattern, "ab" * 5_000_000)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", "x" * 36),
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$", "2026-01-01"),
        (r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$", "a b"),
        (r"^[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63}$", "nobody"),
        (r"^\S*$", "x" * 100_000 + " "),
    ],
)
def test_usual_patterns_are_checked(pattern: str, text: str) -> None:
    assert not pattern_occurs(pattern, text)
