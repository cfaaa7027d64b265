"""Typing into a terminal: a command for its bash, or input for the program that runs in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.shell_syntax import parse_shell
from nbtools.core.tool import BaseToolInvocation, CommandTarget, Kind, UpdateOutput
from nbtools.tools.terminal_open import TerminalState, shown_of, state_of, words_of
from nbtools.workspace.commands.environment import shell_name
from nbtools.workspace.commands.terminal import Look, Terminal
from nbtools.workspace.pulse import Pulse
from nbtools.workspace.workspace import Workspace

_INPUT = "?"
"""Stands for what a program makes of its input: that is not known."""


class TerminalRunParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    """The terminal's number or name."""
    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """What to type: a command line, or input for the program that runs. ^C, ^D and their like alone are those keys."""
    wait: Annotated[float, Field(ge=0)] = 5
    """Seconds to wait for the command to finish, or for a program to wait for input; what goes on then is not ended."""
    enter: bool = True
    """Press Enter after it."""
    rows: int | None = Field(default=None, ge=2, le=500)
    """A new height of the window."""
    columns: int | None = Field(default=None, ge=10, le=1_000)
    """A new width of the window."""


@dataclass(frozen=True, slots=True)
class TerminalRan(TerminalState):
    """A terminal after something was typed.  ``finished``: bash has run it and waits for the next command, or has ended itself;
    ``exit_code`` is then the command's.
    """

    finished: bool


class TerminalRunTool(BaseDeclarativeTool[TerminalRunParams]):
    """``longest``: seconds that a call may wait."""

    name = "terminal_run"
    display_name = "Type into a terminal"
    description = (
        "Types a command into a terminal and gives the new output and the exit code once it has finished. "
        "A program that goes on or reads the keyboard is left running: what is typed next goes to it, "
        "and terminal_output gives what it prints."
    )
    kind = Kind.EXECUTE
    can_update_output = True
    parameters = TerminalRunParams

    def __init__(self, workspace: Workspace, *, longest: float = 600) -> None:
        self.workspace = workspace
        self.longest = longest

    def validate_tool_param_values(self, params: TerminalRunParams) -> str | None:
        if params.wait > self.longest:
            return f"wait is at most {self.longest:g} seconds (given {params.wait:g})."
        return None

    def create_invocation(self, params: TerminalRunParams) -> TerminalRunInvocation:
        return TerminalRunInvocation(params, self, self.workspace.terminals.get(params.id))


class TerminalRunInvocation(BaseToolInvocation[TerminalRunParams]):
    __slots__ = ("folder", "left", "moving", "tool")

    def __init__(self, params: TerminalRunParams, tool: TerminalRunTool, terminal: Terminal) -> None:
        super().__init__(params)
        self.tool = tool
        self.folder = terminal.folder(tool.workspace.root)
        """Where bash is when policy is asked."""
        self.moving = not terminal.at_prompt
        """Whether something runs that may change that before bash runs the command."""
        self.left = terminal.left if terminal.at_prompt else ""
        """What stands at the prompt already, so that bash will read it with the command as one line."""

    def get_description(self) -> str:
        return self.params.command

    def target(self) -> CommandTarget:
        return CommandTarget(self.left + self.params.command, self.tool.workspace.relative(self.folder), self.moving)

    async def should_confirm_execute(self) -> ToolExecuteConfirmationDetails:
        workspace = self.tool.workspace
        command = self.left + self.params.command
        roots = parse_shell(command).roots
        terminal = workspace.terminals.get(self.params.id)
        folder = workspace.relative(self.folder)
        title = f"Type this into terminal {self.params.id}?"
        note = workspace.watching.warning(self.params.command, moved=self.folder != workspace.root)
        return ToolExecuteConfirmationDetails(title, command, ", ".join(roots), roots, folder, terminal.confined.words, note, shell_name())

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        terminal = self.tool.workspace.terminals.get(self.params.id)
        if not terminal.open:
            message = f"Terminal {self.params.id} has ended. Open a new one with terminal_open; it may have the same name."
            raise ToolFailure(ErrorCode.EXECUTION_FAILED, message)
        self._check_place(terminal)
        if self.params.rows or self.params.columns:
            terminal.resize(self.params.rows or terminal.screen.rows, self.params.columns or terminal.screen.columns)
        workspace, whole = self.tool.workspace, terminal.at_prompt and not terminal.left
        moved = self.folder != workspace.root
        watch = await workspace.watching.begin(self.params.command if whole else _INPUT, update_output, moved=moved)
        finished = await self._typed(terminal, update_output) or not terminal.open
        if finished:
            await watch.end()
        return self._result(terminal, terminal.look(), finished, watch.note)

    def _check_place(self, terminal: Terminal) -> None:
        """Raises ``ToolFailure`` (``conflict``) where the command would run elsewhere than policy was told."""
        if terminal.folder(self.folder) != self.folder:
            raise ToolFailure(ErrorCode.CONFLICT, f"Terminal {self.params.id} is in another folder by now. Nothing was typed. Call again.")
        left = terminal.left if terminal.at_prompt else ""
        if (not terminal.at_prompt and not self.moving) or left != self.left:
            raise ToolFailure(ErrorCode.CONFLICT, f"Terminal {self.params.id} is busy by now. Nothing was typed. Call again.")

    async def _typed(self, terminal: Terminal, update_output: UpdateOutput | None) -> bool:
        """Whether the command has finished."""
        prompts, ahead = terminal.prompts, not terminal.at_prompt

        def tell() -> None:
            if update_output:
                text = terminal.screen.styled()
                update_output(CommandOutput(text, text.count("\n") + 1, None))

        pulse = Pulse(tell)
        terminal.watcher = pulse.touch
        try:
            await terminal.type(self.params.command, enter=self.params.enter)
            return await terminal.finished(prompts, self.params.wait, ahead=ahead)
        except BaseException:
            pulse.flush()
            raise
        finally:
            terminal.watcher = None
            pulse.stop()

    def _result(self, terminal: Terminal, look: Look, finished: bool, lost: str) -> ToolResult:
        state = state_of(self.tool.workspace, self.params.id, terminal, look)
        code = (terminal.exit_code if state.running else state.exit_code) if finished else None
        note = "; ".join(filter(None, (self._note(state, finished, code), lost)))
        data = TerminalRan(state.id, state.running, code, state.screen, state.new, state.path, finished, sandbox=state.sandbox)
        summary = f"exit {code}" if finished else "goes on"
        display = replace(shown_of(terminal, look, note), exit_code=code)
        return ToolResult(words_of(terminal, look, note), display, summary=summary, data=data)

    def _note(self, state: TerminalState, finished: bool, code: int | None) -> str:
        if not state.running:
            return f"terminal {state.id} has ended" + (f" with exit code {code}" if code is not None else "")
        return f"exit code {code}" if finished else f"still running in terminal {state.id}"
