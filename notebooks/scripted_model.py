"""A model that follows a script, and the shop that it corrects:
for the notebook about agents, which needs no key.
"""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

CART = "def total(prices, fee=5):\n    return sum(prices)\n"
CHECK = "from cart import total\n\nassert total([10, 20]) == 35, total([10, 20])\nprint('all is well')\n"
STEPS = (
    ("I look at the code first.", "read", {"path": "cart.py"}),
    ("The fee is never added. I add it.", "edit", {"path": "cart.py", "old": "sum(prices)", "new": "sum(prices) + fee"}),
    ("Now the check.", "shell", {"command": "python check.py"}),
)
REFUSED = ("was declined", "needs approval")


def new_shop(folder: str) -> Path:
    """Makes a project of two files, whose check fails."""
    shop = Path(folder)
    shutil.rmtree(shop, ignore_errors=True)
    shop.mkdir(parents=True)
    (shop / "cart.py").write_text(CART)
    (shop / "check.py").write_text(CHECK)
    return shop


async def answer(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Returns the next message for a conversation: the task, and what the model has said and read since."""
    turn = max(n for n, message in enumerate(messages) if any(part.part_kind == "user-prompt" for part in message.parts))
    done = sum(message.kind == "response" for message in messages[turn + 1 :])
    result = _last_result(messages[turn + 1 :])
    if "correct" not in str(messages[turn].parts[-1].content):
        yield "The fee of 5 was declared, but never added to the sum."
    elif done == 1 and "+ fee" in result:
        yield "Nothing is left to correct: `total` adds the fee."
    elif done < len(STEPS) and not any(words in result for words in REFUSED):
        text, name, arguments = STEPS[done]
        for word in text.split():
            yield word + " "
        yield {0: DeltaToolCall(name, json.dumps(arguments), tool_call_id=f"{turn}.{done}")}
    elif "all is well" in result:
        yield "Corrected: **`total` adds the fee**, and the check passes."
    else:
        yield f"I could not finish. The last result was:\n\n> {result.splitlines()[0]}"


def _last_result(messages: list[ModelMessage]) -> str:
    results = [str(part.content) for message in messages for part in message.parts if part.part_kind == "tool-return"]
    return results[-1] if results else ""


scripted = FunctionModel(stream_function=answer, model_name="scripted")
