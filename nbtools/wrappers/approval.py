"""Wrapper that requires approval for calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, Asks
from nbtools.core.toolset import Toolset
from nbtools.wrappers.wrapper import Tools, WrapperTool, iterate_tools


class ApprovalRequiredTool(WrapperTool):
    def __init__(self, tool: AnyToolBuilder, when: Callable[[Any], bool]) -> None:
        super().__init__(tool)
        self._when = when

    def asks_for(self, invocation: AnyToolInvocation) -> Asks:
        return True if self._when(invocation.params) else invocation.asks


def approval_required(tools: Tools, when: Callable[[Any], bool] = lambda _: True) -> Toolset:
    """Requires approval for calls of these tools: all, or those for whose parameters ``when`` returns True.

    It replaces the tools' own default (``asks``); rules and modes are stronger.
    """
    return Toolset(ApprovalRequiredTool(tool, when) for tool in iterate_tools(tools))
