"""Sampling: a server's request for a model's text, run as a tool call that a person approves."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from nbtools.core.confirmation import ToolInfoConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.language_model import HOW_TO_SET, GeneratedText, LanguageModel, TextRequest, Turn
from nbtools.core.result import LlmContent, Part, ToolResult
from nbtools.core.schema.documented_model import DocumentedModel
from nbtools.core.tool import AnyToolBuilder, BaseToolInvocation, Kind, UpdateOutput
from nbtools.mcp.client.content import content_of, parts_of, text_of

if TYPE_CHECKING:
    from mcp.types import CreateMessageRequestParams

Run: TypeAlias = Callable[[AnyToolBuilder, Mapping[str, Any]], Awaitable[ToolResult]]
"""Calls an unregistered tool; the call is decided, approved, run and recorded like any other."""


class SamplingDeclined(Exception):  # noqa: N818 - an answer, not an error
    """Raised if no text was written; the message is the reason."""


class TurnParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["user", "assistant"]
    content: str | tuple[Part, ...]


class SamplingParams(DocumentedModel):
    """The server's request; the person may modify all of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: tuple[TurnParams, ...]
    """The conversation so far."""
    instructions: str = ""
    longest: int | None = None
    """Maximum number of output tokens."""
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    wishes: str = ""
    """The server's preferences for the model and the context; informational."""

    @property
    def request(self) -> TextRequest:
        turns = tuple(Turn(turn.role, turn.content) for turn in self.turns)
        return TextRequest(turns, self.instructions, self.longest, self.temperature, self.stop)


@dataclass(frozen=True)
class Sampling:
    """Handles sampling requests; asks ``model`` for each, because the person may change the model."""

    model: Callable[[], LanguageModel | None] = lambda: None
    run: Run | None = None

    async def write(self, server: str, params: CreateMessageRequestParams) -> GeneratedText:
        """Writes the requested text.  Raises ``SamplingDeclined``."""
        model = self.model()
        if model is None or self.run is None:
            raise SamplingDeclined(
                f"{server} requests a text from a model, but no model is set. {HOW_TO_SET}"
            )
        if params.tools:
            raise SamplingDeclined("Sampling with tools is not supported. Send the request without tools.")
        result = await self.run(SamplingTool(server, model), arguments_of(params))
        if result.error is not None:
            raise SamplingDeclined(f"No text was written: {result.error.message}")
        text: GeneratedText = result.data
        return text


class SamplingTool(BaseDeclarativeTool[SamplingParams]):
    """Sampling for one server with one model.

    "Always allow" for it allows nothing else of the server, and a grant for the server does not allow it.  It
    does not wait for running calls, because a call of the server may be waiting for it.
    """

    kind = Kind.OTHER
    runs_beside = True
    parameters = SamplingParams
    description = "Writes a text with the model for a server."

    def __init__(self, server: str, model: LanguageModel) -> None:
        self.name = f"sampling__{re.sub(r'[^A-Za-z0-9_-]+', '_', server)}"
        self.display_name = f"Text for {server}"
        self.server = server
        self.of_server = server, "sampling"
        self.model = model

    def create_invocation(self, params: SamplingParams) -> SamplingInvocation:
        return SamplingInvocation(self, params)


class SamplingInvocation(BaseToolInvocation[SamplingParams]):
    __slots__ = ("tool",)

    def __init__(self, tool: SamplingTool, params: SamplingParams) -> None:
        super().__init__(params)
        self.tool = tool

    def get_description(self) -> str:
        last = self.params.turns[-1].content if self.params.turns else ""
        return f"{self.tool.model.name}: {' '.join(_text(last).split())}"[:100]

    async def should_confirm_execute(self) -> ToolInfoConfirmationDetails:
        return ToolInfoConfirmationDetails(
            f"Let {self.tool.server} use {self.tool.model.name}?", "\n\n".join(self._request_lines())
        )

    def _request_lines(self) -> Iterator[str]:
        params = self.params
        tokens = f" of up to {params.longest:,} tokens" if params.longest else ""
        yield (
            f"{self.tool.server} requests a text{tokens} from {self.tool.model.name}. The server receives the"
            " text; you pay for it."
        )
        if params.wishes:
            yield params.wishes
        if params.instructions:
            yield f"Instructions: {params.instructions}"
        yield from (f"{turn.role}: {_text(turn.content)}" for turn in params.turns)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        written = await self.tool.model.write(self.params.request)
        cut = ", cut at the limit" if written.is_truncated else ""
        return ToolResult(
            written.text,
            written.text,
            summary=f"{len(written.text):,} characters of {written.model}{cut}",
            data=written,
        )


def arguments_of(params: CreateMessageRequestParams) -> dict[str, Any]:
    """Converts the server's request to arguments of ``SamplingTool``."""
    return {
        "turns": [{"role": one.role, "content": _content(one.content_as_list)} for one in params.messages],
        "instructions": params.system_prompt or "",
        "longest": params.max_tokens,
        "temperature": params.temperature,
        "stop": list(params.stop_sequences or ()),
        "wishes": " ".join(_preferences(params)),
    }


def _content(blocks: list[Any]) -> str | list[Part]:
    content = content_of(parts_of(blocks))
    return content if isinstance(content, str) else list(content)


def _preferences(params: CreateMessageRequestParams) -> Iterator[str]:
    preferences = params.model_preferences
    names = [hint.name for hint in (preferences.hints or () if preferences else ()) if hint.name]
    if names:
        yield f"Preferred models: {', '.join(names)}."
    properties = {"cost": "cheap", "speed": "fast", "intelligence": "able"}
    weights = ((word, getattr(preferences, f"{name}_priority", None)) for name, word in properties.items())
    weighted = [f"{word} ({weight:g})" for word, weight in weights if weight]
    if weighted:
        yield f"Preferred properties (0 to 1): {', '.join(weighted)}."
    if params.include_context not in (None, "none"):
        yield (
            "It requests the context of"
            f" {'all servers' if params.include_context == 'allServers' else 'this server'}, which is not"
            " sent."
        )


def _text(content: LlmContent) -> str:
    """Returns the text, with media replaced by their types."""
    if isinstance(content, str):
        return content
    media = [f"[{part['inline_data']['mime_type']}]" for part in content if "inline_data" in part]
    return " ".join(filter(None, [text_of(content), *media]))
