"""Claude Code's Bash, TaskOutput and TaskStop, and the former BashOutput and KillShell."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.result_data import ShellBackgroundData, ShellData
from nbtools.dialects.claude.replies import ClaudeParams, error_reply, failure, reply
from nbtools.dialects.claude.tool_use_result import (
    BashOutputResult,
    BashResult,
    KillShellResult,
    Structured,
    Task,
    TaskOutputResult,
    TaskStopResult,
)
from nbtools.dialects.dialect_model import Arguments
from nbtools.dialects.field_map import FieldMap, Fixed
from nbtools.shell.grammar import parse_shell
from nbtools.tools.commands.background import ShellKillParams, ShellOutput, ShellOutputParams
from nbtools.tools.commands.folder_report import reset_note
from nbtools.tools.commands.shell import ShellParams

_DEFAULT_TIMEOUT, _MAX_TIMEOUT = 120_000, 600_000
"""Milliseconds."""
_NEVER_MOVED = frozenset({"sleep", "git"})
_LOCAL = "local_bash"


class Bash(ClaudeParams):
    """Starts every command where the last successful one ended, as in Claude Code.

    If that is outside the workspace, it starts in the workspace.
    Commands that run at the same time start in the same folder.

    As in Claude Code, a timeout above ten minutes is lowered, and a command that exceeds its timeout is moved
    to the background.  One with ``sleep`` or ``git``, or one that cannot be parsed, is ended instead.

    Exit code 1 is not a failure of a single command that reports a result with it (grep, diff, test …).
    Claude Code looks at the last stage of a pipeline and so hides that ``make | grep`` failed (reference
    2.7); here 1 from a pipeline is a failure.
    """

    canonical: ClassVar[FieldMap] = FieldMap(
        ShellParams,
        command="command",
        background="run_in_background",
        by_code=("path", "timeout", "silence", "keep", "carry"),
        lacks=("leave", "wait", "characters"),
    )

    command: str
    """The command line to run."""
    timeout: Annotated[float | None, Field(gt=0)] = None
    """The timeout in milliseconds: 120000 by default, at most 600000."""
    description: str | None = None
    """What the command does, in a few words, for the person."""
    run_in_background: bool = False
    """Whether to run the command in the background; TaskOutput returns its output."""
    dangerously_disable_sandbox: Annotated[bool, Field(alias="dangerouslyDisableSandbox")] = False
    """Has no effect: commands run with the person's own rights, and the policy decides about each."""

    def to_canonical(self) -> Arguments:
        folder = self._call_context.folder()
        call = {**super().to_canonical(), **({} if folder == "." else {"path": folder})}
        if self.run_in_background:
            return call
        seconds = min(self.timeout or _DEFAULT_TIMEOUT, _MAX_TIMEOUT) / 1000
        keep = {"keep": True} if _moves_to_background(self.command) else {}
        return {**call, "timeout": seconds, "silence": _MAX_TIMEOUT / 1000, "carry": True, **keep}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, values = super().from_canonical(arguments), cls.canonical.with_defaults(arguments)
        # Another path is where the agent's commands start, and so no parameter.
        if spoken is None or values is None or not values["path"]:
            return None
        if values["background"]:
            unlimited = values["timeout"] is None and values["silence"] is None
            return spoken if unlimited and not (values["keep"] or values["carry"]) else None
        if (
            not values["carry"]
            or values["silence"] != _MAX_TIMEOUT / 1000
            or values["keep"] != _moves_to_background(values["command"])
        ):
            return None
        timeout = (values["timeout"] or 0) * 1000
        expressible = 0 < timeout <= _MAX_TIMEOUT and timeout / 1000 == values["timeout"]
        return {**spoken, "timeout": timeout} if expressible else None

    def convert_result(self, result: ToolResult) -> ToolResult:
        # Before the reply: it copies the notes to the structured result's stderr.
        root = self.absolute(".")
        words = {f"({reset_note(root)})": f"(Shell cwd was reset to {root})"}
        notes = tuple(words.get(note, note) for note in result.notes)
        return replace(super().convert_result(replace(result, notes=notes)), notes=notes)

    def reply(self, result: ToolResult) -> ToolResult:
        match result.data:
            case ShellBackgroundData() as started:
                return self._started(result, started)
            case ShellData() as data:
                return self._ended(result, data)
            case _:
                return result

    def _started(self, result: ToolResult, started: ShellBackgroundData) -> ToolResult:
        location = f"Output is being written to: {started.full_output}."
        if started.seconds:
            limit = f"{started.seconds:g}s timeout"
            sentence = (
                f"Command did not complete within its {limit} and was moved to the background (ID:"
                f" {started.id})."
            )
        else:
            sentence = f"Command running in background with ID: {started.id}."
        text = started.text.rstrip("\n")
        reply_text = "\n".join(
            [*([text] if text else []), f"{sentence} {location} TaskOutput waits for its end."]
        )
        ran = BashResult(
            stdout=text,
            stderr="",
            interrupted=False,
            is_image=False,
            background_task_id=started.id,
            timed_out_after_ms=round(started.seconds * 1000) or None,
        )
        return reply(result, reply_text, ran)

    def _ended(self, result: ToolResult, data: ShellData) -> ToolResult:
        text = data.text.rstrip("\n")
        meaning = _meaning(self.command, data)
        ran = _ran(data, text, meaning=meaning, notes=result.notes)
        if data.exit_code == 0 or meaning:
            return reply(result, text or "(Bash completed with no output)", ran)
        message = "\n".join(part for part in (f"Exit code {_exit_code(data)}", text) if part)
        return ToolResult(
            message,
            result.return_display,
            ToolError(ErrorCode.EXECUTION_FAILED, message),
            result.summary,
            ran,
        )

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        if not isinstance(result.data, ShellData):
            return failure(error, result.data)
        text = result.data.text.rstrip("\n")
        message = "\n".join(
            part
            for part in (f"Exit code {_exit_code(result.data)}", f"Command timed out: {error.message}", text)
            if part
        )
        ran = _ran(result.data, text, notes=result.notes)
        return ToolResult(message, result.return_display, ToolError(error.code, message), result.summary, ran)


def _moves_to_background(command: str) -> bool:
    """Whether the command is moved to the background when its timeout is over."""
    parsed = parse_shell(command)
    return not parsed.parse_error and not _NEVER_MOVED & {root.rpartition("/")[2] for root in parsed.roots}


_MEANINGS = {
    "no match": "No matches found",
    "the files differ": "Files differ",
    "the condition is false": "Condition is false",
}


def _meaning(command: str, data: ShellData) -> str | None:
    """Returns the meaning of exit code 1 where it is a result;
    None for pipelines, where another stage may have failed.
    """
    piped = data.meaning and any(part.operator in {"|", "|&"} for part in parse_shell(command).commands)
    return None if piped or not data.meaning else _MEANINGS.get(data.meaning, data.meaning)


def _ran(
    data: ShellData, text: str, *, meaning: str | None = None, notes: tuple[str, ...] = ()
) -> BashResult:
    return BashResult(
        stdout=text,
        stderr="\n".join(notes),
        interrupted=bool(data.stopped),
        is_image=False,
        return_code_interpretation=meaning,
        persisted_output_path=data.full_output or None,
    )


def _exit_code(data: ShellData) -> int:
    """Returns the exit code as a shell reports it: 128 plus the number for a signal."""
    return data.exit_code if data.exit_code is not None else 128 + signal.Signals[data.signal]


class TaskOutput(ClaudeParams):
    """Returns all output; with ``block`` it waits for the end of the command, at most ``timeout``."""

    canonical: ClassVar[FieldMap] = FieldMap(
        ShellOutputParams, id="task_id", whole=Fixed(True), by_code=("wait",), lacks=("filter",)
    )
    names: ClassVar[Mapping[str, str]] = {"wait": "timeout"}

    task_id: str
    """The id of the background command, from the result of Bash."""
    block: bool = True
    """Whether to wait for the end of the command."""
    timeout: Annotated[float, Field(ge=0, le=_MAX_TIMEOUT)] = 30_000
    """The longest time to wait, in milliseconds."""

    def to_canonical(self) -> Arguments:
        return {**super().to_canonical(), **({"wait": self.timeout / 1000} if self.block else {})}

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        spoken, seconds = super().from_canonical(arguments), arguments.get("wait") or 0
        milliseconds = seconds * 1000
        if spoken is None or milliseconds > _MAX_TIMEOUT or milliseconds / 1000 != seconds:
            return None
        return {**spoken, **({"timeout": milliseconds} if milliseconds else {"block": False})}

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, ShellOutput):
            return result
        data = result.data
        running = data.status in {"running", "left"}
        text = data.text.rstrip("\n")
        retrieved = "success"
        if running:
            retrieved = "timeout" if self.block else "not_ready"
        task = Task(
            task_id=data.id,
            task_type=_LOCAL,
            status=_status(data),
            description=data.command,
            output=text,
            exit_code=data.exit_code,
        )
        blocks = [
            ("retrieval_status", retrieved),
            ("task_id", data.id),
            ("task_type", _LOCAL),
            ("status", task.status),
        ]
        blocks += [] if data.exit_code is None else [("exit_code", str(data.exit_code))]
        reply_text = "\n\n".join(
            [*(f"<{tag}>{value}</{tag}>" for tag, value in blocks), *_output("output", text)]
        )
        return reply(result, reply_text, TaskOutputResult(retrieval_status=retrieved, task=task))


class BashOutput(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        ShellOutputParams, id="bash_id", filter="filter", lacks=("wait", "whole")
    )

    bash_id: str
    """The id of the background command, from the result of Bash."""
    filter: str | None = None
    """A regular expression: only matching lines are returned, the others are discarded."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, ShellOutput):
            return result
        data = result.data
        status, text = _status(data), data.text.rstrip("\n")
        blocks = [
            f"<status>{status}</status>",
            *([] if data.exit_code is None else [f"<exit_code>{data.exit_code}</exit_code>"]),
        ]
        structured = BashOutputResult(
            shell_id=data.id,
            command=data.command,
            status=status,
            exit_code=data.exit_code,
            stdout=text,
            stderr="",
            filter_pattern=self.filter,
        )
        return reply(result, "\n\n".join([*blocks, *_output("stdout", text)]), structured)


def _compact(data: Structured) -> str:
    return json.dumps(data.as_json(), ensure_ascii=False, separators=(",", ":"))


def _output(tag: str, text: str) -> list[str]:
    return [f"<{tag}>\n{text}\n</{tag}>"] if text else []


def _status(data: ShellOutput) -> str:
    """Returns Claude Code's status word.
    A command with running child processes is running; Claude Code calls it completed (#92399).
    """
    if data.status in {"running", "left"}:
        return "running"
    if data.status == "killed":
        return "killed"
    return "failed" if data.exit_code else "completed"


def _not_running(sentence: str) -> ToolResult:
    return error_reply(ToolError(ErrorCode.INVALID_TOOL_PARAMS, sentence), sentence)


class TaskStop(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(ShellKillParams, id="task_id")

    task_id: str | None = None
    """The id of the background command, from the result of Bash."""
    shell_id: str | None = None
    """The former name of task_id."""

    def to_canonical(self) -> Arguments:
        task = self.shell_id if self.task_id is None else self.task_id
        if task is None:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "Missing required parameter: task_id")
        return {"id": task}

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, ShellOutput):
            return result
        data = result.data
        if data.ended_before:
            return _not_running(f"Task {data.id} is not running (status: {_status(data)})")
        message = f"Successfully stopped task: {data.id} ({data.command})"
        stopped = TaskStopResult(message=message, task_id=data.id, task_type=_LOCAL, command=data.command)
        return reply(result, _compact(stopped), stopped)


class KillShell(ClaudeParams):
    canonical: ClassVar[FieldMap] = FieldMap(ShellKillParams, id="shell_id")

    shell_id: str
    """The id of the background command, from the result of Bash."""

    def reply(self, result: ToolResult) -> ToolResult:
        if not isinstance(result.data, ShellOutput):
            return result
        if result.data.ended_before:
            return _not_running(
                f"Shell {result.data.id} is not running, so cannot be killed (status: {_status(result.data)})"
            )
        killed = KillShellResult(
            message=f"Successfully killed shell: {result.data.id} ({result.data.command})",
            shell_id=result.data.id,
        )
        return reply(result, _compact(killed), killed)
