"""Entries of ``mcpServers`` as three agents write them."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.core.errors import ToolFailure
from nbtools.core.tool_names import MAX_LENGTH, mcp_tool_name
from nbtools.mcp.config.entries import Address, Program, ServerSettings, parse_server

ENVIRON = {"TOKEN": "t0ken", "HOME": "/home/sam", "EMPTY": ""}


def read(declared: Any, name: str = "docs") -> ServerSettings:
    return parse_server(name, declared, ENVIRON)


@pytest.mark.parametrize(
    ("declared", "transport"),
    [
        (
            {"command": "npx", "args": ["-y", "server"], "env": {"KEY": "$TOKEN"}},
            Program(command="npx", args=("-y", "server"), env={"KEY": "t0ken"}),
        ),
        (
            {"type": "stdio", "command": "${HOME}/bin/server", "cwd": "sub"},
            Program(command="/home/sam/bin/server", cwd="sub"),
        ),
        (
            {"command": "x", "args": ["${PORT:-80}", "${EMPTY:-none}", "%TOKEN%", "%d", "$1"]},
            Program(command="x", args=("80", "none", "t0ken", "%d", "$1")),
        ),
        (
            {"url": "http://h/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
            Address(url="http://h/mcp", headers={"Authorization": "Bearer t0ken"}),
        ),
        ({"type": "sse", "url": "http://h/x"}, Address(url="http://h/x", sse=True)),
        ({"url": "http://h/sse"}, Address(url="http://h/sse", sse=True)),
        ({"httpUrl": "http://h/sse"}, Address(url="http://h/sse")),
        ({"type": "http", "url": "http://h/sse"}, Address(url="http://h/sse")),
    ],
)
def test_transports(declared: dict[str, Any], transport: Program | Address) -> None:
    assert read(declared).transport == transport


def test_limits_and_lists() -> None:
    server = read(
        {
            "command": "x",
            "timeout": 5000,
            "trust": True,
            "includeTools": ["read(path)", "list"],
            "excludeTools": ["list"],
            "alien": 1,
        }
    )
    assert (server.call_seconds, server.connect_seconds, server.trust) == (5.0, 5.0, True)
    assert [server.includes_tool(tool) for tool in ("read", "list", "write")] == [True, False, False]
    assert read({"command": "x", "includeTools": []}).includes_tool("read") is False
    assert read({"command": "x"}).includes_tool("read") is True


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "either a command or a url"),
        ({"command": "x", "url": "http://h"}, "either a command"),
        ({"command": "x", "args": "y"}, "args"),
        ({"command": "x", "timeout": -1}, "timeout"),
        ({"command": "$NONE"}, "NONE is not set"),
        ({"type": "carrier pigeon", "command": "x"}, "type"),
        ("npx", "its entry"),
    ],
)
def test_an_invalid_setting_is_an_error_in_one_line(declared: Any, message: str) -> None:
    with pytest.raises(ToolFailure, match="MCP server 'docs'") as refused:
        read(declared)
    assert message in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("name", ["a b", "", "a__b", "_a", "é"])
def test_names_of_servers(name: str) -> None:
    with pytest.raises(ToolFailure, match="letters, digits"):
        read({"command": "x"}, name)


def test_no_secret_is_shown() -> None:
    server = read({"url": "http://sam:pw@h/mcp?key=t0ken", "headers": {"Authorization": "t0ken"}})
    assert server.location == "http://h/mcp"
    assert "t0ken" not in repr(server.transport).replace("key=t0ken", "")


def test_names_of_tools() -> None:
    assert mcp_tool_name("docs", "search") == "mcp__docs__search"
    assert mcp_tool_name("my.docs", "look up/é") == "mcp__my_docs__look_up_"
    long = mcp_tool_name("docs", "x" * 300)
    assert len(long) == MAX_LENGTH
    assert long != mcp_tool_name("docs", "x" * 301)
    first = mcp_tool_name("docs", "a b")
    assert mcp_tool_name("docs", "a.b", {first}) not in (first, mcp_tool_name("docs", "a-b"))
