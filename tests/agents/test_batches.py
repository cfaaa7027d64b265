"""An agent's message of several calls: a denial cancels the rest in Gemini's dialect,
and a hook's stop ends the run.
"""

from __future__ import annotations

from pathlib import Path

from nbtools import Agent, ErrorCode, Policy, Session
from nbtools.core.hooks import BeforeCall, BeforeHook, Stop
from nbtools.testing import CANCEL, ScriptedConfirmer
from tests.agents.functions import Script


def write(name: str) -> tuple[str, dict[str, str]]:
    return "write_file", {"file_path": name, "content": "x\n"}


async def test_a_denial_cancels_the_rest_of_the_message_and_the_run_goes_on(tmp_path: Path) -> None:
    model = Script([write("a"), write("b")], "Understood.")
    async with Session(tmp_path, dialect="gemini", confirmer=ScriptedConfirmer(CANCEL)) as session:
        answer = await Agent(session, model).run("Write.")
        codes = [call.result.error.code for call in session.history if call.result.error]
    assert codes == [ErrorCode.CONFIRMATION_DENIED, ErrorCode.CANCELLED]
    assert answer.ok
    assert not list(tmp_path.glob("?"))


async def test_a_hooks_stop_ends_the_run(tmp_path: Path) -> None:
    def stop(_: BeforeCall) -> Stop:
        return Stop("enough")

    model = Script([write("a"), write("b")], "This is never requested.")
    hooks = [BeforeHook(name="stop", run=stop)]
    async with Session(tmp_path, dialect="gemini", policy=Policy(mode="yolo"), hooks=hooks) as session:
        answer = await Agent(session, model).run("Write.")
    assert "enough" in answer.stopped
    assert len(model.seen) == 1
    assert not list(tmp_path.glob("?"))
