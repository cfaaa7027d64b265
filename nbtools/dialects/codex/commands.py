"""Codex's tools that run a command to its end: `shell` and its former names."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self, TypeVar

from pydantic import AliasChoices, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.result_data import ShellData
from nbtools.dialects.codex.command_words import (
    PatchCall,
    command_line,
    is_bare_patch,
    patch_in_line,
    patch_in_words,
)
from nbtools.dialects.codex.output import exit_text, shell_exit_code, shell_output
from nbtools.dialects.codex.replies import CodexParams, reply
from nbtools.dialects.dialect_model import Arguments, ToolMapping
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, expressible, to_milliseconds
from nbtools.tools.commands.shell import ShellParams

P = TypeVar("P", bound=CodexParams)
_DEFAULT_TIMEOUT, _MAX_TIMEOUT = 10_000, 600_000
"""Milliseconds."""
MAX_SILENCE = 600
_TIMED_OUT = 124


class Command(CodexParams):
    """Base class of the tools that run a command to its end.
    A longer ``timeout_ms`` than ten minutes is lowered.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        ShellParams,
        path=AgentField("workdir", lambda folder: folder or None, lambda path: expressible(path, path)),
        timeout=AgentField(
            "timeout_ms",
            lambda timeout: min(max(1, timeout), _MAX_TIMEOUT) / 1000,
            lambda seconds: to_milliseconds(seconds, _MAX_TIMEOUT),
        ),
        silence=Fixed(MAX_SILENCE),
        by_code=("command",),
        lacks=("background", "keep", "leave", "wait", "carry", "characters"),
    )

    workdir: str | None = None
    """The folder to run the command in; the workspace by default."""
    timeout_ms: Annotated[int | None, Field(ge=0, validation_alias=AliasChoices("timeout_ms", "timeout"))] = (
        None
    )
    """The longest time that the command may run, in milliseconds: 10000 by default, at most 600000."""

    rejected: ClassVar[str] = "exec command rejected by user"
    failed: ClassVar[str] = "execution error: {message}"

    def line(self) -> str:
        """Returns the command line."""
        raise NotImplementedError

    def patch_call(self) -> PatchCall | None:
        """Returns the patch that the command only applies."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _leave_patches(self) -> Self:
        return leave_patch(self, self.patch_call())

    def to_canonical(self) -> Arguments:
        command = refuse_bare_patch(self.line())
        return {"command": command, "timeout": _DEFAULT_TIMEOUT / 1000, **super().to_canonical()}

    def reply(self, result: ToolResult) -> ToolResult:
        data = result.data
        if not isinstance(data, ShellData):
            return result
        code = shell_exit_code(data)
        text = exit_text(code, data.seconds, shell_output(data))
        if code == 0:
            return reply(result, text)
        return ToolResult(
            text, result.return_display, ToolError(ErrorCode.EXECUTION_FAILED, text), result.summary, data
        )

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        data = result.data
        if not isinstance(data, ShellData):
            return super().failure(result, error)
        output = f"command timed out after {round(data.seconds * 1000)} milliseconds\n{shell_output(data)}"
        text = exit_text(_TIMED_OUT, data.seconds, output)
        return ToolResult(text, result.return_display, ToolError(error.code, text), result.summary, data)


def leave_patch(params: P, patch: PatchCall | None) -> P:
    """Returns ``params``.  Raises ``ValueError`` for a command that applies a patch:
    the mapping for patches reads it.
    """
    if patch is not None:
        raise ValueError("the command applies a patch")
    return params


def refuse_bare_patch(line: str) -> str:
    """Returns ``line``.  Raises ``ToolFailure`` for a patch without the command that applies it,
    as Codex does.
    """
    if is_bare_patch(line):
        message = (
            "The command is a patch, but nothing applies it. Call apply_patch with the patch as its input."
        )
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    return line


class Shell(Command):
    """An argument list.  That of ``bash -lc`` is run as its script."""

    command: Annotated[tuple[str, ...], Field(min_length=1, json_schema_extra={"body": True})]
    """The program and its arguments, as execvp takes them; most commands begin with ["bash", "-lc"]."""

    def line(self) -> str:
        return command_line(self.command)

    def patch_call(self) -> PatchCall | None:
        return patch_in_words(self.command)

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, line = super().from_canonical(arguments), arguments.get("command")
        if spoken is None or line is None or not arguments.get("timeout") or is_bare_patch(line):
            return None
        words = ["bash", "-lc", line]
        return None if patch_in_words(words) else {"command": words, **spoken}


class ShellCommand(Command):
    """A command line, with ``bash -c``."""

    one_way: ClassVar[bool] = True

    command: Annotated[str, Field(json_schema_extra={"body": True})]
    """The command line."""

    def line(self) -> str:
        return self.command

    def patch_call(self) -> PatchCall | None:
        return patch_in_line(self.command)


class LocalShell(Shell):
    """The action of the API's own shell tool.
    ``env`` is refused: variables could change what the policy has judged.
    """

    one_way: ClassVar[bool] = True

    workdir: str | None = Field(default=None, validation_alias=AliasChoices("working_directory", "workdir"))
    """The folder to run the command in."""
    env: SkipJsonSchema[dict[str, str] | None] = None

    def to_canonical(self) -> Arguments:
        if self.env:
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, "env is not supported. Set the variables in the command."
            )
        return super().to_canonical()


class CanonicalShell(CodexParams):
    """The canonical parameters: Codex's name is also that of the canonical tool."""

    model_config = ConfigDict(extra="forbid")

    command: str
    """The command line."""
    path: str = "."
    """The folder to run it in."""
    timeout: float | None = None
    """The longest time that it may run, in seconds."""
    silence: float | None = None
    """The longest time without output, in seconds."""
    background: bool = False
    """Whether to return at once."""
    keep: bool = False
    """Whether the command continues in the background at its timeout."""

    @model_validator(mode="after")
    def _leave_patches(self) -> Self:
        return leave_patch(self, patch_in_line(self.command))

    def to_canonical(self) -> Arguments:
        return self.model_dump(exclude_unset=True)

    def convert_result(self, result: ToolResult) -> ToolResult:
        return result


COMMANDS = (
    ToolMapping(
        "shell",
        "shell",
        Shell,
        "Runs a command to its end and returns its output and exit code. The words are passed to the program"
        ' as they are; for a command line use ["bash", "-lc", "…"]. Give workdir instead of using cd.',
    ),
    ToolMapping("shell", "shell", CanonicalShell, former=True),
    ToolMapping("shell", "shell", ShellCommand, former=True),
    ToolMapping("shell_command", "shell", ShellCommand, former=True),
    ToolMapping("container.exec", "shell", Shell, former=True),
    ToolMapping("local_shell", "shell", LocalShell, former=True),
)
