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
from nbtools.core.tool import AnyToolInvocation
from nbtools.core.toolset import Toolset
from nbtools.wrappers.wrapper import Execute, Tools, WrapperTool, wrap_calls

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


def _last(state: RetryCallState) -> ToolResult:
    """Returns or raises the outcome of the last attempt, with the number of attempts in its message."""
    attempts = f" (tried {state.attempt_number} times)"
    if state.outcome is None:
        raise RuntimeError("there was no attempt")
    try:
        result = cast("ToolResult", state.outcome.result())
    except ToolFailure as failure:
        raise ToolFailure(failure.code, failure.message + attempts, failure.data) from None
    if result.error is None:
        return result
    return replace(result, error=replace(result.error, message=result.error.message + attempts))


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

    def is_transient(error: BaseException) -> bool:
        return isinstance(error, ConnectionError | TimeoutError) or (
            isinstance(error, ToolFailure) and error.code in codes
        )

    async def run(tool: WrapperTool, invocation: AnyToolInvocation, execute: Execute) -> ToolResult:
        if not changing and not tool.kind_of(invocation).changes_nothing:
            return await execute()
        retry = AsyncRetrying(
            stop=stop_after_attempt(attempts),
            wait=wait_exponential(first, longest) + wait_random(0, first),
            retry=retry_if_exception(is_transient)
            | retry_if_result(lambda result: result.error is not None and result.error.code in codes),
            retry_error_callback=_last,
        )
        return cast("ToolResult", await retry(execute))

    return wrap_calls(tools, run)
