"""One run of an agent, told as it goes.  The loop is pydantic-ai's; this follows it and ends it where a limit is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai import Agent as Loop
from pydantic_ai import CancellationToken, RunCancelled, UsageLimits, capture_run_messages
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    repair_messages,
)
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.run import AgentRun
from pydantic_ai.usage import RunUsage
from pydantic_graph import End

from nbtools.agents.happenings import Called, Happening, Stepped, Wrote
from nbtools.agents.toolset import SessionToolset
from nbtools.agents.usage import Limits, Usage
from nbtools.session import Session

_UNLIMITED = UsageLimits(request_limit=None)
"""Limits are ours: pydantic-ai's raise in the middle of a step."""
_MALFORMED = 1_000
"""So often a model may answer in a form that cannot be read: the steps are what is limited."""

model_of = infer_model


class Run:
    """``step`` counts the model's requests from 1, ``text`` is what it wrote in the last one.

    ``messages`` is the history with what the run has added: from its end on, however it ended, one to go on with.
    """

    def __init__(self, session: Session, model: Model, instructions: str, limits: Limits, heard: Callable[[Happening], None]) -> None:
        self.step = 0
        self.text = ""
        self.messages: list[ModelMessage] = []
        self.token = CancellationToken()
        self._limits = limits
        self._heard = heard
        self._calls = 0
        self._streams = not (isinstance(model, FunctionModel) and model.stream_function is None)
        tools = SessionToolset(session, told=self._called)
        self._loop = Loop(model, instructions=instructions, toolsets=[tools], retries=_MALFORMED, name="nbtools")
        self._run: AgentRun[Any, str] | None = None

    @property
    def usage(self) -> Usage:
        """Of this run, up to now."""
        return Usage() if self._run is None else _usage(self._run.usage, self._calls)

    async def through(self, prompt: str, history: Sequence[ModelMessage]) -> str:
        """Why it ended before the model's last word (``cancelled`` by ``token``), or empty.  Raises what pydantic-ai and models raise."""
        self.messages = list(history)
        with capture_run_messages() as captured:
            try:
                async with self._loop.iter(prompt, message_history=history, usage_limits=_UNLIMITED, cancellation_token=self.token) as run:
                    self._run = run
                    return await self._follow(run, captured)
            except RunCancelled:
                return "cancelled"
            finally:
                self.messages = repair_messages(captured or history)

    async def _follow(self, run: AgentRun[Any, str], captured: list[ModelMessage]) -> str:
        node = run.next_node
        while not isinstance(node, End):
            if Loop.is_model_request_node(node):
                if limit := self._limits.reached(self.usage):
                    captured.append(node.request)
                    return limit
                self.step, self.text = self.step + 1, ""
                if self._streams:
                    async with node.stream(run.ctx) as events:
                        async for event in events:
                            self._event(event)
            elif Loop.is_call_tools_node(node):
                if not self._streams:
                    for part in node.model_response.parts:
                        self._started(part)
                self._heard(Stepped(self.step, self.usage))
            node = await run.next(node)
        return ""

    def _event(self, event: object) -> None:
        if isinstance(event, PartStartEvent):
            self._started(event.part)
        elif isinstance(event, PartDeltaEvent):
            if isinstance(event.delta, TextPartDelta):
                self._wrote(event.delta.content_delta)
            elif isinstance(event.delta, ThinkingPartDelta):
                self._wrote(event.delta.content_delta or "", thinking=True)

    def _started(self, part: ModelResponsePart) -> None:
        if isinstance(part, TextPart):
            self._wrote(part.content)
        elif isinstance(part, ThinkingPart):
            self._wrote(part.content, thinking=True)

    def _wrote(self, text: str, *, thinking: bool = False) -> None:
        if text:
            self.text += "" if thinking else text
            self._heard(Wrote(self.step, text, thinking))

    def _called(self, call_id: str, name: str) -> None:
        self._calls += 1
        self._heard(Called(self.step, call_id, name))


def _usage(used: RunUsage, calls: int) -> Usage:
    fresh = used.input_tokens - used.cache_read_tokens - used.cache_write_tokens
    cost = None if used.cost is None else float(used.cost)
    return Usage(used.requests, calls, fresh, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens, cost)
