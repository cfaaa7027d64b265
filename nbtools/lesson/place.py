"""A copy of a recorded session's project with a session in it, and the meaning of a recorded call there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import TraceError
from nbtools.core.result import Several, ToolResult
from nbtools.core.settings import Settings
from nbtools.core.tool import AnyToolBuilder, BaseToolInvocation, Kind, UpdateOutput
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.replay import CanonicalCall, Copy, WorkingDirectory, canonical_call
from nbtools.session import Session
from nbtools.traces.model import Call, Detail

RECORDED_RESULT = "recorded_result"
"""The name of the tool that repeats a recorded result."""
NOT_RUN = "Recorded, not run"


_NOT_REPEATED = {
    "denied": "it was denied when it was recorded.",
    "cancelled": "it was cancelled when it was recorded.",
    "interrupted": "it was interrupted when it was recorded.",
    "unanswered": "the log has no result of it.",
}


@dataclass(frozen=True, slots=True)
class ToRun:
    """A call that runs, as nbtools' tool."""

    call: Call
    detail: Detail
    meaning: CanonicalCall


@dataclass(frozen=True, slots=True)
class NotRun:
    """A call that is not run: ``why``."""

    call: Call
    detail: Detail
    why: str


class Place:
    """A copy, a session in it under the rules of the session ``own``, and what recorded paths mean in it."""

    def __init__(self, own: Session, copy: Copy, ground: WorkingDirectory) -> None:
        self.copy = copy
        self.ground = ground.in_copy(copy)
        self.session = Session(
            copy.root, policy=own.policy, confirmer=own.confirmer, settings=_settings(own.settings)
        )
        self.session.saves_grants = False
        self._grants: frozenset[str] = frozenset()
        self.follow(own)

    def follow(self, own: Session) -> None:
        """Takes over the rules, hooks and further tools of ``own`` as they are now."""
        self.session.policy, self.session.layers, self.session.hooks = own.policy, own.layers, own.hooks
        grants = frozenset(own.grants)
        for rule in self._grants - grants:
            self.session.revoke(rule)
        for rule in grants - self._grants:
            self.session.allow(rule)
        self._grants = grants
        for tool in _further_tools(own):
            self.session.tools.register(tool, replace=True)

    def meaning_of(self, call: Call, detail: Detail) -> ToRun | NotRun:
        """Returns how to run the call here, or why it only repeats its recorded result."""
        if call.status in _NOT_REPEATED:
            return NotRun(call, detail, _NOT_REPEATED[call.status])
        try:
            meaning = canonical_call(call, self.ground, str(self.copy.root), detail)
        except TraceError as error:
            if (
                call.name in self.session.tools
                and call.name not in CANONICAL_NAMES
                and call.name != RECORDED_RESULT
            ):
                return ToRun(call, detail, CanonicalCall(call.name, detail.args))
            return NotRun(call, detail, str(error))
        return ToRun(call, detail, meaning)


def _settings(own: Settings) -> Settings:
    """Returns the settings in the copy: no journal and no log of its own;
    commands run in a sandbox if there is one.
    """
    sandbox = "if_present" if own.sandbox == "off" else own.sandbox
    return replace(
        own, read_first=False, journal=False, record=False, plugins=False, servers=False, sandbox=sandbox
    )


def _further_tools(own: Session) -> Iterator[AnyToolBuilder]:
    """Yields functions that are tools, and the tools of connected MCP servers:
    they do not depend on the workspace.
    """
    tools = own.tools
    for name in tools.names():
        tool = tools[name]
        if tools.canonical_name(tool.name) not in CANONICAL_NAMES and name not in CANONICAL_NAMES:
            yield tool


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
