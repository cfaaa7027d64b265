"""Turns content blocks that the SDK does not know into text, so that one of them does not fail the whole answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from mcp.client._transport import ReadStream, TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

_KNOWN = ("text", "image", "audio", "resource", "resource_link")
"""The SDK refuses an answer with a block of another kind; one of these without what it must have is a malformed answer."""


@asynccontextmanager
async def with_known_content(transport: AbstractAsyncContextManager[TransportStreams]) -> AsyncIterator[TransportStreams]:
    """Yields the transport's streams; the messages read have only content blocks of kinds that the SDK knows."""
    async with transport as (reading, writing):
        yield _KnownContent(reading), writing


class _KnownContent:
    """A stream of messages in which unknown content blocks of results are text blocks with their JSON."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception]) -> None:
        self._stream = stream

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return _known(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return _known(await self._stream.__anext__())

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)


def _known(item: SessionMessage | Exception) -> SessionMessage | Exception:
    result = item.message.result if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse) else None
    if isinstance(result, dict):
        if isinstance(result.get("content"), list):  # of a tool call
            result["content"] = [_known_block(block) for block in result["content"]]
        for message in result["messages"] if isinstance(result.get("messages"), list) else ():  # of a prompt
            if isinstance(message, dict) and "content" in message:
                message["content"] = _known_block(message["content"])
    return item


def _known_block(block: object) -> object:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind in _KNOWN:
        return block
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}
