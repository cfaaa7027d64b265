"""Claude Code's wording of errors common to all tools: invalid arguments, denials, failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ValidationError

from nbtools.core.confirmation import Answer
from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import Part, ToolResult
from nbtools.dialects.deviations import deviations
from nbtools.dialects.params import DialectParams
from nbtools.tools.file_change import NotRead

_REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file"
    " edit, the new_string was NOT written to the file). "
)
_STOP = "STOP what you are doing and wait for the user to tell you how to proceed."
_SAID = "To tell you how to proceed, the user said:\n"
_UNREAD = "File has not been read yet. Read it first before writing to it."
_MODIFIED = (
    "File has been modified since read, either by the user or by a linter. Read it again before attempting to"
    " write it."
)
INTERRUPTED = "[Request interrupted by user for tool use]"


class ClaudeParams(DialectParams):
    """Base class of Claude Code's parameters; a number may be a string (``"10"``), as in Claude Code.

    ``sentences`` maps error codes to Claude Code's wording, where ``{message}`` is the canonical message;
    other errors keep theirs.
    """

    sentences: ClassVar[Mapping[ErrorCode, str]] = {}

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        sentence = self.sentences.get(error.code)
        if sentence is None:
            return failure(error, result.data)
        return error_reply(error, sentence.replace("{message}", error.message))

    @classmethod
    def explain_errors(cls, name: str, error: ValidationError) -> str:
        problems = [_problem(dict(item)) for item in error.errors(include_url=False)]
        return "\n".join(
            [
                (
                    f"InputValidationError: {name} failed due to the following"
                    f" issue{'s' if len(problems) > 1 else ''}:"
                ),
                *problems,
            ]
        )


def error_reply(error: ToolError, sentence: str, *, tagged: bool = True) -> ToolResult:
    """Returns a failed result with one sentence;
    ``tagged`` wraps it in ``<tool_use_error>``, as most errors are.
    """
    text = f"<tool_use_error>{sentence}</tool_use_error>" if tagged else sentence
    structured = sentence if sentence.startswith("Error: ") else f"Error: {sentence}"
    return ToolResult(text, sentence, ToolError(error.code, sentence), sentence.split("\n", 1)[0], structured)


def failure(error: ToolError, data: object = None) -> ToolResult:
    """Words the failures that are common to all tools."""
    match error.code:
        case ErrorCode.CONFIRMATION_DENIED:
            reason = data.reason if isinstance(data, Answer) else ""
            return error_reply(error, _REJECTED + (_SAID + reason if reason else _STOP), tagged=False)
        case ErrorCode.CONFIRMATION_REQUIRED:
            return error_reply(
                error,
                f"Claude requested permissions for this, but you haven't granted it yet. {error.message}",
                tagged=False,
            )
        case ErrorCode.POLICY_VIOLATION:
            return error_reply(error, f"Permission for this has been denied. {error.message}", tagged=False)
        case ErrorCode.CANCELLED:
            return error_reply(error, INTERRUPTED, tagged=False)
        case _:
            return error_reply(error, error.message)


def not_read_reply(error: ToolError, data: object) -> ToolResult | None:
    """Words the failure that a file was not read or has changed since; None for other failures."""
    if isinstance(data, NotRead):
        return error_reply(error, f"{_UNREAD} (It was read only in part.)" if data.partly else _UNREAD)
    return error_reply(error, _MODIFIED) if error.code is ErrorCode.CONFLICT else None


def refuse(name: str, error: ToolError) -> ToolResult:
    """Words the failure of a request that is no call;
    for an unsupported tool of Claude Code it gives the reason.
    """
    if error.code is not ErrorCode.TOOL_NOT_REGISTERED:
        return failure(error)
    reason = deviations("claude").reason(name, error)
    return error_reply(error, f"Error: No such tool available: {name}. {reason}")


def reply(result: ToolResult, text: str | tuple[Part, ...], data: object) -> ToolResult:
    """Returns ``result`` with this text and data; its display stays."""
    return ToolResult(text, result.return_display, summary=result.summary, data=data)


_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
}
_EXPECTED: Mapping[str, str] = {
    "string": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "model": "object",
}


def _problem(item: Mapping[str, Any]) -> str:
    where = _where(item["loc"])
    kind, _, what = str(item["type"]).partition("_")
    if item["type"] == "missing":
        return f"The required parameter `{where}` is missing"
    if item["type"] == "extra_forbidden":
        return f"An unexpected parameter `{where}` was provided"
    if kind in _EXPECTED and what in {"type", "parsing", "attributes_type"}:
        provided = _TYPES.get(type(item.get("input")), "null")
        return f"The parameter `{where}` type is expected as `{_EXPECTED[kind]}` but provided as `{provided}`"
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"The parameter `{where}` is not valid: {message[:1].lower()}{message[1:]}"


def _where(steps: tuple[str | int, ...]) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return path.removeprefix(".") or "input"
