"""Codex's wording of errors common to all tools: arguments that cannot be parsed, rejections, failures.

Sources: its handlers (core/src/tools/handlers), events and registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict, ValidationError

from nbtools.core.confirmation import Answer
from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import Part, ToolResult
from nbtools.dialects.deviations import deviations
from nbtools.dialects.params import DialectParams

ABORTED = "aborted by user"


def _declare_closed(schema: dict[str, Any]) -> None:
    """Declares that there are no other parameters:
    Codex's schemas say so, although its parser ignores others.
    """
    schema.pop("description", None)
    schema["additionalProperties"] = False


class CodexParams(DialectParams):
    """Base class of Codex's parameters.  Unknown ones are ignored, as in Codex.

    ``rejected`` is the reply to a call that a person denies;
    ``failed`` that to a failure, with ``{message}``.
    """

    model_config = ConfigDict(extra="ignore", json_schema_extra=_declare_closed)

    rejected: ClassVar[str] = "rejected by user"
    failed: ClassVar[str] = "{message}"

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        message = error.message
        match error.code:
            case ErrorCode.CONFIRMATION_DENIED:
                reason = result.data.reason if isinstance(result.data, Answer) else ""
                return error_reply(
                    error, f"{self.rejected}: {reason}" if reason else self.rejected, result.data
                )
            case ErrorCode.CANCELLED:
                return error_reply(error, ABORTED, result.data)
            case ErrorCode.POLICY_VIOLATION | ErrorCode.CONFIRMATION_REQUIRED:
                return error_reply(error, f"rejected: {message}", result.data)
            case _:
                return error_reply(error, self.failed.replace("{message}", message), result.data)

    @classmethod
    def explain_errors(cls, name: str, error: ValidationError) -> str:
        problems = [_problem(dict(item)) for item in error.errors(include_url=False)]
        return f"failed to parse function arguments: {'; '.join(problems)}"


def error_reply(error: ToolError, text: str, data: object = None) -> ToolResult:
    return ToolResult(text, text, ToolError(error.code, text), text.split("\n", 1)[0], data)


def refuse(name: str, error: ToolError) -> ToolResult:
    """Words the failure of a request that is no call;
    for an unsupported tool of Codex it gives the reason.
    """
    if error.code is not ErrorCode.TOOL_NOT_REGISTERED:
        return error_reply(error, error.message)
    reason = deviations("codex").reason(name, error)
    return error_reply(error, f"unsupported call: {name}. {reason}")


def reply(result: ToolResult, text: str | tuple[Part, ...]) -> ToolResult:
    """Returns ``result`` with this text; its display and data stay."""
    return ToolResult(text, result.return_display, summary=result.summary, data=result.data)


_EXPECTED: Mapping[str, str] = {
    "string": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "list": "a sequence",
    "tuple": "a sequence",
    "dict": "a map",
    "model": "a map",
}


def _problem(item: Mapping[str, Any]) -> str:
    """Words a problem like Codex's parser, and names the parameter."""
    *outer, last = (str(step) for step in item["loc"]) if item["loc"] else ("arguments",)
    where = ".".join([*outer, last])
    kind, _, what = str(item["type"]).partition("_")
    if item["type"] == "missing":
        return f"missing field `{last}`" + (f" in {'.'.join(outer)}" if outer else "")
    if kind in _EXPECTED and what in {"type", "parsing", "from_float", "attributes_type"}:
        return f"invalid type for `{where}`, expected {_EXPECTED[kind]}"
    return f"invalid value for `{where}`: {str(item['msg']).removeprefix('Value error, ')}"
