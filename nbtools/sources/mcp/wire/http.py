"""HTTP clients for servers and their logins: answers of bounded length, and the reason told where a server answers with none.

Answers are asked for uncompressed, and compressed ones are refused: a few bytes can unpack to any number, all at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from nbtools.sources.mcp.settings.entries import Address, ServerSettings
from nbtools.sources.mcp.wire.failures import status_in_words
from nbtools.sources.mcp.wire.stdio import LONGEST, Listener

_SILENCE = 300.0
_LONGER = 30.0
"""Seconds by which a connection outlasts a call: the call's own limit says it better."""


def http_client(server: ServerSettings, address: Address, listener: Listener, auth: httpx2.Auth | None) -> httpx2.AsyncClient:
    """The client for the SDK's transports, which bound each event of a stream themselves."""
    limits = httpx2.Timeout(server.connect_seconds, read=max(_SILENCE, server.call_seconds + _LONGER))
    hooks: list[Any] = [_Answers(server.name, listener).seen, _refuse_compressed, _limit_unless_stream]
    return httpx2.AsyncClient(headers=_plain(address.headers), timeout=limits, auth=auth, event_hooks={"response": hooks})


def login_client(seconds: float) -> httpx2.AsyncClient:
    """The client for a login: ``seconds`` and ``LONGEST`` bytes for each answer."""
    return httpx2.AsyncClient(headers=_plain({}), timeout=seconds, event_hooks={"response": [_refuse_compressed, _limit]})


def _plain(headers: Mapping[str, str]) -> httpx2.Headers:
    asked = httpx2.Headers(headers)
    asked["Accept-Encoding"] = "identity"
    return asked


async def _refuse_compressed(response: httpx2.Response) -> None:
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise httpx2.StreamError(f"it compressed its answer ({coding[:40]!r}), although it was asked not to")


async def _limit(response: httpx2.Response) -> None:
    response.stream = _Limited(response.stream)  # type: ignore[arg-type]


async def _limit_unless_stream(response: httpx2.Response) -> None:
    if response.is_error or "text/event-stream" not in response.headers.get("content-type", ""):
        await _limit(response)


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
