"""Gemini CLI's tools for commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, Field

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import ToolResult
from nbtools.core.result_data import ShellBackgroundData, ShellData
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, expressible, milliseconds
from nbtools.dialects.gemini.replies import GeminiParams, Sentence, reply, untrusted
from nbtools.tools.commands.background import ShellOutput, ShellOutputParams
from nbtools.tools.commands.shell import ShellParams

_MAX_SILENCE = 300
_MAX_SECONDS = 600
_DELAY = 200
"""Milliseconds."""
_WRAPPER = re.compile(r"\s*(?:/(?:usr/)?bin/)?(?:ba|z|)sh\s+-c\s+(.*)", re.DOTALL)


def _unwrapped(command: str) -> str:
    """Removes an outer ``bash -c '…'`` that contains the whole command."""
    match = _WRAPPER.fullmatch(command)
    if match is None:
        return command
    try:
        words = shlex.split(match[1])
    except ValueError:
        return command
    if len(words) == 1 and match[1].lstrip()[:1] in {"'", '"'} and "$" not in match[1]:
        return words[0]
    return command


class RunShellCommand(GeminiParams):
    """Removes ``bash -c`` around the whole command.
    Ends a command after 300 s without output, and after 600 s in all.

    Gemini CLI refuses every command substitution, even an approved one;
    here the policy decides about it as about any other part.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        ShellParams,
        command=AgentField(
            "command",
            _unwrapped,
            lambda command: expressible(command, _unwrapped(command) == command),
        ),
        path="dir_path",
        background="is_background",
        by_code=("timeout", "silence", "leave", "wait"),
        lacks=("keep", "carry", "characters"),
    )

    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """The exact command to run, as bash reads it."""
    description: str | None = None
    """What the command does, in a sentence, for the person."""
    dir_path: str = Field(default=".", validation_alias=AliasChoices("dir_path", "directory"))
    """The folder to run the command in."""
    is_background: bool = False
    """Whether the command goes on in the background, such as a server."""
    delay_ms: Annotated[int, Field(ge=0, le=_MAX_SECONDS * 1000)] = _DELAY
    """How long to watch a background command before returning, in milliseconds."""

    errors: ClassVar[Mapping[ErrorCode, Sentence]] = {
        ErrorCode.FILE_NOT_FOUND: (ErrorCode.INVALID_TOOL_PARAMS, "Directory does not exist: {path}"),
        ErrorCode.PATH_IS_NOT_A_DIRECTORY: (
            ErrorCode.INVALID_TOOL_PARAMS,
            "Directory is not a directory: {path}",
        ),
    }

    def to_canonical(self) -> Arguments:
        if self.is_background:
            return {**super().to_canonical(), "wait": self.delay_ms / 1000}
        return {**super().to_canonical(), "timeout": _MAX_SECONDS, "silence": _MAX_SILENCE, "leave": True}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, values = super().from_canonical(arguments), cls.canonical.with_defaults(arguments)
        if spoken is None or values is None:
            return None
        limits = (values["timeout"], values["silence"], values["leave"])
        if not values["background"]:
            return None if limits != (_MAX_SECONDS, _MAX_SILENCE, True) or values["wait"] else spoken
        milliseconds = round(values["wait"] * 1000)
        if any(limits) or milliseconds / 1000 != values["wait"]:
            return None
        return spoken if milliseconds == _DELAY else {**spoken, "delay_ms": milliseconds}

    def path_parameter(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if isinstance(data, ShellBackgroundData):
            return reply(
                result,
                _background(data),
                {"pid": data.pid, "command": self.command, "initialOutput": data.text},
            )
        if not isinstance(data, ShellData):
            return result
        return reply(
            result,
            untrusted(_report(data)),
            {"exitCode": data.exit_code, "isError": bool(data.exit_code or data.signal)},
        )

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        data = result.data
        if error.code is ErrorCode.TIMEOUT and isinstance(data, ShellData):
            limit = (
                f"{_MAX_SILENCE // 60} minutes without output"
                if data.stopped == "silence"
                else f"{_MAX_SECONDS // 60} minutes"
            )
            text = (
                "Command was automatically cancelled because it exceeded the timeout of"
                f" {limit}.\n{untrusted(_report(data))}"
            )
            return ToolResult(
                text,
                result.return_display,
                ToolError(error.code, text.split("\n", 1)[0]),
                result.summary,
                asdict(data),
            )
        return super().failure(result, error)


def _report(data: ShellData) -> str:
    """Formats the output, and exit code and signal where they are set; stdout and stderr are one stream."""
    parts = [f"Output: {data.text.rstrip() or '(empty)'}"]
    parts += [f"Exit Code: {data.exit_code}"] if data.exit_code else []
    parts += [f"Signal: {data.signal}"] if data.signal else []
    parts += [f"Background PIDs: {', '.join(map(str, data.left))}"] if data.left else []
    return "\n".join(parts)


def _background(data: ShellBackgroundData) -> str:
    """Words the start of a background command, with its first output."""
    output = f" Initial output:\n{untrusted(data.text.rstrip())}" if data.text.strip() else ""
    if data.ended:
        return f"Command has {data.ended}. PID: {data.pid}.{output}"
    where = (
        f"Its output is in {data.full_output}; read_background_output shows it."
        if data.full_output
        else "read_background_output shows it."
    )
    return f"Command is running in background. PID: {data.pid}. {where}{output}"


class ListBackgroundProcesses(GeminiParams):
    canonical: ClassVar[FieldMap] = FieldMap(ShellOutputParams, lacks=("id", "filter", "wait", "whole"))

    def reply(self, result: ToolResult) -> ToolResult:
        processes = result.data if isinstance(result.data, tuple) else ()
        lines = [_process(process) for process in processes if isinstance(process, ShellOutput)]
        return reply(result, "\n".join(lines) or "No background processes found.")


def _process(process: ShellOutput) -> str:
    status = "running" if process.status in ("running", "left") else "exited"
    pids = ", ".join(map(str, process.left)) if process.status == "left" and process.left else process.pid
    code = f" (Exit Code: {process.exit_code})" if process.exit_code is not None else ""
    signal = f" (Signal: {process.signal})" if process.signal else ""
    return f"- [PID {pids}] {status.upper()}: `{process.command}`{code}{signal}"


class ReadBackgroundOutput(GeminiParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        ShellOutputParams,
        id=AgentField("pid", str, lambda key: int(expressible(key, str(key).isdecimal()))),
        wait=milliseconds("delay_ms"),
        whole=Fixed(True),
        lacks=("filter",),
    )

    pid: Annotated[int, Field(ge=1)]
    """The process id, from the result of run_shell_command."""
    lines: Annotated[int, Field(ge=1)] = 100
    """The maximum number of lines to return, from the end."""
    delay_ms: Annotated[int, Field(ge=0)] = 0
    """How long to wait before reading, in milliseconds."""

    def reply(self, result: ToolResult) -> ToolResult:
        data: Any = result.data
        if not isinstance(data, ShellOutput):
            return result
        lines = data.text.splitlines()
        if not lines:
            return reply(result, "Log is empty.")
        cut = data.lines > self.lines
        header = f"Showing last {self.lines} of {data.lines} lines:" if cut else "Full Log Output:"
        return reply(result, f"{header}\n{untrusted(chr(10).join(lines[-self.lines :]))}")


COMMANDS = (
    ToolMapping(
        "run_shell_command",
        "shell",
        RunShellCommand,
        "Runs a command with `bash -c`; returns its output, and an exit code other than 0. Set is_background"
        " for long-running processes.",
    ),
    ToolMapping(
        "list_background_processes",
        "shell_output",
        ListBackgroundProcesses,
        "Lists the background commands with their process ids and states.",
        special=True,
    ),
    ToolMapping(
        "read_background_output",
        "shell_output",
        ReadBackgroundOutput,
        "Reads the output of a background command.",
    ),
)
