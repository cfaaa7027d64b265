"""One tool of a server whose declaration is broken does not take the others, nor the server, with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session
from nbtools.core.confirmation import ToolMcpConfirmationDetails
from nbtools.core.schema.drafts import ANY_OBJECT, draft_of, schema_problem, usable_schema
from nbtools.core.schema.json_schema import validate
from nbtools.mcp.config.entries import parse_server

BROKEN: list[Any] = [
    None,
    [],
    "object",
    {"type": "int"},
    {"type": "string"},
    {"type": ["object", "null"]},
    {"type": "object", "properties": {"a": {"type": "int"}}},
    {"type": "object", "properties": {"a": {"type": []}}},
    {"type": "object", "properties": []},
    {"type": "object", "properties": {"a": None}},
    {"type": "object", "properties": {"a": {"enum": "x"}}},
    {"type": "object", "properties": {"a": {"minimum": "0"}}},
    {"type": "object", "properties": {"a": {"minLength": -1}}},
    {"type": "object", "properties": {"a": {"items": [5]}}},
    {"type": "object", "required": "a"},
    {"type": "object", "anyOf": {}},
    {"type": "object", "not": 5},
    {"type": "object", "properties": {"a": {"multipleOf": 0}}},
]
USABLE: list[Any] = [
    {},
    {"anyOf": [{"type": "object"}]},
    {"properties": {"a": {"type": "string"}}},
    {"type": "object"},
]


def declared(schema: Any, number: int) -> dict[str, Any]:
    return {"name": f"t{number}", "inputSchema": schema}


async def test_every_tool_that_has_a_name_can_be_called_and_declared(tmp_path: Path) -> None:
    schemas = [*BROKEN, *USABLE]
    tools: list[Any] = [declared(schema, number) for number, schema in enumerate(schemas)]
    tools += [
        {"inputSchema": {}},
        5,
        {"name": 7},
        {"name": "half", "description": 5, "annotations": "none", "outputSchema": []},
    ]
    server = parse_server(
        "b",
        {
            "command": sys.executable,
            "args": [str(Path(__file__).parent / "broken_schemas_server.py"), json.dumps(tools)],
        },
        {},
    )
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add([server])
        await session.mcp.connect()
        names = [name for name in session.tools.names() if name.startswith("mcp__b__")]
        assert names == [*(f"mcp__b__t{number}" for number in range(len(schemas))), "mcp__b__half"]
        for name in names:
            result = await session.call(
                name, {"a": 1} if name != f"mcp__b__t{len(schemas) - 2}" else {"a": "1"}
            )
            assert result.ok, name
            assert '"a"' in str(result.llm_content)
        for one in session.declarations("anthropic"):
            assert schema_problem(one["input_schema"]) == "", one["name"]
        question = await session.tools["mcp__b__t3"].build({}).should_confirm_execute()
        assert isinstance(question, ToolMcpConfirmationDetails)
        assert "'int'" in question.claims
        assert "'int'" not in session.tools["mcp__b__t3"].description
        assert '"int"' in session.tools["mcp__b__t3"].description
        (connection,) = session.mcp.connections.values()
        assert [prompt.name for prompt in await connection.prompts()] == ["good", "half"]


@pytest.mark.parametrize("schema", BROKEN)
def test_a_schema_that_cannot_be_used_accepts_everything(schema: Any) -> None:
    assert schema_problem(schema) != ""
    assert usable_schema(schema) == ANY_OBJECT
    if isinstance(schema, dict):
        assert validate(schema, {"a": 1}) in ([], [f"{{'a': 1}} is not of type {schema.get('type')!r}"])


@pytest.mark.parametrize("schema", USABLE)
def test_a_schema_without_its_type_is_one_of_an_object(schema: Any) -> None:
    assert schema_problem(schema) == ""
    assert usable_schema(schema)["type"] == "object"


@pytest.mark.parametrize(
    ("inner", "draft", "good", "bad"),
    [
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, "Draft4Validator", 1, 0),
        ({"type": "integer", "exclusiveMinimum": 0}, "Draft202012Validator", 1, 0),
        (
            {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "Draft7Validator",
            ["x", 1],
            [1, "x"],
        ),
        (
            {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            "Draft7Validator",
            ["x"],
            ["x", "y"],
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
            "Draft202012Validator",
            ["x"],
            ["x", "y"],
        ),
        ({"type": "array", "items": [{"exclusiveMaximum": True, "maximum": 3}]}, "Draft4Validator", [2], [3]),
    ],
)
def test_drafts_are_distinguished_by_their_keywords(
    inner: dict[str, Any], draft: str, good: Any, bad: Any
) -> None:
    schema = {"type": "object", "properties": {"a": inner}}
    assert schema_problem(schema) == ""
    assert draft_of(schema) == draft
    assert validate(schema, {"a": good}) == []
    assert validate(schema, {"a": bad}) != []


@pytest.mark.parametrize(
    ("declared", "draft"),
    [("http://json-schema.org/draft-04/schema#", "Draft4Validator"), ("x", "Draft202012Validator")],
)
def test_a_schema_says_its_draft(declared: str, draft: str) -> None:
    assert draft_of({"$schema": declared, "type": "object"}) == draft
