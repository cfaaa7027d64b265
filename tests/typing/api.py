"""Intended usage, for the type checker: this file is checked, not run."""

from __future__ import annotations

from nbtools import Answer, Confirmation, Decision, Policy, Session, ToolConfirmationOutcome, ToolFailure, ToolResult, tool


@tool(kind="read", confirm=False)
async def double(x: int) -> int:
    """Twice x."""
    return 2 * x


class Yes:
    async def ask(self, confirmation: Confirmation) -> Answer:
        if confirmation.details.type == "edit":
            print(confirmation.details.file_diff)
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE)


async def main() -> None:
    async with Session("src", policy=Policy(mode="default", deny=("shell(rm:*)",)), confirmer=Yes()) as session:
        session.tools.register(double)
        result: ToolResult = await session.call("grep", {"pattern": "x"})
        decision: Decision = session.decide("shell", {"command": "ls"})
        print(result.ok, result.error and result.error.code, decision.action, session.history[-1].result.summary)
    with Session().sync() as blocking:
        print(blocking.call("ls").llm_content)


def fails() -> None:
    try:
        double.build({"x": "y"})
    except ToolFailure as failure:
        print(failure.code, failure.message)
