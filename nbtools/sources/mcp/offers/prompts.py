"""Prompts that servers have: what there is, and one filled in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.model import Turn
from nbtools.core.parameters import did_you_mean
from nbtools.core.result import LlmContent
from nbtools.sources.mcp.offers.content import content_of, parts_of
from nbtools.sources.mcp.wire.connection import Connection

if TYPE_CHECKING:
    from mcp import types


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt that ``server`` offers."""

    server: str
    name: str
    title: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """What the server made of it, as the two sides would have said it."""

    prompt: ServerPrompt
    turns: tuple[Turn, ...]

    @property
    def content(self) -> LlmContent:
        """All of it as one message; where both sides speak, each says who it is."""
        several = len({turn.role for turn in self.turns}) > 1
        parts = [part for turn in self.turns for part in ([{"text": f"{turn.role}:"}] if several else []) + _parts(turn.content)]
        return content_of(parts)


async def prompts_of(connections: Iterable[Connection]) -> tuple[ServerPrompt, ...]:
    """Of those that are connected, asked side by side; one that does not answer has none."""
    asked = [one for one in connections if one.state == "connected"]
    found = await asyncio.gather(*(one.prompts() for one in asked), return_exceptions=True)
    return tuple(
        _prompt(one.server.name, prompt) for one, listed in zip(asked, found, strict=True) if isinstance(listed, tuple) for prompt in listed
    )


async def filled(connection: Connection, name: str, arguments: Mapping[str, str]) -> FilledPrompt:
    """Connects where it is not.  Raises ``ToolFailure``: no such prompt or argument, one is missing, what the server says."""
    listed = {prompt.name: _prompt(connection.server.name, prompt) for prompt in await connection.prompts()}
    if name not in listed:
        raise _wrong(f"{connection.server.name} has no prompt {name!r}.{did_you_mean(name, listed)}")
    prompt = listed[name]
    known = [argument.name for argument in prompt.arguments]
    for given in arguments:
        if given not in known:
            raise _wrong(f"The prompt {name} takes no {given!r}.{did_you_mean(given, known)}")
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in arguments]
    if missing:
        raise _wrong(f"The prompt {name} needs {' and '.join(missing)}.")
    answer = await connection.get_prompt(name, arguments)
    return FilledPrompt(prompt, tuple(Turn(one.role, content_of(parts_of([one.content]))) for one in answer.messages))


def _prompt(server: str, prompt: types.Prompt) -> ServerPrompt:
    arguments = tuple(PromptArgument(one.name, one.description or "", bool(one.required)) for one in prompt.arguments or ())
    return ServerPrompt(server, prompt.name, prompt.title or prompt.name, prompt.description or "", arguments)


def _parts(content: LlmContent) -> list[dict[str, object]]:
    return [{"text": content}] if isinstance(content, str) else list(content)


def _wrong(why: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, why)
