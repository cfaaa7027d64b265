"""Running a command line in a shell, watched while it runs and cleaned up after."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure, from_os_error
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.shell_syntax import parse_shell
from nbtools.core.tool import BaseToolInvocation, CommandTarget, Kind, ToolLocation, UpdateOutput
from nbtools.workspace.output import OutputCollector
from nbtools.workspace.process import Ended, Limits, run
from nbtools.workspace.pulse import Pulse
from nbtools.workspace.workspace import Workspace


class ShellParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """The command line, as bash reads it. It gets no input: what it would read from the keyboard is at its end at once."""
    path: str = "."
    """The folder to run it in."""
    timeout: Annotated[float | None, Field(gt=0)] = None
    """Seconds it may take, 120 unless said, at most 600."""


@dataclass(frozen=True, slots=True)
class ShellData:
    """How the command went.  ``exit_code`` is None where ``signal`` ended it; ``full_output`` is empty when all of it is shown."""

    exit_code: int | None
    signal: str
    lines: int
    bytes: int
    seconds: float
    full_output: str


class ShellTool(BaseDeclarativeTool[ShellParams]):
    """``timeout`` and ``longest``: the usual and the highest limit in seconds.  ``silence``: seconds without output.  ``limit``: characters
    of output that a model reads.
    """

    name = "shell"
    display_name = "Shell"
    description = (
        "Runs a command line with bash in the workspace and gives its output (errors included) and its exit code. "
        "Nothing keeps running after the call."
    )
    kind = Kind.EXECUTE
    can_update_output = True
    parameters = ShellParams

    def __init__(
        self, workspace: Workspace, *, timeout: float = 120, longest: float = 600, silence: float = 300, limit: int = 40_000
    ) -> None:
        self.workspace = workspace
        self.timeout = timeout
        self.longest = longest
        self.silence = silence
        self.limit = limit

    def validate_tool_param_values(self, params: ShellParams) -> str | None:
        if not params.command.strip():
            return "command is empty. Give the command line to run."
        if "\0" in params.command:
            return "command has a NUL character in it, which no shell takes."
        if params.timeout is not None and params.timeout > self.longest:
            return f"timeout is at most {self.longest:g} seconds (given {params.timeout:g})."
        return None

    def create_invocation(self, params: ShellParams) -> ShellInvocation:
        self.workspace.resolve(params.path)
        limited = params if params.timeout is not None else params.model_copy(update={"timeout": self.timeout})
        return ShellInvocation(limited, self)


class ShellInvocation(BaseToolInvocation[ShellParams]):
    __slots__ = ("tool",)

    def __init__(self, params: ShellParams, tool: ShellTool) -> None:
        super().__init__(params)
        self.tool = tool

    def get_description(self) -> str:
        return self.params.command

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.tool.workspace.resolve(self.params.path))),)

    def target(self) -> CommandTarget:
        return CommandTarget(self.params.command)

    async def should_confirm_execute(self) -> ToolExecuteConfirmationDetails:
        roots = parse_shell(self.params.command).roots
        folder = self.tool.workspace.relative(self.tool.workspace.resolve(self.params.path))
        return ToolExecuteConfirmationDetails("Run this command?", self.params.command, ", ".join(roots), roots, folder)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        collector = OutputCollector()
        pulse = Pulse(_teller(collector, update_output)) if update_output else None

        def receive(chunk: bytes) -> None:
            collector.receive(chunk)
            if pulse:
                pulse.touch()

        try:
            ended = await self._run(receive)
            return self._result(ended, collector)
        finally:
            if pulse:
                pulse.stop()
            collector.close()

    async def _run(self, receive: Callable[[bytes], None]) -> Ended:
        folder = self.tool.workspace.resolve(self.params.path)
        if not folder.is_dir():
            code = ErrorCode.PATH_IS_NOT_A_DIRECTORY if folder.exists() else ErrorCode.FILE_NOT_FOUND
            raise ToolFailure(code, f"{self.params.path}: there is no such folder to run the command in.")
        limits = Limits(self.params.timeout or self.tool.timeout, self.tool.silence)
        try:
            return await run([_shell(), "-c", self.params.command], cwd=folder, env=environment(os.environ), receive=receive, limits=limits)
        except (OSError, ValueError) as error:
            if not isinstance(error, OSError):
                raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"The command cannot be given to a shell: {error}.") from None
            raise from_os_error(error, "The command cannot be started", ErrorCode.SHELL_EXECUTE_ERROR) from None

    def _result(self, ended: Ended, collector: OutputCollector) -> ToolResult:
        text, complete = collector.display()
        if not complete:
            collector.keep()
        shown = collector.shown(self.tool.limit)
        note = "; ".join(part for part in (_stopped(ended, self), _background(ended), collector.problem) if part)
        data = ShellData(ended.exit_code, ended.signal, collector.lines, collector.bytes, round(ended.seconds, 3), shown.full_output)
        display = CommandOutput(text, collector.lines, ended.exit_code, shown.full_output, note)
        error = ToolError(ErrorCode.TIMEOUT, f"The command {note}.") if ended.stopped else None
        return ToolResult(_llm_content(shown.text, ended, note), display, error, _summary(ended, collector.lines), data)


def environment(outer: Mapping[str, str]) -> dict[str, str]:
    """The environment of commands: the kernel's, without what a kernel sets for itself.

    Pagers print at once.  ``TERM`` is that of a capable terminal, but colours are the program's choice: ipykernel's ``FORCE_COLOR`` and
    ``CLICOLOR_FORCE`` would put them into redirected files too.  Its matplotlib backend works in a kernel only.
    """
    dropped = {"FORCE_COLOR", "CLICOLOR_FORCE", "JPY_PARENT_PID", "JPY_INTERRUPT_EVENT", "JPY_SESSION_NAME"}
    kept = {name: value for name, value in outer.items() if name not in dropped}
    if "inline" in kept.get("MPLBACKEND", ""):
        del kept["MPLBACKEND"]
    return {**kept, "PAGER": "cat", "GIT_PAGER": "cat", "TERM": "xterm-256color"}


def _shell() -> str:
    found = shutil.which("bash") or shutil.which("sh")
    if found is None:
        raise ToolFailure(ErrorCode.SHELL_EXECUTE_ERROR, "There is neither bash nor sh on PATH. Install one, or add its folder to PATH.")
    return found


def _teller(collector: OutputCollector, update_output: UpdateOutput) -> Callable[[], None]:
    def tell() -> None:
        text, _ = collector.display()
        update_output(CommandOutput(text, collector.lines, None))

    return tell


def _stopped(ended: Ended, invocation: ShellInvocation) -> str:
    if ended.stopped == "time":
        seconds = invocation.params.timeout or invocation.tool.timeout
        return f"was stopped after {seconds:g} seconds (give a longer timeout, at most {invocation.tool.longest:g}, if it needs more)"
    return f"was stopped after {invocation.tool.silence:g} seconds without output" if ended.stopped else ""


def _background(ended: Ended) -> str:
    count = len(ended.background)
    if not count:
        return ""
    names = ", ".join(sorted(set(ended.background)))
    return f"{count} background {'process was' if count == 1 else 'processes were'} ended ({names})"


def _llm_content(text: str, ended: Ended, note: str) -> str:
    lines = [text.removesuffix("\n") if text else "(no output)"]
    if ended.exit_code:
        lines.append(f"exit code {ended.exit_code}")
    if ended.signal and not ended.stopped:
        lines.append(f"ended by {ended.signal}")
    if note:
        lines.append(f"({note})")
    return "\n".join(lines)


def _summary(ended: Ended, lines: int) -> str:
    how = "stopped" if ended.stopped else f"exit {ended.exit_code}" if not ended.signal else ended.signal
    return f"{how} · {lines:,} line{'' if lines == 1 else 's'}"
