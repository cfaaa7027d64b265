"""Void's tools for commands and terminals."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import ToolResult
from nbtools.core.result_data import ShellData, TerminalRunData, TerminalState
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, expressible
from nbtools.dialects.void.replies import VoidParams, failure, reply
from nbtools.dialects.void.text_parameters import (
    Identifier,
    OptionalIdentifier,
    OptionalPath,
    Text,
    folder_field,
)
from nbtools.tools.commands.shell import ShellParams
from nbtools.tools.commands.terminal import (
    TerminalKillParams,
    TerminalOpenParams,
    TerminalOutputParams,
)
from nbtools.tools.commands.terminal_run import TerminalRunParams

_MAX_SILENCE = 8
_MAX_SECONDS = 600
_WAIT = 5
_MAX_OUTPUT = 100_000


class RunCommand(VoidParams):
    """Runs a command in a new shell; ends it after 8 seconds without output, as in Void,
    and after 600 in all.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        ShellParams,
        command="command",
        path=folder_field("cwd"),
        timeout=Fixed(_MAX_SECONDS),
        silence=Fixed(_MAX_SILENCE),
        characters=Fixed(_MAX_OUTPUT),
        lacks=("background", "keep", "leave", "wait", "carry"),
    )

    command: Annotated[Text, Field(json_schema_extra={"body": True})]
    """The command to run."""
    cwd: OptionalPath = None
    """The folder to run it in; the workspace by default."""

    def convert_result(self, result: ToolResult) -> ToolResult:
        data, error = result.data, result.error
        if not isinstance(data, ShellData):
            return super().convert_result(result)
        text = data.text.rstrip("\n")
        output = f"$ {self.command}\n{text}"
        if error is None:
            return reply(result, f"{output}\n(exit code {data.signal or data.exit_code})")
        if error.code is ErrorCode.TIMEOUT:
            return self._stopped(result, output, data)
        return failure(error, data)

    def _stopped(self, result: ToolResult, output: str, data: ShellData) -> ToolResult:
        limit = f"{_MAX_SILENCE}s without output" if data.stopped == "silence" else f"{_MAX_SECONDS}s"
        sentence = (
            f"Terminal command ran, but was automatically killed after {limit}. To keep one running, use a"
            " persistent terminal."
        )
        error = ToolError(ErrorCode.TIMEOUT, sentence)
        return ToolResult(f"{output}\n{sentence}", result.return_display, error, result.summary, data)


class FormerRunCommand(RunCommand):
    """Accepts a parameter that descriptions of Void mention but Void itself lacks;
    every command has its own shell.
    """

    one_way: ClassVar[bool] = True

    terminal_id: OptionalIdentifier = None
    """Has no effect."""


def _halved(text: str) -> str:
    body = text.rstrip("\n")
    if len(body) <= _MAX_OUTPUT:
        return body
    omitted = len(body) - _MAX_OUTPUT
    return (
        f"{body[: _MAX_OUTPUT // 2]}\n... [{omitted} characters are left out"
        f" here]\n{body[-_MAX_OUTPUT // 2 :]}"
    )


_TERMINAL = AgentField("persistent_terminal_id", from_canonical=str)


class _InTerminal(VoidParams):
    persistent_terminal_id: Identifier
    """The terminal's id, from open_persistent_terminal."""


def _command(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


class RunPersistentCommand(_InTerminal):
    """Runs a command in an open terminal and returns after at most 5 seconds."""

    canonical: ClassVar[FieldMap] = FieldMap(
        TerminalRunParams,
        command=AgentField("command", from_canonical=lambda text: expressible(text, text.strip())),
        id=_TERMINAL,
        wait=Fixed(_WAIT),
        lacks=("enter", "rows", "columns"),
    )

    command: Annotated[Text, AfterValidator(_command), Field(json_schema_extra={"body": True})]
    """The command to run."""

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, TerminalRunData):
            return result
        output = _halved(data.new)
        if data.finished:
            return reply(result, f"{output}\n(exit code {data.exit_code})".lstrip("\n"))
        return reply(
            result,
            f"{output}\nTerminal command is running in terminal {data.id}. What it prints later comes with"
            " the next call.".lstrip("\n"),
        )


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


class LookAtTerminal(_InTerminal):
    """Returns new output of a terminal for an empty command; Void has no tool for that."""

    canonical: ClassVar[FieldMap] = FieldMap(TerminalOutputParams, id=_TERMINAL, lacks=("wait",))

    command: Annotated[Literal[""], BeforeValidator(_stripped), WithJsonSchema({"type": "string"})]
    """Empty: only new output of the terminal is returned."""

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken = super().from_canonical(arguments)
        return None if spoken is None else {"command": "", **spoken}

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, TerminalState):
            return result
        state = "is open" if data.running else "has ended"
        return reply(result, f"{_halved(data.new)}\n(terminal {data.id} {state})".lstrip("\n"))


class OpenPersistentTerminal(VoidParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        TerminalOpenParams, path=folder_field("cwd"), lacks=("rows", "columns", "name")
    )

    cwd: OptionalPath = None
    """The folder to start in; the workspace by default."""

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, TerminalState):
            return result
        return reply(result, f'Successfully created persistent terminal. persistentTerminalId="{data.id}"')


class KillPersistentTerminal(_InTerminal):
    canonical: ClassVar[FieldMap] = FieldMap(TerminalKillParams, id=_TERMINAL)

    def reply(self, result: ToolResult) -> ToolResult:
        return reply(result, f"Successfully closed terminal {self.persistent_terminal_id}.")


COMMANDS = (
    ToolMapping(
        "run_command",
        "shell",
        RunCommand,
        "Runs a command in the terminal and waits for its end. Not for long-running processes such as a"
        " server.",
    ),
    ToolMapping("run_command", "shell", FormerRunCommand, former=True),
    ToolMapping(
        "run_persistent_command",
        "terminal_run",
        RunPersistentCommand,
        "Runs a command in an open persistent terminal; returns after at most 5 seconds.",
    ),
    ToolMapping(
        "run_persistent_command",
        "terminal_output",
        LookAtTerminal,
        "Returns a terminal's output since the last call, without running a command.",
    ),
    ToolMapping(
        "open_persistent_terminal",
        "terminal_open",
        OpenPersistentTerminal,
        "Opens a persistent terminal, for servers and other long-running commands.",
    ),
    ToolMapping(
        "kill_persistent_terminal", "terminal_kill", KillPersistentTerminal, "Closes a persistent terminal."
    ),
)
