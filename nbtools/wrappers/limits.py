"""Wrapper that limits the rate of calls."""

from __future__ import annotations

from aiolimiter import AsyncLimiter

from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolInvocation
from nbtools.core.toolset import Toolset
from nbtools.wrappers.wrapper import Execute, Tools, WrapperTool, wrap_calls


def rate_limited(tools: Tools, calls: float, per: float = 60) -> Toolset:
    """Runs at most ``calls`` calls of all these tools together in ``per`` seconds; further calls wait."""
    limiter = AsyncLimiter(calls, per)

    async def run(_: WrapperTool, __: AnyToolInvocation, execute: Execute) -> ToolResult:
        async with limiter:
            return await execute()

    return wrap_calls(tools, run)
