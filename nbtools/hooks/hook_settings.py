"""Reads hooks from Claude Code's settings files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import SessionError, ToolFailure
from nbtools.core.hooks import Hook
from nbtools.hooks.command_hooks import HookTranslator, make_command_hook
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


_EVENTS: dict[str, Literal["before", "after", "failure"]] = {
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "failure",
}


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
    for name, event in _EVENTS.items() if not settings.off else ():
        for group in _groups(path, name, settings.hooks.get(name, ())):
            for one in group.hooks:
                if problem := _problem(one):
                    problems.append(f"{path}: {name}: {problem}")
                if one.type == "command":
                    options: dict[str, Any] = {
                        "matcher": group.matcher,
                        "closed": closed,
                        "timeout": one.timeout,
                    }
                    hooks.append(make_command_hook(event, one.command, translator, **options))
    return HookSettings(tuple(hooks), tuple(problems))


class _Groups(BaseModel):
    groups: tuple[_Group, ...]


def _groups(path: str, event: str, listed: object) -> tuple[_Group, ...]:
    try:
        return _Groups.model_validate({"groups": listed}).groups
    except ValidationError as error:
        raise SessionError(f"The hooks in {path} cannot be read: {event}: {error}") from None


def _problem(command: _Command) -> str:
    if command.type != "command":
        return f"a hook of type {command.type!r} is not supported and does not run; only type 'command' is"
    if command.when:
        runs = f"{command.command!r} runs for every matching call"
        return f"the condition {command.when!r} is not supported: {runs}"
    return ""
