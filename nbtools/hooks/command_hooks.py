"""Runs hooks that are commands: JSON on stdin, a verdict by exit code and output.
Gemini CLI's contract is in ``gemini_hooks``.

By Claude Code's contract, exit code 0 is success, and stdout that begins with ``{`` is parsed as JSON.  2
blocks, whatever was printed, with stderr as the reason.  Any other code is a fault of the hook, but its JSON
still counts.  Unlike in Claude Code, a missing script is reported, and a fault of a closed hook blocks the
call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from posixpath import join, normpath
from typing import Any, Literal, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.errors import ToolFailure
from nbtools.core.hooks import (
    After,
    AfterCall,
    AfterHook,
    Allow,
    Ask,
    Before,
    BeforeCall,
    BeforeHook,
    Block,
    Change,
    Fault,
    Hook,
    Note,
    Replace,
)
from nbtools.core.tool import Kind
from nbtools.workspace.processes.capture import CaptureResult, capture

Read: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_BLOCKS = 2
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


class _Specific(BaseModel):
    model_config = ConfigDict(frozen=True)

    permission: Literal["allow", "deny", "ask", "defer"] | None = Field(None, alias="permissionDecision")
    reason: str = Field("", alias="permissionDecisionReason")
    changed: dict[str, Any] | None = Field(None, alias="updatedInput")
    context: str = Field("", alias="additionalContext")
    output: Any = Field(None, alias="updatedToolOutput")


class _Printed(BaseModel):
    model_config = ConfigDict(frozen=True)

    specific: _Specific = Field(_Specific(), alias="hookSpecificOutput")
    decision: Literal["block", "deny", "approve", "allow", "ask"] | None = None
    reason: str = ""
    continues: bool = Field(True, alias="continue")
    stop_reason: str = Field("", alias="stopReason")
    message: str = Field("", alias="systemMessage")
    context: str = Field("", alias="additionalContext")

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(Note(text) for text in (self.specific.context, self.context, self.message) if text)


@dataclass(frozen=True, slots=True)
class TranslatedCall:
    """A call translated to a hook's dialect.
    ``read`` makes changed arguments canonical again; it raises ``ToolFailure``.

    ``folder`` is where a command runs, relative to the workspace, if the dialect has no parameter for it.
    """

    name: str
    arguments: Mapping[str, Any]
    read: Read
    folder: str = "."


def read_before(got: CaptureResult, call: TranslatedCall) -> tuple[Before, ...]:
    """Returns a hook's verdicts before a call."""
    if got.ended.exit_code == _BLOCKS:
        return (Block(_reason(got)),)
    printed, faults = _printed(got)
    return (*_verdicts(printed, call.read), *printed.notes, *faults)


def _verdicts(printed: _Printed, read: Read) -> tuple[Before, ...]:
    specific = printed.specific
    if not printed.continues:
        return (Block(printed.stop_reason or "it requested to stop"),)
    match specific.permission or printed.decision:
        case "deny" | "block":
            return (Block(specific.reason or printed.reason or "it gives no reason"),)
        case "ask" | "defer":
            verdicts: tuple[Before, ...] = (Ask(specific.reason or printed.reason),)
        case "allow" | "approve":
            verdicts = (Allow(specific.reason or printed.reason),)
        case _:
            verdicts = ()
    return verdicts if specific.changed is None else (change_verdict(specific.changed, read), *verdicts)


def change_verdict(changed: Mapping[str, Any], read: Read) -> Change | Block:
    """Returns the verdict of a hook that changed the input."""
    # A change that cannot be applied blocks the call: the hook did not accept it unchanged.
    try:
        return Change(read(changed))
    except ToolFailure as failure:
        return Block(f"it changed the input to an invalid one: {failure.message}")


def read_after(got: CaptureResult, _: TranslatedCall) -> tuple[After, ...]:
    """Returns a hook's verdicts after a call."""
    if got.ended.exit_code == _BLOCKS:
        return (Block(_reason(got)),)
    printed, faults = _printed(got)
    replaced = (Replace(_content(printed.specific.output)),) if printed.specific.output is not None else ()
    blocks = printed.decision in ("block", "deny") or not printed.continues
    objections = (Block(printed.reason or printed.stop_reason or "it gives no reason"),) if blocks else ()
    return (*replaced, *objections, *printed.notes, *faults)


def _content(output: object) -> str:
    """Returns the new result text: the output itself, or ``content`` of a changed ``tool_response``."""
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        return str(output["content"])
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


_NOTHING_PRINTED = _Printed.model_validate({})


def _printed(got: CaptureResult) -> tuple[_Printed, tuple[Fault, ...]]:
    """Returns the JSON that a hook printed, and what is wrong with its process and its JSON."""
    fault = process_fault(got)
    faults = () if fault is None else (fault,)
    if not got.stdout.lstrip().startswith("{"):
        return _NOTHING_PRINTED, faults
    try:
        return _Printed.model_validate_json(got.stdout), faults
    except ValidationError as error:
        return _NOTHING_PRINTED, (*faults, unusable_json(error))


def unusable_json(error: ValidationError) -> Fault:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return Fault(f"printed JSON that cannot be used ({where}{': ' if where else ''}{first['msg']})")


def process_fault(got: CaptureResult) -> Fault | None:
    """Returns the fault of the hook's own process, if any."""
    ended, code = got.ended, got.ended.exit_code
    last = _reason(got).splitlines()[-1] if got.stderr.strip() else ""
    detail = f": {last}" if last else ""
    if got.too_long:
        return Fault(f"printed too much on {got.too_long}")
    if ended.stopped:
        return Fault("took too long")
    if code == 0:
        return None
    if code in (_NOT_EXECUTABLE, _NOT_FOUND):
        return Fault(f"is missing or cannot be run{detail}")
    how = f"was ended by {ended.signal}" if code is None else f"ended with exit code {code}"
    return Fault(f"{how}{detail}")


def _reason(got: CaptureResult) -> str:
    return got.stderr.strip() or got.stdout.strip() or "it gives no reason"


_EXTRA_SECONDS = 30
"""Added to a hook's own timeout, which the scheduler enforces; this limit is for hooks run without it."""


class HookTranslator(Protocol):
    """Translates calls to the dialect of a hook."""

    def names(self, tool: str, kind: Kind) -> Iterable[str]:
        """Returns the names by which a matcher may name the tool."""
        ...

    def translate(self, tool: str, arguments: Mapping[str, Any], root: str) -> TranslatedCall: ...

    def mode_name(self, mode: str) -> str:
        """Returns the dialect's name of a permission mode."""
        ...


@dataclass(frozen=True, slots=True)
class HookContract:
    """An agent's contract with hook commands:
    the names of its events, what it sends, and how it reads the outcome.

    ``after_every_call``: hooks after calls also run after failed ones.  ``response`` describes a result;
    ``folder_variables`` and ``session_variable`` are environment variables with the workspace and the
    session's id.
    """

    before: str
    after: str
    failure: str
    after_every_call: bool
    read_before: Callable[[CaptureResult, TranslatedCall], tuple[Before, ...]]
    read_after: Callable[[CaptureResult, TranslatedCall], tuple[After, ...]]
    response: Callable[[AfterCall], Mapping[str, object]]
    folder_variables: tuple[str, ...]
    session_variable: str = ""


def _claude_response(call: AfterCall) -> Mapping[str, object]:
    result = call.result
    response = {"content": result.llm_content, "is_error": not result.ok, "data": _plain(result.data)}
    failure = {} if result.error is None else {"error": result.error.message}
    return {"tool_response": response, **failure}


CLAUDE_CONTRACT = HookContract(
    before="PreToolUse",
    after="PostToolUse",
    failure="PostToolUseFailure",
    after_every_call=False,
    read_before=read_before,
    read_after=read_after,
    response=_claude_response,
    folder_variables=("CLAUDE_PROJECT_DIR",),
)


@dataclass(frozen=True, slots=True)
class CommandHook:
    """A hook that runs a command line with ``sh`` in the workspace, for at most about ``seconds``."""

    command: str
    translator: HookTranslator
    contract: HookContract
    seconds: float

    async def before(self, call: BeforeCall) -> tuple[Before, ...]:
        translated = self.translator.translate(call.tool, call.arguments, call.setting.root)
        got = await self._run(call, translated, self.contract.before, {})
        return self.contract.read_before(got, translated)

    async def after_success(self, call: AfterCall) -> tuple[After, ...]:
        runs = call.result.ok or self.contract.after_every_call
        return await self._after(call, self.contract.after) if runs else ()

    async def after_failure(self, call: AfterCall) -> tuple[After, ...]:
        return () if call.result.ok else await self._after(call, self.contract.failure)

    async def _after(self, call: AfterCall, event: str) -> tuple[After, ...]:
        translated = self.translator.translate(call.tool, call.arguments, call.setting.root)
        details = {**self.contract.response(call), "duration_ms": round(call.seconds * 1000)}
        return self.contract.read_after(await self._run(call, translated, event, details), translated)

    async def _run(
        self,
        call: BeforeCall | AfterCall,
        translated: TranslatedCall,
        event: str,
        details: Mapping[str, object],
    ) -> CaptureResult:
        setting = call.setting
        message = {
            "session_id": setting.session,
            "transcript_path": "",
            "cwd": normpath(join(setting.root, translated.folder)),
            "permission_mode": self.translator.mode_name(setting.mode),
            "hook_event_name": event,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "tool_name": translated.name,
            "tool_input": dict(translated.arguments),
            "tool_use_id": call.id,
            **details,
            "nbtools": {"tool": call.tool, "arguments": dict(call.arguments), "kind": call.kind},
        }
        text = json.dumps(message, ensure_ascii=False, default=_plain)
        command, seconds = ["/bin/sh", "-c", self.command], self.seconds + _EXTRA_SECONDS
        env = dict.fromkeys(self.contract.folder_variables, setting.root)
        if self.contract.session_variable:
            env[self.contract.session_variable] = setting.session
        return await capture(command, cwd=Path(setting.root), stdin=text, seconds=seconds, env=env)


def _plain(value: object) -> object:
    """Converts data to what ``json`` can serialise."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value if isinstance(value, str | int | float | bool | list | tuple | dict | None) else repr(value)


def make_command_hook(
    event: Literal["before", "after", "failure"],
    command: str,
    translator: HookTranslator,
    *,
    name: str = "",
    contract: HookContract = CLAUDE_CONTRACT,
    **options: Any,
) -> Hook:
    """Returns a hook that runs a command before calls, after successful ones, or after failed ones.
    ``options`` are those of every hook: ``matcher``, ``closed``, ``timeout``.
    """
    hook = CommandHook(command, translator, contract, options["timeout"])
    options |= {"name": name or _short(command), "names": translator.names}
    if event == "before":
        return BeforeHook(run=hook.before, **options)
    return AfterHook(run=hook.after_failure if event == "failure" else hook.after_success, **options)


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 60 else line[:59] + "…"
