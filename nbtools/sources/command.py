"""Tools that a project's own command lists, and another one runs: Gemini CLI's tool discovery.

The discovery command prints a JSON array of function declarations; the call command gets a tool's name as its last argument and the
arguments as JSON on its input.  Unlike there, a call takes a limited time and can be stopped, and a command that ends with 0 and
prints errors as well has done what it should: what it printed is shown with its answer.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from nbtools.core.confirmation import ToolInfoConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, UpdateOutput
from nbtools.workspace.commands.capture import MOST, Captured, capture
from nbtools.workspace.pulse import Pulse
from nbtools.workspace.workspace import Workspace

Command: TypeAlias = str | Sequence[str]
"""A program and its arguments; a text is split as a shell would, and no shell runs it."""


def argv_of(command: Command) -> tuple[str, ...]:
    return tuple(shlex.split(command) if isinstance(command, str) else command)


class DiscoveredTool(BaseDeclarativeTool[Mapping[str, Any]]):
    """``original`` is the name that the project knows; ``seconds`` a call may take, ``most`` bytes it may print on each stream."""

    kind = Kind.OTHER
    can_update_output = True

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        original: str,
        description: str,
        parameters: Mapping[str, Any],
        call_command: Command,
        *,
        seconds: float = 120,
        most: int = MOST,
    ) -> None:
        self.workspace = workspace
        self.name = name
        self.display_name = self.original = original
        self.description = description
        self.parameters = parameters
        self.call_command = argv_of(call_command)
        self.seconds = seconds
        self.most = most

    def create_invocation(self, params: Mapping[str, Any]) -> DiscoveredInvocation:
        return DiscoveredInvocation(self, params)


class DiscoveredInvocation(BaseToolInvocation[Mapping[str, Any]]):
    __slots__ = ("tool",)

    def __init__(self, tool: DiscoveredTool, params: Mapping[str, Any]) -> None:
        super().__init__(params)
        self.tool = tool

    def get_description(self) -> str:
        text = json.dumps(self.params, ensure_ascii=False)
        return text if len(text) <= 100 else f"{text[:99]}…"

    async def should_confirm_execute(self) -> ToolInfoConfirmationDetails:
        command = shlex.join((*self.tool.call_command, self.tool.original))
        arguments = json.dumps(self.params, indent=2, ensure_ascii=False)
        return ToolInfoConfirmationDetails(f"Run the project's tool {self.tool.original}?", f"{command}\n{arguments}")

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        shown = bytearray()
        pulse = None if update_output is None else Pulse(lambda: update_output(shown[-_TAIL:].decode("utf-8", "replace")))

        def receive(chunk: bytes) -> None:
            if pulse is not None:
                shown.extend(chunk)
                pulse.touch()

        try:
            return _result(self.tool, await self._run(receive))
        except BaseException:
            if pulse is not None:
                pulse.flush()
            raise
        finally:
            if pulse is not None:
                pulse.stop()

    async def _run(self, receive: Any) -> Captured:
        tool = self.tool
        return await capture(
            (*tool.call_command, tool.original),
            cwd=tool.workspace.root,
            given=json.dumps(dict(self.params), ensure_ascii=False),
            seconds=tool.seconds,
            most=tool.most,
            receive=receive,
        )


_TAIL = 32 * 1024


def _result(tool: DiscoveredTool, got: Captured) -> ToolResult:
    if got.ok:
        told = f"{got.stdout}\nStderr: {got.stderr}" if got.stderr else got.stdout
        lines = told.count("\n") + (not told.endswith("\n") and bool(told))
        return ToolResult(told or "(no output)", CommandOutput(told, lines, 0), summary="exit 0", data=got)
    text = five_lines(got, stopped(got, tool.seconds))
    message = f"The project's tool {tool.original} failed.\n{text}"
    code = ErrorCode.TIMEOUT if got.ended.stopped else ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR
    how = f"exit {got.ended.exit_code}" if got.ended.exit_code is not None else got.ended.signal
    display = CommandOutput(got.stdout + got.stderr, text.count("\n") + 1, got.ended.exit_code)
    return ToolResult(text, display, ToolError(code, message), how, got)


def five_lines(got: Captured, error: str) -> str:
    """All there is to know of a command that failed, in Gemini CLI's five lines."""
    code = "(none)" if got.ended.exit_code is None else got.ended.exit_code
    return (
        f"Stdout: {got.stdout or '(empty)'}\nStderr: {got.stderr or '(empty)'}\nError: {error or '(none)'}\n"
        f"Exit Code: {code}\nSignal: {got.ended.signal or '(none)'}"
    )


def stopped(got: Captured, seconds: float) -> str:
    """Why it was stopped, empty where it ended by itself."""
    if got.too_long:
        return f"it printed more on {got.too_long} than is read, and was stopped"
    if got.ended.stopped:
        return f"it took longer than {seconds:g} seconds, and was stopped"
    return "there is no such program" if got.ended.exit_code == _NOT_FOUND else ""


_NOT_FOUND = 127
