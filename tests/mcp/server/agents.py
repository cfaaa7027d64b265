"""An MCP client beside a test that does other things: the SDK's own, in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import anyio.from_thread
from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.types import CallToolResult, Implementation, Tool


class Agent:
    """A client that is connected; ``notices`` are the messages that the server sends of its own accord."""

    def __init__(self, portal: BlockingPortal, client: Client, notices: list[Any]) -> None:
        self._portal = portal
        self._client = client
        self.notices = notices

    @property
    def instructions(self) -> str:
        return self._client.instructions or ""

    def tools(self) -> dict[str, Tool]:
        found = self._portal.call(lambda: self._client.list_tools(cache_mode="bypass"))
        return {tool.name: tool for tool in found.tools}

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        return self.start(name, **arguments).result(60)

    def start(self, name: str, **arguments: Any) -> Future[CallToolResult]:
        """A call to wait for later; cancelling the future cancels it as a client does."""
        return self._portal.start_task_soon(lambda: self._client.call_tool(name, arguments))

    def start_heard(self, name: str, hear: Any, **arguments: Any) -> Future[CallToolResult]:
        """Calls a tool as a client that requests progress."""
        return self._portal.start_task_soon(
            lambda: self._client.call_tool(name, arguments, progress_callback=hear)
        )


@contextmanager
def an_agent(server: Any, name: str = "claude-code", mode: str = "auto") -> Iterator[Agent]:
    """``nbtools mcp`` with a client of that name, for as long as the block lasts."""
    notices: list[Any] = []

    async def hear(message: Any) -> None:
        notices.append(message)

    with anyio.from_thread.start_blocking_portal() as portal:
        client = Client(
            server, mode=mode, client_info=Implementation(name=name, version="1"), message_handler=hear
        )
        with portal.wrap_async_context_manager(client):
            yield Agent(portal, client, notices)


def text(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")
