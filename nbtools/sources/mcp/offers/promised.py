"""A tool may say in which form it answers.  The SDK holds every answer against that; here is what it found, in one line."""

from __future__ import annotations

from collections.abc import Iterator

from nbtools.core.errors import ErrorCode, ToolFailure

_LONGEST = 300


def in_other_form(server: str, tool: str, failure: ToolFailure) -> ToolFailure | None:
    """The failure as who made the call should read it; None where it is another one."""
    raised = failure.__cause__
    if not isinstance(raised, RuntimeError) or not str(raised).startswith(_OF_THE_SDK):
        return None
    why = next(_found(raised), "")
    text = f"{server} says that {tool} answers in a certain form, and {why}. It may have done what it does: that is a fault of the server"
    return ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"{text}.")


def _found(raised: RuntimeError) -> Iterator[str]:
    problem = raised.__cause__
    message = getattr(problem, "message", None)
    if isinstance(message, str):
        where = ".".join(map(str, getattr(problem, "absolute_path", ())))
        yield f"its answer is in another: {f'{where}: ' if where else ''}{_short(message)}"
    if str(raised).startswith("Invalid schema"):
        yield f"that form is no JSON Schema: {_short(str(raised))}"
    yield "its answer has no structured content"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


_OF_THE_SDK = ("Invalid structured content", "Invalid schema for tool", "Tool ")
