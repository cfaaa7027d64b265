"""A client of ``nbtools mcp`` whose calls run in a real kernel that serves, where a person answers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from tests.mcp.server.agents import Agent, an_agent, text
from tests.notebook.conftest import Cell, Lab, a_kernel

TOOL = """
from nbtools import tool

@tool(kind="read")
def {name}(count: int) -> dict:
    'Counts the parts of the shop.'
    return {{"parts": count, "of": ["a"]}}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with a_kernel(tmp_path_factory.mktemp("kernel")) as manager:
        lab = Lab(manager)
        yield lab
        lab.close()


@pytest.fixture
def lab(kernel: Lab, project: Path) -> Iterator[Lab]:
    """A notebook on the project, with nbtools freshly loaded."""
    kernel.forget()
    assert kernel.run(f"import os\nos.chdir({str(project)!r})\n%reload_ext nbtools").error == ""
    yield kernel
    kernel.run("%tools serve off")


@pytest.fixture
def served(lab: Lab) -> Cell:
    cell = lab.run("%tools serve")
    assert "Serving" in cell.text
    return cell


@pytest.fixture
def agent(served: Cell, over_stdio: StdioServerParameters) -> Iterator[Agent]:
    with an_agent(over_stdio) as agent:
        yield agent


def test_a_call_needs_approval_in_the_notebook_and_then_runs(
    lab: Lab, served: Cell, agent: Agent, project: Path
) -> None:
    assert "Calls that need approval are shown in the notebook" in agent.instructions
    call = agent.start("write", path="new.txt", content="hello\n")
    lab.until(lambda: lab.question("once"))
    lab.until(lambda: "claude-code asks" in served.text)
    assert "1 call waits for your answer" in served.text
    assert not (project / "new.txt").exists()
    lab.answer_with("once")
    assert not call.result(60).is_error
    assert (project / "new.txt").read_text() == "hello\n"
    lab.until(lambda: "called by claude-code" in served.text)
    lab.until(lambda: "1 connected" in served.text)


def test_a_denial_goes_back_with_its_reason(lab: Lab, served: Cell, agent: Agent, project: Path) -> None:
    call = agent.start("shell", command="rm notes.txt")
    lab.answer_with("deny", reason="  keep the notes ")
    denied = call.result(60)
    assert denied.is_error
    assert "denied" in text(denied)
    assert "Reason: keep the notes" in text(denied)
    assert (project / "notes.txt").exists()
    lab.until(lambda: "Denied by you" in served.text and "“keep the notes”" in served.text)


def test_tools_of_the_notebook_are_among_the_tools_and_later_ones_are_announced(
    lab: Lab, served: Cell, agent: Agent
) -> None:
    assert "parts_of_shop" not in agent.tools()
    lab.run(TOOL.format(name="parts_of_shop"))
    assert "parts_of_shop" in agent.tools()
    found = agent.call("parts_of_shop", count=3)
    assert found.structured_content == {"parts": 3, "of": ["a"]}


def test_a_client_of_the_older_protocol_is_notified_of_a_new_tool(
    lab: Lab, served: Cell, over_stdio: StdioServerParameters
) -> None:
    with an_agent(over_stdio, mode="legacy") as agent:
        agent.tools()
        lab.run(TOOL.format(name="told_later"))
        lab.until(
            lambda: any(
                "list_changed" in str(message) or "ListChanged" in type(message).__name__
                for message in agent.notices
            )
        )
        assert "told_later" in agent.tools()


def test_a_client_that_gives_up_ends_its_call_and_the_question(lab: Lab, served: Cell, agent: Agent) -> None:
    call = agent.start("write", path="new.txt", content="hello\n")
    lab.until(lambda: lab.question("once"))
    call.cancel()
    lab.until(lambda: lab.question("once") is None)
    lab.until(lambda: "Cancelled before anybody answered" in served.text)
    assert "round" in text(agent.call("read", path="notes.txt"))


def test_two_clients_at_once_each_get_their_own_answer(
    lab: Lab, served: Cell, agent: Agent, over_stdio: StdioServerParameters
) -> None:
    with an_agent(over_stdio, name="cursor") as other:
        first = agent.start("write", path="a.txt", content="a")
        lab.until(lambda: len(lab.questions("once")) == 1)
        second = other.start("write", path="b.txt", content="b")
        lab.until(lambda: len(lab.questions("once")) == 2)
        lab.until(lambda: "cursor asks" in served.text)
        assert "2 calls wait for your answer" in served.text
        lab.say(lab.questions("deny")[0], "deny")
        lab.until(lambda: len(lab.questions("once")) == 1)
        lab.answer_with("once")
        assert first.result(60).is_error
        assert not second.result(60).is_error


def test_when_serving_ends_the_server_goes_on_alone_and_comes_back(
    lab: Lab, served: Cell, agent: Agent
) -> None:
    assert "Serving has ended" in lab.run("%tools serve off").text
    assert "no notebook is open to ask in" in text(agent.call("write", path="new.txt", content="x"))
    again = lab.run("%tools serve")
    call = agent.start("write", path="new.txt", content="x")
    lab.answer_with("once")
    assert not call.result(60).is_error
    lab.until(lambda: "called by claude-code" in again.text)


def test_a_second_cell_takes_the_calls_over(lab: Lab, served: Cell, agent: Agent) -> None:
    call = agent.start("write", path="new.txt", content="x")
    lab.until(lambda: lab.question("once"))
    again = lab.run("%tools serve")
    lab.until(lambda: "claude-code asks" in again.text)
    lab.answer_with("once")
    assert not call.result(60).is_error


def test_a_kernel_that_is_killed_ends_the_call_clearly(
    project: Path, over_stdio: StdioServerParameters
) -> None:
    with a_kernel(project) as manager:
        lab = Lab(manager)
        lab.run("%load_ext nbtools\n%tools serve")
        with an_agent(over_stdio) as agent:
            call = agent.start("write", path="new.txt", content="x")
            lab.until(lambda: lab.question("once"))
            os.kill(int(lab.value("__import__('os').getpid()")), signal.SIGKILL)
            lost = call.result(60)
            assert lost.is_error
            assert "disconnected before it answered" in text(lost)
            assert "round" in text(agent.call("read", path="notes.txt"))
            assert "no notebook is open to ask in" in text(agent.call("write", path="new.txt", content="x"))
        lab.close()


def test_a_slow_command_tells_how_far_it_is(
    lab: Lab, served: Cell, over_stdio: StdioServerParameters
) -> None:
    lab.run('%tools allow "shell"')
    heard: list[str] = []

    async def hear(_: float, __: float | None, message: str | None) -> None:
        heard.append(str(message))

    with an_agent(over_stdio) as agent:
        done = agent.start_heard("shell", hear, command="for i in 1 2 3; do echo part $i; sleep 0.3; done")
        assert "part 3" in text(done.result(60))
        lab.until(lambda: any("part" in one for one in heard))
