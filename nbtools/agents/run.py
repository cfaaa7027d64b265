"""One run of an agent: drives pydantic-ai's loop, emits events and enforces limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai import Agent as Loop
from pydantic_ai import CancellationToken, RunCancelled, UsageLimits, capture_run_messages
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelResponse,
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

from nbtools.agents.events import EventEmitter
from nbtools.agents.toolset import SessionToolset
from nbtools.agents.usage import Limits, Usage

_UNLIMITED = UsageLimits(request_limit=None)
"""pydantic-ai's own limits are off, because they raise in the middle of a step."""
_MOST_RETRIES = 1_000
"""Retries of malformed answers; the number of steps is what limits a run."""

model_of = infer_model


class Run:
    """One run.  ``messages`` is the history including the run;
    after any end of the run it can be continued.
    """

    def __init__(
        self,
        tools: SessionToolset,
        model: Model,
        instructions: Callable[[], str],
        limits: Limits,
        emitter: EventEmitter,
    ) -> None:
        self.messages: list[ModelMessage] = []
        self.token = CancellationToken()
        self._limits = limits
        self._emitter = emitter
        self._model = model
        self._tools = tools
        self._loop = Loop(
            model, instructions=instructions, toolsets=[self._tools], retries=_MOST_RETRIES, name="nbtools"
        )
        self._run: AgentRun[Any, str] | None = None

    @property
    def usage(self) -> Usage:
        """The usage of this run so far."""
        return Usage() if self._run is None else _usage(self._run.usage, self._emitter.calls)

    async def execute(self, prompt: str, history: Sequence[ModelMessage]) -> str:
        """Runs the loop; returns why it ended before an answer, or empty.
        Raises what pydantic-ai and models raise.
        """
        self.messages = list(history)
        with capture_run_messages() as captured:
            try:
                async with self._loop.iter(
                    prompt, message_history=history, usage_limits=_UNLIMITED, cancellation_token=self.token
                ) as run:
                    self._run = run
                    return await self._follow(run, captured)
            except RunCancelled as stopped:
                return stopped.message
            finally:
                self.messages = repair_messages(_new_history(captured, history))
                self._emitter.flush()
                self._emitter.record_usage(self._model.model_name, self.usage)

    async def _follow(self, run: AgentRun[Any, str], captured: list[ModelMessage]) -> str:
        node = run.next_node
        while not isinstance(node, End):
            if Loop.is_model_request_node(node):
                if reason := self._tools.stopped or self._limits.reached(self.usage):
                    captured.append(node.request)
                    return reason
                self._emitter.begin_step()
                if _streams(self._model):
                    async with node.stream(run.ctx) as events:
                        async for event in events:
                            self._emit_event(event)
            elif Loop.is_call_tools_node(node):
                if not _streams(self._model):
                    for part in node.model_response.parts:
                        self._emit_event(PartStartEvent(index=0, part=part))
                self._emitter.end_step(node.model_response.model_name or self._model.model_name, self.usage)
            node = await run.next(node)
        return ""

    def _emit_event(self, event: AgentStreamEvent) -> None:
        match event:
            case PartStartEvent(part=TextPart() | ThinkingPart() as part):
                self._emitter.begin_text(thinking=isinstance(part, ThinkingPart))
                self._emitter.add_text(part.content)
            case PartDeltaEvent(delta=TextPartDelta() | ThinkingPartDelta() as delta):
                self._emitter.add_text(delta.content_delta or "")
            case _:
                pass


def _new_history(captured: Sequence[ModelMessage], history: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """Returns the captured messages, or the old history if the model did not respond,
    because the prompt will be repeated.
    """
    return (
        captured
        if any(isinstance(message, ModelResponse) and message.parts for message in captured[len(history) :])
        else history
    )


def _streams(model: Model) -> bool:
    """Returns whether the model can stream; function models may not."""
    return not (isinstance(model, FunctionModel) and model.stream_function is None)


def _usage(used: RunUsage, calls: int) -> Usage:
    fresh = used.input_tokens - used.cache_read_tokens - used.cache_write_tokens
    cost = None if used.cost is None else float(used.cost)
    return Usage(
        used.requests, calls, fresh, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens, cost
    )
