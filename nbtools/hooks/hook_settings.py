"""Reads hooks from Claude Code's settings files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import SessionError, ToolFailure
from nbtools.core.hooks import Hook
from nbtools.hooks.command_hooks import HookTranslator, command_after, command_before
from nbtools.workspace.files.read import read_bytes


class _Command(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: str = "command"
    command: str = ""
    timeout: float = Field(60, gt=0)
    when: str = Field("", alias="if")


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True)

    matcher: str = "*"
    hooks: tuple[_Command, ...] = ()


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True)

    hooks: dict[str, Any] = {}  # other events may have any form
    off: bool = Field(False, alias="disableAllHooks")


_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The tool hooks of a file, and one line for each that cannot be used."""

    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]


def read_hook_settings(path: str, translator: HookTranslator, *, closed: bool = False) -> HookSettings:
    """Reads the command hooks for ``PreToolUse``,
    ``PostToolUse`` and ``PostToolUseFailure`` from the file at ``path``.

    ``closed``: whether a hook that fails blocks the call.
    Raises ``SessionError`` where the file cannot be read.
    """
    try:
        settings = _Settings.model_validate_json(read_bytes(Path(path).expanduser().resolve(), path))
    except (ToolFailure, ValidationError) as error:
        raise SessionError(f"The hooks in {path} cannot be read: {error}") from None
    hooks: list[Hook] = []
    problems: list[str] = []
    for event in _EVENTS if not settings.off else ():
        for group in _groups(path, event, settings.hooks.get(event, ())):
            problems += [
                f"{path}: {event}: {problem}" for command in group.hooks for problem in _problems(command)
            ]
            hooks += [
                _hook(event, group.matcher, command, translator, closed)
                for command in group.hooks
                if command.type == "command"
            ]
    return HookSettings(tuple(hooks), tuple(problems))


class _Groups(BaseModel):
    groups: tuple[_Group, ...]


def _groups(path: str, event: str, listed: object) -> tuple[_Group, ...]:
    try:
        return _Groups.model_validate({"groups": listed}).groups
    except ValidationError as error:
        raise SessionError(f"The hooks in {path} cannot be read: {event}: {error}") from None


def _problems(command: _Command) -> tuple[str, ...]:
    if command.type != "command":
        return (f"a hook of type {command.type!r} is not supported and does not run; only type 'command' is",)
    return (
        (
            (
                f"the condition {command.when!r} is not supported: {command.command!r} runs for every"
                " matching call"
            ),
        )
        if command.when
        else ()
    )


def _hook(event: str, matcher: str, command: _Command, translator: HookTranslator, closed: bool) -> Hook:
    if event == "PreToolUse":
        return command_before(
            command.command, translator, matcher=matcher, closed=closed, timeout=command.timeout
        )
    on_failure = event == "PostToolUseFailure"
    return command_after(
        command.command,
        translator,
        matcher=matcher,
        closed=closed,
        timeout=command.timeout,
        on_failure=on_failure,
    )
