"""Running a command line in a shell, watched while it runs and cleaned up after."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure, from_os_error
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.shell_syntax import parse_shell
from nbtools.core.tool import BaseToolInvocation, CommandTarget, Kind, ToolLocation, UpdateOutput
from nbtools.tools.exit_meaning import exit_meaning
from nbtools.workspace.commands.environment import environment, secret_variables, shell, shell_name
from nbtools.workspace.commands.jobs import Job
from nbtools.workspace.commands.output import OutputCollector
from nbtools.workspace.commands.process import Ended, Limits, Running, start
from nbtools.workspace.commands.sandbox import Confined
from nbtools.workspace.journal.watching import Watch
from nbtools.workspace.pulse import Pulse
from nbtools.workspace.workspace import Workspace


class ShellParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """The command line, as bash reads it. It gets no input: what it would read from the keyboard is at its end at once."""
    path: str = "."
    """The folder to run it in."""
    timeout: Annotated[float | None, Field(gt=0)] = None
    """Seconds it may take, 120 unless said, at most 600. In the background as long as it likes unless said."""
    silence: Annotated[float | None, Field(gt=0)] = None
    """Seconds it may print nothing, 300 unless said. In the background as long as it likes unless said."""
    background: bool = False
    """Start it and return at once; shell_output gives its output, shell_kill ends it."""
    keep: bool = False
    """When its time is over, let it go on in the background instead of ending it."""


@dataclass(frozen=True, slots=True)
class ShellData:
    """How the command went.  ``exit_code`` is None where ``signal`` ended it; ``full_output`` is empty when all of it is shown.

    ``stopped`` names the limit that ended it; ``meaning`` is what an exit code of 1 says where it is no failure; ``text`` is what a model
    reads of the output.  ``sandbox`` says what confined it, or why nothing did; empty where no sandbox is wanted.  A signal that ends a
    command in a sandbox is an exit code, 128 and its number.
    """

    exit_code: int | None
    signal: str
    lines: int
    bytes: int
    seconds: float
    full_output: str
    stopped: Literal["", "time", "silence"] = ""
    meaning: str = ""
    text: str = ""
    sandbox: str = ""


@dataclass(frozen=True, slots=True)
class ShellStarted:
    """The command runs on in the background, since its start or (``seconds`` later, with ``text`` printed) since its time was over."""

    id: str
    pid: int
    full_output: str
    seconds: float = 0
    text: str = ""
    sandbox: str = ""


class ShellTool(BaseDeclarativeTool[ShellParams]):
    """``timeout`` and ``longest``: the usual and the highest limit in seconds.  ``silence``: seconds without output.  ``limit``: characters
    of output that a model reads.
    """

    name = "shell"
    display_name = "Shell"
    description = (
        "Runs a command line with bash in the workspace and gives its output (errors included) and its exit code. "
        "Nothing keeps running after the call, unless background or keep is set; then until the session ends."
    )
    output_limit = 200_000
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
        self.told = False
        """Whether it was said which variables commands do not get."""

    def validate_tool_param_values(self, params: ShellParams) -> str | None:
        if not params.command.strip():
            return "command is empty. Give the command line to run."
        if "\0" in params.command:
            return "command has a NUL character in it, which no shell takes."
        if params.timeout is not None and params.timeout > self.longest and not params.background:
            return f"timeout is at most {self.longest:g} seconds (given {params.timeout:g})."
        return None

    def create_invocation(self, params: ShellParams) -> ShellInvocation:
        folder = self.workspace.resolve(params.path)
        if params.timeout is None and not params.background:
            params = params.model_copy(update={"timeout": self.timeout})
        return ShellInvocation(params, self, folder)


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

    @property
    def _moved(self) -> bool:
        return self.folder != self.tool.workspace.root

    def target(self) -> CommandTarget:
        return CommandTarget(self.params.command, "." if self.params.path == "." else self.tool.workspace.relative(self.folder))

    async def should_confirm_execute(self) -> ToolExecuteConfirmationDetails:
        roots = parse_shell(self.params.command).roots
        folder = self.tool.workspace.relative(self.folder)
        sandbox = self.tool.workspace.sandbox.words(self.tool.workspace.settings)
        note = self.tool.workspace.watching.warning(self.params.command, moved=self._moved)
        title, command = "Run this command?", self.params.command
        return ToolExecuteConfirmationDetails(title, command, ", ".join(roots), roots, folder, sandbox, note, shell_name())

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        folder = self._folder()
        confined = await self.tool.workspace.confined([shell(), "-c", self.params.command], folder)
        watch = await self.tool.workspace.watching.begin(self.params.command, update_output, moved=self._moved)
        if self.params.background:
            return await self._in_background(confined, folder, watch)
        with closing(OutputCollector()) as collector:
            pulse = Pulse(_teller(collector, update_output)) if update_output else None

            def receive(chunk: bytes) -> None:
                collector.receive(chunk)
                if pulse:
                    pulse.touch()

            try:
                ended = await self._run(confined.argv, folder, receive)
            except BaseException:
                if update_output:
                    update_output(_so_far(collector))
                await watch.end()
                raise
            finally:
                if pulse:
                    pulse.stop()
            if isinstance(ended, Ended):
                await watch.end()
                return self._result(ended, collector, confined, watch.note)
            return self._kept(ended, collector, confined, watch)

    async def _in_background(self, confined: Confined, folder: Path, watch: Watch) -> ToolResult:
        try:
            job = self._start(confined.argv, folder)
        except BaseException:
            await watch.end()
            raise
        self.tool.workspace.watching.end_after(watch, job.over())
        return _started(job, confined, 0, note=watch.note)

    def _folder(self) -> Path:
        folder = self.tool.workspace.still(self.params.path, self.folder)
        if not folder.is_dir():
            code = ErrorCode.PATH_IS_NOT_A_DIRECTORY if folder.exists() else ErrorCode.FILE_NOT_FOUND
            raise ToolFailure(code, f"{self.params.path}: there is no such folder to run the command in.")
        return folder

    def _start(self, argv: list[str], folder: Path) -> Job:
        limits = Limits(self.params.timeout or inf, self.params.silence or inf)
        with _startable():
            return self.tool.workspace.jobs.start(self.params.command, argv, folder, self._environment(), limits)

    def _environment(self) -> dict[str, str]:
        return environment(os.environ, secrets=self.tool.workspace.settings.secrets)

    async def _run(self, argv: list[str], folder: Path, receive: Callable[[bytes], None]) -> Ended | Running:
        """How it ended, or what goes on when its time is over."""
        limits = Limits(self.params.timeout or self.tool.timeout, self.params.silence or self.tool.silence)
        with _startable():
            running = start(argv, cwd=folder, env=self._environment(), receive=receive)
        if self.params.keep:
            return await running.finished_in_time(limits) or running
        return await running.finished(limits)

    def _kept(self, running: Running, collector: OutputCollector, confined: Confined, watch: Watch) -> ToolResult:
        job = self.tool.workspace.jobs.adopt(self.params.command, running, collector)
        self.tool.workspace.watching.end_after(watch, job.over())
        text = job.unread.take(self.tool.limit, final=False).text
        return _started(job, confined, self.params.timeout or self.tool.timeout, text, watch.note)

    def _result(self, ended: Ended, collector: OutputCollector, confined: Confined, lost: str) -> ToolResult:
        text, complete = collector.display()
        if not complete:
            collector.keep()
        shown = collector.shown(self.tool.limit)
        meaning = exit_meaning(self.params.command, ended.exit_code)
        why = confined.words if ended.exit_code and not meaning and confined.confined else ""
        by_sandbox = (why, confined.made())
        parts = (_stopped(ended, self), meaning, _background(ended), collector.problem, *by_sandbox, lost, self._without(ended, shown.text))
        note = "; ".join(part for part in parts if part)
        data = ShellData(
            ended.exit_code,
            ended.signal,
            collector.lines,
            collector.bytes,
            round(ended.seconds, 3),
            shown.full_output,
            ended.stopped,
            meaning,
            shown.text,
            confined.words,
        )
        display = CommandOutput(text, collector.lines, ended.exit_code, shown.full_output, note)
        error = ToolError(ErrorCode.TIMEOUT, f"The command {note}.") if ended.stopped else None
        return ToolResult(_llm_content(shown.text, ended, note), display, error, _summary(ended, collector.lines), data)

    def _without(self, ended: Ended, text: str) -> str:
        """Said once: which variables a command went without, where it may have failed for that."""
        if not ended.exit_code or self.tool.workspace.settings.secrets or self.tool.told or not _MISSED.search(text):
            return ""
        names = ", ".join(sorted(secret_variables(os.environ)))
        self.tool.told = bool(names)
        return f"commands do not get variables that look like secrets: {names}; Settings(secrets=True) passes them" if names else ""


_MISSED = re.compile(
    r"(?i)auth|token|credential|password|secret|api.?key|logged in|log in|login|\b40[13]\b|permission denied|not set|unset|KeyError"
)


@contextmanager
def _startable() -> Iterator[None]:
    """Where a command cannot be started: why."""
    try:
        yield
    except ValueError as error:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"The command cannot be given to a shell: {error}.") from None
    except OSError as error:
        raise from_os_error(error, "The command cannot be started", ErrorCode.SHELL_EXECUTE_ERROR) from None


def _started(job: Job, confined: Confined, seconds: float, text: str = "", note: str = "") -> ToolResult:
    """``seconds``: after which it went into the background; ``text``: what it had printed by then; ``note``: what is to be said beside."""
    lost = f" ({note})" if note else ""
    path = job.output.full_output
    since = f"Still running after {seconds:g} seconds, it goes on" if seconds else "Running"
    where = f"its output goes to {path}" if path else f"its output is not kept in a file: {job.output.problem}"
    advice = "Read it with shell_output, end it with shell_kill."
    told = f"{since} in the background with the id {job.id} (pid {job.pid}); {where}. {advice}"
    gap = "" if text.endswith("\n") else "\n"
    content = f"{text}{gap}({told}){lost}" if text else f"{told}{lost}"
    display = CommandOutput(job.output.display()[0], job.output.lines, None, path, f"runs in the background, id {job.id}")
    data = ShellStarted(job.id, job.pid, path, seconds, text, confined.words)
    return ToolResult(content, display, summary=f"runs in the background, id {job.id}", data=data)


def _so_far(collector: OutputCollector) -> CommandOutput:
    """The output of a command that is cancelled; where it is more than is shown, a file has all of it."""
    text, complete = collector.display()
    if not complete:
        collector.keep()
    return CommandOutput(text, collector.lines, None, "" if complete else collector.full_output, collector.problem)


def _teller(collector: OutputCollector, update_output: UpdateOutput) -> Callable[[], None]:
    def tell() -> None:
        text, _ = collector.display()
        update_output(CommandOutput(text, collector.lines, None))

    return tell


def _stopped(ended: Ended, invocation: ShellInvocation) -> str:
    if ended.stopped == "time":
        seconds = invocation.params.timeout or invocation.tool.timeout
        return f"was stopped after {seconds:g} seconds (give a longer timeout, at most {invocation.tool.longest:g}, if it needs more)"
    seconds = invocation.params.silence or invocation.tool.silence
    return f"was stopped after {seconds:g} seconds without output" if ended.stopped else ""


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
