"""A server's wish for a text of the model: shown to the person as a call of its own, and written once they have agreed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from nbtools.core.confirmation import ToolInfoConfirmationDetails
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.model import HOW_TO_SET, LanguageModel, Turn, Wanted, Written
from nbtools.core.result import LlmContent, Part, ToolResult
from nbtools.core.tool import AnyToolBuilder, BaseToolInvocation, Kind, UpdateOutput
from nbtools.sources.mcp.offers.content import content_of, parts_of, text_of

if TYPE_CHECKING:
    from mcp.types import CreateMessageRequestParams

Run: TypeAlias = Callable[[AnyToolBuilder, Mapping[str, Any]], Awaitable[ToolResult]]
"""Makes a call of a tool that is in no registry: judged, asked, run and recorded like every call."""


class Unanswered(Exception):  # noqa: N818 - an answer, not an error
    """No text was written; the message says why."""


class TurnParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["user", "assistant"]
    content: str | tuple[Part, ...]


class SamplingParams(BaseModel):
    """What the server wants; the person may change all of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    turns: tuple[TurnParams, ...]
    """What was said so far."""
    instructions: str = ""
    longest: int | None = None
    """Tokens that may be written."""
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    wishes: str = ""
    """What the server says of the model that it would like, and of the context; nobody has to follow it."""

    @property
    def wanted(self) -> Wanted:
        turns = tuple(Turn(turn.role, turn.content) for turn in self.turns)
        return Wanted(turns, self.instructions, self.longest, self.temperature, self.stop)


@dataclass(frozen=True)
class Sampling:
    """``model`` is asked for anew each time: the person may have set another one."""

    model: Callable[[], LanguageModel | None] = lambda: None
    run: Run | None = None

    async def written(self, server: str, params: CreateMessageRequestParams) -> Written:
        """Raises ``Unanswered``."""
        model = self.model()
        if model is None or self.run is None:
            raise Unanswered(f"{server} asks for a text, and no model is set to write it. {HOW_TO_SET}")
        if params.tools:
            raise Unanswered("nbtools writes texts for servers and calls no tools for them; ask without tools.")
        result = await self.run(SamplingTool(server, model), arguments_of(params))
        if result.error is not None:
            raise Unanswered(f"No text was written: {result.error.message}")
        written: Written = result.data
        return written


class SamplingTool(BaseDeclarativeTool[SamplingParams]):
    """Of one server and one model.  An *always* on it allows nothing else of that server, and no *always* on the server allows it.

    A call that is running, one of the server's, may be waiting for it: it waits for none.
    """

    kind = Kind.OTHER
    runs_beside = True
    parameters = SamplingParams
    description = "Has the model write a text for a server."

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
        return f"{self.tool.model.name}: {' '.join(_words(last).split())}"[:100]

    async def should_confirm_execute(self) -> ToolInfoConfirmationDetails:
        return ToolInfoConfirmationDetails(f"Let {self.tool.server} use {self.tool.model.name}?", "\n\n".join(self._asked()))

    def _asked(self) -> Iterator[str]:
        params = self.params
        tokens = f" of up to {params.longest:,} tokens" if params.longest else ""
        yield f"{self.tool.server} asks {self.tool.model.name} for a text{tokens}. It gets the text, and you pay for it."
        if params.wishes:
            yield params.wishes
        if params.instructions:
            yield f"Instructions: {params.instructions}"
        yield from (f"{turn.role}: {_words(turn.content)}" for turn in params.turns)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        written = await self.tool.model.write(self.params.wanted)
        cut = ", cut at the limit" if written.cut else ""
        return ToolResult(written.text, written.text, summary=f"{len(written.text):,} characters of {written.model}{cut}", data=written)


def arguments_of(params: CreateMessageRequestParams) -> dict[str, Any]:
    """The server's words as arguments of ``SamplingTool``."""
    return {
        "turns": [{"role": one.role, "content": _content(one.content_as_list)} for one in params.messages],
        "instructions": params.system_prompt or "",
        "longest": params.max_tokens,
        "temperature": params.temperature,
        "stop": list(params.stop_sequences or ()),
        "wishes": " ".join(_wishes(params)),
    }


def _content(blocks: list[Any]) -> str | list[Part]:
    content = content_of(parts_of(blocks))
    return content if isinstance(content, str) else list(content)


def _wishes(params: CreateMessageRequestParams) -> Iterator[str]:
    preferences = params.model_preferences
    names = [hint.name for hint in (preferences.hints or () if preferences else ()) if hint.name]
    if names:
        yield f"It would like a model such as {', '.join(names)}."
    said = {"cost": "cheap", "speed": "fast", "intelligence": "able"}
    weights = ((word, getattr(preferences, f"{name}_priority", None)) for name, word in said.items())
    liked = [f"{word} ({weight:g})" for word, weight in weights if weight]
    if liked:
        yield f"From 0 to 1 it should be {', '.join(liked)}."
    if params.include_context not in (None, "none"):
        yield f"It asks for the context of {'all servers' if params.include_context == 'allServers' else 'its own work'}; it gets none."


def _words(content: LlmContent) -> str:
    """Pictures and sounds by what they are."""
    if isinstance(content, str):
        return content
    media = [f"[{part['inline_data']['mime_type']}]" for part in content if "inline_data" in part]
    return " ".join(filter(None, [text_of(content), *media]))
