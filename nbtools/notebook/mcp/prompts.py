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
from nbtools.sources.mcp.offers.prompts import ServerPrompt, filled, named, prompts_of

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session
    from nbtools.sources.mcp.wire.connection import Connection

_seen: WeakKeyDictionary[Connection, tuple[ServerPrompt, ...]] = WeakKeyDictionary()
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
    found = await asyncio.gather(*(_listed(one) for one in connections), return_exceptions=True)
    rows: list[tuple[str, str, str]] = []
    lines: list[str] = []
    for prompts in found:
        if isinstance(prompts, ToolFailure):
            lines.append(f"✕ {prompts.message}")
        elif isinstance(prompts, BaseException):
            raise prompts
        else:
            rows += map(_row, prompts)
    if not rows:
        return Sheet(lines=("No MCP server offers a prompt.", *lines))
    lines.append("%tools prompt SERVER:NAME key=value … shows its text, and returns it.")
    return Sheet("", tuple(rows), tuple(lines), ("prompt", "takes", "what it is for"), frozenset({0, 1}))


async def _listed(connection: Connection) -> tuple[ServerPrompt, ...]:
    """Raises ``ToolFailure``."""
    _seen[connection] = await prompts_of(connection)
    return _seen[connection]


async def _filled(connection: Connection, name: str, words: list[str]) -> Sheet:
    prompt = named(name, connection.server.name, await _listed(connection))
    answer = await filled(connection, prompt, _arguments(prompt, words))
    return Text(answer.description, lines=(answer.text,), value=answer.text)


def _arguments(prompt: ServerPrompt, words: list[str]) -> Mapping[str, str]:
    """By name, or by their order where a word has no name.  Raises ``ToolFailure`` that lists what it takes."""
    spoken, names = _spoken(prompt), [argument.name for argument in prompt.arguments]
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
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in given]
    if missing:
        raise refused(f"{spoken} needs {' and '.join(missing)}: %tools prompt {spoken} {' '.join(f'{name}=…' for name in missing)}")
    return given


def _row(prompt: ServerPrompt) -> tuple[str, str, str]:
    takes = " ".join(f"{one.name}=…" if one.required else f"[{one.name}=…]" for one in prompt.arguments)
    return (_spoken(prompt), takes, (prompt.description or prompt.title).strip().split("\n", 1)[0])


def _spoken(prompt: ServerPrompt) -> str:
    return f"{prompt.server}:{prompt.name}"


def offered(session: Session, given: list[str]) -> list[str]:
    """Prompts that have been listed before, then the names of their arguments."""
    known = {_spoken(prompt): prompt for one in session.mcp.connections.values() for prompt in _seen.get(one, ())}
    if not given:
        return [*known, *(f"{name}:" for name, one in session.mcp.connections.items() if one not in _seen)]
    prompt = known.get(given[0])
    used = {word.partition("=")[0] for word in given[1:]}
    return [f"{one.name}=" for one in (prompt.arguments if prompt else ()) if one.name not in used]
