"""Checks of JSON Schema's ``format``, as Gemini CLI checks them (ajv-formats),
each in time linear in the value.

Not checked: ``regex`` (engines differ), ``uri-template``, and formats that no draft defines.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from urllib.parse import urlsplit

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|([+-])(\d\d):?(\d\d)?)?", re.ASCII)
_DURATION = re.compile(
    r"P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)", re.ASCII
)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII | re.IGNORECASE)
_MAILBOX = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+", re.ASCII)
_URI = re.compile(r"(?:%[0-9a-f]{2}|[\w.~:/?#\[\]@!$&'()*+,;=-])*", re.ASCII | re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:.", re.ASCII | re.IGNORECASE | re.DOTALL)
_UUID = re.compile(r"(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_POINTER = re.compile(r"(?:/(?:[^~/]|~0|~1)*)*", re.DOTALL)
_RELATIVE_POINTER = re.compile(r"(?:0|[1-9]\d*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)", re.ASCII | re.DOTALL)


def _is_date(text: str) -> bool:
    parts = _DATE.fullmatch(text)
    try:
        return parts is not None and date(*map(int, parts.groups())) is not None
    except ValueError:
        return False


def _is_time(text: str) -> bool:
    """Accepts a leap second only where it is 23:59:60 in UTC."""
    parts = _TIME.fullmatch(text)
    if parts is None:
        return False
    hour, minute, second = map(int, parts.group(1, 2, 3))
    sign, hours, minutes = parts.group(4, 5, 6)
    offset = (int(hours or 0), int(minutes or 0))
    if hour > 23 or minute > 59 or offset[0] > 23 or offset[1] > 59:
        return False
    utc = (hour * 60 + minute - (offset[0] * 60 + offset[1]) * (-1 if sign == "-" else 1)) % 1440
    return second < 60 or (second == 60 and utc == 1439)


def _is_zoned_time(text: str) -> bool:
    return _is_time(text) and (text[-1] in "zZ" or "+" in text or "-" in text)


def _is_date_time(text: str, is_time: Callable[[str], bool]) -> bool:
    day, rest = text[:10], text[10:]
    return rest[:1] in ("t", "T", " ") and rest != "" and _is_date(day) and is_time(rest[1:])


def _is_hostname(text: str) -> bool:
    return len(text) <= 253 and all(map(_LABEL.fullmatch, text.removesuffix(".").split(".")))


def _is_email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    if not at or "." not in domain or not all(map(_MAILBOX.fullmatch, local.split("."))):
        return False
    return all(map(_LABEL.fullmatch, domain.split(".")))


def _is_uri_reference(text: str) -> bool:
    if _URI.fullmatch(text) is None:
        return False
    try:
        return urlsplit(text) is not None
    except ValueError:  # brackets that hold no address
        return False


def _is_uri(text: str) -> bool:
    return _SCHEME.match(text) is not None and _is_uri_reference(text)


def _is_url(text: str) -> bool:
    known = text.partition(":")[0].casefold() in ("http", "https", "ftp")
    return known and _is_uri(text) and bool(urlsplit(text).hostname)


def _is_address(kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return "%" not in text and kind(text) is not None
        except ValueError:
            return False

    return check


def _is_base64(text: str) -> bool:
    try:
        return base64.b64decode("".join(text.split()), validate=True) is not None
    except (binascii.Error, ValueError):
        return False


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


TEXT_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": _is_date,
    "time": _is_zoned_time,
    "iso-time": _is_time,
    "date-time": lambda text: _is_date_time(text, _is_zoned_time),
    "iso-date-time": lambda text: _is_date_time(text, _is_time),
    "duration": _matches(_DURATION),
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_address(ipaddress.IPv4Address),
    "ipv6": _is_address(ipaddress.IPv6Address),
    "uri": _is_uri,
    "uri-reference": _is_uri_reference,
    "url": _is_url,
    "uuid": _matches(_UUID),
    "json-pointer": _matches(_POINTER),
    "relative-json-pointer": _matches(_RELATIVE_POINTER),
    "byte": _is_base64,
}
_WHOLE_NUMBERS = {"int32": 2**31, "int64": 2**63}


def is_checked(name: object) -> bool:
    """Whether values are checked against the format ``name``."""
    return isinstance(name, str) and (name in TEXT_FORMATS or name in _WHOLE_NUMBERS)


def fits_format(name: object, value: object) -> bool:
    """Whether ``value`` has the format ``name``; true for an unknown one, and one for other types."""
    if not isinstance(name, str):
        return True
    if isinstance(value, str):
        return name not in TEXT_FORMATS or TEXT_FORMATS[name](value)
    if isinstance(value, int | float) and not isinstance(value, bool) and name in _WHOLE_NUMBERS:
        return value == value // 1 and -_WHOLE_NUMBERS[name] <= value < _WHOLE_NUMBERS[name]
    return True
