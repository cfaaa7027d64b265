"""Parses web addresses strictly and decides which IP addresses are public."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.paths import printable_path

_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_LONGEST_NAME = 253
_IN_TARGET = "/%:@!$&'()*+,;=~-._?"
_UNSEEN = re.compile(r"[\x00-\x1f\x7f\\]")
_BARE = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?([/?#].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A parsed URL.

    ``host`` is lower-case ASCII without trailing dot or brackets;
    ``target`` is the percent-encoded path and query.
    """

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.has_default_port else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"

    @property
    def has_default_port(self) -> bool:
        return self.port == _PORTS[self.scheme]

    @property
    def endpoint(self) -> tuple[str, int]:
        """The host and port to connect to."""
        return (self.host, self.port)

    def resolve_redirect(self, location: str) -> WebAddress:
        """Returns the target of a redirect, which may be relative.  Raises ``ToolFailure``."""
        return parse_web_address(urljoin(str(self), location.strip()))


def parse_web_address(url: str) -> WebAddress:
    """Parses a URL. Raises ``ToolFailure`` if it is no web address or contains credentials."""
    url = url.strip()
    if _UNSEEN.search(url):
        raise _invalid(url, "contains a control character or a backslash; remove it")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = _host(parts)
    except ValueError:
        raise _invalid(url, "is not a web address") from None
    if parts.scheme not in _PORTS or not host:
        advice = f" Did you mean https://{printable_path(url)}?" if _BARE.fullmatch(url) else ""
        raise _invalid(
            url, f"is not a web address: it must begin with https:// or http:// and name a host.{advice}"
        )
    if parts.username is not None or parts.password is not None:
        raise _invalid(
            str(parts._replace(netloc=f"…@{host}").geturl()), "contains a user name or password; remove it"
        )
    target = quote(parts.path or "/", safe=_IN_TARGET.replace("?", "")) + (
        f"?{quote(parts.query, safe=_IN_TARGET)}" if parts.query else ""
    )
    return WebAddress(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, target)


def _host(parts: SplitResult) -> str:
    """Returns the host in normal form.  Raises ``ValueError`` if it is not a valid name or address."""
    name = parts.hostname or ""
    if ":" in name:
        # A zone (``%eth0``) names a network interface of this machine, so such an address is never public.
        if "%" in name:
            raise ValueError(name)
        try:
            return str(IPv6Address(name))
        except AddressValueError as error:
            raise ValueError(name) from error
    name = (name if name.isascii() else _in_ascii(name)).lower().removesuffix(".")
    if name and (len(name) > _LONGEST_NAME or not _NAME.fullmatch(name)):
        raise ValueError(name)
    return name


def _in_ascii(name: str) -> str:
    from idna import IDNAError, encode  # noqa: PLC0415 - rarely needed, large tables

    try:
        return encode(name, uts46=True).decode("ascii")
    except IDNAError as error:
        raise ValueError(name) from error


def _invalid(url: str, why: str) -> ToolFailure:
    return ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS, f"{printable_path(url)} {why}{'' if why.endswith(('.', '?')) else '.'}"
    )


_NOT_PUBLIC_4 = tuple(
    map(
        ip_network,
        (
            *(
                "0.0.0.0/8",
                "10.0.0.0/8",
                "100.64.0.0/10",
                "127.0.0.0/8",
                "169.254.0.0/16",
                "172.16.0.0/12",
                "192.168.0.0/16",
            ),
            *(
                "192.0.0.0/24",
                "192.0.2.0/24",
                "192.88.99.0/24",
                "198.18.0.0/15",
                "198.51.100.0/24",
                "203.0.113.0/24",
            ),
            *("224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # Azure's metadata service and DNS, formally a public address
        ),
    )
)
_PUBLIC_6 = ip_network("2000::/3")
"""The only public range; mapped IPv4, local, link-local and multicast addresses are outside it."""
_NOT_PUBLIC_6 = tuple(map(ip_network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
_NAT64 = ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether a numeric address is public: not this machine's, its network's or a cloud's internal one.

    False for an invalid address.
    """
    # Explicit lists: ``ipaddress.is_global`` differs between Python versions and includes multicast.
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return _is_public_4(parsed) if isinstance(parsed, IPv4Address) else _is_public_6(parsed)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC_4)


def _is_public_6(address: IPv6Address) -> bool:
    """Whether an IPv6 address is public; of NAT64, the IPv4 address that it embeds counts."""
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return _is_public_4(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)
