"""A recorded session for pydantic-ai: its model, which answers each request with the next step and sends
nothing, and its tools.

It is apart from ``RecordedModel``, which is made when a model is named: pydantic-ai takes seconds to load.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import ToolsetTool

from nbtools.agents.toolset import SessionToolset, content_of
from nbtools.core.errors import ErrorCode
from nbtools.lesson.place import RECORDED_RESULT, NotRun
from nbtools.replay.replay import replay_in_copy
from nbtools.session import Session

if TYPE_CHECKING:
    from nbtools.lesson.recorded_model import RecordedModel

Reply = list[TextPart | ThinkingPart | ToolCallPart]


async def next_reply(recorded: RecordedModel) -> Reply:
    """Returns what the model says and calls next."""
    words, pending = await recorded.advance()
    reply: Reply = [ThinkingPart(one.text) if one.thinking else TextPart(one.text) for one in words]
    if isinstance(pending, NotRun):
        arguments = {"tool": pending.call.name, "arguments": dict(pending.detail.args)}
        reply.append(ToolCallPart(RECORDED_RESULT, arguments))
    elif pending is not None:
        reply.append(ToolCallPart(pending.meaning.tool, dict(pending.meaning.arguments)))
    return reply


class RecordedReplies(Model):
    """Answers with the steps of a recording.  Its token usage is zero, because no provider is asked."""

    def __init__(self, recorded: RecordedModel) -> None:
        super().__init__()
        self._recorded = recorded

    @property
    def model_name(self) -> str:
        return self._recorded.name

    @property
    def model_id(self) -> str:
        return self._recorded.name

    @property
    def system(self) -> str:
        return "recorded"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        return ModelResponse(await next_reply(self._recorded), model_name=self.model_name)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncIterator[StreamedResponse]:
        yield _Stream(model_request_parameters=model_request_parameters, recorded=self._recorded)


@dataclass
class _Stream(StreamedResponse):
    recorded: RecordedModel
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for number, part in enumerate(await next_reply(self.recorded)):
            yield self._parts_manager.handle_part(vendor_part_id=number, part=part)

    async def close_stream(self) -> None:
        """Does nothing: there is no connection."""

    @property
    def model_name(self) -> str:
        return self.recorded.name

    @property
    def provider_name(self) -> None:
        return None

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.time


class RecordedToolset(SessionToolset):
    """Runs the recorded call that the model has just made, and compares its result with the recorded one."""

    def __init__(
        self, session: Session, recorded: RecordedModel, on_call: Callable[[str, str], None]
    ) -> None:
        super().__init__(session, on_call=on_call)
        self._recorded = recorded

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        pending, call_id = self._recorded.pending, self._session.new_id()
        self._on_call(call_id, name)
        if pending is None or isinstance(pending, NotRun):
            result = await self._session.call(name, tool_args, id=call_id)
            self.stopped = self._recorded.finish(None)
            return content_of(result)
        place = self._recorded.place
        replayed = await replay_in_copy(
            pending.call,
            place.ground,
            place.copy,
            self._session,
            detail=pending.detail,
            meaning=pending.meaning,
            id=call_id,
        )
        error = replayed.result.error
        if error is not None and error.code is ErrorCode.STOP_EXECUTION:
            self._recorded.finish(replayed)
            self.stopped = error.message
        elif error is not None and error.code is ErrorCode.CANCELLED:
            self.stopped = "the call was cancelled; it is the next one when you continue"
        else:
            self.stopped = self._recorded.finish(replayed)
        return content_of(replayed.result)
