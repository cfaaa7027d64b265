"""HTTP client for public addresses, with bounded redirects, sizes and time.

Imported only when something is fetched, because httpcore takes 70 ms to import.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus

import certifi
import httpcore

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter
from nbtools.workspace.paths import printable_path
from nbtools.workspace.web.address import WebAddress, is_public


class ResponseBody:
    """A response body that is decompressed as it arrives, up to a size limit."""

    def __init__(self, name: str, coding: str, limit: int) -> None:
        self._name, self._limit = name, limit
        self._unpack = self._unpacker(coding.strip().lower())
        self._pieces: list[bytes] = []
        self._taken = self._size = 0

    def _unpacker(self, coding: str) -> Decompressor | None:
        if coding in ("", "identity"):
            return None
        if coding in ("gzip", "x-gzip", "deflate"):
            return Decompressor()
        raise _unreadable(
            f"{self._name} uses the content encoding {printable_path(coding)}, which was not requested and is"
            " not supported."
        )

    def check_length(self, length: str) -> None:
        """Checks the declared content length.  Raises ``ToolFailure`` if it exceeds the limit."""
        if length.isascii() and length.isdecimal() and int(length[:20]) > self._limit:
            raise self._too_large()

    def append(self, chunk: bytes) -> None:
        self._taken += len(chunk)
        if self._unpack is not None:
            try:
                chunk = self._unpack(chunk, self._limit - self._size + 1)
            except zlib.error:
                raise _unreadable(f"{self._name} has invalid compressed data and cannot be read.") from None
        self._pieces.append(chunk)
        self._size += len(chunk)
        if max(self._taken, self._size) > self._limit:
            raise self._too_large()

    def content(self) -> bytes:
        return b"".join(self._pieces)

    def _too_large(self) -> ToolFailure:
        return _unreadable(
            f"{self._name} has more than {self._limit:,} bytes. Download it with a shell command."
        )


class Decompressor:
    """Decompresses gzip, and deflate with or without the zlib header."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._begun = False

    def __call__(self, chunk: bytes, most: int) -> bytes:
        """Decompresses at most ``most`` bytes, against decompression bombs. Raises ``zlib.error``."""
        if self._begun or not chunk:
            return self._stream.decompress(chunk, most)
        self._begun = True
        try:
            return self._stream.decompress(chunk, most)
        except zlib.error:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._stream.decompress(chunk, most)


def _unreadable(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.WEB_FETCH_PROCESSING_ERROR, message)


_HEADERS = (
    (b"User-Agent", b"nbtools (+https://pypi.org/project/nbtools-agent/)"),
    (b"Accept", b"text/markdown, text/html, */*"),
    (b"Accept-Encoding", b"gzip, deflate"),
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT_TIMEOUT = 5.0
"""Seconds to connect to each of several addresses of a host; the last one gets the remaining time."""
_MINUTE = 60.0
_LONGEST_REDIRECT = 2_000
"""Maximum length of a redirect address that a message repeats."""

Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Returns the numeric addresses of a host and port, preferred first.  Raises ``OSError``."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response after redirects within the host, with its decompressed ``body``."""

    address: WebAddress
    status: int
    content_type: str
    body: bytes

    @property
    def status_line(self) -> str:
        names = {status.value: status.phrase for status in HTTPStatus}
        return f"{self.status} {names.get(self.status, '')}".strip()


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Resolves a name with the system's resolver, which also accepts unusual spellings of addresses."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class PublicNetworkBackend(httpcore.AsyncNetworkBackend):
    """Network backend that connects only to public addresses.

    It connects to the address that it has checked, which prevents DNS rebinding.
    ``allowed``: hosts and ports that may be private.
    """

    def __init__(self, allowed: Collection[tuple[str, int]], resolve: Resolve) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._system = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self.checked_addresses(host, port)
        for address in addresses[:-1]:
            limit = min(_CONNECT_TIMEOUT, timeout or _CONNECT_TIMEOUT)
            try:
                return await self._system.connect_tcp(address, port, limit, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._system.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def checked_addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Returns a host's addresses. Raises ``web_fetch_fallback_failed`` if one is not public."""
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise _problem(
                f"The host {printable_path(host)} could not be resolved. Check its spelling and the network"
                " connection."
            ) from None
        if not addresses or not (self.is_allowed(host, port) or all(map(is_public, addresses))):
            raise not_public_failure(host)
        return addresses

    def is_allowed(self, host: str, port: int) -> bool:
        return (host, port) in self._allowed


def not_public_failure(host: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.WEB_FETCH_FALLBACK_FAILED,
        f"{printable_path(host)} is not on the public internet; addresses of this machine and its network are"
        " not fetched. Use a shell command to access it.",
    )


class WebClient:
    """HTTP client for pages.

    ``allowed``: hosts that may be private, ``host:port`` or ``host`` (ports 80 and 443).  ``proxy``:
    ``http://…``, used for all requests; the environment's proxy is ignored.  A proxy resolves names itself,
    so addresses can be checked here only as far as they can be resolved here, and the proxy must restrict
    them as well.  ``most_bytes`` limits the body, compressed and decompressed.
    """

    def __init__(
        self,
        *,
        allowed: Iterable[str] = (),
        proxy: str | None = None,
        most_bytes: int = 10_000_000,
        most_redirects: int = 10,
        a_minute: int = 10,
        resolve: Resolve = resolve_host,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = PublicNetworkBackend(
            frozenset(place for name in allowed for place in _hosts_and_ports(name)), resolve
        )
        self._proxy = proxy
        self._most_bytes = most_bytes
        self._most_redirects = most_redirects
        self._rate_limit = RateLimit(a_minute, clock)

    def check_not_private(self, addresses: Iterable[WebAddress]) -> None:
        """Raises ``ToolFailure`` if all addresses are literally private, without any name lookup."""
        if all(map(self._is_literally_private, addresses := tuple(addresses))):
            raise not_public_failure(addresses[0].host)

    def _is_literally_private(self, address: WebAddress) -> bool:
        numeric = ":" in address.host or address.host.replace(".", "").isdecimal()
        return (numeric or address.host == "localhost") and not (
            is_public(address.host) or self._backend.is_allowed(*address.endpoint)
        )

    async def get(self, address: WebAddress, seconds: float) -> Response:
        """Returns the response of any status.  Raises ``timeout`` after ``seconds``, else ``web_fetch_…``.

        Redirects within the host are followed.  Approval was given for this host only,
        so a redirect to another one is an error that names the address.
        """
        self._rate_limit.count_request(address.host)
        try:
            async with asyncio.timeout(seconds), self._pool() as pool:
                return await self._follow(pool, address)
        except (TimeoutError, httpcore.TimeoutException):
            message = Message.of(
                f"{_name(address)} took longer than {seconds:g} seconds. Try again",
                Advice(" with a longer ", Parameter("timeout")),
                ".",
            )
            raise ToolFailure(ErrorCode.TIMEOUT, message) from None
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.ProxyError,
            httpcore.UnsupportedProtocol,
        ) as error:
            raise _problem(f"{_name(address)} could not be fetched: {_why(error)}.") from None

    async def _follow(self, pool: httpcore.AsyncConnectionPool, address: WebAddress) -> Response:
        first = address
        for _ in range(self._most_redirects + 1):
            answer = await self._request(pool, address)
            if isinstance(answer, Response):
                return answer
            try:
                address = address.resolve_redirect(answer)
            except ToolFailure as failure:
                raise _problem(
                    f"{_name(address)} redirects to an address that cannot be fetched: {failure.message}"
                ) from None
            if address.host != first.host:
                raise self._other_host(first, address)
        raise _problem(
            f"{_name(first)} has more than {self._most_redirects} redirects; the last one leads to"
            f" {_name(address)}."
        )

    def _other_host(self, first: WebAddress, address: WebAddress) -> ToolFailure:
        if self._is_literally_private(address):
            return not_public_failure(address.host)
        if len(str(address)) > _LONGEST_REDIRECT:
            return _problem(
                f"{_name(first)} redirects to another host, {printable_path(address.host)}, with an address"
                " too long to show."
            )
        return _problem(
            f"{_name(first)} redirects to another host, {printable_path(address.host)}. To follow, fetch this"
            f" address: {address}"
        )

    async def _request(self, pool: httpcore.AsyncConnectionPool, address: WebAddress) -> Response | str:
        """Sends one request; returns the response, or the location of a redirect."""
        if self._proxy is not None:
            # The proxy resolves the name itself; one that is known here must be public.
            try:
                await self._backend.checked_addresses(*address.endpoint)
            except ToolFailure as failure:
                if failure.code is ErrorCode.WEB_FETCH_FALLBACK_FAILED:
                    raise
        port = None if address.has_default_port else address.port
        url = httpcore.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=port,
            target=address.target.encode(),
        )
        async with pool.stream("GET", url, headers=_HEADERS) as response:
            headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status in _REDIRECTS and b"location" in headers:
                return headers[b"location"]
            body = ResponseBody(_name(address), headers.get(b"content-encoding", ""), self._most_bytes)
            body.check_length(headers.get(b"content-length", ""))
            async for chunk in response.aiter_stream():
                body.append(chunk)
            return Response(address, response.status, headers.get(b"content-type", ""), body.content())

    def _pool(self) -> httpcore.AsyncConnectionPool:
        if self._proxy is not None:
            return httpcore.AsyncHTTPProxy(self._proxy, ssl_context=_tls_context())
        return httpcore.AsyncConnectionPool(ssl_context=_tls_context(), network_backend=self._backend)


class RateLimit:
    """Rate limit: a maximum number of pages from each host in a minute."""

    def __init__(self, a_minute: int, clock: Callable[[], float]) -> None:
        self._a_minute = a_minute
        self._clock = clock
        self._steps: dict[str, deque[float]] = {}

    def count_request(self, host: str) -> None:
        """Counts a request.  Raises ``ToolFailure`` if it exceeds the limit."""
        now = self._clock()
        self._steps = {name: steps for name, steps in self._steps.items() if steps[-1] > now - _MINUTE}
        steps = self._steps.setdefault(host, deque(maxlen=self._a_minute))
        if len(steps) == self._a_minute and steps[0] > now - _MINUTE:
            wait = steps[0] + _MINUTE - now
            raise _problem(
                f"The limit of {self._a_minute} pages a minute from {printable_path(host)} is reached. "
                f"Wait {wait:.0f} seconds and call again."
            )
        steps.append(now)


@cache
def _tls_context() -> ssl.SSLContext:
    """Returns a TLS context that trusts the system's (also a company's) and Mozilla's certificates."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _hosts_and_ports(name: str) -> tuple[tuple[str, int], ...]:
    host, colon, port = name.rpartition(":")
    if colon and port.isdecimal() and (":" not in host or host.startswith("[")):
        return ((host.strip("[]").lower(), int(port)),)
    return ((name.strip("[]").lower(), 80), (name.strip("[]").lower(), 443))


def _problem(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.WEB_FETCH_PROCESSING_ERROR, message)


def _name(address: WebAddress) -> str:
    return printable_path(str(address))


def _why(error: Exception) -> str:
    """Returns the error's text on one line."""
    text = " ".join(str(error).split()).rstrip(".")
    return printable_path(text) if text else "the server closed the connection or does not speak HTTP"
