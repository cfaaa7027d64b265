"""@tool: from a typed, documented function to a guarded tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal

import pytest
from pydantic import Field

from nbtools import Policy, Session, ToolResult, tool
from nbtools.plugins.function_tool import read_docstring
from nbtools.testing import RecordingObserver


@tool(kind="read")
def area(width: float, height: float = 1.0, unit: Literal["m", "cm"] = "m") -> float:
    """The area of a rectangle.

    Args:
        width: how wide it is,
            in units
        height: how high it is
    """
    return width * height


@tool(confirm=False)
async def greet(name: Annotated[str, Field(min_length=2)]) -> str:
    """Greets.

    :param name: whom,
        by name
    :returns: a greeting
    """
    await asyncio.sleep(0)
    return f"Hello {name}"


@tool(kind="read")
async def count(to: int) -> AsyncIterator[str]:
    """Counts.

    Parameters
    ----------
    to : int
        the last number

    Returns
    -------
    text
    """
    for number in range(1, to + 1):
        await asyncio.sleep(0)
        yield f"{number}\n"


def test_name_description_and_schema_come_from_the_function() -> None:
    assert (area.name, area.description) == ("area", "The area of a rectangle.")
    schema = area.schema["parameters"]
    assert schema["required"] == ["width"]
    assert schema["properties"]["width"] == {"description": "how wide it is, in units", "type": "number"}
    assert schema["properties"]["unit"]["enum"] == ["m", "cm"]
    assert greet.schema["parameters"]["properties"]["name"]["description"] == "whom, by name"
    assert count.schema["parameters"]["properties"]["to"]["description"] == "the last number"
    assert count.description == "Counts."
    assert area(2.0, height=3.0) == 6.0


async def test_all_three_kinds_of_functions_run() -> None:
    seen = RecordingObserver()
    async with Session(".", tools=[area, greet, count], observers=[seen]) as session:
        assert (await session.call("area", {"width": 2, "height": 4})).data == 8.0
        assert (await session.call("greet", {"name": "Ada"})).llm_content == "Hello Ada"
        counted = await session.call("count", {"to": 3})
        assert counted.llm_content == "1\n2\n3\n"
        assert counted.summary == "3 lines"
    assert len(seen.events) - len(seen.calls) == 3


async def test_wrong_arguments_are_told_in_one_line() -> None:
    async with Session(".", tools=[area, greet]) as session:
        missing = await session.call("area", {})
        assert missing.error is not None
        assert missing.error.message == "area: width is required"
        short = await session.call("greet", {"name": "A"})
        assert short.error is not None
        assert "name string should have at least 2 characters (given 'A')" in short.error.message


async def test_locations_are_what_rules_match() -> None:
    @tool(kind="edit", locations=lambda path: [path])
    def touch(path: str) -> None:
        """Touches."""

    async with Session(".", tools=[touch], policy=Policy(allow=("touch(out/**)",))) as session:
        assert session.decide("touch", {"path": "out/a"}).action == "allow"
        assert session.decide("touch", {"path": "in/a"}).action == "ask"


async def test_results_of_any_type_are_shown() -> None:
    @tool(kind="read")
    def anything(which: str) -> object:
        """Anything."""
        return {"table": {"a": [1, 2]}, "none": None, "result": ToolResult("as it is", ""), "object": object}[which]

    async with Session(".", tools=[anything]) as session:
        table = await session.call("anything", {"which": "table"})
        assert table.data == {"a": [1, 2]}
        assert table.summary == "1 item"
        assert '"a"' in str(table.llm_content)
        assert (await session.call("anything", {"which": "none"})).llm_content == "Done."
        assert (await session.call("anything", {"which": "result"})).llm_content == "as it is"
        assert "object" in str((await session.call("anything", {"which": "object"})).llm_content)


def test_a_function_that_cannot_be_checked_is_refused() -> None:
    with pytest.raises(TypeError, match="give the parameter x a type"):

        @tool
        def untyped(x) -> None:  # type: ignore[no-untyped-def]
            """Untyped."""

    with pytest.raises(TypeError, match="passed by name"):

        @tool
        def loose(*args: str) -> None:
            """Loose."""


def test_a_docstring_without_sections_is_all_text() -> None:
    def plain() -> None:
        """One.

        Two: not a section.
        """

    assert read_docstring(plain).text == "One.\n\nTwo: not a section."
