"""Wrapper that retries calls after transient failures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    retry_if_result,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, UpdateOutput
from nbtools.core.toolset import Toolset
from nbtools.wrappers.wrapper import Tools, WrapperTool, iterate_tools

TRANSIENT = frozenset(
    {
        ErrorCode.TIMEOUT,
        ErrorCode.WEB_FETCH_PROCESSING_ERROR,
        ErrorCode.WEB_SEARCH_FAILED,
        ErrorCode.MCP_TOOL_ERROR,
        ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR,
    }
)
"""Error codes of failures that may be transient."""


class RetryingTool(WrapperTool):
    """Waits about ``first`` seconds before the first retry and doubles that each time, up to ``longest``."""

    def __init__(
        self,
        tool: AnyToolBuilder,
        attempts: int,
        first: float,
        longest: float,
        codes: Collection[ErrorCode],
        changing: bool,
    ) -> None:
        super().__init__(tool)
        self._attempts = attempts
        self._first = first
        self._longest = longest
        self._codes = codes
        self._changing = changing

    async def run(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        if not self._changing and not self.kind_of(invocation).changes_nothing:
            return await invocation.execute(update_output)
        retry = AsyncRetrying(
            stop=stop_after_attempt(self._attempts),
            wait=wait_exponential(self._first, self._longest) + wait_random(0, self._first),
            retry=retry_if_exception(self._is_transient_error)
            | retry_if_result(lambda result: self._is_transient(result.error and result.error.code)),
            retry_error_callback=_last,
        )
        return cast("ToolResult", await retry(invocation.execute, update_output))

    def _is_transient_error(self, error: BaseException) -> bool:
        return isinstance(error, ConnectionError | TimeoutError) or (
            isinstance(error, ToolFailure) and self._is_transient(error.code)
        )

    def _is_transient(self, code: ErrorCode | None) -> bool:
        return code in self._codes


def _last(state: RetryCallState) -> ToolResult:
    """Returns or raises the outcome of the last attempt, with the number of attempts in its message."""
    attempts = f" (tried {state.attempt_number} times)"
    if state.outcome is None:
        raise RuntimeError("there was no attempt")
    try:
        result = cast("ToolResult", state.outcome.result())
    except ToolFailure as failure:
        raise ToolFailure(failure.code, failure.message + attempts, failure.data) from None
    return (
        result
        if result.error is None
        else replace(result, error=replace(result.error, message=result.error.message + attempts))
    )


def retrying(
    tools: Tools,
    attempts: int = 3,
    *,
    first: float = 0.5,
    longest: float = 30,
    codes: Collection[ErrorCode] = TRANSIENT,
    changing: bool = False,
) -> Toolset:
    """Retries a call that failed with one of ``codes`` or a broken connection,
    with at most ``attempts`` attempts in all.

    It waits about ``first`` seconds before the first retry and doubles that each time, up to ``longest``.
    Calls that change something may have done so before they failed, so they are not retried unless
    ``changing``.
    """
    return Toolset(
        RetryingTool(tool, attempts, first, longest, codes, changing) for tool in iterate_tools(tools)
    )
