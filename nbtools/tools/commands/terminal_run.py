"""The `terminal_run` tool: types into a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, ToolName
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.result_data import TerminalRunData, TerminalState
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import (
    Asks,
    BaseToolInvocation,
    CommandTarget,
    Example,
    Kind,
    UpdateOutput,
)
from nbtools.shell.grammar import parse_shell
from nbtools.tools.commands.terminal import terminal_display, terminal_state, terminal_text
from nbtools.workspace.processes.environment import shell_name
from nbtools.workspace.processes.terminal import ScreenContent, Terminal
from nbtools.workspace.throttle import Throttle
from nbtools.workspace.workspace import Workspace

_INPUT = "?"
"""The command to assume when a program gets the input: its effects are unknown."""


class TerminalRunParams(ParameterModel):
    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    """The terminal's number or name."""
    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """The text to type: a command line, or input for the running program.
    ^C, ^D and so on, alone, press that key.
    """
    wait: Annotated[float, Field(ge=0)] = 5
    """Seconds to wait until the command finishes or a program waits for input;
    a command that takes longer is not ended.
    """
    enter: bool = True
    """Whether to press Enter after the text."""
    rows: int | None = Field(default=None, ge=2, le=500)
    """New height of the window in rows."""
    columns: int | None = Field(default=None, ge=10, le=1_000)
    """New width of the window in characters."""


class TerminalRunTool(BaseDeclarativeTool[TerminalRunParams]):
    """Types into a terminal.  ``longest``: maximum ``wait`` in seconds."""

    name = "terminal_run"
    display_name = "Type into a terminal"
    description = (
        "Types a command into a terminal and returns the new output, and the exit code once it has finished. "
        "A program that runs longer or reads the keyboard is left running: the next input goes to it, "
        "and terminal_output returns what it prints."
    )
    kind = Kind.EXECUTE
    can_update_output = True
    parameters = TerminalRunParams
    examples = (
        Example("Runs a command in terminal 1.", {"id": "1", "command": "pwd"}),
        Example("Types a text without Enter.", {"id": "1", "command": "ls", "enter": False}),
    )

    def __init__(self, workspace: Workspace, *, longest: float = 600) -> None:
        self.workspace = workspace
        self.longest = longest

    def validate_tool_param_values(self, params: TerminalRunParams) -> str | None:
        if params.wait > self.longest:
            return Message.of(
                Parameter("wait"), f" is at most {self.longest:g} seconds (given {params.wait:g})."
            )
        if ("\t" in params.command and "\n" not in params.command) or params.command == "^I":
            return Message.of(
                Parameter("command"),
                " contains a tab, which completes a name in a terminal. Write blanks or $'\\t'.",
            )
        return None

    def create_invocation(self, params: TerminalRunParams) -> TerminalRunInvocation:
        return TerminalRunInvocation(params, self, self.workspace.terminals.get(params.id))


class TerminalRunInvocation(BaseToolInvocation[TerminalRunParams]):
    __slots__ = ("folder", "may_change_folder", "tool", "typed_text")

    def __init__(self, params: TerminalRunParams, tool: TerminalRunTool, terminal: Terminal) -> None:
        super().__init__(params)
        self.tool = tool
        self.folder = terminal.folder(tool.workspace.root)
        """Bash's working directory when the policy decides about the call."""
        self.may_change_folder = not terminal.at_prompt
        """Whether a running program may change that directory before bash runs the command."""
        self.typed_text = terminal.typed_text
        """Text already typed without Enter,
        which bash or the program will read together with the command as one line.
        """

    @property
    def asks(self) -> Asks:
        """``always`` while a program runs: what is typed is that program's input, whose effects are unknown.

        ``^C`` and ``^D`` type no text; ``^D`` after text without Enter sends that text.
        """
        keys = ("^C",) if self.typed_text else ("^C", "^D")
        return "always" if self.may_change_folder and self.params.command not in keys else None

    def get_description(self) -> str:
        return self.params.command

    def target(self) -> CommandTarget:
        return CommandTarget(
            self.typed_text + self.params.command,
            self.tool.workspace.relative(self.folder),
            self.may_change_folder,
        )

    async def should_confirm_execute(self) -> ToolExecuteConfirmationDetails:
        workspace = self.tool.workspace
        command = self.typed_text + self.params.command
        roots = parse_shell(command).roots
        terminal = workspace.terminals.get(self.params.id)
        folder = workspace.relative(self.folder)
        title = f"Type this into terminal {self.params.id}?"
        note = workspace.command_snapshots.warning(self.params.command, self.folder)
        return ToolExecuteConfirmationDetails(
            title, command, ", ".join(roots), roots, folder, terminal.confined.description, note, shell_name()
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        terminal = self.tool.workspace.terminals.get(self.params.id)
        if not terminal.open:
            message = Message.of(
                f"Terminal {self.params.id} has ended.",
                Advice(" Open a new one with ", ToolName("terminal_open"), "."),
            )
            raise ToolFailure(ErrorCode.EXECUTION_FAILED, message)
        self._check_unchanged(terminal)
        if self.params.rows or self.params.columns:
            terminal.resize(
                self.params.rows or terminal.screen.rows, self.params.columns or terminal.screen.columns
            )
        workspace, is_command = self.tool.workspace, terminal.at_prompt and not terminal.typed_text
        command = self.params.command if is_command else _INPUT
        watch = await workspace.command_snapshots.begin(command, self.folder, update_output)
        finished = await self._type(terminal, update_output) or not terminal.open
        if finished:
            await watch.end()
        return self._result(terminal, terminal.read_screen(), finished, watch.note)

    def _check_unchanged(self, terminal: Terminal) -> None:
        """Raises ``ToolFailure`` (``conflict``) if the terminal is no longer in the state that the policy
        decided about.
        """
        if terminal.folder(self.folder) != self.folder:
            raise ToolFailure(
                ErrorCode.CONFLICT,
                f"Terminal {self.params.id} is in another folder now. Nothing was typed. Call again.",
            )
        left = terminal.typed_text
        if (not terminal.at_prompt and not self.may_change_folder) or left != self.typed_text:
            raise ToolFailure(
                ErrorCode.CONFLICT,
                f"Terminal {self.params.id} has become busy. Nothing was typed. Call again.",
            )

    async def _type(self, terminal: Terminal, update_output: UpdateOutput | None) -> bool:
        """Types the command.  Returns whether it has finished."""
        prompts, ahead = terminal.prompt_count, not terminal.at_prompt

        def update() -> None:
            if update_output:
                text = terminal.screen.styled()
                update_output(CommandOutput(text, text.count("\n") + 1, None))

        pulse = Throttle(update)
        terminal.on_change = pulse.trigger
        try:
            await terminal.type(self.params.command, enter=self.params.enter)
            return await terminal.wait_for_prompt(prompts, self.params.wait, ahead=ahead)
        except BaseException:
            pulse.flush()
            raise
        finally:
            terminal.on_change = None
            pulse.stop()

    def _result(self, terminal: Terminal, look: ScreenContent, finished: bool, undo_note: str) -> ToolResult:
        state = terminal_state(self.tool.workspace, self.params.id, terminal, look)
        code = terminal.exit_code if state.running else state.exit_code
        code = code if finished else None
        note = self._note(state, finished, code)
        data = TerminalRunData(
            state.id,
            state.running,
            code,
            state.screen,
            state.new,
            state.path,
            finished,
            sandbox=state.sandbox,
        )
        summary = f"exit {code}" if finished else "still running"
        display = replace(
            terminal_display(terminal, look, "; ".join(filter(None, (note, undo_note)))), exit_code=code
        )
        notes = (f"({undo_note})",) if undo_note else ()
        return ToolResult(
            terminal_text(terminal, look, note), display, summary=summary, data=data, notes=notes
        )

    def _note(self, state: TerminalState, finished: bool, code: int | None) -> str:
        if not state.running:
            return f"terminal {state.id} has ended" + (f" with exit code {code}" if code is not None else "")
        return f"exit code {code}" if finished else f"still running in terminal {state.id}"
