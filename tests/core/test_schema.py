"""Schemas: validation, cycles, and the forms of four providers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import ToolResult, failed
from nbtools.core.schema.json_schema import (
    convert_to_function_response,
    has_cycle_in_schema,
    sanitize_schema,
    validate,
    without_titles,
)
from nbtools.core.schema.parameters import schema_of


@pytest.mark.parametrize(
    ("schema", "cyclic"),
    [
        ({"type": "object"}, False),
        ({"properties": {"child": {"$ref": "#"}}}, True),
        (
            {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
            True,
        ),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/s"}, "b": {"$ref": "#/$defs/s"}},
                "$defs": {"s": {"type": "string"}},
            },
            False,
        ),
        ({"$ref": "https://example.org/x"}, False),
        ({"$ref": "#/nowhere"}, False),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/"}]}, True),
        ({"anyOf": [{"type": "array", "items": {"$ref": "#/anyOf/0"}}, {}]}, True),
        ({"prefixItems": [{}, {"properties": {"a": {"$ref": "#/prefixItems/1"}}}]}, True),
        ({"items": [{"oneOf": [{"$ref": "#/items/1"}]}, {"allOf": [{"$ref": "#/items/0"}]}]}, True),
        (
            {
                "anyOf": [
                    {"type": "string"},
                    {"$ref": "#/anyOf/0"},
                    {"$ref": "#/anyOf/9"},
                    {"$ref": "#/anyOf/x"},
                ]
            },
            False,
        ),
        ({"$defs": {"a/b": {"$ref": "#/$defs/c~0d"}, "c~d": {"not": {"$ref": "#/$defs/a~1b"}}}}, True),
    ],
)
def test_cycles_are_found(schema: dict[str, Any], cyclic: bool) -> None:
    assert has_cycle_in_schema(schema) is cyclic


def test_cycles_are_looked_for_in_bounded_time_and_depth() -> None:
    steps = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(200)}
    assert not has_cycle_in_schema({"$defs": steps})
    deep: dict[str, Any] = {"$ref": "#"}
    for _ in range(5_000):
        deep = {"items": [deep]}
    assert has_cycle_in_schema(deep)


def test_validation_reports_every_problem_and_survives_endless_schemas() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["m"],
        "additionalProperties": False,
    }
    assert validate(schema, {"m": 1, "n": 2} | {}) != []
    assert validate({"type": "object", "required": ["m"]}, {"m": 1}) == []
    problems = validate(schema, {"n": "x"})
    assert len(problems) == 2
    assert any(problem.startswith("n: ") for problem in problems)
    assert validate({"$ref": "#"}, {}) == ["the parameters or their schema are nested too deeply"]


class Model(BaseModel):
    title: str
    size: int | None = None


def test_titles_go_and_properties_called_title_stay() -> None:
    schema = without_titles(Model.model_json_schema())
    assert schema["properties"]["title"] == {"type": "string"}
    assert "title" not in schema


def test_gemini_gets_nullable_and_nobody_gets_our_keys() -> None:
    schema = without_titles(Model.model_json_schema()) | {"additionalProperties": False}
    schema["properties"]["size"]["flag"] = "s"
    gemini = sanitize_schema(schema, "gemini")
    assert gemini["properties"]["size"] == {"default": None, "type": "integer", "nullable": True}
    assert "additionalProperties" not in gemini
    assert "flag" not in sanitize_schema(schema, "openai")["properties"]["size"]


def test_results_go_back_in_each_form() -> None:
    picture = {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}
    result = ToolResult(({"text": "seen"}, picture), "")
    gemini = convert_to_function_response("1", "read", result, "gemini")["functionResponse"]
    assert gemini["response"] == {"output": "seen"}
    assert gemini["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    anthropic = convert_to_function_response("1", "read", result, "anthropic")
    assert [block["type"] for block in anthropic["content"]] == ["text", "image"]
    assert (
        convert_to_function_response("1", "read", result, "openai")["content"]
        == "seen\n[a picture, image/png, 3 bytes]"
    )
    error = failed(ToolError(ErrorCode.CONFLICT, "changed"))
    assert convert_to_function_response("1", "read", error, "gemini")["functionResponse"]["response"] == {
        "error": "changed"
    }
    assert convert_to_function_response("1", "read", error, "mcp")["isError"] is True


def test_the_schema_of_a_model_is_made_once_and_each_caller_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An agent sends the schemas of all tools with each step."""

    class Model(BaseModel):
        names: list[str]

    first = schema_of(Model)
    first["properties"].clear()
    monkeypatch.delattr(BaseModel, "model_json_schema")
    assert schema_of(Model)["properties"] == {"names": {"type": "array", "items": {"type": "string"}}}
