"""The SDK's HTTP, with a longest answer, and with the reason told where a server answers with none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2

from nbtools.sources.mcp.settings.entries import Address, ServerSettings
from nbtools.sources.mcp.wire.failures import status_in_words
from nbtools.sources.mcp.wire.stdio import LONGEST, Listener

_SILENCE = 300.0
_LONGER = 30.0
"""Seconds by which a connection outlasts a call: the call's own limit says it better."""


def http_client(server: ServerSettings, address: Address, listener: Listener, auth: httpx2.Auth | None) -> httpx2.AsyncClient:
    limits = httpx2.Timeout(server.connect_seconds, read=max(_SILENCE, server.call_seconds + _LONGER))
    hooks: dict[str, list[Any]] = {"response": [_Answers(server.name, listener).seen]}
    return httpx2.AsyncClient(headers=address.headers, timeout=limits, auth=auth, event_hooks=hooks)


class _Answers:
    def __init__(self, server: str, listener: Listener) -> None:
        self._server = server
        self._listener = listener

    async def seen(self, response: httpx2.Response) -> None:
        """Only what was asked counts: that it has no stream of its own (GET), or no sessions to end (DELETE), is as well."""
        asked = response.request.method
        if response.status_code >= 400 and (asked == "POST" or _is_stream(response.request)):
            self._listener.noted(status_in_words(self._server, response.status_code, response.reason_phrase))
        elif asked == "POST":
            self._listener.noted("")
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Limited(response.stream)  # type: ignore[arg-type]


class _Limited(httpx2.AsyncByteStream):
    """A body of at most ``LONGEST`` bytes; what is longer is not read."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > LONGEST:
                raise httpx2.StreamError(f"it sent a message of more than {LONGEST // 1_000_000} MB")
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


def _is_stream(request: httpx2.Request) -> bool:
    """The one long answer of the older transport."""
    return request.method == "GET" and "mcp-protocol-version" not in request.headers
