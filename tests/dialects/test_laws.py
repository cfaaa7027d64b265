"""Every dialect: there and back is the identity, every documented tool is accounted for,
every schema is one for every provider.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from nbtools.core.errors import ToolFailure
from nbtools.core.schema.json_schema import Provider, has_cycle_in_schema, sanitize_schema, validate
from nbtools.core.schema.parameters import schema_of
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects import Dialect, ToolMapping
from nbtools.dialects.dialect_model import CallContext
from tests.dialects.laws import DIALECTS, DOCUMENTED, MODELS, arguments_of, is_call, same_call
from tests.examples import examples

SPELLINGS = [
    pytest.param(one, spelling, id=f"{one.name}-{spelling.params.__name__}")
    for one in DIALECTS
    for spelling in one.mappings
]
PROVIDERS: tuple[Provider, ...] = ("gemini", "anthropic", "openai", "mcp")
quickly = settings(max_examples=examples(25), deadline=None, database=None)


@pytest.mark.parametrize(("agent", "spelling"), [one for one in SPELLINGS if not one.values[1].former])
@quickly
@given(data=st.data())
def test_a_translated_call_can_be_translated_back(
    agent: Dialect, spelling: ToolMapping, data: st.DataObject
) -> None:
    """Spoken → canonical → spoken → canonical: an agent can say whatever its own calls mean.

    A parameter of a former version is read, and is not in the schema:
    what it means may be something that no call can say today.
    """
    arguments = data.draw(arguments_of(spelling.params))
    try:
        said = agent.read(spelling.name, arguments)
    except ToolFailure:
        return
    if not is_call(said.tool, said.arguments):
        return
    again = agent.speak(said.tool, said.arguments)
    if again is None:
        assert arguments.keys() - schema_of(spelling.params)["properties"].keys(), said.arguments
        return
    assert same_call(said.tool, agent.read(*again).arguments, said.arguments)


@pytest.mark.parametrize(("agent", "spelling"), SPELLINGS)
@quickly
@given(data=st.data())
def test_the_way_there_and_back_of_each_spelling(
    agent: Dialect, spelling: ToolMapping, data: st.DataObject
) -> None:
    """Canonical → translated → canonical is the identity wherever a translation exists,
    and it fits the schema of the model.
    """
    arguments = data.draw(arguments_of(MODELS[spelling.tool]))
    spoken = spelling.params.from_canonical(arguments) if is_call(spelling.tool, arguments) else None
    if spoken is not None:
        assert validate(schema_of(spelling.params), spoken) == []
        folder = (
            str(arguments.get("path") or ".") if agent.carries_folder and spelling.tool == "shell" else "."
        )
        read = spelling.params.model_validate(spoken, context=CallContext("", lambda: folder))
        assert same_call(spelling.tool, read.to_canonical(), arguments)


@pytest.mark.parametrize("agent", DIALECTS, ids=lambda one: one.name)
def test_every_documented_tool_is_spelled_or_has_a_reason(agent: Dialect) -> None:
    spelled, unspoken = {one.name for one in agent.mappings}, {one.name for one in agent.unsupported}
    assert set(DOCUMENTED[agent.name]) - spelled - unspoken == set()
    assert spelled & unspoken == set()
    assert all(one.reason.endswith(".") for one in agent.unsupported)


@pytest.mark.parametrize(("agent", "spelling"), SPELLINGS)
def test_it_means_a_tool_that_is_there(agent: Dialect, spelling: ToolMapping) -> None:
    assert spelling.tool in (*CANONICAL_NAMES, "list_mcp_resources", "read_mcp_resource")
    assert spelling.tool in MODELS
    assert spelling.former or spelling.description


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("agent", "spelling"), SPELLINGS)
def test_its_schema_is_one_for_every_provider(
    agent: Dialect, spelling: ToolMapping, provider: Provider
) -> None:
    schema = sanitize_schema(schema_of(spelling.params), provider)
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not has_cycle_in_schema(schema)
    assert spelling.former or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", spelling.name)
    for name, part in schema.get("properties", {}).items():
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
        assert part.get("description"), f"{spelling.name}.{name} has no description"
    if provider == "gemini":
        assert "additionalProperties" not in str(schema)
