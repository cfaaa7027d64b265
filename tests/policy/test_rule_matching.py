"""Rules about hosts."""

from __future__ import annotations

import pytest

from nbtools.policy.rule_matching import covers_host


@pytest.mark.parametrize(
    ("spec", "host", "covered"),
    [
        ("domain:example.org", "example.org", True),
        ("example.org", "example.org", True),
        ("domain:Example.ORG", "example.org.", True),
        ("domain:example.org", "www.example.org", False),
        ("domain:*.example.org", "www.example.org", True),
        ("domain:*.example.org", "a.b.example.org", True),
        ("domain:*.example.org", "example.org", False),
        ("domain:*.example.org", "notexample.org", False),
        ("domain:docs.*.org", "docs.x.org", True),
        ("domain:docs.*.org", "docs.x.y.org", False),
        ("domain:*", "example.org", True),
        ("domain:bücher.example", "xn--bcher-kva.example", True),
        ("domain:example.org", "example.org.evil.net", False),
    ],
)
def test_a_rule_covers_hosts(spec: str, host: str, covered: bool) -> None:
    assert covers_host(spec, host) is covered
