"""The inputs of a session are checked when they are passed: tools, rules and answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nbtools import (
    Answer,
    BaseDeclarativeTool,
    BaseToolInvocation,
    Confirmation,
    ErrorCode,
    FileDiff,
    Kind,
    Policy,
    PolicyError,
    Session,
    SessionError,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolError,
    ToolResult,
    Toolset,
    tool,
)
from nbtools.core.message import did_you_mean
from nbtools.core.tool import UpdateOutput
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects import dialect_names

ANY = {"type": "object", "properties": {}}


class Runs(BaseToolInvocation[Any]):
    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        return ToolResult("ran", "ran")


class Own(BaseDeclarativeTool[Any]):
    """A tool whose own check raises what ``fault`` is."""

    description = "Does something."
    kind = Kind.OTHER

    def __init__(self, name: str, parameters: Any = None, fault: Exception | None = None) -> None:
        self.name = self.display_name = name
        self.parameters = ANY if parameters is None else parameters
        self.fault = fault

    def validate_tool_param_values(self, params: Mapping[str, Any]) -> str | None:
        if self.fault is not None:
            raise self.fault
        return None

    def create_invocation(self, params: Mapping[str, Any]) -> Runs:
        return Runs(params)


class Answers:
    """A confirmer that gives this answer, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def ask(self, confirmation: Confirmation) -> Answer:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def always(*rules: str) -> Answer:
    return Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, ToolConfirmationPayload(rules=rules))


@pytest.mark.parametrize(
    "answer",
    [always("edit(x/**)"), always("*"), always("edit", "shell"), None, True, "cancel", RuntimeError("no")],
)
async def test_an_answer_that_the_question_did_not_offer_grants_nothing_and_runs_nothing(
    tmp_path: Path, answer: Any
) -> None:
    async with Session(tmp_path, confirmer=Answers(answer)) as session:
        result = await session.call("write", {"path": "a.txt", "content": "x"})
        assert result.error is not None
        assert result.error.code is ErrorCode.CONFIRMATION_REQUIRED
        assert session.grants == ()
        assert not (tmp_path / "a.txt").exists()


async def test_rules_that_were_offered_are_granted(tmp_path: Path) -> None:
    async with Session(tmp_path, confirmer=Answers(always("write"))) as session:
        assert (await session.call("write", {"path": "a.txt", "content": "x"})).ok
        assert session.grants == ("write",)


def test_an_outcome_is_one_of_the_known_ones_however_it_is_written() -> None:
    assert Answer("cancel").outcome is ToolConfirmationOutcome.CANCEL  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="whatever"):
        Answer("whatever")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "two words!", "a" * 65, "é", "a\n"])
def test_a_name_that_no_model_accepts_is_refused(tmp_path: Path, name: str) -> None:
    for add in (Session(tmp_path).tools.register, lambda one: Session(tmp_path, tools=[one])):
        with pytest.raises(ValueError, match="name"):
            add(Own(name))


@pytest.mark.parametrize("parameters", [{"type": "string"}, {}, {"type": ["object", "null"]}])
def test_a_schema_that_is_not_of_an_object_is_refused(tmp_path: Path, parameters: Any) -> None:
    with pytest.raises(ValueError, match="schema"):
        Session(tmp_path).tools.register(Own("own", parameters))


def test_a_tool_replaces_another_only_on_request(tmp_path: Path) -> None:
    session = Session(tmp_path)
    before = session.tools["read"]
    with pytest.raises(ValueError, match="replace=True"):
        session.tools.register(Own("read"))
    assert session.tools["read"] is before
    own = Own("read")
    session.tools.register(own, replace=True)
    assert session.tools["read"] is own
    with pytest.raises(ValueError, match="replace=True"):
        Session(tmp_path, tools=[Own("own"), Own("own")])
    assert len(Session(tmp_path, tools=(Toolset([own]) | Toolset([Own("read")])).values()).tools) == 1


@pytest.mark.parametrize("agent", [name for name in dialect_names() if name != "nbtools"])
async def test_every_name_in_the_tools_of_a_model_is_unique_and_can_be_called(
    tmp_path: Path, agent: str
) -> None:
    session = Session(tmp_path, dialect=agent)
    names = session.tools.names()
    for name in set(names) - set(CANONICAL_NAMES):
        alone = Session(tmp_path, tools=[Own(name)], dialect=agent, policy=Policy(mode="yolo"))
        assert [declared["name"] for declared in alone.declarations("anthropic")] == [name]
        assert (await alone.call(name, {"any": 1})).llm_content == "ran"
        try:
            session.tools.register(Own(name))
        except ValueError:
            continue
        raise AssertionError(f"{name} is declared twice")
    assert session.tools.names() == names
    every = Session(tmp_path)
    every.tools.register(Own(next(name for name in names if name not in every.tools)))
    with pytest.raises(SessionError, match=agent):
        every.dialect = agent
    assert every.dialect.name == "nbtools"


@pytest.mark.parametrize("fault", [ValueError("wrong"), KeyError("x"), RecursionError()])
async def test_functions_documented_never_to_raise_never_raise(tmp_path: Path, fault: Exception) -> None:
    own = Own("own", fault=fault)
    error = own.silent_build({})
    assert isinstance(error, ToolError)
    assert error.code is ErrorCode.UNHANDLED_EXCEPTION
    assert (await own.validate_build_and_execute({})).error == error
    decision = Session(tmp_path, tools=[own]).decide("own", {})
    assert (decision.action, decision.rule) == ("deny", ErrorCode.UNHANDLED_EXCEPTION)


def test_a_rule_that_is_misspelt_is_named(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"Raed\(secrets.*Did you mean read"):
        Session(tmp_path, policy=Policy(deny=["Raed(secrets/**)"]))
    session = Session(
        tmp_path,
        policy=Policy(deny=["Read(secrets/**)", "mcp__x__y", "mcp_x_y", "Task", "not_yet_there", "sh*"]),
    )
    for rule in ("shel", "Raed(src/**)", "edti"):
        with pytest.raises(PolicyError, match="Did you mean"):
            session.allow(rule)
    for rule in ("Read(src/**)", "mcp__x__y", "not_yet_there", "sh*", "*"):
        session.allow(rule)
    assert session.grants == ("Read(src/**)", "mcp__x__y", "not_yet_there", "sh*", "*")
    assert session.unknown_tool("shel").endswith("Did you mean shell?")
    assert session.unknown_tool("Bash") == ""


@pytest.mark.parametrize(
    ("word", "known", "suggestion"),
    [
        ("gerp", ["grep", "glob", "read"], " Did you mean grep?"),
        ("frobnicate", ["allow", "approve", "ask", "cells", "delete", "edit"], ""),
        ("turbo", ["plan", "default", "yolo"], " Use plan or default or yolo."),
        ("x", [], ""),
    ],
)
def test_a_suggestion_is_made_only_where_it_is_close(word: str, known: list[str], suggestion: str) -> None:
    assert did_you_mean(word, known) == suggestion


def test_a_function_of_a_cell_does_not_replace_a_built_in_tool() -> None:
    @tool(kind="read")
    def read(path: str) -> str:
        return path

    with pytest.raises(ValueError, match="read"):
        Session(".").tools.register(read)


async def test_an_editing_tool_of_ones_own_has_the_diff_and_the_undo_of_the_tool_that_it_calls(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old\n")
    async with Session(tmp_path, policy=Policy(allow=["shout"], deny=["edit(secret*)"])) as session:

        @tool(kind="edit")
        async def shout(path: str) -> ToolResult:
            written = await session.call("write", {"path": path, "content": "NEW\n"}, approved=True)
            return ToolResult("done", written.return_display, written.error)

        session.tools.register(shout)
        result = await session.call("shout", {"path": "a.txt"})
        assert isinstance(result.return_display, FileDiff)
        assert result.return_display.diff_stat.model_added_lines == 1
        assert file.read_text() == "NEW\n"
        assert (await session.undo()).ok
        assert file.read_text() == "old\n"
        denied = await session.call("shout", {"path": "secret.txt"})
        assert denied.error is not None
        assert denied.error.code is ErrorCode.POLICY_VIOLATION
