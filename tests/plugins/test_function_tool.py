"""@tool: from a typed, documented function to a guarded tool."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from nbtools import (
    Answer,
    BaseDeclarativeTool,
    BaseToolInvocation,
    Confirmation,
    ErrorCode,
    Kind,
    Media,
    Policy,
    Session,
    ToolConfirmationOutcome,
    ToolFailure,
    ToolInfoConfirmationDetails,
    ToolResult,
    tool,
)
from nbtools.cards.blocks import blocks_of
from nbtools.cards.card_model import TextBlock
from nbtools.core.result import Markdown
from nbtools.core.tool import UpdateOutput
from nbtools.plugins.function_tool import read_docstring
from nbtools.plugins.shown_values import shown_value
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


async def test_wrong_arguments_are_an_error_in_one_line() -> None:
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
        return {"table": {"a": [1, 2]}, "none": None, "result": ToolResult("as it is", ""), "object": object}[
            which
        ]

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
        def variadic(*args: str) -> None:
            """Loose."""


def test_a_docstring_without_sections_is_all_text() -> None:
    def plain() -> None:
        """One.

        Two: not a section.
        """

    assert read_docstring(plain).text == "One.\n\nTwo: not a section."


async def session_result(function: Any, tmp_path: Path, **arguments: Any) -> ToolResult:
    async with Session(tmp_path, tools=[function], policy=Policy(mode="yolo")) as session:
        return await session.call(function.name, arguments)


async def test_an_exception_is_reported_with_its_line_and_a_failure_with_its_message(tmp_path: Path) -> None:
    @tool(kind="read")
    def query(sql: str) -> str:
        if sql == "known":
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "There is no table x.")
        return str(sqlite3.connect(":memory:").execute(sql).fetchall())

    unforeseen, foreseen = (
        await session_result(query, tmp_path, sql="selec 1"),
        await session_result(query, tmp_path, sql="known"),
    )
    assert unforeseen.error is not None
    assert unforeseen.error.code is ErrorCode.UNHANDLED_EXCEPTION
    for part in ("OperationalError", "syntax error", f"{Path(__file__).name}:", "correct them"):
        assert part in unforeseen.error.message
    assert foreseen.error is not None
    assert (foreseen.error.code, foreseen.error.message) == (
        ErrorCode.INVALID_TOOL_PARAMS,
        "There is no table x.",
    )


async def test_a_confirmation_of_ones_own_is_used_and_none_asks_nothing(tmp_path: Path) -> None:
    def question(amount: int) -> str | None:
        return f"Pay {amount}?" if amount > 10 else None

    @tool(kind="other", confirm=question)
    def pay(amount: int) -> int:
        return amount

    asked: list[Confirmation] = []

    class Person:
        async def ask(self, confirmation: Confirmation) -> Answer:
            asked.append(confirmation)
            return Answer(ToolConfirmationOutcome.CANCEL)

    async with Session(tmp_path, tools=[pay], confirmer=Person()) as session:
        assert (await session.call("pay", {"amount": 5})).data == 5
        assert asked == []
        assert not (await session.call("pay", {"amount": 50})).ok
        (confirmation,) = asked
        assert isinstance(confirmation.details, ToolInfoConfirmationDetails)
        assert confirmation.details.prompt == "Pay 50?"
    for wrong in ("sometimes", 5):
        with pytest.raises(TypeError, match="confirm"):
            tool(confirm=wrong)(question)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="read"):
        tool(kind="reed")(question)


async def test_a_tool_that_returns_something_else_is_named_itself(tmp_path: Path) -> None:
    class Wrong(BaseToolInvocation[Any]):
        async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
            return "text"  # type: ignore[return-value]

    class WrongTool(BaseDeclarativeTool[Any]):
        name = "wrong"
        description = "Returns a text."
        kind = Kind.READ
        parameters = MappingProxyType({"type": "object", "properties": {}})

        def create_invocation(self, params: Any) -> Wrong:
            return Wrong(params)

    for result in (
        await session_result(WrongTool(), tmp_path),
        await WrongTool().validate_build_and_execute({}),
    ):
        assert result.error is not None
        assert result.error.code is ErrorCode.UNHANDLED_EXCEPTION
        assert "wrong returned 'text' instead of a ToolResult" in result.error.message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.1 + 2.2, "3.3"),
        (0.1 + 0.2, "0.3"),
        (2.0, "2.0"),
        (1e300, "1e+300"),
        (1 / 3, "0.333333333333"),
        (float("nan"), "nan"),
    ],
)
async def test_a_float_is_shown_as_a_person_writes_it_and_kept_as_it_is(
    tmp_path: Path, value: float, expected: str
) -> None:
    result = shown_value(value)
    assert result is not None
    assert (result.return_display, result.summary) == (expected, expected)
    assert result.llm_content == repr(value)
    assert result.data is value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1.1 + 2.2, [0.1 + 0.2]], [3.3, [0.3]]),
        ({"a": {"b": 1.1 + 2.2}, "c": "3.3000000000000003"}, {"a": {"b": 3.3}, "c": "3.3000000000000003"}),
        ((2.0, 1e300, 7, None), [2.0, 1e300, 7, None]),
        ({1: 0.1 + 0.2, "1": 2.0}, None),
        ({0.1 + 0.2}, None),
    ],
)
async def test_floats_in_containers_are_shown_as_a_person_writes_them(
    tmp_path: Path, value: Any, expected: Any
) -> None:
    @tool
    def numbers() -> Any:
        """Returns numbers."""
        return value

    async with Session(tmp_path, tools=[numbers], policy=Policy(mode="yolo")) as session:
        result = await session.call("numbers")
    assert isinstance(result.return_display, str)
    if expected is None:
        assert result.return_display == result.llm_content
    else:
        assert json.loads(result.return_display) == expected
        assert json.loads(str(result.llm_content)) == json.loads(json.dumps(value))
    assert result.data is value


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_is_a_table(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"name": ["a|b", "c"], "price": [0.1 + 0.2, 2.5]})
    result = shown_value(frame)
    assert result is not None
    assert isinstance(result.return_display, Markdown)
    assert result.return_display.text.splitlines()[0].endswith("| name | price |")
    assert "a\\|b | 0.3 |" in result.return_display.text
    assert result.summary == "2 rows × 2 columns"
    assert result.data is frame
    (block,) = blocks_of(result.return_display)
    assert isinstance(block, TextBlock)
    assert block.markdown
    large = shown_value(frames.DataFrame({"n": list(range(1_000))}))
    assert large is not None
    assert len(str(large.llm_content).splitlines()) < 100
    assert "1,000 rows" in str(large.llm_content)


def test_a_picture_is_shown_and_sent_as_one() -> None:
    class Picture:
        def _repr_png_(self) -> bytes:
            return PNG

    class Figure:
        def savefig(self, file: BytesIO, **_: object) -> None:
            file.write(PNG)

    for one in (Picture(), Figure()):
        result = shown_value(one)
        assert result is not None
        assert isinstance(result.return_display, Media)
        assert result.return_display.data == PNG
        assert result.llm_content[0]["inline_data"]["mime_type"] == "image/png"  # type: ignore[index]
    assert shown_value({"a": 1}) is None


PNG = b"\x89PNG\r\n\x1a\n"
