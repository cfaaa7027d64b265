"""The `shell` tool: runs a command line in bash."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from typing import Annotated

from pydantic import Field

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure, from_os_error
from nbtools.core.message import Advice, Message, Parameter, SameCall, joined
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.result_data import ShellData
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.secret_variables import secret_variables
from nbtools.core.tool import BaseToolInvocation, CommandTarget, Example, Kind, ToolLocation, UpdateOutput
from nbtools.shell.grammar import parse_shell
from nbtools.tools.commands.background import condition_text
from nbtools.tools.commands.folder_report import FolderReport, reset_note
from nbtools.tools.commands.shell_result import (
    bracketed,
    ended_processes,
    exit_meaning,
    left_processes,
    output_so_far,
    result_summary,
    result_text,
    started_result,
    without_empty,
)
from nbtools.tools.commands.viewed_file import FileView
from nbtools.workspace.history.snapshots import CommandSnapshot
from nbtools.workspace.processes.background import BackgroundCommand
from nbtools.workspace.processes.environment import environment, shell, shell_name
from nbtools.workspace.processes.output import OutputCollector, ShortenedOutput
from nbtools.workspace.processes.process import Limits, ProgramResult, RunningProgram, start
from nbtools.workspace.processes.sandbox import SandboxedCommand
from nbtools.workspace.throttle import Throttle
from nbtools.workspace.workspace import Workspace


class ShellParams(ParameterModel):
    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """The bash command line. Its standard input is empty."""
    path: str = "."
    """The folder to run it in."""
    timeout: Annotated[float | None, Field(gt=0)] = None
    """Seconds that it may run, at most 600. Default: 120; in the background, no limit."""
    silence: Annotated[float | None, Field(gt=0)] = None
    """Seconds that it may run without output. Default: 300; in the background, no limit."""
    background: bool = False
    """Start the command and return at once; shell_output returns its output, shell_kill ends it."""
    keep: bool = False
    """At the timeout, let the command continue in the background instead of ending it."""
    leave: bool = False
    """Leave processes that the command starts with & running in the background instead of ending them with
    it.
    """
    wait: Annotated[float, Field(ge=0, le=600)] = 0
    """With background: seconds to collect its first output, or until it ends, before returning."""
    carry: bool = False
    """After success, let later commands of the session that carry start in the folder where this one ends."""
    characters: int | None = Field(default=None, ge=1_000, le=190_000)
    """Characters of output to return: of longer output the first and the last half.
    Default: 40,000, of which the end is four fifths.
    """


class ShellTool(BaseDeclarativeTool[ShellParams]):
    """Runs a command line.

    ``timeout`` and ``longest``: default and maximum seconds.  ``silence``: seconds without output.
    ``limit``: characters of output for a model.
    """

    name = "shell"
    display_name = "Shell"
    description = (
        "Runs a bash command line in the workspace and returns its output (with standard error) and its exit"
        " code. No process outlives the call unless background, keep or leave is set; then it runs until the"
        " session ends at the latest."
    )
    output_limit = 200_000
    kind = Kind.EXECUTE
    can_update_output = True
    parameters = ShellParams
    examples = (
        Example("Runs a command line; pipes and && work.", {"command": "sort notes.txt | head -3"}),
        Example("Runs a command with a limit of 5 seconds.", {"command": "ls -l src", "timeout": 5}),
    )

    def __init__(
        self,
        workspace: Workspace,
        *,
        timeout: float = 120,
        longest: float = 600,
        silence: float = 300,
        limit: int = 40_000,
    ) -> None:
        self.workspace = workspace
        self.timeout = timeout
        self.longest = longest
        self.silence = silence
        self.limit = limit
        self.has_named_secrets = False
        """Whether a result has already named the variables that commands do not get."""

    def validate_tool_param_values(self, params: ShellParams) -> str | None:
        if not params.command.strip():
            return Message.of(Parameter("command"), " is empty. Give the command line to run.")
        if "\0" in params.command:
            return Message.of(
                Parameter("command"), " contains a NUL character, which bash does not accept. Remove it."
            )
        if params.timeout is not None and params.timeout > self.longest and not params.background:
            return Message.of(
                Parameter("timeout"), f" is at most {self.longest:g} seconds (given {params.timeout:g})."
            )
        return None

    def create_invocation(self, params: ShellParams) -> ShellInvocation:
        folder = self.workspace.resolve(params.path)
        if quoted := _quoted_command(params.command, folder):
            message = (
                " is one word in quotes, so it would be the name of one program. Write the command line"
                f" without them: {quoted}"
            )
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, Message.of(Parameter("command"), message))
        if params.timeout is None and not params.background:
            params = params.model_copy(update={"timeout": self.timeout})
        return ShellInvocation(params, self, folder)


_QUOTED = re.compile(r"""\s*(?:"([^"$`\\]+)"|'([^']+)')\s*""", re.DOTALL)
_NOT_A_NAME = re.compile(r"[\s;&|<>]")


def _quoted_command(command: str, folder: Path) -> str:
    """Returns the command line that somebody has put in quotes as a whole, such as ``"a; b"``;
    empty if it is none.

    It is none if such a program exists, as ``"/opt/My Tools/run"`` may.
    The line is not run in its place: what runs is what was written.
    """
    found = _QUOTED.fullmatch(command)
    inner = (found[1] or found[2]).strip() if found else ""
    is_program = not _NOT_A_NAME.search(inner) or shutil.which(inner) is not None or (folder / inner).exists()
    return "" if is_program else inner


class ShellInvocation(BaseToolInvocation[ShellParams]):
    __slots__ = ("folder", "tool")

    def __init__(self, params: ShellParams, tool: ShellTool, folder: Path) -> None:
        super().__init__(params)
        self.tool = tool
        self.folder = folder

    def get_description(self) -> str:
        return self.params.command

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.folder)),)

    def target(self) -> CommandTarget:
        return CommandTarget(
            self.params.command, "." if self.params.path == "." else self.tool.workspace.relative(self.folder)
        )

    async def should_confirm_execute(self) -> ToolExecuteConfirmationDetails:
        roots = parse_shell(self.params.command).roots
        folder = self.tool.workspace.relative(self.folder)
        sandbox = self.tool.workspace.sandbox.description(self.tool.workspace.settings)
        note = self.tool.workspace.command_snapshots.warning(self.params.command, self.folder)
        title, command = "Run this command?", self.params.command
        return ToolExecuteConfirmationDetails(
            title, command, ", ".join(roots), roots, folder, sandbox, note, shell_name()
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        folder = self._folder()
        wanted = self.params.carry and not self.params.background
        with closing(FolderReport(self.params.command, wanted=wanted)) as report:
            confined = await self.tool.workspace.sandboxed([shell(), "-c", report.script], folder)
            watch = await self.tool.workspace.command_snapshots.begin(
                self.params.command, folder, update_output
            )
            if self.params.background:
                return await self._start_in_background(confined, folder, watch)
            return await self._run_to_end(confined, folder, watch, report, update_output)

    async def _run_to_end(
        self,
        confined: SandboxedCommand,
        folder: Path,
        watch: CommandSnapshot,
        report: FolderReport,
        update_output: UpdateOutput | None,
    ) -> ToolResult:
        workspace = self.tool.workspace
        viewed = await asyncio.to_thread(FileView.of, workspace, self.folder, self.params.command)
        with closing(OutputCollector(whole=4 * self._limit)) as collector:
            pulse = Throttle(_output_updater(collector, update_output)) if update_output else None

            def receive(chunk: bytes) -> None:
                collector.receive(chunk)
                if pulse:
                    pulse.trigger()

            try:
                with _translated_start_errors():
                    running = start(
                        confined.argv,
                        cwd=folder,
                        env=self._environment(),
                        receive=receive,
                        descriptors=report.descriptors,
                    )
                ended = await running.wait_or_leave_running(
                    self._limits(), keep=self.params.keep, leave=self.params.leave
                )
            except BaseException:
                if update_output:
                    update_output(output_so_far(collector, watch.note))
                await watch.end()
                raise
            finally:
                if pulse:
                    pulse.stop()
            if ended is None:
                return self._move_to_background(running, collector, confined, watch)
            if viewed and ended.exit_code == 0:
                await asyncio.to_thread(viewed.record, complete=not self._shortened(collector).full_output)
            ended_in = report.carry(workspace, self.folder)
            if ended.left:
                job = self._adopt(running, collector, watch, ended.left)
                job.unread.skip()  # this result has the output so far: shell_output goes on after it
                return self._result(ended, collector, confined, watch.note, ended_in, job.id)
            await watch.end()
            return self._result(ended, collector, confined, watch.note, ended_in)

    async def _start_in_background(
        self, confined: SandboxedCommand, folder: Path, watch: CommandSnapshot
    ) -> ToolResult:
        try:
            job = self._start(confined.argv, folder)
        except BaseException:
            await watch.end()
            raise
        # The snapshot ends with the command, or undo would miss what it changes after this call.
        self.tool.workspace.command_snapshots.end_after(watch, job.wait_until_ended())
        if not self.params.wait:
            return started_result(job, confined, 0, note=watch.note)
        try:
            news, state = await job.read_whole(self.tool.limit, self.params.wait)
        except BaseException:
            await job.kill()
            raise
        return started_result(
            job, confined, 0, news.text, watch.note, condition_text(state) if state.has_ended else ""
        )

    def _folder(self) -> Path:
        folder = self.tool.workspace.recheck(self.params.path, self.folder)
        if not folder.is_dir():
            code = ErrorCode.PATH_IS_NOT_A_DIRECTORY if folder.exists() else ErrorCode.FILE_NOT_FOUND
            raise ToolFailure(
                code,
                f"The folder {self.params.path} to run the command in does not exist or is not a folder.",
            )
        return folder

    def _start(self, argv: list[str], folder: Path) -> BackgroundCommand:
        limits = Limits(self.params.timeout or inf, self.params.silence or inf)
        with _translated_start_errors():
            return self.tool.workspace.jobs.start(
                self.params.command, argv, folder, self._environment(), limits
            )

    def _environment(self) -> dict[str, str]:
        return environment(os.environ, secrets=self.tool.workspace.settings.secrets)

    def _limits(self) -> Limits:
        return Limits(self.params.timeout or self.tool.timeout, self.params.silence or self.tool.silence)

    def _adopt(
        self,
        running: RunningProgram,
        collector: OutputCollector,
        watch: CommandSnapshot,
        left: tuple[int, ...] = (),
    ) -> BackgroundCommand:
        """Registers a running command, or the processes ``left`` by it, as a background command."""
        job = self.tool.workspace.jobs.adopt(self.params.command, running, collector, left=left)
        self.tool.workspace.command_snapshots.end_after(watch, job.wait_until_ended())
        return job

    @property
    def _limit(self) -> int:
        return self.params.characters or self.tool.limit

    def _shortened(self, collector: OutputCollector) -> ShortenedOutput:
        if self.params.characters is None:
            return collector.shortened(self._limit)
        return collector.shortened(self._limit, 0.5)

    def _move_to_background(
        self,
        running: RunningProgram,
        collector: OutputCollector,
        confined: SandboxedCommand,
        watch: CommandSnapshot,
    ) -> ToolResult:
        job = self._adopt(running, collector, watch)
        text = job.unread.read(self._limit, final=False).text
        return started_result(job, confined, self.params.timeout or self.tool.timeout, text, watch.note)

    def _result(
        self,
        ended: ProgramResult,
        collector: OutputCollector,
        confined: SandboxedCommand,
        undo_note: str,
        ended_in: str,
        job: str = "",
    ) -> ToolResult:
        text, complete = collector.display()
        if not complete:
            collector.write_to_file()
        output = self._shortened(collector)
        meaning = exit_meaning(self.params.command, ended.exit_code)
        why = confined.description if ended.exit_code and not meaning and confined.confined else ""
        secrets = self._secrets_note(ended, output.text)
        reset = reset_note(str(self.tool.workspace.root)) if Path(ended_in).is_absolute() else ""
        notes = without_empty(
            ended_processes(ended),
            collector.problem,
            why,
            confined.created_warning(),
            undo_note,
            secrets,
            reset,
        )
        remarks = without_empty(_stopped(ended, self), meaning, left_processes(ended, job))
        data = ShellData(
            ended.exit_code,
            ended.signal,
            collector.lines,
            collector.bytes,
            round(ended.seconds, 3),
            output.full_output,
            ended.stopped,
            meaning,
            output.text,
            confined.description,
            ended.left,
            job,
            ended_in,
        )
        # The message of a stopped command has its remarks already.
        note = joined("; ", notes if ended.stopped else (*remarks, *notes))
        display = CommandOutput(text, collector.lines, ended.exit_code, collector.full_output, note)
        error = (
            ToolError(ErrorCode.TIMEOUT, Message.of("The command ", joined("; ", remarks), "."))
            if ended.stopped
            else None
        )
        content = result_text(output.text, ended, remarks)
        return ToolResult(
            content, display, error, result_summary(ended, collector.lines), data, bracketed(notes)
        )

    def _secrets_note(self, ended: ProgramResult, text: str) -> str:
        """Names the removed variables, once, if the command may have failed because they are missing."""
        if (
            not ended.exit_code
            or self.tool.workspace.settings.secrets
            or self.tool.has_named_secrets
            or not _MAY_NEED_SECRETS.search(text)
        ):
            return ""
        names = ", ".join(sorted(secret_variables(os.environ)))
        self.tool.has_named_secrets = bool(names)
        why = "variables that look like secrets are not passed to commands"
        return f"{why}: {names}; Settings(secrets=True) passes them" if names else ""


_MAY_NEED_SECRETS = re.compile(
    r"(?i)auth|token|credential|password|secret|api.?key|logged in|log in|login|\b40[13]\b|permission"
    r" denied|not set|unset|KeyError"
)


@contextmanager
def _translated_start_errors() -> Iterator[None]:
    """Turns the exceptions of a failed start into ``ToolFailure``."""
    try:
        yield
    except ValueError as error:
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, f"The command cannot be passed to bash: {error}."
        ) from None
    except OSError as error:
        raise from_os_error(error, "The command cannot be started", ErrorCode.SHELL_EXECUTE_ERROR) from None


def _output_updater(collector: OutputCollector, update_output: UpdateOutput) -> Callable[[], None]:
    def update() -> None:
        text, _ = collector.display()
        update_output(CommandOutput(text, collector.lines, None))

    return update


def _stopped(ended: ProgramResult, invocation: ShellInvocation) -> str:
    if ended.stopped == "time":
        seconds = invocation.params.timeout or invocation.tool.timeout
        longest = SameCall({"timeout": invocation.tool.longest})
        longer = (
            Advice(" (the call ", longest, " gives it the longest time)")
            if seconds < invocation.tool.longest
            else ""
        )
        return Message.of(f"was stopped after {seconds:g} seconds", longer)
    seconds = invocation.params.silence or invocation.tool.silence
    return f"was stopped after {seconds:g} seconds without output" if ended.stopped else ""
