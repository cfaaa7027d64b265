"""Wrappers do what they say, leave the rest to the tool, and compose."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nbtools import (
    BaseDeclarativeTool,
    BaseToolInvocation,
    ErrorCode,
    Kind,
    ModifiableTool,
    Policy,
    Session,
    ToolBuilder,
    ToolFailure,
    ToolInvocation,
    ToolResult,
    Toolset,
    tool,
)
from nbtools.core.errors import ToolError
from nbtools.core.tool import UpdateOutput
from nbtools.testing import ONCE, ScriptedConfirmer, modify
from nbtools.tools import builtin_tools
from nbtools.workspace.workspace import Workspace
from nbtools.wrappers import (
    Step,
    approval_required,
    cached,
    lazy,
    logged,
    rate_limited,
    retrying,
    sequence,
    time_limited,
)

ALL = {
    "retrying": retrying,
    "cached": cached,
    "rate_limited": lambda tools: rate_limited(tools, 1000),
    "time_limited": lambda tools: time_limited(tools, 60),
    "logged": logged,
    "approval_required": lambda tools: approval_required(tools, lambda _: False),
}


ATTRIBUTES = (
    *("display_name", "description", "kind", "icon", "schema"),
    *("is_output_markdown", "can_update_output", "asks", "output_limit"),
)


def everything(tools: Any) -> Toolset:
    for wrap in ALL.values():
        tools = wrap(tools)
    return tools


@pytest.mark.parametrize("wrap", [*ALL.values(), everything], ids=[*ALL, "everything"])
async def test_a_wrapped_tool_is_the_tool_in_all_else(tmp_path: Path, wrap: Any) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    plain, wrapped = Toolset(builtin_tools(workspace)), wrap(builtin_tools(workspace))
    assert list(wrapped) == list(plain)
    for name, inner in plain.items():
        outer = wrapped[name]
        assert isinstance(outer, ToolBuilder)
        assert isinstance(outer, ModifiableTool) is isinstance(inner, ModifiableTool), name
        static = inspect.getattr_static(outer, "get_modify_context", None)  # where later Pythons look
        assert (static is not None) is isinstance(inner, ModifiableTool)
        for attribute in ATTRIBUTES:
            assert getattr(outer, attribute) == getattr(inner, attribute)
    call, same = (tools["read"].build({"path": "a.txt"}) for tools in (wrapped, plain))
    assert isinstance(call, ToolInvocation)
    assert (call.params, call.kind, call.target(), call.tool_locations()) == (
        same.params,
        same.kind,
        same.target(),
        same.tool_locations(),
    )
    assert (await call.execute()).llm_content == (await same.execute()).llm_content
    with pytest.raises(ToolFailure):
        wrapped["read"].build({"nonsense": 1})


async def test_a_person_modifies_the_proposal_of_a_wrapped_tool(tmp_path: Path) -> None:
    person = ScriptedConfirmer(modify("mine\n"), ONCE)
    async with Session(tmp_path, confirmer=person) as session:
        for name, wrapped in everything(list(builtin_tools(session.workspace))).items():
            assert name == wrapped.name
            session.tools.register(wrapped, replace=True)
        result = await session.call("write", {"path": "a.txt", "content": "theirs\n"})
    assert result.ok
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    assert result.return_display.diff_stat.user_added_lines == 1


class Flaky:
    """Fails so many times, then works."""

    def __init__(self, failures: int, how: Any, kind: str = "fetch") -> None:
        self.tries = 0

        @tool(kind=kind)
        async def flaky(text: str = "") -> ToolResult:
            """Fails for a while."""
            self.tries += 1
            if self.tries > failures:
                return ToolResult("done", "done")
            if isinstance(how, Exception):
                raise how
            return how

        self.tool = flaky

    async def run(self, **options: Any) -> ToolResult:
        return await retrying([self.tool], 3, first=0.001, **options)["flaky"].build({}).execute()


SLOW = ToolFailure(ErrorCode.TIMEOUT, "too slow")
NOT_FOUND = ToolFailure(ErrorCode.FILE_NOT_FOUND, "not there")
RESULT = ToolResult("x", "x", ToolError(ErrorCode.MCP_TOOL_ERROR, "server away"))


@pytest.mark.parametrize("how", [SLOW, RESULT, ConnectionResetError("reset")])
async def test_temporary_failures_are_retried(how: Any) -> None:
    flaky = Flaky(2, how)
    assert (await flaky.run()).ok
    assert flaky.tries == 3


async def test_the_last_failure_says_how_often_it_was_tried() -> None:
    with pytest.raises(ToolFailure, match=r"too slow \(tried 3 times\)"):
        await Flaky(9, SLOW).run()
    assert (await Flaky(9, RESULT).run()).error.message == "server away (tried 3 times)"
    with pytest.raises(ConnectionResetError):
        await Flaky(9, ConnectionResetError("reset")).run()


@pytest.mark.parametrize(
    ("how", "kind", "options"),
    [(NOT_FOUND, "fetch", {}), (ValueError("bug"), "fetch", {}), (SLOW, "edit", {})],
)
async def test_permanent_failures_and_changes_are_not_retried(how: Any, kind: str, options: Any) -> None:
    flaky = Flaky(9, how, kind)
    with pytest.raises(type(how)):
        await flaky.run(**options)
    assert flaky.tries == 1


async def test_a_call_that_changes_something_is_not_retried_though_its_tool_only_reads() -> None:
    class Changing(BaseToolInvocation[Mapping[str, Any]]):
        kind, tries = Kind.EDIT, 0

        async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
            Changing.tries += 1
            raise SLOW

    class Looks(BaseDeclarativeTool[Mapping[str, Any]]):
        name, description, kind, parameters = (
            "looks",
            "Looks, or changes something.",
            Kind.READ,
            {"type": "object"},
        )

        def create_invocation(self, params: Mapping[str, Any]) -> Changing:
            return Changing(params)

    with pytest.raises(ToolFailure):
        await retrying([Looks()], 3, first=0.001)["looks"].build({}).execute()
    assert Changing.tries == 1


async def test_changes_and_other_codes_are_retried_on_request() -> None:
    flaky = Flaky(2, NOT_FOUND, "edit")
    assert (await flaky.run(changing=True, codes=[ErrorCode.FILE_NOT_FOUND])).ok


class Counting:
    def __init__(self, path: Path | None = None) -> None:
        self.calls = 0

        @tool(kind="read", locations=lambda text: [str(path)] if path else [])
        async def look(text: str) -> str:
            """Looks."""
            self.calls += 1
            if text == "bad":
                raise ToolFailure(ErrorCode.TIMEOUT, "slow")
            await asyncio.sleep(0)
            return f"{text} {self.calls}"

        @tool(kind="edit")
        async def change() -> str:
            """Changes something."""
            await asyncio.sleep(0)
            return "changed"

        self.tools = [look, change]


async def ask(tools: Toolset, text: str = "x") -> str:
    return str((await tools["look"].build({"text": text}).execute()).llm_content)


async def test_a_result_is_cached_until_a_change() -> None:
    counting = Counting()
    tools = cached(counting.tools, 60)
    assert [await ask(tools), await ask(tools), await ask(tools, "y")] == ["x 1", "x 1", "y 2"]
    await tools["change"].build({}).execute()
    assert await ask(tools) == "x 3"


async def test_an_answer_that_was_under_way_during_a_change_is_not_kept() -> None:
    counting = Counting()
    tools = cached(counting.tools, 60)
    await asyncio.gather(ask(tools), tools["change"].build({}).execute())
    await ask(tools)
    assert counting.calls == 2


async def test_an_answer_from_during_a_change_is_not_kept_after_it() -> None:
    counting, begun, end = Counting(), asyncio.Event(), asyncio.Event()

    @tool(kind="edit")
    async def change_slowly() -> str:
        """Changes something when it ends."""
        begun.set()
        await end.wait()
        return "changed"

    tools = cached([*counting.tools, change_slowly], 60)
    changing = asyncio.create_task(tools["change_slowly"].build({}).execute())
    await begun.wait()
    assert await ask(tools) == "x 1"
    end.set()
    await changing
    assert await ask(tools) == "x 2"


async def test_a_failure_is_not_kept() -> None:
    counting = Counting()
    tools = cached(counting.tools, 60)
    for _ in range(2):
        with pytest.raises(ToolFailure):
            await ask(tools, "bad")
    assert counting.calls == 2


async def test_a_file_that_was_changed_by_others_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    counting = Counting(path)
    tools = cached(counting.tools, 60)
    await ask(tools)
    assert await ask(tools) == "x 1"
    os.utime(path, ns=(1, 1))
    assert await ask(tools) == "x 2"
    path.unlink()
    assert [await ask(tools), await ask(tools)] == ["x 3", "x 4"]


async def test_results_about_a_folder_are_not_cached(tmp_path: Path) -> None:
    counting = Counting(tmp_path)
    tools = cached(counting.tools, 60)
    assert [await ask(tools), await ask(tools)] == ["x 1", "x 2"]


async def test_answers_expire() -> None:
    counting = Counting()
    tools = cached(counting.tools, 0.05)
    await ask(tools)
    async with asyncio.timeout(60):
        while await ask(tools) == "x 1":
            await asyncio.sleep(0)
    assert counting.calls == 2


async def test_calls_wait_for_their_turn() -> None:
    counting = Counting()
    tools = rate_limited(counting.tools, 2, per=0.2)
    began = time.monotonic()
    await asyncio.gather(*(ask(tools) for _ in range(4)))
    assert time.monotonic() - began > 0.15


async def test_a_call_that_takes_too_long_is_stopped() -> None:
    stopped = asyncio.Event()

    @tool(kind="read")
    async def forever() -> None:
        """Waits for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with pytest.raises(ToolFailure, match=r"forever was stopped after 0\.01 seconds") as failure:
        await time_limited([forever], 0.01)["forever"].build({}).execute()
    assert failure.value.code is ErrorCode.TIMEOUT
    assert stopped.is_set()


async def test_a_tools_own_timeout_stays_its_own() -> None:
    @tool(kind="read")
    async def own() -> None:
        """Raises."""
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await time_limited([own], 60)["own"].build({}).execute()


async def test_calls_are_logged_shortened(caplog: pytest.LogCaptureFixture) -> None:
    counting = Counting()
    tools = logged(counting.tools, longest=50)
    with caplog.at_level(logging.INFO, "nbtools"):
        await ask(tools, "line\n" * 100)
        with pytest.raises(ToolFailure):
            await ask(tools, "bad")
    good, bad = caplog.records
    assert good.levelno == logging.INFO
    assert "\n" not in good.getMessage()
    assert len(good.getMessage()) < 120
    assert bad.levelno == logging.WARNING
    assert "timeout: slow" in bad.getMessage()


async def test_approval_is_required_for_chosen_calls(tmp_path: Path) -> None:
    counting = Counting()
    tools = approval_required(counting.tools, lambda params: getattr(params, "text", "") == "x")
    person = ScriptedConfirmer(ONCE)
    async with Session(tmp_path, tools=tools.values(), confirmer=person) as session:
        await session.call("look", {"text": "y"})
        assert person.asked == []
        await session.call("look", {"text": "x"})
        assert len(person.asked) == 1
        session.allow("look")
        assert (await session.call("look", {"text": "x"})).ok
    async with Session(
        tmp_path, tools=approval_required(counting.tools).values(), policy=Policy(mode="dont_ask")
    ) as session:
        assert (await session.call("look", {"text": "y"})).error.code is ErrorCode.POLICY_VIOLATION


async def test_a_lazy_tool_is_made_when_it_is_called(tmp_path: Path) -> None:
    made: list[Any] = []

    def make() -> Any:
        made.append(Toolset(builtin_tools(Workspace(tmp_path)))["write"])
        return made[0]

    known = builtin_tools(Workspace(tmp_path))
    write = next(one for one in known if one.name == "write")
    late = lazy(
        make, name="write", description=write.description, parameters=write.schema["parameters"], kind="edit"
    )
    assert late.schema == write.schema
    assert made == []
    person = ScriptedConfirmer(modify("mine\n"), ONCE)
    async with Session(tmp_path, tools=[late], confirmer=person) as session:
        assert (await session.call("write", {"path": "a.txt", "content": "theirs\n"})).ok
    assert len(made) == 1
    assert (tmp_path / "a.txt").read_text() == "mine\n"


async def test_a_lazy_tool_must_be_what_it_says() -> None:
    counting = Counting()
    late = lazy(
        lambda: counting.tools[1], name="change", description="", parameters={"type": "object"}, kind="read"
    )
    with pytest.raises(TypeError, match="declared as read"):
        late.build({})


STEPS = [
    Step("write", lambda so_far: {"path": so_far.params["path"], "content": "made\n"}),
    Step("read", lambda so_far: {"path": so_far.params["path"]}),
    Step(
        "write",
        lambda so_far: {
            "path": "copy.txt",
            "content": f"{len(so_far.results)} {so_far.results[1].data.total}\n",
        },
    ),
]
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def test_a_sequence_is_judged_step_by_step_and_hands_results_on(tmp_path: Path) -> None:
    person = ScriptedConfirmer(ONCE, ONCE)
    async with Session(tmp_path, confirmer=person) as session:
        session.tools.register(sequence("make", "Makes and copies.", STEPS, session.call, parameters=PATH))
        result = await session.call("make", {"path": "a.txt"})
        assert result.ok, result
        assert [call.request.name for call in session.history] == ["write", "read", "write", "make"]
    assert len(person.asked) == 2
    assert (tmp_path / "copy.txt").read_text() == "2 1\n"


async def test_a_sequence_stops_at_the_first_failure_and_says_which(tmp_path: Path) -> None:
    steps = [STEPS[0], Step("read", {"path": "missing.txt"}), STEPS[2]]
    async with Session(tmp_path, policy=Policy(mode="auto_edit")) as session:
        session.tools.register(sequence("make", "Makes.", steps, session.call, parameters=PATH))
        result = await session.call("make", {"path": "a.txt"})
    assert result.error.code is ErrorCode.FILE_NOT_FOUND
    assert result.error.message.startswith("Step 2 of 3 (read) failed, 1 earlier step succeeded: ")
    assert len(result.data.results) == 2
    assert not (tmp_path / "copy.txt").exists()


async def test_a_sequence_that_says_it_changes_nothing_may_not(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.tools.register(
            sequence("sly", "Reads.", STEPS, session.call, parameters=PATH, kind=Kind.READ)
        )
        result = await session.call("sly", {"path": "a.txt"})
    assert result.error.code is ErrorCode.POLICY_VIOLATION
    assert not (tmp_path / "a.txt").exists()


def test_tools_are_renamed() -> None:
    tools = Toolset(Counting().tools)
    assert list(tools.renamed({"look": "see"})) == ["see", "change"]
    assert list(tools.renamed(str.upper)) == ["LOOK", "CHANGE"]
    assert tools.renamed({"look": "see"})["see"].schema["name"] == "see"
    with pytest.raises(KeyError):
        tools.renamed({"missing": "x"})
    with pytest.raises(ValueError, match="two tools would have the same name: change"):
        tools.renamed({"look": "change"})
