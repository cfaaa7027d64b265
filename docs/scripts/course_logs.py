"""Writes the session logs that the course plays, ``notebooks/course/logs/*.jsonl``:
nbtools' own agent with a model that follows a script.

Each runs in a temporary copy of ``notebooks/course/shop``.
The logs have no path, id or time of the machine that writes them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from nbtools import Agent, Limits, Policy, Session, tool
from nbtools.plugins.function_tool import FunctionTool

COURSE = Path(__file__).resolve().parents[2] / "notebooks" / "course"
FOLDER = "/home/sam/shop"
"""The folder in the logs."""

Turn: TypeAlias = tuple[str, str, Mapping[str, Any]] | str
"""A text and a call, or the last text."""

_SPILL_FILE = re.compile(r"/[\w./-]+/nbtools-\d+/[\w-]+\.txt")
_INVENTED_SPILL_FILE = "/tmp/nbtools-1000/output.txt"  # noqa: S108 - only a name in a log

TEST = ("shell", {"command": "python3 -B test_cart.py"})
EDIT = (
    "edit",
    {"path": "cart.py", "old": "sum(prices) - discount", "new": "sum(prices) * (100 - discount) / 100"},
)


def _plan(*statuses: str) -> tuple[str, Mapping[str, Any]]:
    tasks = ("Run the test", "Find the cause", "Correct cart.py", "Run the test again")
    return "todo", {
        "items": [{"text": task, "status": status} for task, status in zip(tasks, statuses, strict=True)]
    }


SESSIONS: Mapping[str, tuple[str, Sequence[Turn]]] = {
    "loop": (
        "The test of the cart fails. Find the cause and correct it.",
        (
            ("I run the test first.", *TEST),
            ("The discount is wrong. I read the code.", "read", {"path": "cart.py"}),
            ("The discount is in percent, but it is subtracted as an amount.", *EDIT),
            ("I run the test again.", *TEST),
            "The test passes. `total` subtracted the discount as an amount; now it takes it as percent.",
        ),
    ),
    "tools": (
        "Where is the discount computed, and is the result right?",
        (
            ("I look at the files.", "ls", {}),
            ("I search for the word.", "grep", {"pattern": "discount", "path": "."}),
            ("The README says what is right.", "read", {"path": "README.md"}),
            ("I run the test to see whether the code agrees.", *TEST),
            (
                "In `cart.py`, line 6, and it is wrong: the README says percent, but the code subtracts an"
                " amount."
            ),
        ),
    ),
    "plan": (
        "Correct the discount. Make a plan first.",
        (
            ("I make a plan.", *_plan("in_progress", "pending", "pending", "pending")),
            ("I run the test.", *TEST),
            ("It fails, as expected.", *_plan("completed", "in_progress", "pending", "pending")),
            ("I read the code.", "read", {"path": "cart.py"}),
            ("The cause is in line 6.", *_plan("completed", "completed", "in_progress", "pending")),
            ("I correct it.", *EDIT),
            ("One step is left.", *_plan("completed", "completed", "completed", "in_progress")),
            ("I run the test again.", *TEST),
            ("All is done.", *_plan("completed", "completed", "completed", "completed")),
            "The discount is now a percentage, and the test passes.",
        ),
    ),
    "reader": (
        "What does the README say about the discount?",
        (
            ("I look for the README.", "ls", {}),
            ("I read it.", "read", {"path": "README.md"}),
            "The discount is in percent: a cart of 150 with a discount of 10 costs 135.",
        ),
    ),
    "sub_agent": (
        "Correct the discount. Let the reader look up what is right.",
        (
            ("I ask the reader.", "ask_reader", {"question": "What does the README say about the discount?"}),
            ("So the discount is in percent. I correct the code.", *EDIT),
            ("I run the test.", *TEST),
            "`total` now takes the discount as percent, as the README says, and the test passes.",
        ),
    ),
    "context": (
        "How many lines of the access log are errors?",
        (
            ("I print the log.", "shell", {"command": "python3 -B access_log.py"}),
            (
                "That was long. I count instead.",
                "shell",
                {"command": "python3 -B access_log.py | grep -c ' 500 '"},
            ),
            "40 of the 2,000 lines are errors.",
        ),
    ),
}


class Script:
    """A model that has these turns, whatever it reads.
    ``sizes``: the tokens of each request and answer, four characters each.
    """

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.sizes: list[tuple[int, int]] = []

    def model(self) -> FunctionModel:
        return FunctionModel(stream_function=self._stream, model_name="script")

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        turn = self.turns[len(self.sizes)]
        text, arguments = (turn, "") if isinstance(turn, str) else (turn[0], json.dumps(turn[2]))
        self.sizes.append((_characters(messages, info) // 4, (len(text) + len(arguments)) // 4))
        yield text
        if not isinstance(turn, str):
            yield {
                0: DeltaToolCall(name=turn[1], json_args=arguments, tool_call_id=f"call-{len(self.sizes)}")
            }


def _characters(messages: list[ModelMessage], info: AgentInfo) -> int:
    """Returns how many characters a model reads: instructions, definitions of tools, messages."""
    tools = sum(
        len(tool.name + (tool.description or "") + json.dumps(tool.parameters_json_schema))
        for tool in info.function_tools
    )
    parts = [
        str(getattr(part, "content", None) or getattr(part, "args", ""))
        for message in messages
        for part in message.parts
    ]
    return len(info.instructions or "") + tools + sum(map(len, parts))


@tool(kind="read")
async def ask_reader(question: str) -> str:
    """Asks an agent that can only read the project.

    Args:
        question: what it should find out
    """
    async with Session(COURSE / "shop", policy=Policy(mode="plan")) as session:
        answer = await Agent(
            session, Script(SESSIONS["reader"][1]).model(), limits=Limits(steps=5), log=False
        ).run(question)
        return answer.text


TOOLS: Mapping[str, Sequence[FunctionTool]] = {"sub_agent": (ask_reader,)}
"""The tools of a session that are functions."""


def log_text(name: str) -> str:
    """Runs the session ``name`` and returns its log."""
    prompt, turns = SESSIONS[name]
    script = Script(turns)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "shop"
        shutil.copytree(COURSE / "shop", root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        os.environ["NBTOOLS_STATE"] = str(Path(folder) / "state")
        log = asyncio.run(_run(name, root, script.model(), prompt))
        files = {path.name: path for path in log.parent.rglob("*.txt")}
        lines = [_with_texts(line, files) for line in log.read_text().splitlines()]
    text = "\n".join(_lines_without_machine(lines, script.sizes)) + "\n"
    return _SPILL_FILE.sub(_INVENTED_SPILL_FILE, text.replace(str(root), FOLDER))


async def _run(name: str, root: Path, model: FunctionModel, prompt: str) -> Path:
    """Runs an agent with everything allowed, and returns its log."""
    async with Session(root, policy=Policy(mode="yolo")) as session:
        for function in TOOLS.get(name, ()):
            session.tools.register(function)
        agent = Agent(session, model)
        answer = await agent.run(prompt)
        if not answer.ok or agent.log is None:
            raise RuntimeError(f"The session {name} did not end: {answer.stopped}")
        return agent.log


def _with_texts(line: str, files: Mapping[str, Path]) -> str:
    """Returns a line of a log with the long texts that are in files of their own."""
    row = json.loads(
        line, object_hook=lambda value: files[value["$text"]].read_text() if "$text" in value else value
    )
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _lines_without_machine(lines: Sequence[str], sizes: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yields the lines with invented ids and times, and the sizes as token usage."""
    ids = {json.loads(lines[0])["id"]: "c0urse", json.loads(lines[0])["calls_of"]: "1e550n"}
    requests, times = iter(sizes), count(1_760_000_000)
    for line in lines:
        for found, invented in ids.items():
            line = line.replace(f'"{found}"', f'"{invented}"').replace(f'"{found}-', f'"{invented}-')  # noqa: PLW2901
        row = json.loads(line)
        row |= {key: next(times) for key in ("at", "asked", "started", "ended") if key in row}
        if row["type"] == "request":
            row["input"], row["output"] = next(requests)
        if "seconds" in row.get("data", {}):
            row["data"] |= {"seconds": 0.1, "text": row["data"]["text"][:2_000]}
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="the logs to write (default: all)")
    for name in parser.parse_args().names or SESSIONS:
        (COURSE / "logs" / f"{name}.jsonl").write_text(log_text(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
