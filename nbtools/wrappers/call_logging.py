"""Wrapper that logs calls with the ``logging`` module."""

from __future__ import annotations

import logging
import time

from nbtools.core.errors import ToolError, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, UpdateOutput
from nbtools.core.toolset import Toolset
from nbtools.wrappers.wrapper import Tools, WrapperTool, iterate_tools


class LoggedTool(WrapperTool):
    def __init__(self, tool: AnyToolBuilder, logger: logging.Logger, level: int, longest: int) -> None:
        super().__init__(tool)
        self._logger = logger
        self._level = level
        self._longest = longest

    async def run(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        began = time.perf_counter()
        try:
            result = await invocation.execute(update_output)
        except BaseException as error:
            self._log(invocation, began, error.error if isinstance(error, ToolFailure) else repr(error))
            raise
        self._log(invocation, began, result.error)
        return result

    def _log(self, invocation: AnyToolInvocation, began: float, error: ToolError | str | None) -> None:
        level = self._level if error is None else logging.WARNING
        seconds = time.perf_counter() - began
        outcome = (
            "ok"
            if error is None
            else f"{error.code}: {error.message}"
            if isinstance(error, ToolError)
            else error
        )
        self._logger.log(
            level,
            "%s(%s) %.3f s %s",
            self.name,
            self._short(str(invocation.params)),
            seconds,
            self._short(outcome),
        )

    def _short(self, text: str) -> str:
        line = text.replace("\n", "\\n")
        return line if len(line) <= self._longest else f"{line[: self._longest - 1]}…"


def logged(
    tools: Tools, logger: logging.Logger | str = "nbtools", *, level: int = logging.INFO, longest: int = 200
) -> Toolset:
    """Logs one line per call: the tool, its parameters, the seconds it took and its outcome.

    Parameters and outcome are truncated to ``longest`` characters.
    Successful calls are logged at ``level``, failed ones as warnings.
    """
    target = logging.getLogger(logger) if isinstance(logger, str) else logger
    return Toolset(LoggedTool(tool, target, level, longest) for tool in iterate_tools(tools))
