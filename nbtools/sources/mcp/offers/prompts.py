"""Prompts that servers have: what there is, and one filled in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.model import Turn
from nbtools.core.parameters import did_you_mean
from nbtools.core.result import LlmContent, Part
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
    description: str = ""

    @property
    def content(self) -> LlmContent:
        """All of it as one message; where both sides speak, each says who it is."""
        headed = ([{"text": f"{turn.role}:"}, *_parts(turn.content)] if self._both else _parts(turn.content) for turn in self.turns)
        return content_of([part for parts in headed for part in parts])

    @property
    def text(self) -> str:
        """The same to be read; where a picture or a sound stands, its type."""
        return "\n\n".join((f"{turn.role}: " if self._both else "") + _said(turn.content) for turn in self.turns)

    @property
    def _both(self) -> bool:
        return len({turn.role for turn in self.turns}) > 1


async def prompts_of(connection: Connection) -> tuple[ServerPrompt, ...]:
    """Connects where it is not.  Raises ``ToolFailure``, as all of these do."""
    return tuple(_prompt(connection.server.name, prompt) for prompt in await connection.prompts())


async def prompts_of_all(connections: Iterable[Connection]) -> tuple[ServerPrompt, ...]:
    """Of those that are connected, asked side by side; one that does not answer has none."""
    found = await asyncio.gather(*(prompts_of(one) for one in connections if one.state == "connected"), return_exceptions=True)
    return tuple(prompt for listed in found if isinstance(listed, tuple) for prompt in listed)


def named(name: str, server: str, listed: Iterable[ServerPrompt]) -> ServerPrompt:
    prompts = {prompt.name: prompt for prompt in listed}
    if name not in prompts:
        raise _wrong(f"{server} has no prompt {name!r}.{did_you_mean(name, prompts)}")
    return prompts[name]


async def checked(connection: Connection, name: str, arguments: Mapping[str, str]) -> FilledPrompt:
    """Filled in once the server has a prompt of that name that takes these arguments, and all that it needs is there."""
    prompt = named(name, connection.server.name, await prompts_of(connection))
    known = [argument.name for argument in prompt.arguments]
    for given in arguments:
        if given not in known:
            raise _wrong(f"The prompt {name} takes no {given!r}.{did_you_mean(given, known)}")
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in arguments]
    if missing:
        raise _wrong(f"The prompt {name} needs {' and '.join(missing)}.")
    return await filled(connection, prompt, arguments)


async def filled(connection: Connection, prompt: ServerPrompt, arguments: Mapping[str, str]) -> FilledPrompt:
    answer = await connection.get_prompt(prompt.name, arguments)
    turns = tuple(Turn(one.role, content_of(parts_of([one.content]))) for one in answer.messages)
    return FilledPrompt(prompt, turns, answer.description or prompt.description)


def _prompt(server: str, prompt: types.Prompt) -> ServerPrompt:
    arguments = tuple(PromptArgument(one.name, one.description or "", bool(one.required)) for one in prompt.arguments or ())
    return ServerPrompt(server, prompt.name, prompt.title or prompt.name, prompt.description or "", arguments)


def _parts(content: LlmContent) -> Sequence[Part]:
    return [{"text": content}] if isinstance(content, str) else content


def _said(content: LlmContent) -> str:
    return "\n".join(str(part["text"]) if "text" in part else f"[{_type_of(part)}]" for part in _parts(content))


def _type_of(part: Part) -> str:
    return str(part["inline_data"]["mime_type"])


def _wrong(why: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, why)
