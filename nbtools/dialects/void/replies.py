"""Void's wording of errors common to all tools: invalid parameters, rejections, interruptions, failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from nbtools.core.confirmation import Answer
from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import ToolResult
from nbtools.dialects.dialect_model import Arguments
from nbtools.dialects.params import DialectParams

T = TypeVar("T")

REJECTED = "Tool call was rejected by the user."
INTERRUPTED = "Tool call was interrupted by the user."


class VoidParams(DialectParams):
    """Base class of Void's parameters, which are all text."""

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        return failure(error, result.data)

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken = super().from_canonical(arguments)
        return None if spoken is None else {name: _as_text(value) for name, value in spoken.items()}

    @classmethod
    def explain_errors(cls, name: str, error: ValidationError) -> str:
        return "; ".join(_problem(dict(item)) for item in error.errors(include_url=False))


def _as_text(value: object) -> str:
    return "true" if value is True else str(value)


def _problem(item: Mapping[str, Any]) -> str:
    where = ".".join(map(str, item["loc"]))
    if item["type"] == "missing":
        return f"Invalid LLM output format: {where} is missing"
    if item["type"] == "extra_forbidden":
        return f"Invalid LLM output format: there is no parameter {where}"
    return f"Invalid LLM output format: {where} {str(item['msg']).removeprefix('Value error, ')}"


def failure(error: ToolError, data: object = None) -> ToolResult:
    match error.code:
        case ErrorCode.CONFIRMATION_DENIED:
            return _error_reply(error, _rejected(data), data)
        case ErrorCode.CANCELLED:
            return _error_reply(error, INTERRUPTED, data)
        case _:
            return _error_reply(error, error.message, data)


def _rejected(answer: object) -> str:
    """Words a denial; unlike in Void, it contains the person's reason."""
    reason = answer.reason if isinstance(answer, Answer) else ""
    return f"{REJECTED} The reason given: {reason}" if reason else REJECTED


def _error_reply(error: ToolError, text: str, data: object) -> ToolResult:
    return ToolResult(text, error.message, error, error.message.split("\n", 1)[0], data)


def refuse(name: str, error: ToolError) -> ToolResult:
    """Words the failure of a request that is no call."""
    if error.code is not ErrorCode.TOOL_NOT_REGISTERED:
        return failure(error)
    return failure(ToolError(error.code, f"Tool {name} is not available. {error.message}"))


def reply(result: ToolResult, text: str) -> ToolResult:
    """Returns ``result`` with this text; its display and data stay."""
    return ToolResult(text, result.return_display, summary=result.summary, data=result.data)


def no_such_page(result: ToolResult, page: int, pages: int) -> ToolResult:
    """Returns a failure for a page past the last one; Void returns an empty page."""
    message = f"There is no page {page}: the last one is {pages}."
    return ToolResult(
        message, message, ToolError(ErrorCode.INVALID_TOOL_PARAMS, message), message, result.data
    )


def page_of(items: tuple[T, ...], page: int, size: int) -> tuple[T, ...]:
    return items[(page - 1) * size : page * size]


def pages_in(total: int, size: int) -> int:
    return max(1, -(-total // size))
