"""Opening a terminal: a bash that keeps its folder, variables and functions from one command to the next."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.tool import BaseToolInvocation, CommandTarget, Kind, ToolLocation, UpdateOutput
from nbtools.workspace.commands.environment import environment, shell
from nbtools.workspace.commands.terminal import Look, Terminal, terminal_argv
from nbtools.workspace.workspace import Workspace

_STARTING = 10.0
"""Seconds that bash may take to read what the person has set up for it."""
_NAME = re.compile(r"[\w.-]{1,40}")


class TerminalOpenParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    path: str = "."
    """The folder to begin in."""
    rows: int = Field(default=24, ge=2, le=500)
    """Height of the window."""
    columns: int = Field(default=80, ge=10, le=1_000)
    """Width of the window in characters."""
    name: str | None = None
    """What to call it; a number unless said."""


@dataclass(frozen=True, slots=True)
class TerminalState:
    """A terminal at the time of the look.

    ``running``: its bash runs; ``exit_code`` is bash's where it does not (None: a signal ended it).  ``screen`` is what the window shows,
    ``new`` is the text that came since the last look, without colours, its lines in full length; a full-screen program adds none.
    ``path`` is the folder that bash is in.  ``sandbox`` says what confines it, or why nothing does; empty where no sandbox is wanted.
    """

    id: str
    running: bool
    exit_code: int | None
    screen: str
    new: str
    path: str
    sandbox: str = field(default="", kw_only=True)


class TerminalOpenTool(BaseDeclarativeTool[TerminalOpenParams]):
    name = "terminal_open"
    display_name = "Open a terminal"
    description = (
        "Opens a terminal with bash that keeps its folder, variables and functions between commands and can run programs that read the "
        "keyboard. Type into it with terminal_run. It ends with the session."
    )
    kind = Kind.EXECUTE
    parameters = TerminalOpenParams

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def validate_tool_param_values(self, params: TerminalOpenParams) -> str | None:
        if params.name is not None and not _NAME.fullmatch(params.name):
            return "name is 1 to 40 letters, digits, dots, dashes and underscores."
        return None

    def create_invocation(self, params: TerminalOpenParams) -> TerminalOpenInvocation:
        self.workspace.resolve(params.path)
        return TerminalOpenInvocation(params, self)


class TerminalOpenInvocation(BaseToolInvocation[TerminalOpenParams]):
    __slots__ = ("tool",)

    def __init__(self, params: TerminalOpenParams, tool: TerminalOpenTool) -> None:
        super().__init__(params)
        self.tool = tool

    def get_description(self) -> str:
        return self.params.name or self.params.path

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.tool.workspace.resolve(self.params.path))),)

    def target(self) -> CommandTarget:
        workspace = self.tool.workspace
        return CommandTarget("bash", workspace.relative(workspace.resolve(self.params.path)))

    async def should_confirm_execute(self) -> ToolExecuteConfirmationDetails:
        folder = self.tool.workspace.relative(self.tool.workspace.resolve(self.params.path))
        sandbox = self.tool.workspace.sandbox.words(self.tool.workspace.settings)
        return ToolExecuteConfirmationDetails("Open a terminal?", "bash", "bash", ("bash",), folder, sandbox)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        workspace = self.tool.workspace
        folder = workspace.resolve(self.params.path)
        if not folder.is_dir():
            code = ErrorCode.PATH_IS_NOT_A_DIRECTORY if folder.exists() else ErrorCode.FILE_NOT_FOUND
            raise ToolFailure(code, f"{self.params.path}: there is no such folder to open a terminal in.")
        rows, columns = self.params.rows, self.params.columns
        confined = await workspace.confined(terminal_argv(shell()), folder, terminal=True)
        env = environment(os.environ, secrets=workspace.settings.secrets)
        try:
            id_, terminal = await workspace.terminals.open(self.params.name, confined, folder, env, rows, columns)
        except OSError as error:
            raise from_os_error(error, "The terminal cannot be opened", ErrorCode.SHELL_EXECUTE_ERROR) from None
        await terminal.finished(0, _STARTING, ahead=False)
        look = terminal.look()
        state = state_of(workspace, id_, terminal, look)
        text = f"Terminal {id_} is open in {state.path}, {rows} rows of {columns} columns."
        return ToolResult(text, shown_of(terminal, look, text), summary=f"terminal {id_}", data=state)


def state_of(workspace: Workspace, id_: str, terminal: Terminal, look: Look) -> TerminalState:
    path = workspace.relative(terminal.folder(workspace.root))
    return TerminalState(id_, terminal.open, bash_code(terminal), look.screen, look.new, path, sandbox=terminal.confined.words)


def bash_code(terminal: Terminal) -> int | None:
    """The exit code of a terminal's bash; None while it runs and where a signal ended it."""
    status = terminal.end_status
    return None if status is None or status < 0 else status


def shown_of(terminal: Terminal, look: Look, note: str) -> CommandOutput:
    """The window as a person sees it."""
    return CommandOutput(look.styled, look.screen.count("\n") + 1, bash_code(terminal), note=note)


def words_of(terminal: Terminal, look: Look, note: str) -> str:
    """What a model reads: the lines that are new, and the window itself where a full-screen program has it."""
    lost = f"[… {look.lost:,} lines before these were too many to keep; send long output to a file]\n" if look.lost else ""
    full_screen = terminal.screen.main is not None
    parts = [lost + look.new.rstrip() if look.new.strip() else "", f"The screen:\n{look.screen}" if full_screen else ""]
    return "\n".join(part for part in (*parts, f"({note})") if part)
