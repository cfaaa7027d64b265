"""``%tools prompt``: lists the prompts that MCP servers offer, and fills one in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from nbtools.cards.tables import Sheet, Text
from nbtools.core.errors import ToolFailure
from nbtools.core.message import did_you_mean
from nbtools.mcp.client.prompts import ServerPrompt, fill_prompt, find_prompt, prompts_of
from nbtools.notebook.magics.flags import refused, word_list
from nbtools.notebook.magics.sub_commands import SubCommand, inside
from nbtools.notebook.mcp.status import may_connect_automatically

if TYPE_CHECKING:
    from nbtools.mcp.client.connection import Connection
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session

_listed_prompts: WeakKeyDictionary[Connection, tuple[ServerPrompt, ...]] = WeakKeyDictionary()
"""Prompts listed so far, for completion, which sends no requests."""


class PromptCommands:
    """The sub-command ``%tools prompt``."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        self.command = SubCommand(
            "prompt",
            "list prompts of MCP servers, or show one",
            self._prompt,
            (
                word_list(
                    "words", required=False, offers=lambda before, _: _completions(runtime.session, before)
                ),
            ),
            usage="[SERVER:NAME [key=value …]]",
        )

    def _prompt(self, words: Sequence[str] = ()) -> Sheet:
        inside(self._runtime, lambda session: session.mcp.load())
        session = self._runtime.session
        if not words:
            return self._runtime.bridge.run_work(lambda _: _prompts_table(session))
        server, colon, name = words[0].partition(":")
        if not colon or not name:
            raise refused(
                "%tools prompt needs a server and a prompt's name, as in %tools prompt docs:review"
                " topic=tests."
            )
        return self._runtime.bridge.run_work(lambda _: _fill(session.mcp.get(server), name, words[1:]))


async def _prompts_table(session: Session) -> Sheet:
    """Lists the prompts of all servers that may start; failures are listed below them."""
    connections = [
        one
        for one in session.mcp.connections.values()
        if one.state == "connected" or may_connect_automatically(session, one)
    ]
    found = await asyncio.gather(*(_list_prompts(one) for one in connections), return_exceptions=True)
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
    return Sheet("", tuple(rows), tuple(lines), ("prompt", "arguments", "description"), frozenset({0, 1}))


async def _list_prompts(connection: Connection) -> tuple[ServerPrompt, ...]:
    """Lists a server's prompts.  Raises ``ToolFailure``."""
    _listed_prompts[connection] = await prompts_of(connection)
    return _listed_prompts[connection]


async def _fill(connection: Connection, name: str, words: Sequence[str]) -> Sheet:
    prompt = find_prompt(name, connection.server.name, await _list_prompts(connection))
    answer = await fill_prompt(connection, prompt, _arguments(prompt, words))
    return Text(answer.description, lines=(answer.text,), value=answer.text)


def _arguments(prompt: ServerPrompt, words: Sequence[str]) -> Mapping[str, str]:
    """Assigns ``name=value`` by name, other words in order.
    Raises ``ToolFailure`` that lists the prompt's arguments.
    """
    prompt_name, names = _qualified_name(prompt), [argument.name for argument in prompt.arguments]
    arguments: dict[str, str] = {}
    for text in words:
        name, equals, value = text.partition("=")
        if equals and name in names:
            arguments[name] = value
            continue
        free = next((one for one in names if one not in arguments), None)
        if free is None or (equals and name.isidentifier()):
            known = ", ".join(names) or "none"
            raise refused(
                f"{prompt_name} has no argument {text!r}. Its arguments: {known}.{did_you_mean(name, names)}"
            )
        arguments[free] = text
    missing = [
        argument.name for argument in prompt.arguments if argument.required and argument.name not in arguments
    ]
    if missing:
        raise refused(
            f"{prompt_name} needs {' and '.join(missing)}: %tools prompt {prompt_name}"
            f" {' '.join(f'{name}=…' for name in missing)}"
        )
    return arguments


def _row(prompt: ServerPrompt) -> tuple[str, str, str]:
    takes = " ".join(f"{one.name}=…" if one.required else f"[{one.name}=…]" for one in prompt.arguments)
    return (_qualified_name(prompt), takes, (prompt.description or prompt.title).strip().split("\n", 1)[0])


def _qualified_name(prompt: ServerPrompt) -> str:
    return f"{prompt.server}:{prompt.name}"


def _completions(session: Session, words: list[str]) -> list[str]:
    """Returns completions: prompts listed before, then the names of their arguments."""
    known = {
        _qualified_name(prompt): prompt
        for one in session.mcp.connections.values()
        for prompt in _listed_prompts.get(one, ())
    }
    if not words:
        return [
            *known,
            *(f"{name}:" for name, one in session.mcp.connections.items() if one not in _listed_prompts),
        ]
    prompt = known.get(words[0])
    used = {word.partition("=")[0] for word in words[1:]}
    return [f"{one.name}=" for one in (prompt.arguments if prompt else ()) if one.name not in used]
