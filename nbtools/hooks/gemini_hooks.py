"""Gemini CLI's contract for hook commands, its events BeforeTool and AfterTool (packages/core/src/hooks).

Exit code 0 is success and 1 a warning; any other blocks, with the printed text as the reason.  JSON on
stdout, or else on stderr, decides: ``continue`` false stops the whole message, ``decision`` blocks or asks.
Its ``allow`` does not replace an approval.  Before a call, ``hookSpecificOutput.tool_input`` is merged into
the arguments; after it, a block withholds the result and ``additionalContext`` is added.

Unlike in Gemini CLI, exit codes above 1 block whatever JSON was printed, ``systemMessage`` is told to the
model too, the text of a successful hook that is not JSON is ignored, and ``tailToolCallRequest`` is refused
as a fault.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nbtools.core.hooks import After, AfterCall, Ask, Before, Block, Fault, Note, Stop, Withhold
from nbtools.hooks.command_hooks import (
    HookContract,
    TranslatedCall,
    change_verdict,
    process_fault,
    unusable_json,
)
from nbtools.workspace.processes.capture import CaptureResult

_WARNING = 1
_NO_REASON = "it gives no reason"


class _Specific(BaseModel):
    model_config = ConfigDict(frozen=True)

    changed: dict[str, Any] | None = Field(None, alias="tool_input")
    context: str = Field("", alias="additionalContext")
    tail_call: dict[str, Any] | None = Field(None, alias="tailToolCallRequest")


class _Printed(BaseModel):
    model_config = ConfigDict(frozen=True)

    specific: _Specific = Field(_Specific(), alias="hookSpecificOutput")
    decision: Literal["block", "deny", "approve", "allow", "ask"] | None = None
    reason: str = ""
    continues: bool | None = Field(None, alias="continue")
    stop_reason: str = Field("", alias="stopReason")
    message: str = Field("", alias="systemMessage")
    hides: bool = Field(False, alias="suppressOutput")

    @property
    def blocks(self) -> bool:
        return self.decision in ("block", "deny")

    @property
    def why(self) -> str:
        return self.stop_reason or self.reason or "No reason provided"

    @property
    def notes(self) -> tuple[Note, ...]:
        return (Note(self.message),) if self.message and not self.hides else ()


def read_before(got: CaptureResult, call: TranslatedCall) -> tuple[Before, ...]:
    """Returns a hook's verdicts before a call."""
    printed = _printed(got)
    faults = _faults(got, printed)
    if isinstance(printed, _Printed) and printed.continues is False:
        return (Stop(printed.why),)
    if reason := _blocks(got, printed):
        return (Block(reason),)
    if not isinstance(printed, _Printed):
        return faults
    changed = printed.specific.changed
    verdicts: tuple[Before, ...] = ()
    if changed is not None:
        verdicts = (change_verdict({**call.arguments, **changed}, call.read),)
    if printed.decision == "ask":
        verdicts = (*verdicts, Ask(printed.reason or printed.message))
    return (*verdicts, *printed.notes, *faults)


def read_after(got: CaptureResult, _: TranslatedCall) -> tuple[After, ...]:
    """Returns a hook's verdicts after a call."""
    printed = _printed(got)
    faults = _faults(got, printed)
    if isinstance(printed, _Printed) and printed.continues is False:
        return (Stop(printed.why),)
    if reason := _blocks(got, printed):
        return (Withhold(reason),)
    if not isinstance(printed, _Printed):
        return faults
    context = printed.specific.context.replace("<", "&lt;").replace(">", "&gt;")
    added = (Note(f"<hook_context>{context}</hook_context>"),) if context else ()
    return (*added, *printed.notes, *faults)


def _blocks(got: CaptureResult, printed: _Printed | Fault | None) -> str:
    """Returns the reason of a hook that blocks; empty for one that does not."""
    if isinstance(printed, _Printed) and printed.blocks:
        return printed.why
    if got.ended.exit_code in (None, 0, _WARNING) or got.ended.stopped or got.too_long:
        return ""
    return (printed.reason if isinstance(printed, _Printed) else "") or _text(got) or _NO_REASON


def _faults(got: CaptureResult, printed: _Printed | Fault | None) -> tuple[Fault, ...]:
    found = [fault for fault in (process_fault(got), printed) if isinstance(fault, Fault)]
    if isinstance(printed, _Printed) and printed.specific.tail_call is not None:
        name = printed.specific.tail_call.get("name")
        found.append(Fault(f"requested the call of another tool ({name}), which is not supported"))
    return tuple(found)


def _text(got: CaptureResult) -> str:
    return got.stdout.strip() or got.stderr.strip()


def _printed(got: CaptureResult) -> _Printed | Fault | None:
    try:
        value = json.loads(_text(got))
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    try:
        return _Printed.model_validate(value)
    except ValidationError as error:
        return unusable_json(error)


def _response(call: AfterCall) -> Mapping[str, object]:
    error = call.result.error
    failure = {} if error is None else {"error": {"message": error.message, "type": error.code}}
    response = {"llmContent": call.result.llm_content, "returnDisplay": call.result.summary or ""}
    return {"tool_response": {**response, **failure}}


GEMINI_CONTRACT = HookContract(
    before="BeforeTool",
    after="AfterTool",
    failure="AfterTool",
    after_every_call=True,
    read_before=read_before,
    read_after=read_after,
    response=_response,
    folder_variables=("GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"),
    session_variable="GEMINI_SESSION_ID",
)
