"""One run of an agent.  The loop is pydantic-ai's; this follows it, tells of it, and ends it where a limit is reached."""

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

from nbtools.agents.telling import Teller
from nbtools.agents.toolset import SessionToolset
from nbtools.agents.usage import Limits, Usage
from nbtools.session import Session

_UNLIMITED = UsageLimits(request_limit=None)
"""Limits are ours: pydantic-ai's raise in the middle of a step."""
_MALFORMED = 1_000
"""So often a model may answer in a form that cannot be read: the steps are what is limited."""

model_of = infer_model


class Run:
    """``messages`` is the history with what the run has added: from its end on, however it ended, one to go on with."""

    def __init__(self, session: Session, model: Model, instructions: Callable[[], str], limits: Limits, teller: Teller) -> None:
        self.messages: list[ModelMessage] = []
        self.token = CancellationToken()
        self._limits = limits
        self._teller = teller
        self._model = model
        tools = SessionToolset(session, told=teller.called)
        self._loop = Loop(model, instructions=instructions, toolsets=[tools], retries=_MALFORMED, name="nbtools")
        self._run: AgentRun[Any, str] | None = None

    @property
    def usage(self) -> Usage:
        """Of this run, up to now."""
        return Usage() if self._run is None else _usage(self._run.usage, self._teller.calls)

    async def through(self, prompt: str, history: Sequence[ModelMessage]) -> str:
        """Why it ended before the model's last word, or empty.  Raises what pydantic-ai and models raise."""
        self.messages = list(history)
        with capture_run_messages() as captured:
            try:
                async with self._loop.iter(prompt, message_history=history, usage_limits=_UNLIMITED, cancellation_token=self.token) as run:
                    self._run = run
                    return await self._follow(run, captured)
            except RunCancelled as stopped:
                return stopped.message
            finally:
                self.messages = repair_messages(_worth_keeping(captured, history))
                self._teller.flush()
                self._teller.used(self._model.model_name, self.usage)

    async def _follow(self, run: AgentRun[Any, str], captured: list[ModelMessage]) -> str:
        node = run.next_node
        while not isinstance(node, End):
            if Loop.is_model_request_node(node):
                if limit := self._limits.reached(self.usage):
                    captured.append(node.request)
                    return limit
                self._teller.asks()
                if _streams(self._model):
                    async with node.stream(run.ctx) as events:
                        async for event in events:
                            self._event(event)
            elif Loop.is_call_tools_node(node):
                if not _streams(self._model):
                    self._whole(node.model_response)
                self._teller.stepped(node.model_response.model_name or self._model.model_name, self.usage)
            node = await run.next(node)
        return ""

    def _event(self, event: AgentStreamEvent) -> None:
        match event:
            case PartStartEvent(part=TextPart() | ThinkingPart() as part):
                self._teller.begins(thinking=isinstance(part, ThinkingPart))
                self._teller.wrote(part.content)
            case PartDeltaEvent(delta=TextPartDelta() | ThinkingPartDelta() as delta):
                self._teller.wrote(delta.content_delta or "")
            case _:
                pass

    def _whole(self, response: ModelResponse) -> None:
        for part in response.parts:
            self._event(PartStartEvent(index=0, part=part))


def _worth_keeping(captured: Sequence[ModelMessage], history: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """A prompt to which nothing was answered is not kept: it will be asked again."""
    return captured if any(isinstance(one, ModelResponse) and one.parts for one in captured[len(history) :]) else history


def _streams(model: Model) -> bool:
    """Functions that stand for a model need not be able to."""
    return not (isinstance(model, FunctionModel) and model.stream_function is None)


def _usage(used: RunUsage, calls: int) -> Usage:
    fresh = used.input_tokens - used.cache_read_tokens - used.cache_write_tokens
    cost = None if used.cost is None else float(used.cost)
    return Usage(used.requests, calls, fresh, used.cache_read_tokens, used.cache_write_tokens, used.output_tokens, cost)
