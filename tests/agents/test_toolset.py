"""A session's tools in an agent of pydantic-ai's own making:
what must be asked is deferred, and asked once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from nbtools import Policy, Session
from nbtools.testing import ScriptedConfirmer, answers, temporary_workspace
from tests.agents.functions import Script


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_workspace({"a.txt": "one\n"}) as folder:
        yield folder


def write(path: str) -> tuple[str, dict[str, Any]]:
    return ("write", {"path": path, "content": "x"})


async def test_deferred_requests_are_honoured_and_asked_once(root: Path) -> None:
    model = Script(
        [write("yes"), write("no"), write("other"), ("read", {"path": "a.txt"}), write("never")], "Done."
    )
    policy = Policy(deny=("write(never)",))
    async with Session(root, policy=policy, confirmer=ScriptedConfirmer()) as session:
        agent = Agent(model, toolsets=[session.toolset(defer=True)], output_type=[str, DeferredToolRequests])
        first = await agent.run("go")
        assert isinstance(first.output, DeferredToolRequests)
        yes, no, other = first.output.approvals
        assert first.output.metadata[yes.tool_call_id]["reason"]
        decided = DeferredToolResults(
            approvals={
                yes.tool_call_id: True,
                no.tool_call_id: ToolDenied("not that one"),
                other.tool_call_id: ToolApproved(override_args={"path": "mine", "content": "y"}),
            }
        )
        last = await agent.run(message_history=first.all_messages(), deferred_tool_results=decided)
        decisions = [
            call.last.plan.decision.rule
            for call in session.history
            if call.state == "success" and call.request.name == "write"
        ]
    assert last.output.strip() == "Done."
    assert sorted(path.name for path in root.iterdir() if path.is_file()) == ["a.txt", "mine", "yes"]
    assert decisions == ["approved before", "approved before"]
    assert "not that one" in str(model.seen[1])
    assert "The policy denies write" in str(model.seen[1])


async def test_a_denied_call_stays_denied_though_approved(root: Path) -> None:
    async with Session(root, policy=Policy(deny=("write",))) as session:
        result = await session.call("write", {"path": "x", "content": ""}, approved=True)
    assert not result.ok
    assert not (root / "x").exists()


async def test_a_question_is_put_to_the_person_all_the_same(root: Path) -> None:
    model = Script([("ask", {"questions": [{"text": "Which?", "kind": "text"}]})], "Done.")
    async with Session(root, confirmer=ScriptedConfirmer(answers("this one"))) as session:
        agent = Agent(model, toolsets=[session.toolset(defer=True)], output_type=[str, DeferredToolRequests])
        assert (await agent.run("go")).output == "Done. "
    assert "this one" in model.answered(1)[0]
