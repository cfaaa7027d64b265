"""A model that follows a script, without a network, and what is heard of a run."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

from nbtools.agents.events import AgentEvent, CallStarted, StepFinished, TextReceived
from nbtools.core.call import CallEvent, OutputEvent

Call: TypeAlias = tuple[str, dict[str, Any] | str]
Step: TypeAlias = str | Sequence[Call | str]
"""A last word; or calls, and texts before them.  A text that begins with ``~`` is a thought."""


class Script(FunctionModel):
    """One step a request; ``seen`` are the messages of each,
    ``told`` the tools' names and the instructions.
    """

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.seen: list[list[ModelMessage]] = []
        self.told: list[AgentInfo] = []
        super().__init__(self._whole, stream_function=self._answer, model_name="script")

    async def _whole(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Returns the words and calls for a client that does not stream."""
        said = [part async for part in self._answer(messages, info)]
        calls = [
            call
            for part in said
            if isinstance(part, dict)
            for call in part.values()
            if isinstance(call, DeltaToolCall)
        ]
        text = "".join(part for part in said if isinstance(part, str))
        parts = [
            ToolCallPart(call.name or "", call.json_args, tool_call_id=call.tool_call_id or "")
            for call in calls
        ]
        return ModelResponse([*([TextPart(text)] if text else []), *parts])

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.seen.append(list(messages))
        self.told.append(info)
        step = self.steps.pop(0)
        for number, part in enumerate([step] if isinstance(step, str) else step):
            if not isinstance(part, str):
                name, arguments = part
                yield {
                    number: DeltaToolCall(name, _json(arguments), tool_call_id=f"{len(self.seen)}.{number}")
                }
            elif part.startswith("~"):
                yield {number: DeltaThinkingPart(content=part[1:])}
            else:
                for word in part.split(" "):
                    yield word + " "

    def answered(self, request: int) -> list[str]:
        """Returns the results of the calls before this request."""
        return [str(part.content) for part in self.seen[request][-1].parts if part.part_kind == "tool-return"]


def _json(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class Heard:
    """Happenings and the session's events in the one order in which they came; pieces of text are joined."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.happenings: list[AgentEvent] = []

    def __call__(self, event: AgentEvent) -> None:
        self.happenings.append(event)
        match event:
            case TextReceived(text=text, thinking=thinking):
                mark = "~" if thinking else '"'
                if self.all and self.all[-1].startswith(mark):
                    self.all[-1] += text
                else:
                    self.all.append(mark + text)
            case CallStarted(name=name):
                self.all.append(f"call {name}")
            case StepFinished(step=step):
                self.all.append(f"step {step}")

    def notice(self, event: CallEvent) -> None:
        if not isinstance(event, OutputEvent):
            self.all.append(f"{event.request.name} {event.state}")
