"""A recorded session as a model of pydantic-ai:
each request is answered with the next step, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from nbtools.lesson.recorded_model import RecordedModel

Reply = list[TextPart | ThinkingPart | ToolCallPart]


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
        return ModelResponse(await self._recorded.reply(), model_name=self.model_name)

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
        for number, part in enumerate(await self.recorded.reply()):
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
