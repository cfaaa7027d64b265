"""The `shell_output` and `shell_kill` tools for background commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Message, Parameter, counted
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.schema.patterns import compile_pattern, pattern_occurs
from nbtools.core.tool import Example, Kind, UpdateOutput
from nbtools.tools.workspace_tool import WorkspaceInvocation
from nbtools.workspace.processes.background import BackgroundCommand, JobState, NewOutput, Status
from nbtools.workspace.workspace import Workspace

_FILTER_TIMEOUT = 5.0
"""Seconds that a filter may take for all lines together."""


class ShellOutputParams(ParameterModel):
    id: Annotated[str | None, Field(coerce_numbers_to_str=True)] = None
    """The command's id, as returned by shell. Default: lists all background commands."""
    filter: str | None = None
    """A regular expression without look-around and back-references: only matching lines are returned;
    the others count as read.
    """
    wait: Annotated[float, Field(ge=0)] = 0
    """Seconds to wait for new (matching) output or the end of the command, at most 600."""
    whole: bool = False
    """Return all output, also what earlier calls returned; wait then waits for the end of the command."""


@dataclass(frozen=True, slots=True)
class ShellOutput:
    """The state of a background command.

    ``status``: ``running``, ``exited``, ``killed`` (by nbtools or by ``signal``), or ``left`` (it has exited,
    but processes it started still run).  ``text`` is the new output, ``new_lines`` counts the new lines (also
    those not in the text), ``lines`` all lines.  ``stopped`` names the limit that ended it.  ``full_output``
    is the file with the whole output.  ``whole``: the text is all output.  ``ended_before``: it was to be
    ended and had ended already.  ``left``: the processes that it left running when it exited.
    """

    id: str
    status: Status
    exit_code: int | None
    text: str
    lines: int
    new_lines: int
    full_output: str
    command: str
    seconds: float
    pid: int
    signal: str = ""
    stopped: str = ""
    whole: bool = False
    ended_before: bool = False
    left: tuple[int, ...] = ()


class ShellOutputTool(BaseDeclarativeTool[ShellOutputParams]):
    """Returns new output of background commands.

    ``longest``: maximum ``wait`` in seconds.  ``limit``: characters of output for a model.
    """

    name = "shell_output"
    display_name = "Shell output"
    description = (
        "Returns what a background command has printed since the last call, and whether it still runs. "
        "Without an id it lists the background commands."
    )
    kind = Kind.READ
    runs_beside = True
    parameters = ShellOutputParams
    examples = (
        Example("Lists the commands in the background.", {}),
        Example(
            "Shows what command 1 has printed, and waits for it for up to 10 seconds.",
            {"id": "1", "wait": 10},
        ),
    )

    def __init__(self, workspace: Workspace, *, longest: float = 600, limit: int = 40_000) -> None:
        self.workspace = workspace
        self.longest = longest
        self.limit = limit
        self.output_limit = limit + 2_000

    def validate_tool_param_values(self, params: ShellOutputParams) -> str | None:
        if params.wait > self.longest:
            return Message.of(
                Parameter("wait"), f" is at most {self.longest:g} seconds (given {params.wait:g})."
            )
        if params.whole and (params.filter is not None or params.id is None):
            whole = Parameter("whole")
            problem = Message.of(whole, " needs an ", Parameter("id"), " and has no ", Parameter("filter"))
            return Message.of(problem, ". Leave out ", whole, " for new lines that match the filter.")
        if params.filter is not None:
            try:
                compile_pattern(params.filter)
            except ValueError as error:
                return Message.of(Parameter("filter"), f" is not a valid regular expression: {error}.")
        return None

    def create_invocation(self, params: ShellOutputParams) -> ShellOutputInvocation:
        if params.id is not None:
            self.workspace.jobs.get(params.id)
        return ShellOutputInvocation(self, params)


class ShellOutputInvocation(WorkspaceInvocation[ShellOutputParams, ShellOutputTool]):
    __slots__ = ()

    def get_description(self) -> str:
        return self.params.id or "all"

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        jobs = self.tool.workspace.jobs
        if self.params.id is None:
            return _list_result(jobs.all())
        matches = None if self.params.filter is None else _matcher(self.params.filter)
        job = jobs.get(self.params.id)
        if self.params.whole:
            return output_result(job, *await job.read_whole(self.tool.limit, self.params.wait), whole=True)
        return output_result(job, *await job.read(self.tool.limit, matches, self.params.wait))


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Returns a function that tells whether a line matches;
    it raises ``ToolFailure`` if matching takes too long.
    """
    left = _FILTER_TIMEOUT

    def matches(line: str) -> bool:
        nonlocal left
        began = time.monotonic()
        found = pattern_occurs(pattern, line)
        left -= time.monotonic() - began
        if left < 0:
            message = (
                f"The filter took longer than {_FILTER_TIMEOUT:g} seconds. Give a simpler one; no output"
                " counts as read."
            )
            raise ToolFailure(ErrorCode.TIMEOUT, message)
        return found

    return matches


def output_result(
    job: BackgroundCommand,
    news: NewOutput,
    condition: JobState,
    *,
    whole: bool = False,
    ended_before: bool = False,
) -> ToolResult:
    """Returns the result for one command: its new output, or the ``whole``, and its state."""
    state = f"{'had already ended: ' if ended_before else ''}{condition_text(condition)}"
    text = news.text or ("(no output)\n" if whole else "(no new output)\n")
    if news.lines and not news.text:
        text = "(no new line matches)\n"
    content = f"{text}{'' if text.endswith(chr(10)) else chr(10)}({state})"
    display = CommandOutput(news.text, job.output.lines, condition.exit_code, job.output.full_output, state)
    lines = counted(news.lines, "line" if whole else "new line")
    data = output_data(job, condition, news, whole=whole, ended_before=ended_before)
    notes = (f"({job.output.problem})",) if job.output.problem else ()
    return ToolResult(content, display, summary=f"{lines} · {state}", data=data, notes=notes)


def output_data(
    job: BackgroundCommand,
    condition: JobState,
    news: NewOutput,
    *,
    whole: bool = False,
    ended_before: bool = False,
) -> ShellOutput:
    return ShellOutput(
        id=job.id,
        status=condition.status,
        exit_code=condition.exit_code,
        text=news.text,
        lines=job.output.lines,
        new_lines=news.lines,
        full_output=job.output.full_output,
        command=job.command,
        seconds=condition.seconds,
        pid=job.pid,
        signal=condition.signal,
        stopped=condition.stopped,
        left=job.left,
        whole=whole,
        ended_before=ended_before,
    )


def condition_text(condition: JobState) -> str:
    """Returns the state as text, such as ``exited with 0 after 3 s``."""
    seconds = f"{condition.seconds:,.0f} s" if condition.seconds >= 1 else f"{condition.seconds:.2g} s"
    code = "" if condition.exit_code is None else f" with {condition.exit_code}"
    match condition.status:
        case "running":
            return f"running for {seconds}"
        case "exited":
            return f"exited{code} after {seconds}"
        case "left":
            return (
                f"exited{code or f' by {condition.signal}'} after {seconds}; processes it started still run"
            )
        case "killed":
            limit = {"": "", "time": ": timeout", "silence": ": no output for too long"}[condition.stopped]
            return f"ended{code or f' by {condition.signal}'} after {seconds}{limit}"


def _list_result(jobs: tuple[BackgroundCommand, ...]) -> ToolResult:
    """Returns one line for each command; no output counts as read."""
    states = [(job, job.state()) for job in jobs]
    lines = [
        f"{job.id}  {condition_text(condition)}  {_in_one_line(job.command)}" for job, condition in states
    ]
    text = "\n".join(lines) or "No background commands were started."
    running = sum(condition.status in ("running", "left") for _, condition in states)
    data = tuple(output_data(job, condition, NewOutput("", 0)) for job, condition in states)
    return ToolResult(text, text, summary=f"{running} running, {len(jobs)} in all", data=data)


def _in_one_line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 100 else f"{line[:99]}…"


class ShellKillParams(ParameterModel):
    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    """The command's id, as returned by shell."""


class ShellKillTool(BaseDeclarativeTool[ShellKillParams]):
    """Ends a background command.  ``limit``: characters of its last output for a model.
    Its data is a ``ShellOutput``.

    It needs no approval, because it ends only commands that this session started.
    """

    name = "shell_kill"
    display_name = "End a command"
    description = (
        "Ends a background command and every process it started, forcibly after 2 seconds. Returns its last"
        " output and how it ended."
    )
    kind = Kind.EXECUTE
    asks = False
    runs_beside = True
    parameters = ShellKillParams
    examples = (
        Example("Ends background command 1.", {"id": "1"}),
        Example("Ends background command 2.", {"id": "2"}),
    )

    def __init__(self, workspace: Workspace, *, limit: int = 40_000) -> None:
        self.workspace = workspace
        self.limit = limit
        self.output_limit = limit + 2_000

    def create_invocation(self, params: ShellKillParams) -> ShellKillInvocation:
        self.workspace.jobs.get(params.id)
        return ShellKillInvocation(self, params)


class ShellKillInvocation(WorkspaceInvocation[ShellKillParams, ShellKillTool]):
    __slots__ = ()

    def get_description(self) -> str:
        return self.params.id

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        job = self.tool.workspace.jobs.get(self.params.id)
        ended_before = job.state().has_ended
        await job.kill()
        return output_result(job, *await job.read(self.tool.limit, None, 0), ended_before=ended_before)
