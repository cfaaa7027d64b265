"""Wrappers that limit the rate and the duration of calls."""

from __future__ import annotations

import asyncio

from aiolimiter import AsyncLimiter

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, UpdateOutput
from nbtools.core.toolset import Toolset
from nbtools.wrappers.wrapper import Tools, WrapperTool, iterate_tools


class RateLimitedTool(WrapperTool):
    def __init__(self, tool: AnyToolBuilder, limiter: AsyncLimiter) -> None:
        super().__init__(tool)
        self._limiter = limiter

    async def run(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        async with self._limiter:
            return await invocation.execute(update_output)


def rate_limited(tools: Tools, calls: float, per: float = 60) -> Toolset:
    """Runs at most ``calls`` calls of all these tools together in ``per`` seconds; further calls wait."""
    limiter = AsyncLimiter(calls, per)
    return Toolset(RateLimitedTool(tool, limiter) for tool in iterate_tools(tools))


class TimeLimitedTool(WrapperTool):
    def __init__(self, tool: AnyToolBuilder, seconds: float) -> None:
        super().__init__(tool)
        self._seconds = seconds

    async def run(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await invocation.execute(update_output)
        except TimeoutError:
            if not limit.expired():
                raise
            message = (
                f"{self.name} was stopped after {self._seconds:g} seconds. Request less at once, or raise its"
                " time limit."
            )
            raise ToolFailure(ErrorCode.TIMEOUT, message) from None


def time_limited(tools: Tools, seconds: float) -> Toolset:
    """Stops a call that takes longer than ``seconds``; it then fails with ``timeout``."""
    return Toolset(TimeLimitedTool(tool, seconds) for tool in iterate_tools(tools))
