"""Language models of any provider, through pydantic-ai, for single texts without an agent."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

from nbtools.agents.provider_errors import provider_failures, refusal_failure
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.language_model import GeneratedText, LanguageModel, TextRequest, Turn
from nbtools.core.result import LlmContent, Part

if TYPE_CHECKING:
    from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

# pydantic-ai takes seconds to load, so it is imported for the first text, not when a model is named.
# ruff: noqa: PLC0415


def model_named(model: str | Model) -> LanguageModel:
    """Returns the model with pydantic-ai's name for it (``openai:gpt-5``), or wraps a pydantic-ai ``Model``.

    Nothing is checked here: an unknown name, a missing key or package is reported by the first ``write``.
    """
    return _PydanticModel(model)


class _PydanticModel:
    def __init__(self, model: str | Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model if isinstance(self._model, str) else self._model.model_id

    def __repr__(self) -> str:
        return f"model_named({self.name!r})"

    async def write(self, request: TextRequest) -> GeneratedText:
        with provider_failures(self.name):
            model, messages, settings = await asyncio.to_thread(self._prepare, request)
            from pydantic_ai.direct import model_request

            response = await model_request(model, messages, model_settings=settings)
        if response.finish_reason == "content_filter" and not response.text:
            raise refusal_failure(self.name)
        return GeneratedText(
            response.text or "", response.model_name or model.model_name, response.finish_reason == "length"
        )

    def _prepare(self, request: TextRequest) -> tuple[Model, list[ModelMessage], ModelSettings]:
        from pydantic_ai.models import infer_model

        self._model, name = infer_model(self._model), self.name
        if not any(turn.role == "user" for turn in request.turns):
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS, f"The request to the model {name} has no user turn."
            )
        return (
            self._model,
            [_message(turn, request.instructions) for turn in request.turns],
            _settings(request),
        )


def _settings(request: TextRequest) -> ModelSettings:
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings()
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.stop:
        settings["stop_sequences"] = list(request.stop)
    return settings


def _message(turn: Turn, instructions: str) -> ModelMessage:
    return _user_message(turn.content, instructions) if turn.role == "user" else _model_message(turn.content)


def _user_message(content: LlmContent, instructions: str) -> ModelRequest:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    if isinstance(content, str):  # as a text, because some endpoints refuse a list of parts
        prompt = UserPromptPart(content)
    else:
        prompt = UserPromptPart([str(part["text"]) if "text" in part else _binary(part) for part in content])
    return ModelRequest(parts=[prompt], instructions=instructions or None)


def _model_message(content: LlmContent) -> ModelResponse:
    from pydantic_ai.messages import FilePart, ModelResponse, TextPart

    if isinstance(content, str):
        return ModelResponse(parts=[TextPart(content)])
    return ModelResponse(
        parts=[TextPart(str(part["text"])) if "text" in part else FilePart(_binary(part)) for part in content]
    )


def _binary(part: Part) -> BinaryContent:
    from pydantic_ai.messages import BinaryContent

    data = part["inline_data"]
    return BinaryContent(base64.b64decode(data["data"]), media_type=data["mime_type"])
