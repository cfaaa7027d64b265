"""The `terminal_open`, `terminal_output` and `terminal_kill` tools for persistent bash terminals."""

from __future__ import annotations

import os
import re
from typing import Annotated

from pydantic import Field

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.core.message import Message, Parameter
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.result_data import TerminalState
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import (
    CommandTarget,
    Example,
    Kind,
    ToolLocation,
    UpdateOutput,
)
from nbtools.tools.workspace_tool import WorkspaceInvocation, WorkspaceTool
from nbtools.workspace.processes.environment import environment, shell
from nbtools.workspace.processes.terminal import ScreenContent, Terminal, terminal_argv
from nbtools.workspace.workspace import Workspace

_STARTING = 10.0
"""Seconds that bash may take to run the person's start-up files."""
_NAME = re.compile(r"[\w.-]{1,40}")


class TerminalOpenParams(ParameterModel):
    path: str = "."
    """The folder to start in."""
    rows: int = Field(default=24, ge=2, le=500)
    """Height of the window in rows."""
    columns: int = Field(default=80, ge=10, le=1_000)
    """Width of the window in characters."""
    name: str | None = None
    """The terminal's name. Default: a number."""


class TerminalOpenTool(WorkspaceTool[TerminalOpenParams]):
    name = "terminal_open"
    display_name = "Open a terminal"
    description = (
        "Opens a bash terminal that keeps its working directory, variables and functions between commands and"
        " can run interactive programs. Type into it with terminal_run. It is closed when the session ends."
    )
    kind = Kind.EXECUTE
    parameters = TerminalOpenParams
    examples = (
        Example("Opens a terminal.", {}),
        Example("Opens a terminal named build in a folder.", {"path": "src", "name": "build"}),
    )

    def validate_tool_param_values(self, params: TerminalOpenParams) -> str | None:
        if params.name is not None and not _NAME.fullmatch(params.name):
            return Message.of(
                Parameter("name"), " must be 1 to 40 letters, digits, dots, dashes and underscores."
            )
        return None

    def create_invocation(self, params: TerminalOpenParams) -> TerminalOpenInvocation:
        self.workspace.resolve(params.path)
        return TerminalOpenInvocation(self, params)


class TerminalOpenInvocation(WorkspaceInvocation[TerminalOpenParams, TerminalOpenTool]):
    __slots__ = ()

    def get_description(self) -> str:
        return self.params.name or self.params.path

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.tool.workspace.resolve(self.params.path))),)

    def target(self) -> CommandTarget:
        workspace = self.tool.workspace
        return CommandTarget("bash", workspace.relative(workspace.resolve(self.params.path)))

    async def should_confirm_execute(self) -> ToolExecuteConfirmationDetails:
        folder = self.tool.workspace.relative(self.tool.workspace.resolve(self.params.path))
        sandbox = self.tool.workspace.sandbox.description(self.tool.workspace.settings)
        return ToolExecuteConfirmationDetails("Open a terminal?", "bash", "bash", ("bash",), folder, sandbox)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        workspace = self.tool.workspace
        folder = workspace.resolve(self.params.path)
        if not folder.is_dir():
            code = ErrorCode.PATH_IS_NOT_A_DIRECTORY if folder.exists() else ErrorCode.FILE_NOT_FOUND
            raise ToolFailure(
                code,
                f"The folder {self.params.path} to open a terminal in does not exist or is not a folder.",
            )
        rows, columns = self.params.rows, self.params.columns
        confined = await workspace.sandboxed(terminal_argv(shell()), folder, terminal=True)
        env = environment(os.environ, secrets=workspace.settings.secrets)
        try:
            id_, terminal = await workspace.terminals.open(
                self.params.name, confined, folder, env, rows, columns
            )
        except OSError as error:
            raise from_os_error(
                error, "The terminal cannot be opened", ErrorCode.SHELL_EXECUTE_ERROR
            ) from None
        await terminal.wait_for_prompt(0, _STARTING, ahead=False)
        look = terminal.read_screen()
        state = terminal_state(workspace, id_, terminal, look)
        text = f"Terminal {id_} is open in {state.path}, {rows} rows of {columns} columns."
        return ToolResult(text, terminal_display(terminal, look, text), summary=f"terminal {id_}", data=state)


def terminal_state(workspace: Workspace, id_: str, terminal: Terminal, look: ScreenContent) -> TerminalState:
    path = workspace.relative(terminal.folder(workspace.root))
    return TerminalState(
        id_,
        terminal.open,
        bash_code(terminal),
        look.screen,
        look.new,
        path,
        sandbox=terminal.confined.description,
    )


def bash_code(terminal: Terminal) -> int | None:
    """Returns the exit code of a terminal's bash; None while it runs or if a signal ended it."""
    status = terminal.end_status
    return None if status is None or status < 0 else status


def terminal_display(terminal: Terminal, look: ScreenContent, note: str) -> CommandOutput:
    """Returns the display of the window, with colours."""
    return CommandOutput(look.styled, look.screen.count("\n") + 1, bash_code(terminal), note=note)


def terminal_text(terminal: Terminal, look: ScreenContent, note: str) -> str:
    """Returns the text for a model: the new lines, and the screen if a full-screen program runs."""
    lost = (
        f"[… {look.lost:,} earlier lines were discarded; redirect long output to a file]\n"
        if look.lost
        else ""
    )
    full_screen = terminal.screen.main is not None
    parts = [
        lost + look.new.rstrip() if look.new.strip() else "",
        f"The screen:\n{look.screen}" if full_screen else "",
    ]
    return "\n".join(part for part in (*parts, f"({note})") if part)


class TerminalOutputParams(ParameterModel):
    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    """The terminal's number or name."""
    wait: Annotated[float, Field(ge=0)] = 0
    """Seconds to wait for new output, at most 600."""


class TerminalOutputTool(BaseDeclarativeTool[TerminalOutputParams]):
    """Returns new output of a terminal.  ``longest``: maximum ``wait`` in seconds.
    Its data is a ``TerminalState``.
    """

    name = "terminal_output"
    display_name = "Terminal output"
    description = (
        "Returns what a terminal has printed since the last call, and its screen if a full-screen program"
        " runs in it."
    )
    kind = Kind.READ
    runs_beside = True
    parameters = TerminalOutputParams
    examples = (
        Example("Shows the screen of terminal 1.", {"id": "1"}),
        Example("Waits up to 5 seconds for new output.", {"id": "1", "wait": 5}),
    )

    def __init__(self, workspace: Workspace, *, longest: float = 600) -> None:
        self.workspace = workspace
        self.longest = longest

    def validate_tool_param_values(self, params: TerminalOutputParams) -> str | None:
        if params.wait > self.longest:
            return Message.of(
                Parameter("wait"), f" is at most {self.longest:g} seconds (given {params.wait:g})."
            )
        return None

    def create_invocation(self, params: TerminalOutputParams) -> TerminalOutputInvocation:
        self.workspace.terminals.get(params.id)
        return TerminalOutputInvocation(self, params)


class TerminalOutputInvocation(WorkspaceInvocation[TerminalOutputParams, TerminalOutputTool]):
    __slots__ = ()

    def get_description(self) -> str:
        return self.params.id

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        terminal = self.tool.workspace.terminals.get(self.params.id)
        if self.params.wait and not terminal.has_new_output:
            await terminal.wait_for_output(self.params.wait)
        return terminal_result(self.tool.workspace, self.params.id, terminal)


def terminal_result(workspace: Workspace, id_: str, terminal: Terminal) -> ToolResult:
    """Returns the result for a terminal: its new output and its state."""
    look = terminal.read_screen()
    note = _note(terminal)
    content = terminal_text(terminal, look, note)
    return ToolResult(
        content,
        terminal_display(terminal, look, note),
        summary=note,
        data=terminal_state(workspace, id_, terminal, look),
    )


def _note(terminal: Terminal) -> str:
    if not terminal.open:
        code = bash_code(terminal)
        return "the terminal has ended" + (f" with exit code {code}" if code is not None else "")
    return "bash waits for a command" if terminal.at_prompt else "a program is running"


class TerminalKillParams(ParameterModel):
    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    """The terminal's number or name."""


class TerminalKillTool(WorkspaceTool[TerminalKillParams]):
    """Closes a terminal.  Its data is a ``TerminalState``.

    It needs no approval, because it ends only programs that this session started.
    """

    name = "terminal_kill"
    display_name = "Close a terminal"
    description = (
        "Closes a terminal and ends every program that runs in it. Its number or name can then be used again."
    )
    kind = Kind.EXECUTE
    asks = False
    runs_beside = True
    parameters = TerminalKillParams
    examples = (
        Example("Closes terminal 1.", {"id": "1"}),
        Example("Closes the terminal named build.", {"id": "build"}),
    )

    def create_invocation(self, params: TerminalKillParams) -> TerminalKillInvocation:
        self.workspace.terminals.get(params.id)
        return TerminalKillInvocation(self, params)


class TerminalKillInvocation(WorkspaceInvocation[TerminalKillParams, TerminalKillTool]):
    __slots__ = ()

    def get_description(self) -> str:
        return self.params.id

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        terminals = self.tool.workspace.terminals
        terminal = terminals.get(self.params.id)
        await terminals.close_terminal(self.params.id)
        return terminal_result(self.tool.workspace, self.params.id, terminal)
