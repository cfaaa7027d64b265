"""The classification of addresses as public or private."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.workspace.web.address import is_public


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::101:101"]
)
def test_public(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
        ),
        *(
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
        ),
        *(
            "::",
            "::1",
            "::ffff:1.1.1.1",
            "::ffff:127.0.0.1",
            "::7f00:1",
            "fe80::1",
            "fe80::1%eth0",
            "2606:4700::1111%1",
            "fc00::1",
        ),
        *(
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
        ),
        *("", "localhost", "1.1.1", "1.1.1.1.", "2130706433", "0x7f.0.0.1"),
    ],
)
def test_not_public(address):
    assert not is_public(address)


@given(st.ip_addresses())
def test_addresses_that_python_calls_private_are_never_public(address):
    if (
        address.is_private
        or address.is_multicast
        or address.is_reserved
        or address.is_link_local
        or address.is_unspecified
    ):
        assert not is_public(str(address)) or address in ipaddress.ip_network("64:ff9b::/96")
