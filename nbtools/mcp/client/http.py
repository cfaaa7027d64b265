"""HTTP clients for MCP servers and logins, with bounded response sizes and reported error statuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from nbtools.mcp.client.errors import status_text
from nbtools.mcp.client.stdio import MOST_MESSAGE_BYTES, TransportListener
from nbtools.mcp.config.entries import Address, ServerSettings

_READ_SECONDS = 300.0
_EXTRA_SECONDS = 30.0
"""Seconds by which the read timeout exceeds the call's, so that the call's clearer message is shown."""


def http_client(
    server: ServerSettings, address: Address, listener: TransportListener, auth: httpx2.Auth | None
) -> httpx2.AsyncClient:
    """Returns the client for the SDK's transports, which limit each event of a stream themselves."""
    limits = httpx2.Timeout(
        server.connect_seconds, read=max(_READ_SECONDS, server.call_seconds + _EXTRA_SECONDS)
    )
    hooks: list[Any] = [
        _StatusReporter(server.name, listener).report,
        _refuse_compressed,
        _limit_unless_stream,
    ]
    return httpx2.AsyncClient(
        headers=_uncompressed(address.headers), timeout=limits, auth=auth, event_hooks={"response": hooks}
    )


def login_client(seconds: float) -> httpx2.AsyncClient:
    """Returns the client for a login.  Each response is limited to ``seconds`` and ``MOST_MESSAGE_BYTES``."""
    return httpx2.AsyncClient(
        headers=_uncompressed({}), timeout=seconds, event_hooks={"response": [_refuse_compressed, _limit]}
    )


def _uncompressed(headers: Mapping[str, str]) -> httpx2.Headers:
    result = httpx2.Headers(headers)
    result["Accept-Encoding"] = "identity"
    return result


async def _refuse_compressed(response: httpx2.Response) -> None:
    # a few compressed bytes can expand to any number, all at once
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise httpx2.StreamError(
            f"it compressed its answer ({coding[:40]!r}) although that was not requested"
        )


async def _limit(response: httpx2.Response) -> None:
    response.stream = _Limited(response.stream)  # type: ignore[arg-type]


async def _limit_unless_stream(response: httpx2.Response) -> None:
    if response.is_error or "text/event-stream" not in response.headers.get("content-type", ""):
        await _limit(response)


class _StatusReporter:
    def __init__(self, server: str, listener: TransportListener) -> None:
        self._server = server
        self._listener = listener

    async def report(self, response: httpx2.Response) -> None:
        """Reports requests' status; errors of an optional stream (GET) or session end are ignored."""
        method = response.request.method
        # The older transport's event stream has no version; it is not optional.
        is_stream = method == "GET" and "mcp-protocol-version" not in response.request.headers
        if response.status_code >= 400 and (method == "POST" or is_stream):
            self._listener.on_notice(status_text(self._server, response.status_code, response.reason_phrase))
        elif method == "POST":
            self._listener.on_notice("")


class _Limited(httpx2.AsyncByteStream):
    """A response body of at most ``MOST_MESSAGE_BYTES``; a longer one raises ``StreamError``."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > MOST_MESSAGE_BYTES:
                raise httpx2.StreamError(
                    f"it sent a message of more than {MOST_MESSAGE_BYTES // 1_000_000} MB"
                )
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()
