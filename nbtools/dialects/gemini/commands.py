"""Commands as Gemini CLI speaks of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolError
from nbtools.core.result import ToolResult
from nbtools.dialects.arguments import given, said
from nbtools.dialects.dialect import Arguments, Spelling
from nbtools.dialects.gemini.replies import GeminiParams, reply
from nbtools.tools.shell import ShellData, ShellStarted
from nbtools.tools.shell_output import ShellOutput

_SILENCE = 300
_LONGEST = 600
_WRAPPER = re.compile(r"\s*(?:/(?:usr/)?bin/)?(?:ba|z|)sh\s+-c\s+(.*)", re.DOTALL)


class RunShellCommand(GeminiParams):
    """``bash -c`` around the whole command is taken off first.  A command ends after 300 s without output, and after 600 s in all.

    The original refuses every command substitution at run time, even an approved one; here it is judged by policy like any other part.
    """

    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """The exact command to run, as bash reads it."""
    description: str | None = None
    """What the command does, in a sentence, for the person."""
    dir_path: str = "."
    """The folder to run the command in."""
    is_background: bool = False
    """Whether the command goes on in the background, such as a server."""
    delay_ms: Annotated[int, Field(ge=0)] | None = None
    """How long to watch a background command before the answer, in milliseconds."""

    errors: ClassVar[Mapping[ErrorCode, tuple[ErrorCode, str]]] = {
        ErrorCode.FILE_NOT_FOUND: (ErrorCode.INVALID_TOOL_PARAMS, "Directory does not exist: {path}"),
        ErrorCode.PATH_IS_NOT_A_DIRECTORY: (ErrorCode.INVALID_TOOL_PARAMS, "Directory is not a directory: {path}"),
    }

    def canonical(self) -> Arguments:
        asked = {"command": _unwrapped(self.command), "path": self.dir_path}
        return {**asked, "background": True} if self.is_background else {**asked, "timeout": _LONGEST, "silence": _SILENCE}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"command": "", "path": ".", "timeout": None, "silence": None, "background": False})
        if known is None or _unwrapped(known["command"]) != known["command"]:
            return None
        limits = (None, None) if known["background"] else (_LONGEST, _SILENCE)
        if (known["timeout"], known["silence"]) != limits:
            return None
        folder = None if known["path"] == "." else known["path"]
        return said(command=known["command"], dir_path=folder, is_background=True if known["background"] else None)

    def place(self) -> str:
        return self.dir_path

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if isinstance(data, ShellStarted):
            text = f"Command moved to background (PID: {data.pid}). Its output is in {data.full_output}; read_background_output shows it."
            return reply(result, text, {"pid": data.pid, "command": self.command, "initialOutput": ""})
        if not isinstance(data, ShellData):
            return result
        return reply(result, _report(data), {"exitCode": data.exit_code, "isError": bool(data.exit_code or data.signal)})

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        data = result.data
        if error.code is ErrorCode.TIMEOUT and isinstance(data, ShellData):
            why = f"{_SILENCE // 60} minutes without output" if data.stopped == "silence" else f"{_LONGEST // 60} minutes"
            text = f"Command was automatically cancelled because it exceeded the timeout of {why}.\n{_report(data)}"
            return ToolResult(text, result.return_display, ToolError(error.code, text.split("\n", 1)[0]), result.summary, asdict(data))
        return super().failure(result, error)


class FormerRunShellCommand(RunShellCommand):
    """The folder's name until version 0.11."""

    dir_path: str = Field(default=".", alias="directory")
    """The folder to run the command in."""

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        return None


def _unwrapped(command: str) -> str:
    """Without an outer ``bash -c '…'`` that holds all of it."""
    found = _WRAPPER.fullmatch(command)
    if found is None:
        return command
    try:
        words = shlex.split(found[1])
    except ValueError:
        return command
    return words[0] if len(words) == 1 and found[1].lstrip()[:1] in {"'", '"'} and "$" not in found[1] else command


def _report(data: ShellData) -> str:
    """Output always, the rest only where it says something; output and errors are one stream."""
    parts = [f"Output: {data.text.rstrip() or '(empty)'}"]
    parts += [f"Exit Code: {data.exit_code}"] if data.exit_code else []
    parts += [f"Signal: {data.signal}"] if data.signal else []
    return "\n".join(parts)


class ListBackgroundProcesses(GeminiParams):
    def canonical(self) -> Arguments:
        return {}

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        return {} if given(arguments, {}) is not None else None

    def reply(self, result: ToolResult) -> ToolResult:
        listed = result.data if isinstance(result.data, tuple) else ()
        lines = [_process(one) for one in listed if isinstance(one, ShellOutput)]
        return reply(result, "\n".join(lines) or "No background processes found.")


def _process(one: ShellOutput) -> str:
    status = "running" if one.status in ("running", "left") else "exited"
    code = f" (Exit Code: {one.exit_code})" if one.exit_code is not None else ""
    return f"- [PID {one.pid}] {status.upper()}: `{one.command}`{code}"


class ReadBackgroundOutput(GeminiParams):
    """Each look gives what is new since the one before; the original gives the last lines again."""

    pid: Annotated[int, Field(ge=1)]
    """The process id, from the answer that the command was started with."""
    lines: Annotated[int, Field(ge=1)] = 100
    """How many of the last lines to give at most."""
    delay_ms: Annotated[int, Field(ge=0)] = 0
    """How long to wait before reading, in milliseconds."""

    def canonical(self) -> Arguments:
        return said(id=str(self.pid), wait=self.delay_ms / 1000 or None)

    @classmethod
    def spoken(cls, arguments: Arguments) -> Arguments | None:
        known = given(arguments, {"id": "", "wait": 0})
        if known is None or not str(known["id"]).isdecimal():
            return None
        return said(pid=int(known["id"]), delay_ms=round(known["wait"] * 1000) or None)

    def reply(self, result: ToolResult) -> ToolResult:
        data: Any = result.data
        if not isinstance(data, ShellOutput):
            return result
        listed = data.text.splitlines()
        shown = "\n".join(listed[-self.lines :])
        earlier = f"({len(listed) - self.lines} earlier lines are in {data.full_output})\n" if len(listed) > self.lines else ""
        return reply(
            result, f"{earlier}{shown}" if listed else f"No new output. The process has {data.status}.".replace("has running", "is running")
        )


COMMANDS = (
    Spelling(
        "run_shell_command",
        "shell",
        RunShellCommand,
        "Runs a command with `bash -c`. The answer has its output, and an exit code other than 0. Set is_background for what goes on.",
    ),
    Spelling("run_shell_command", "shell", FormerRunShellCommand, former=True),
    Spelling(
        "list_background_processes",
        "shell_output",
        ListBackgroundProcesses,
        "Lists the commands that were started in the background, with their process ids and states.",
    ),
    Spelling(
        "read_background_output",
        "shell_output",
        ReadBackgroundOutput,
        "Reads the output of a command in the background.",
    ),
)
