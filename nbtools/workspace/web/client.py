"""Fetching from the web: only from public addresses, checked where the connection is made.

Imported by whoever fetches and not before: httpcore takes 70 ms.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus

import certifi
import httpcore

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.paths import shown
from nbtools.workspace.web.address import WebAddress
from nbtools.workspace.web.addresses import is_public
from nbtools.workspace.web.body import Body

_HEADERS = (
    (b"User-Agent", b"nbtools (+https://pypi.org/project/nbtools-agent/)"),
    (b"Accept", b"text/markdown, text/html, */*"),
    (b"Accept-Encoding", b"gzip, deflate"),
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PATIENCE = 5.0
"""Seconds that one of several addresses of a host gets to answer; the last one gets all that is left."""
_MINUTE = 60.0
_LONGEST_REDIRECT = 2_000
"""Characters of an address that the caller can be told to fetch."""

Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""The numeric addresses of a host and port, best first.  Raises ``OSError``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, after all redirects within the host; ``body`` is unpacked, ``content_type`` is the header as it was sent."""

    address: WebAddress
    status: int
    content_type: str
    body: bytes

    @property
    def status_line(self) -> str:
        names = {status.value: status.phrase for status in HTTPStatus}
        return f"{self.status} {names.get(self.status, '')}".strip()


async def resolved(host: str, port: int) -> tuple[str, ...]:
    """As the system resolves names, odd spellings of addresses among them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class PublicBackend(httpcore.AsyncNetworkBackend):
    """Resolves, checks and connects to the very address it has checked: a name that leads somewhere else a moment later gains nothing.

    ``allowed`` are hosts with ports that may be anywhere.
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
        addresses = await self.checked(host, port)
        for address in addresses[:-1]:
            try:
                return await self._system.connect_tcp(address, port, min(_PATIENCE, timeout or _PATIENCE), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._system.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def checked(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses of a host.  Raises ``ToolFailure`` (``web_fetch_fallback_failed``) where one of them is not public."""
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise _problem(f"There is no host {shown(host)}, or no way to look it up from here. Check its spelling.") from None
        if not addresses or not (self.may_be_anywhere(host, port) or all(map(is_public, addresses))):
            raise not_public(host)
        return addresses

    def may_be_anywhere(self, host: str, port: int) -> bool:
        return (host, port) in self._allowed


def not_public(host: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.WEB_FETCH_FALLBACK_FAILED,
        f"{shown(host)} is not on the public internet; addresses of this machine and its network are not fetched. "
        "Use a command in a shell if it is yours.",
    )


class Web:
    """Gets pages.  ``allowed``: hosts that may be private, ``host:port`` or ``host`` (ports 80 and 443).

    ``proxy``: ``http://…``, through which everything goes; it alone sees the names then, so besides the check here (on what can be
    resolved here) it must keep its own.  The environment is not asked for one.  ``most_bytes`` counts a body both packed and unpacked.
    """

    def __init__(
        self,
        *,
        allowed: Iterable[str] = (),
        proxy: str | None = None,
        most_bytes: int = 10_000_000,
        most_redirects: int = 10,
        a_minute: int = 10,
        resolve: Resolve = resolved,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = PublicBackend(frozenset(place for name in allowed for place in _places(name)), resolve)
        self._proxy = proxy
        self._most_bytes = most_bytes
        self._most_redirects = most_redirects
        self._pace = Pace(a_minute, clock)

    def check_form(self, addresses: Iterable[WebAddress]) -> None:
        """Raises ``ToolFailure`` as ``get`` would, where all of them are plainly not public, without asking anyone."""
        if all(map(self._plainly_private, addresses := tuple(addresses))):
            raise not_public(addresses[0].host)

    def _plainly_private(self, address: WebAddress) -> bool:
        numeric = ":" in address.host or address.host.replace(".", "").isdecimal()
        return (numeric or address.host == "localhost") and not (is_public(address.host) or self._backend.may_be_anywhere(*address.place))

    async def get(self, address: WebAddress, seconds: float) -> Answer:
        """The answer, whatever its status.  Raises ``ToolFailure``: ``timeout`` after ``seconds`` in all, else ``web_fetch_…``.

        Redirects within the host are followed. Permission was given for this host, so a redirect to another one is an error that names the
        address.
        """
        self._pace.step(address.host)
        try:
            async with asyncio.timeout(seconds), self._pool() as pool:
                return await self._followed(pool, address)
        except (TimeoutError, httpcore.TimeoutException):
            what = f"{_name(address)} took longer than {seconds:g} seconds. Try again with a longer timeout."
            raise ToolFailure(ErrorCode.TIMEOUT, what) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, httpcore.UnsupportedProtocol) as error:
            raise _problem(f"{_name(address)} could not be fetched: {_why(error)}.") from None

    async def _followed(self, pool: httpcore.AsyncConnectionPool, address: WebAddress) -> Answer:
        first = address
        for _ in range(self._most_redirects + 1):
            answer = await self._one(pool, address)
            if isinstance(answer, Answer):
                return answer
            address = _redirected(address, answer)
            if address.host != first.host:
                raise self._elsewhere(first, address)
        raise _problem(f"{_name(first)} leads through more than {self._most_redirects} redirects, the last one to {_name(address)}.")

    def _elsewhere(self, first: WebAddress, address: WebAddress) -> ToolFailure:
        if self._plainly_private(address):
            return not_public(address.host)
        if len(str(address)) > _LONGEST_REDIRECT:
            return _problem(f"{_name(first)} redirects to another host, {shown(address.host)}, with an address too long to show.")
        return _problem(f"{_name(first)} redirects to another host, {shown(address.host)}. To follow, fetch this address: {address}")

    async def _one(self, pool: httpcore.AsyncConnectionPool, address: WebAddress) -> Answer | str:
        """What an address answers, or where it leads."""
        if self._proxy is not None:
            await self._check_for_proxy(address)
        port = None if address.has_default_port else address.port
        url = httpcore.URL(scheme=address.scheme.encode(), host=address.host.encode(), port=port, target=address.target.encode())
        async with pool.stream("GET", url, headers=_HEADERS) as response:
            headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status in _REDIRECTS and b"location" in headers:
                return headers[b"location"]
            body = Body(_name(address), headers.get(b"content-encoding", ""), self._most_bytes)
            body.expect(headers.get(b"content-length", ""))
            async for chunk in response.aiter_stream():
                body.take(chunk)
            return Answer(address, response.status, headers.get(b"content-type", ""), body.whole())

    async def _check_for_proxy(self, address: WebAddress) -> None:
        try:
            await self._backend.checked(*address.place)
        except ToolFailure as failure:
            if failure.code is ErrorCode.WEB_FETCH_FALLBACK_FAILED:
                raise

    def _pool(self) -> httpcore.AsyncConnectionPool:
        if self._proxy is not None:
            return httpcore.AsyncHTTPProxy(self._proxy, ssl_context=_trusted())
        return httpcore.AsyncConnectionPool(ssl_context=_trusted(), network_backend=self._backend)


class Pace:
    """At most so many pages a host and minute: a loop that fetches harms nobody."""

    def __init__(self, a_minute: int, clock: Callable[[], float]) -> None:
        self._a_minute = a_minute
        self._clock = clock
        self._steps: dict[str, deque[float]] = {}

    def step(self, host: str) -> None:
        """Raises ``ToolFailure`` where it is too early."""
        now = self._clock()
        self._steps = {name: steps for name, steps in self._steps.items() if steps[-1] > now - _MINUTE}
        steps = self._steps.setdefault(host, deque(maxlen=self._a_minute))
        if len(steps) == self._a_minute and steps[0] > now - _MINUTE:
            wait = steps[0] + _MINUTE - now
            raise _problem(f"{shown(host)} was asked for {self._a_minute} pages within a minute. Wait {wait:.0f} seconds and call again.")
        steps.append(now)


@cache
def _trusted() -> ssl.SSLContext:
    """Who may vouch for a server: whom the system trusts (a company adds its own there), and whom Mozilla does."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _places(name: str) -> tuple[tuple[str, int], ...]:
    host, colon, port = name.rpartition(":")
    if colon and port.isdecimal() and (":" not in host or host.startswith("[")):
        return ((host.strip("[]").lower(), int(port)),)
    return ((name.strip("[]").lower(), 80), (name.strip("[]").lower(), 443))


def _redirected(address: WebAddress, location: str) -> WebAddress:
    try:
        return address.redirected(location)
    except ToolFailure as failure:
        raise _problem(f"{_name(address)} redirects to what cannot be fetched: {failure.message}") from None


def _problem(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.WEB_FETCH_PROCESSING_ERROR, message)


def _name(address: WebAddress) -> str:
    return shown(str(address))


def _why(error: Exception) -> str:
    """The system's words, on one line."""
    words = " ".join(str(error).split()).rstrip(".")
    return shown(words) if words else "the server closed the connection or does not speak HTTP"
