"""Intended usage, for the type checker: this file is checked, not run."""

from __future__ import annotations

from nbtools import (
    Answer,
    Confirmation,
    Decision,
    Policy,
    Session,
    Settings,
    ToolConfirmationOutcome,
    ToolFailure,
    ToolResult,
    Toolset,
    tool,
)
from nbtools.hooks import AfterCall, BeforeCall, Block, Note, after, before, claude_hooks, command_hook
from nbtools.wrappers import Step, cached, logged, retrying, sequence


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
    async with Session(
        "src", policy=Policy(mode="default", deny=("shell(rm:*)",)), confirmer=Yes()
    ) as session:
        session.tools.register(double)
        result: ToolResult = await session.call("grep", {"pattern": "x"})
        decision: Decision = session.decide("shell", {"command": "ls"})
        print(
            result.ok, result.error and result.error.code, decision.action, session.history[-1].result.summary
        )
    with Session().sync() as blocking:
        print(blocking.call("ls").llm_content)


def fails() -> None:
    try:
        double.build({"x": "y"})
    except ToolFailure as failure:
        print(failure.code, failure.message)


@before("shell|edit", closed=True)
def no_force(call: BeforeCall) -> Block | None:
    return Block("no force") if "--force" in call.arguments.get("command", "") else None


@after()
async def counted(call: AfterCall) -> tuple[Note, ...]:
    return (Note(f"it took {call.seconds:.1f} s"),) if call.result.ok else ()


async def open_to_more() -> None:
    hooks = [
        no_force,
        counted,
        command_hook("before", "./guard.sh", matcher="Bash"),
        *claude_hooks(".claude/settings.json"),
    ]
    tools: Toolset = logged(retrying(cached([double], seconds=60), attempts=3)).renamed({"double": "twice"})
    async with Session("src", hooks=hooks, tools=tools.values(), settings=Settings(plugins=True)) as session:
        found = await session.discover("./list-tools", ["./call-tool"])
        print([one.name for one in found.tools], found.problems)
        steps = [Step("twice", {"x": 1}), Step("twice", lambda so_far: {"x": so_far.results[0].data})]
        session.tools.register(
            sequence("fourfold", "Twice twice.", steps, session.call, parameters={"type": "object"})
        )
