"""Gemini CLI's wording of errors common to all tools: invalid arguments, denials, failures.

Sources: its error types, schema validator and scheduler (tools/tool-error.ts, utils/schemaValidator.ts).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

from pydantic import ValidationError

from nbtools.core.confirmation import Answer
from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import BATCH_ENDED, Part, ToolResult
from nbtools.dialects.deviations import deviations
from nbtools.dialects.params import DialectParams

DENIED = "User denied execution."
BATCH_CANCELLED = "[Operation Cancelled] Reason: User cancelled operation"
CANCELLED = "[Operation Cancelled] Reason: User cancelled the operation."


Sentence: TypeAlias = str | tuple[ErrorCode, str]
"""The wording of a failure, with Gemini CLI's error code where that is another one."""


class GeminiParams(DialectParams):
    """Base class of Gemini CLI's parameters.

    ``errors`` maps error codes to Gemini CLI's wording, in which ``{path}`` is the absolute path of
    the call and ``{message}`` the canonical message.  Unknown parameters are ignored, because Gemini CLI's
    schemas allow them.
    """

    ignores_unknown: ClassVar[bool] = True

    wait_for_previous: bool = False
    """Whether to wait for earlier calls of the same turn. Calls that change something always do."""

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {}

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        if error.code is ErrorCode.PATH_NOT_IN_WORKSPACE:
            return failure(ToolError(ErrorCode.INVALID_TOOL_PARAMS, self._outside()), result.data)
        words = self.errors.get(error.code, "{message}")
        code, sentence = (error.code, words) if isinstance(words, str) else words
        path = self.absolute(self.path_parameter())
        return failure(ToolError(code, sentence.format(path=path, message=error.message)), result.data)

    def path_parameter(self) -> str:
        """Returns the path parameter of the call."""
        return "."

    def _outside(self) -> str:
        """Words the failure of a path outside the workspace, like Gemini CLI's validation."""
        path = self.path_parameter()
        return (
            f'Path not in workspace: Attempted path "{path}" resolves outside the allowed workspace'
            f" directories: {self.absolute('.')}"
        )

    @classmethod
    def explain_errors(cls, name: str, error: ValidationError) -> str:
        problems = error.errors(include_url=False)
        told = [item for item in problems if not (cls.ignores_unknown and item["type"] == "extra_forbidden")]
        return ", ".join(_problem(dict(item)) for item in told or problems)


def failure(error: ToolError, data: object = None) -> ToolResult:
    """Words a failed call."""
    match error.code:
        case ErrorCode.CONFIRMATION_DENIED:
            reason = f" Reason: {data.reason}" if isinstance(data, Answer) and data.reason else ""
            return _error_reply(error, DENIED + reason, data)
        case ErrorCode.CANCELLED:
            return _error_reply(error, BATCH_CANCELLED if data == BATCH_ENDED else CANCELLED, data)
        case ErrorCode.INVALID_TOOL_PARAMS:
            return _error_reply(error, f"Error: Invalid parameters provided. Reason: {error.message}", data)
        case ErrorCode.UNHANDLED_EXCEPTION | ErrorCode.EXECUTION_FAILED:
            return _error_reply(error, f"Error: Tool call execution failed. Reason: {error.message}", data)
        case ErrorCode.POLICY_VIOLATION:
            return _error_reply(error, f"Tool execution denied by policy. {error.message}", data)
        case _:
            return _error_reply(error, error.message, data)


def _error_reply(error: ToolError, text: str, data: object) -> ToolResult:
    return ToolResult(text, error.message, error, error.message.split("\n", 1)[0], data)


def refuse(name: str, error: ToolError) -> ToolResult:
    """Words the failure of a request that is no call;
    for an unsupported tool of Gemini CLI it gives the reason.
    """
    if error.code is not ErrorCode.TOOL_NOT_REGISTERED:
        return failure(error)
    reason = deviations("gemini").reason(name, error)
    return failure(ToolError(error.code, f'Tool "{name}" not found in registry. {reason}'))


def reply(result: ToolResult, text: str | tuple[Part, ...], data: object = None) -> ToolResult:
    """Returns ``result`` with this text; its display stays, and its data unless ``data`` is given."""
    return ToolResult(
        text, result.return_display, summary=result.summary, data=result.data if data is None else data
    )


_CLOSING_TAG = re.compile(r"</(\s*untrusted_context\s*)>", re.IGNORECASE)


def untrusted(text: str) -> str:
    """Marks text of others (pages, command output, MCP servers) like Gemini CLI,
    so that it cannot end the mark itself.
    """
    escaped = _CLOSING_TAG.sub(r"&lt;/\1&gt;", text)
    return f"<untrusted_context>\n{escaped}\n</untrusted_context>"


_TYPES = {
    "string": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "model": "object",
}
_BOUNDS = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}


def _problem(item: Mapping[str, Any]) -> str:
    """Words a problem like Gemini CLI's JSON Schema validator: ``params/start_line must be >= 1``."""
    steps = [str(step) for step in item["loc"]]
    where, context = "/".join(["params", *steps]), item.get("ctx") or {}
    kind = str(item["type"])
    if kind == "missing":
        return f"{'/'.join(['params', *steps[:-1]])} must have required property '{steps[-1]}'"
    if kind == "extra_forbidden":
        return f"{'/'.join(['params', *steps[:-1]])} must NOT have additional properties ('{steps[-1]}')"
    if kind in _BOUNDS:
        sign, bound = _BOUNDS[kind]
        return f"{where} must be {sign} {context[bound]}"
    if kind in {"literal_error", "enum"}:
        return f"{where} must be equal to one of the allowed values ({context.get('expected', '')})"
    stem = kind.split("_", 1)[0]
    if stem in _TYPES and kind.endswith(("_type", "_parsing", "_from_float")):
        return f"{where} must be {_TYPES[stem]}"
    return f"{where}: {str(item['msg']).removeprefix('Value error, ')}"
