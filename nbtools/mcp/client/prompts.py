"""Lists the prompts of MCP servers and fills them in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.language_model import Turn
from nbtools.core.message import did_you_mean
from nbtools.core.result import LlmContent, Part
from nbtools.mcp.client.connection import Connection
from nbtools.mcp.client.content import content_of, parts_of

if TYPE_CHECKING:
    from mcp import types


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt of ``server``."""

    server: str
    name: str
    title: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt with its arguments filled in by the server, as turns of a conversation."""

    prompt: ServerPrompt
    turns: tuple[Turn, ...]
    description: str = ""

    @property
    def content(self) -> LlmContent:
        """All turns as one message; with role headings if both roles occur."""
        headed = (
            (
                [{"text": f"{turn.role}:"}, *_parts(turn.content)]
                if self._has_both_roles
                else _parts(turn.content)
            )
            for turn in self.turns
        )
        return content_of([part for parts in headed for part in parts])

    @property
    def text(self) -> str:
        """All turns as text; media are replaced by their types."""
        return "\n\n".join(
            (f"{turn.role}: " if self._has_both_roles else "")
            + "\n".join(
                str(part["text"]) if "text" in part else f"[{_type_of(part)}]"
                for part in _parts(turn.content)
            )
            for turn in self.turns
        )

    @property
    def _has_both_roles(self) -> bool:
        return len({turn.role for turn in self.turns}) > 1


async def prompts_of(connection: Connection) -> tuple[ServerPrompt, ...]:
    """Lists a server's prompts, connecting if needed.  Raises ``ToolFailure``, like all functions here."""
    return tuple(_prompt(connection.server.name, prompt) for prompt in await connection.prompts())


async def prompts_of_all(connections: Iterable[Connection]) -> tuple[ServerPrompt, ...]:
    """Lists the prompts of all connected servers concurrently; a server that fails is skipped."""
    results = await asyncio.gather(
        *(prompts_of(connection) for connection in connections if connection.state == "connected"),
        return_exceptions=True,
    )
    return tuple(prompt for prompts in results if isinstance(prompts, tuple) for prompt in prompts)


def find_prompt(name: str, server: str, available: Iterable[ServerPrompt]) -> ServerPrompt:
    prompts = {prompt.name: prompt for prompt in available}
    if name not in prompts:
        raise _invalid(f"{server} has no prompt {name!r}.{did_you_mean(name, prompts)}")
    return prompts[name]


async def fill_checked_prompt(
    connection: Connection, name: str, arguments: Mapping[str, str]
) -> FilledPrompt:
    """Fills in a prompt after checking its name, and that its arguments are known and complete."""
    prompt = find_prompt(name, connection.server.name, await prompts_of(connection))
    known = [argument.name for argument in prompt.arguments]
    for argument_name in arguments:
        if argument_name not in known:
            raise _invalid(
                f"The prompt {name} has no argument {argument_name!r}.{did_you_mean(argument_name, known)}"
            )
    missing = [
        argument.name for argument in prompt.arguments if argument.required and argument.name not in arguments
    ]
    if missing:
        raise _invalid(f"The prompt {name} needs {' and '.join(missing)}.")
    return await fill_prompt(connection, prompt, arguments)


async def fill_prompt(
    connection: Connection, prompt: ServerPrompt, arguments: Mapping[str, str]
) -> FilledPrompt:
    answer = await connection.get_prompt(prompt.name, arguments)
    turns = tuple(Turn(one.role, content_of(parts_of([one.content]))) for one in answer.messages)
    return FilledPrompt(prompt, turns, answer.description or prompt.description)


def _prompt(server: str, prompt: types.Prompt) -> ServerPrompt:
    arguments = tuple(
        PromptArgument(one.name, one.description or "", bool(one.required)) for one in prompt.arguments or ()
    )
    return ServerPrompt(server, prompt.name, prompt.title or prompt.name, prompt.description or "", arguments)


def _parts(content: LlmContent) -> Sequence[Part]:
    return [{"text": content}] if isinstance(content, str) else content


def _type_of(part: Part) -> str:
    return str(part["inline_data"]["mime_type"])


def _invalid(why: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, why)
