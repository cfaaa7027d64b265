"""``%tools prompt``: the prompts that MCP servers offer, listed and filled in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from nbtools.core.errors import ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.notebook.attending import attended
from nbtools.notebook.mcp.states import starts_unasked
from nbtools.notebook.sheets import Sheet, Text
from nbtools.notebook.sub_commands import SubCommand, inside, refused

if TYPE_CHECKING:
    from mcp.types import GetPromptResult, Prompt

    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session
    from nbtools.sources.mcp.wire.connection import Connection

_seen: WeakKeyDictionary[Connection, tuple[Prompt, ...]] = WeakKeyDictionary()
"""For completion, which asks no server."""


class PromptCommands:
    """The sub-command.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self.commands = {"prompt": SubCommand("[SERVER:NAME [key=value …]]", "the prompts of MCP servers; the text of one", self._prompt)}

    def _prompt(self, rest: list[str]) -> Sheet:
        inside(self._bench, lambda session: session.mcp.load())
        session = self._bench.session
        if not rest:
            return attended(self._bench, lambda _: _all(session))
        server, colon, name = rest[0].partition(":")
        if not colon or not name:
            raise refused("%tools prompt takes a server and a prompt's name, as in %tools prompt docs:review topic=tests.")
        return attended(self._bench, lambda _: _filled(session.mcp.named(server), name, rest[1:]))


async def _all(session: Session) -> Sheet:
    """Of all servers that may start; what fails is told below."""
    connections = [one for one in session.mcp.connections.values() if one.state == "connected" or starts_unasked(session, one)]
    found = await asyncio.gather(*(prompts_of(one) for one in connections), return_exceptions=True)
    rows, lines = [], []
    for connection, prompts in zip(connections, found, strict=True):
        if isinstance(prompts, ToolFailure):
            lines.append(f"✕ {prompts.message}")
        elif isinstance(prompts, BaseException):
            raise prompts
        else:
            rows += [_row(connection.server.name, prompt) for prompt in prompts]
    if not rows:
        return Sheet(lines=("No MCP server offers a prompt.", *lines))
    lines.append("%tools prompt SERVER:NAME key=value … shows its text, and returns it.")
    return Sheet("", tuple(rows), tuple(lines), ("prompt", "takes", "what it is for"), frozenset({0, 1}))


async def prompts_of(connection: Connection) -> tuple[Prompt, ...]:
    """Raises ``ToolFailure``."""
    found = await connection.prompts()
    _seen[connection] = found
    return found


async def _filled(connection: Connection, name: str, words: list[str]) -> Sheet:
    prompts = {prompt.name: prompt for prompt in await prompts_of(connection)}
    if name not in prompts:
        raise refused(f"{connection.server.name} has no prompt {name!r}.{did_you_mean(name, prompts)}")
    answer = await connection.get_prompt(name, _arguments(f"{connection.server.name}:{name}", prompts[name], words))
    text = text_of(answer)
    return Text(answer.description or prompts[name].description or "", lines=(text,), value=text)


def _arguments(spoken: str, prompt: Prompt, words: list[str]) -> Mapping[str, str]:
    """By name, or by their order where a word has no name.  Raises ``ToolFailure`` that lists what it takes."""
    names = [argument.name for argument in prompt.arguments or ()]
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            given[name] = value
            continue
        free = next((one for one in names if one not in given), None)
        if free is None or (equals and name.isidentifier()):
            raise refused(f"{spoken} takes {', '.join(names) or 'nothing'}, not {word!r}.{did_you_mean(name, names)}")
        given[free] = word
    missing = [argument.name for argument in prompt.arguments or () if argument.required and argument.name not in given]
    if missing:
        raise refused(f"{spoken} needs {' and '.join(missing)}: %tools prompt {spoken} {' '.join(f'{name}=…' for name in missing)}")
    return given


def text_of(answer: GetPromptResult) -> str:
    """Its messages; who says each where it is not the person alone."""
    alone = all(message.role == "user" for message in answer.messages)
    return "\n\n".join(_said(message.content) if alone else f"{message.role}: {_said(message.content)}" for message in answer.messages)


def _said(content: object) -> str:
    text = getattr(content, "text", None) or getattr(getattr(content, "resource", None), "text", None)
    return (
        str(text)
        if text is not None
        else f"[{getattr(content, 'type', 'something')} {getattr(content, 'mime_type', '') or ''}]".replace(" ]", "]")
    )


def _row(server: str, prompt: Prompt) -> tuple[str, str, str]:
    takes = " ".join(f"{one.name}=…" if one.required else f"[{one.name}=…]" for one in prompt.arguments or ())
    return (f"{server}:{prompt.name}", takes, (prompt.description or prompt.title or "").strip().split("\n", 1)[0])


def offered(session: Session, given: list[str]) -> list[str]:
    """Prompts that have been listed before, then the names of their arguments."""
    known = {f"{one.server.name}:{prompt.name}": prompt for one in session.mcp.connections.values() for prompt in _seen.get(one, ())}
    if not given:
        return [*known, *(f"{name}:" for name, one in session.mcp.connections.items() if one not in _seen)]
    prompt = known.get(given[0])
    used = {word.partition("=")[0] for word in given[1:]}
    return [f"{one.name}=" for one in (prompt.arguments or () if prompt else ()) if one.name not in used]
