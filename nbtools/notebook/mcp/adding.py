"""The line of ``%tools mcp add``, as an entry of ``mcpServers``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtools.core.parameters import did_you_mean
from nbtools.notebook.sub_commands import refused

SWITCHES = ("--sse", "--trust", "--project")
VALUED = ("--header", "--env", "--timeout", "--include", "--exclude", "--cwd")
FLAGS = (*VALUED, *SWITCHES)
_SHORT = {"-H": "--header", "-e": "--env"}
_EXAMPLE = "%tools mcp add time -- uvx mcp-server-time, or %tools mcp add docs https://host/mcp"


@dataclass(frozen=True, slots=True)
class Addition:
    """``entry`` is what is written; ``project``: into the project's file."""

    name: str
    entry: Mapping[str, Any]
    project: bool


@dataclass
class _Line:
    words: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)
    values: dict[str, list[str]] = field(default_factory=dict)


def read_addition(rest: list[str]) -> Addition:
    """Raises ``ToolFailure`` that says what the line lacks."""
    line = _read(rest)
    name, *where = line.words or [""]
    if not name or bool(where) == bool(line.command):
        raise refused(f"%tools mcp add takes a name, and a command to start or an address, as in {_EXAMPLE}.")
    entry = _program(line) if line.command else _address(line, where[0])
    return Addition(name, {**entry, **_common(line)}, "--project" in line.switches)


def _read(rest: list[str]) -> _Line:
    """Flags end where the command begins: behind ``--``, or at the first word behind the name that is no address."""
    line, left = _Line(), list(rest)
    while left:
        word = left.pop(0)
        if word == "--" or (line.words and not word.startswith("-") and not _is_address(word)):
            line.command = left if word == "--" else [word, *left]
            return line
        if word.startswith("-"):
            _take_flag(line, word, left)
        else:
            line.words.append(word)
    return line


def _take_flag(line: _Line, word: str, left: list[str]) -> None:
    flag, equals, value = word.partition("=")
    flag = _SHORT.get(flag, flag)
    if flag in SWITCHES and not equals:
        line.switches.add(flag)
    elif flag in VALUED:
        if not equals and not left:
            raise refused(f"{flag} needs a value after it.")
        line.values.setdefault(flag, []).append(value if equals else left.pop(0))
    else:
        raise refused(f"%tools mcp add knows no {flag}.{did_you_mean(flag, FLAGS)} The server's own flags go behind --.")


def _program(line: _Line) -> dict[str, Any]:
    if "--header" in line.values or "--sse" in line.switches:
        raise refused("--header and --sse are for servers that are reached at an address; a program gets --env NAME=value.")
    env = dict(_split(one, "=", "--env NAME=value") for one in line.values.get("--env", ()))
    command, *args = line.command
    cwd = line.values.get("--cwd", [""])[-1]
    return {"command": command, "args": args, **({"env": env} if env else {}), **({"cwd": cwd} if cwd else {})}


def _address(line: _Line, url: str) -> dict[str, Any]:
    if {"--env", "--cwd"} & set(line.values):
        raise refused("--env and --cwd are for servers that are started; at an address there is --header 'Name: value'.")
    headers = dict(_split(one, ":", "--header 'Name: value'") for one in line.values.get("--header", ()))
    return {"type": "sse" if "--sse" in line.switches else "http", "url": url, **({"headers": headers} if headers else {})}


def _common(line: _Line) -> dict[str, Any]:
    lists = {"includeTools": "--include", "excludeTools": "--exclude"}
    found: dict[str, Any] = {key: _names(line.values[flag]) for key, flag in lists.items() if flag in line.values}
    if "--timeout" in line.values:
        found["timeout"] = _milliseconds(line.values["--timeout"][-1])
    return {**found, **({"trust": True} if "--trust" in line.switches else {})}


def _names(values: list[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _milliseconds(text: str) -> int:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise refused(f"--timeout is a number of seconds above 0, not {text!r}.")
    return round(seconds * 1000)


def _split(text: str, at: str, how: str) -> tuple[str, str]:
    name, found, value = text.partition(at)
    if not found or not name.strip():
        raise refused(f"{text!r} should be written {how}.")
    return name.strip(), value.strip() if at == ":" else value


def _is_address(word: str) -> bool:
    return bool(re.match(r"https?://", word))
