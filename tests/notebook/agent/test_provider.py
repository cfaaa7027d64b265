"""An agent of a notebook whose model is a provider's, over HTTP:
a server of one's own that speaks OpenAI's chat completions.
"""

from __future__ import annotations

import pytest

from nbtools.notebook.agent.run_messages import AGENT_MIME
from tests.agents.openai_stub import Refuses, Says, stub

EDIT = ("call_1", "edit", '{"path": "notes.txt", "old": "TODO", "new": "DONE"}')


@pytest.fixture
def ask(lab):
    """A cell whose agent asks that server."""

    def ask(server, task="%%agent --model openai-chat:gpt-4o-mini\nmend it"):
        lab.run(f"%env OPENAI_BASE_URL={server.url}\n%env OPENAI_API_KEY=sk-test")
        return lab.start(task)

    return ask


def foot(cell):
    return next(
        output["data"][AGENT_MIME]["part"]
        for output in reversed(cell.outputs)
        if AGENT_MIME in output.get("data", {})
    )


def test_steps_tokens_and_what_it_cost(lab, ask, project):
    with stub(Says(("I ", "mend it."), (EDIT,)), Says(("It is ", "done."))) as server:
        cell = ask(server)
        lab.until(
            lambda: lab.question("once"), limit=100
        )  # the provider's own package takes its time to load
        lab.answer_with("once")
        lab.until(lambda: cell.done)
        said = server.messages_of(1)[-1]["content"]
    assert "I mend it." in cell.text
    assert "It is done." in cell.text
    assert foot(cell)["figures"][-2:] == ["220 tokens", "under $0.0001"]
    assert "Edited" in said
    assert (project / "notes.txt").read_text() == "DONE: round\n"


def test_a_refusal_in_the_middle_preserves_the_finished_steps(lab, ask):
    with stub(
        Says(("Let me look.",), (("call_1", "read", '{"path": "notes.txt"}'),)),
        Refuses(401, "Incorrect API key"),
    ) as server:
        cell = ask(server)
        lab.until(lambda: cell.done)
    assert cell.error == ""
    assert "Let me look." in cell.text
    assert foot(cell)["state"] == "error"
    assert "Incorrect API key" in foot(cell)["problem"]


def test_stop_closes_the_connection(lab, ask):
    with stub(Says(("Well, ", "never"), waits_at=1)) as server:
        cell = ask(server)
        lab.until(lambda: "Well," in cell.text)
        lab.interrupt()
        lab.until(lambda: cell.done)
        assert server.left.wait(60)
    assert foot(cell)["status"] == "You stopped it"
