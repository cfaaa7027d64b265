"""Formats are checked as ajv-formats checks them, wherever a schema has them and in bounded time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from nbtools.core.schema.formats import TEXT_FORMATS, fits_format
from nbtools.core.schema.json_schema import validate

GOOD: dict[str, list[Any]] = {
    "date": ["2024-02-29", "1999-12-31"],
    "time": ["12:00:00Z", "23:59:60Z", "01:29:60+01:30", "10:00:00.123-05:00"],
    "date-time": ["2024-02-29T12:00:00Z", "2024-02-29 12:00:00+00:00", "2024-02-29t12:00:00.5z"],
    "iso-time": ["12:00:00"],
    "iso-date-time": ["2024-02-29T12:00:00"],
    "duration": ["P1D", "P2W", "PT5M", "P1Y2M3DT4H5M6S"],
    "email": ["a@b.example", "first.last+tag@sub.example.org"],
    "hostname": ["localhost", "a.example", "a.example."],
    "ipv4": ["127.0.0.1"],
    "ipv6": ["::1", "2001:db8::8:800:200c:417a", "::ffff:1.2.3.4"],
    "uri": ["https://example.org/a?b=c#d", "urn:isbn:1", "mailto:a@b.c", "http://[::1]:80/"],
    "uri-reference": ["/a/b", "#top", "", "https://example.org"],
    "url": ["https://example.org/a", "ftp://example.org"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "urn:uuid:123E4567-E89B-12D3-A456-426614174000"],
    "json-pointer": ["", "/a/~0~1", "/"],
    "relative-json-pointer": ["0", "1/a", "2#"],
    "byte": ["aGk=", ""],
    "int32": [0, -(2**31), 2**31 - 1, 5.0],
    "int64": [2**63 - 1],
}
BAD: dict[str, list[Any]] = {
    "date": ["2023-02-29", "2024-13-01", "24-01-01", "2024-01-01T00:00:00Z", "2024-01-01\n", "٢٠٢٤-01-01"],
    "time": ["12:00:00", "24:00:00Z", "12:00Z", "12:00:60Z", "12:60:00Z"],
    "date-time": ["2024-02-29", "2024-02-29T12:00:00", "2024-02-30T12:00:00Z", "2024-02-29T", "tomorrow"],
    "iso-time": ["12:00"],
    "iso-date-time": ["2024-02-29"],
    "duration": ["P", "1D", "PT", "P1S", "P1W2D"],
    "email": [
        "a",
        "a@b",
        "@b.example",
        "a@",
        "a b@c.example",
        "a@@b.example",
        "a..b@c.example",
        "a@-b.example",
    ],
    "hostname": ["", "-a", "a_b", "a" * 64, "a..b", "a b"],
    "ipv4": ["1.2.3", "256.1.1.1", "::1"],
    "ipv6": ["1.2.3.4", ":::", "fe80::1%eth0", "12345::"],
    "uri": ["/a/b", "example.org", "http://a b", "https:", "http://[::1", "http://a/%zz"],
    "uri-reference": ["a b", "\\a", "é"],
    "url": ["mailto:a@b.c", "https:///a", "/a"],
    "uuid": ["123e4567", "123e4567-e89b-12d3-a456-42661417400g"],
    "json-pointer": ["a", "/~2"],
    "relative-json-pointer": ["/a", "01", "-1"],
    "byte": ["a", "é==="],
    "int32": [2**31, 0.5, -(2**31) - 1],
    "int64": [2**63],
}
EXAMPLES = [
    *((name, value, True) for name, values in GOOD.items() for value in values),
    *((name, value, False) for name, values in BAD.items() for value in values),
]


def test_every_format_has_examples() -> None:
    assert GOOD.keys() == BAD.keys() == {*TEXT_FORMATS, "int32", "int64"}


@pytest.mark.parametrize(
    "shape",
    [
        lambda one: one,
        lambda one: {"anyOf": [one, {"type": "null"}]},
        lambda one: {"allOf": [one], "not": {"type": "null"}},
    ],
)
@pytest.mark.parametrize(("name", "value", "fits"), EXAMPLES)
def test_a_format_is_checked_wherever_it_stands(name: str, value: Any, fits: bool, shape: Any) -> None:
    kind = "string" if isinstance(value, str) else "number"
    for one in ({"type": kind, "format": name}, {"format": name}):
        schema = {"type": "object", "properties": {"a": shape(one)}}
        assert (validate(schema, {"a": value}) == []) is fits


@pytest.mark.parametrize("name", [*GOOD, "unknown", "regex", 5, None])
def test_a_format_restricts_only_values_of_its_type(name: Any) -> None:
    for value in ({}, [], None, True, 1.5 if name not in ("int32", "int64") else {}):
        assert validate({"type": "object", "properties": {"a": {"format": name}}}, {"a": value}) == []


@pytest.mark.parametrize("name", TEXT_FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "a." * 150_000 + "@",
        "/~0" * 100_000 + "~",
        "1" * 300_000,
        "P" + "1Y" * 150_000,
        "-:" * 150_000,
        "%" * 300_000,
    ],
)
def test_a_long_value_is_checked_in_bounded_time(name: str, text: str) -> None:
    start = time.process_time()
    fits_format(name, text)
    assert time.process_time() - start < 30
