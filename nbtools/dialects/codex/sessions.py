"""Codex's unified exec: `exec_command` runs a command that may go on,
`write_stdin` looks at it and types into it.

A session ID is the number of a background command.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.result_data import ShellBackgroundData, ShellData
from nbtools.dialects.codex.command_words import command_line, is_bare_patch, patch_in_line
from nbtools.dialects.codex.commands import MAX_SILENCE, leave_patch, refuse_bare_patch
from nbtools.dialects.codex.output import MAX_TOKENS, cut, shell_exit_code, shell_output, tokens_in
from nbtools.dialects.codex.replies import CodexParams, error_reply, reply
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, expressible, to_milliseconds
from nbtools.tools.commands.background import ShellKillParams, ShellOutput, ShellOutputParams
from nbtools.tools.commands.shell import ShellParams

_YIELD = 10_000
"""Milliseconds."""
_MIN_YIELD, _MAX_YIELD = 250, 30_000
_MIN_POLL, _MAX_POLL = 5_000, 300_000
_CTRL_C = "\x03"
_STDIN_CLOSED = (
    "write_stdin failed: stdin is closed for this session; poll it with empty chars, or end it with \\u0003"
)


def session_text(
    seconds: float, exit_code: int | None, session: int | str | None, tokens: int, output: str
) -> str:
    """Returns the reply: one of ``exit_code`` and ``session`` is set."""
    state = (
        f"Process exited with code {exit_code}"
        if session is None
        else f"Process running with session ID {session}"
    )
    return f"Wall time: {seconds:.4f} seconds\n{state}\nOriginal token count: {tokens}\nOutput:\n{output}"


def _command(line: str) -> str:
    return expressible(line, not (patch_in_line(line) or is_bare_patch(line)))


def _time(least: int, most: int) -> AgentField:
    """Maps milliseconds; as in Codex, times outside of the limits become these."""

    def from_canonical(seconds: float) -> int:
        milliseconds = to_milliseconds(seconds, most)
        return expressible(milliseconds, milliseconds >= least)

    return AgentField(
        "yield_time_ms", lambda value: min(max(least, value), most) / 1000, from_canonical, always=True
    )


class ExecCommand(CodexParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        ShellParams,
        command=AgentField("cmd", from_canonical=_command),
        path=AgentField("workdir", lambda folder: folder or None, lambda path: expressible(path, path)),
        timeout=_time(_MIN_YIELD, _MAX_YIELD),
        silence=Fixed(MAX_SILENCE),
        keep=Fixed(True),
        lacks=("background", "leave", "wait", "carry", "characters"),
    )

    cmd: Annotated[str, Field(json_schema_extra={"body": True})]
    """The command line to run."""
    workdir: str | None = None
    """The folder to run the command in; the workspace by default."""
    shell: str | None = None
    """The shell to run the command with; bash by default."""
    login: bool | None = None
    """Has no effect: start-up files are not read."""
    tty: bool = False
    """Has no effect: the command runs without a terminal, and its standard input is empty."""
    yield_time_ms: Annotated[int, Field(ge=0)] = _YIELD
    """How long to wait for the end of the command, in milliseconds (250 to 30000);
    then it goes on as a session.
    """
    max_output_tokens: Annotated[int | None, Field(ge=0)] = None
    """The most output to return, in tokens of four bytes; 10000 by default and at most."""

    rejected: ClassVar[str] = "exec command rejected by user"
    failed: ClassVar[str] = "exec_command failed: {message}"

    @model_validator(mode="after")
    def _leave_patches(self) -> Self:
        return leave_patch(self, patch_in_line(self.cmd))

    def to_canonical(self) -> Arguments:
        name = (self.shell or "bash").rpartition("/")[2]
        line = self.cmd if name == "bash" else command_line([self.shell or name, "-c", self.cmd])
        return {**super().to_canonical(), "command": refuse_bare_patch(line)}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        return super().from_canonical(arguments) if arguments.get("timeout") else None

    def reply(self, result: ToolResult) -> ToolResult:
        most = MAX_TOKENS if self.max_output_tokens is None else self.max_output_tokens
        match result.data:
            case ShellData() as data:
                output = shell_output(data, most)
                return reply(
                    result,
                    session_text(data.seconds, shell_exit_code(data), None, tokens_in(data.bytes), output),
                )
            case ShellBackgroundData() as started:
                size = len(started.text.encode())
                output = cut(
                    started.text, min(most, MAX_TOKENS), started.text.count("\n"), size, complete=True
                )
                return reply(result, session_text(started.seconds, None, started.id, tokens_in(size), output))
            case _:
                return result


def _session(command_id: object) -> int:
    text = str(command_id)
    is_number = text.isascii() and text.isdecimal() and str(int(text)) == text
    return int(expressible(text, is_number))


_SESSION = AgentField("session_id", str, _session)


class _InSession(CodexParams):
    names: ClassVar[Mapping[str, str]] = {"id": "session_id", "wait": "yield_time_ms"}

    session_id: Annotated[int, Field(ge=0)]
    """The session's number, from the result of exec_command."""

    failed: ClassVar[str] = "write_stdin failed: {message}"

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        if error.code is ErrorCode.INVALID_TOOL_PARAMS:
            return error_reply(
                error, f"write_stdin failed: Unknown process id {self.session_id}", result.data
            )
        return super().failure(result, error)

    def output(self, result: ToolResult, tokens: int) -> ToolResult:
        """Words the new output of a command and its state."""
        data = result.data
        if not isinstance(data, ShellOutput):
            return result
        size = len(data.text.encode())
        text = cut(data.text, min(tokens, MAX_TOKENS), data.new_lines, size, complete=True)
        session = data.id if data.status in {"running", "left"} else None
        code = data.exit_code
        if code is None:
            code = 128 + signal.Signals[data.signal] if data.signal else -1
        return reply(result, session_text(data.seconds, code, session, tokens_in(size), text))


class WriteStdin(_InSession):
    """Polls; commands have no input."""

    canonical: ClassVar[FieldMap] = FieldMap(
        ShellOutputParams,
        id=_SESSION,
        wait=_time(_MIN_POLL, _MAX_POLL),
        lacks=("filter", "whole"),
    )

    chars: str = ""
    """Empty to return new output; \\u0003 (Ctrl-C) to end the command."""
    yield_time_ms: Annotated[int, Field(ge=0)] = _MIN_YIELD
    """How long to wait for output, in milliseconds (5000 to 300000)."""
    max_output_tokens: Annotated[int | None, Field(ge=0)] = None
    """The most output to return, in tokens of four bytes; 10000 by default and at most."""

    @model_validator(mode="after")
    def _leave_keys(self) -> Self:
        if self.chars == _CTRL_C:
            raise ValueError("ends the session")  # read by the mapping for the end
        return self

    def to_canonical(self) -> Arguments:
        if self.chars:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, _STDIN_CLOSED)
        return super().to_canonical()

    def reply(self, result: ToolResult) -> ToolResult:
        return self.output(result, MAX_TOKENS if self.max_output_tokens is None else self.max_output_tokens)


class EndSession(_InSession):
    """Ctrl-C, which ends a command without a terminal."""

    canonical: ClassVar[FieldMap] = FieldMap(ShellKillParams, id=_SESSION)

    chars: str = _CTRL_C
    """The key Ctrl-C."""

    @model_validator(mode="after")
    def _only_ctrl_c(self) -> Self:
        if self.chars != _CTRL_C:
            raise ValueError("does not end the session")
        return self

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken = super().from_canonical(arguments)
        return None if spoken is None else {**spoken, "chars": _CTRL_C}

    def reply(self, result: ToolResult) -> ToolResult:
        return self.output(result, MAX_TOKENS)


SESSIONS = (
    ToolMapping(
        "exec_command",
        "shell",
        ExecCommand,
        "Runs a command line and returns its output. A command that takes longer than yield_time_ms goes on;"
        " the result has its session ID for write_stdin.",
    ),
    ToolMapping(
        "write_stdin",
        "shell_output",
        WriteStdin,
        "Returns the new output of a session of exec_command (empty chars), or ends it (Ctrl-C).",
    ),
    ToolMapping(
        "write_stdin", "shell_kill", EndSession, "Ends the command of a session with the key Ctrl-C."
    ),
)
