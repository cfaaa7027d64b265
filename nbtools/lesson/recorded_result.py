"""A tool that repeats the recorded result of a call that cannot be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.result import Several, ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, UpdateOutput
from nbtools.traces.model import Call, Detail

RECORDED_RESULT = "recorded_result"
"""The name of the tool that repeats a recorded result."""
NOT_RUN = "Recorded, not run"


@dataclass(frozen=True, slots=True)
class NotRun:
    """A call that is not run: ``why``."""

    call: Call
    detail: Detail
    why: str


class RecordedResultTool(BaseDeclarativeTool[Mapping[str, Any]]):
    """Repeats the recorded result of a call that cannot be run here; changes nothing."""

    name = RECORDED_RESULT
    description = "Repeats the recorded result of a call that cannot be run here."
    kind = Kind.THINK
    asks = False
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["tool"],
    }

    def __init__(self, next_call: Callable[[], NotRun]) -> None:
        self.next_call = next_call

    def create_invocation(self, params: Mapping[str, Any]) -> RecordedResultInvocation:
        return RecordedResultInvocation(self.next_call(), params)


class RecordedResultInvocation(BaseToolInvocation[Mapping[str, Any]]):
    __slots__ = ("_recorded",)

    def __init__(self, recorded: NotRun, params: Mapping[str, Any]) -> None:
        super().__init__(params)
        self._recorded = recorded

    def get_description(self) -> str:
        call = self._recorded.call
        return f"{call.name} {call.subject}".strip()

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        detail = self._recorded.detail
        shown = tuple(
            one for one in (f"{NOT_RUN}: {self._recorded.why}", detail.display or detail.result) if one
        )
        return ToolResult(detail.result, Several(shown), summary=NOT_RUN)
