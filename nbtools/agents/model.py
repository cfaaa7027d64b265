"""Any provider's model as tools and servers ask it for a text: pydantic-ai's, without an agent around it."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

from nbtools.agents.troubles import in_one_line, refusal
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.model import LanguageModel, Turn, Wanted, Written
from nbtools.core.result import LlmContent, Part

if TYPE_CHECKING:
    from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

# pydantic-ai takes seconds to load: whoever names a model does not wait for it, the first text does.
# ruff: noqa: PLC0415


def model_named(model: str | Model) -> LanguageModel:
    """The model of that name (``openai:gpt-5``, as pydantic-ai has them), or one of pydantic-ai's own making.

    Looks nothing up: a name that nobody knows, a key or a package that is missing are told by the first ``write``.
    """
    return _Named(model)


class _Named:
    def __init__(self, model: str | Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model if isinstance(self._model, str) else self._model.model_id

    def __repr__(self) -> str:
        return f"model_named({self.name!r})"

    async def write(self, wanted: Wanted) -> Written:
        with in_one_line(self.name):
            model, messages, settings = await asyncio.to_thread(self._prepared, wanted)
            from pydantic_ai.direct import model_request

            response = await model_request(model, messages, model_settings=settings)
        if response.finish_reason == "content_filter" and not response.text:
            raise refusal(self.name)
        return Written(response.text or "", response.model_name or model.model_name, response.finish_reason == "length")

    def _prepared(self, wanted: Wanted) -> tuple[Model, list[ModelMessage], ModelSettings]:
        from pydantic_ai.models import infer_model

        self._model, name = infer_model(self._model), self.name
        if not any(turn.role == "user" for turn in wanted.turns):
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"The model {name} was asked nothing: no turn is the user's.")
        return self._model, [_message(turn, wanted.instructions) for turn in wanted.turns], _settings(wanted)


def _settings(wanted: Wanted) -> ModelSettings:
    from pydantic_ai.settings import ModelSettings

    settings = ModelSettings()
    if wanted.longest is not None:
        settings["max_tokens"] = wanted.longest
    if wanted.temperature is not None:
        settings["temperature"] = wanted.temperature
    if wanted.stop:
        settings["stop_sequences"] = list(wanted.stop)
    return settings


def _message(turn: Turn, instructions: str) -> ModelMessage:
    return _asked(turn.content, instructions) if turn.role == "user" else _answered(turn.content)


def _asked(content: LlmContent, instructions: str) -> ModelRequest:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    said = content if isinstance(content, str) else [str(part["text"]) if "text" in part else _binary(part) for part in content]
    return ModelRequest(parts=[UserPromptPart(said)], instructions=instructions or None)


def _answered(content: LlmContent) -> ModelResponse:
    from pydantic_ai.messages import FilePart, ModelResponse, TextPart

    if isinstance(content, str):
        return ModelResponse(parts=[TextPart(content)])
    return ModelResponse(parts=[TextPart(str(part["text"])) if "text" in part else FilePart(_binary(part)) for part in content])


def _binary(part: Part) -> BinaryContent:
    from pydantic_ai.messages import BinaryContent

    data = part["inline_data"]
    return BinaryContent(base64.b64decode(data["data"]), media_type=data["mime_type"])
