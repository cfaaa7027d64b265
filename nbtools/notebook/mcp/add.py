"""Parses the line of ``%tools mcp add`` into an entry of ``mcpServers``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtools.core.message import did_you_mean
from nbtools.notebook.magics.sub_commands import refused

SWITCHES = ("--sse", "--trust", "--project")
VALUED = ("--header", "--env", "--timeout", "--include", "--exclude", "--cwd")
FLAGS = (*VALUED, *SWITCHES)
_SHORT = {"-H": "--header", "-e": "--env"}
_EXAMPLE = "%tools mcp add time -- uvx mcp-server-time, or %tools mcp add docs https://host/mcp"


@dataclass(frozen=True, slots=True)
class ServerAddition:
    """``entry`` is written to the configuration;
    ``project``: to the project's file instead of the person's own.
    """

    name: str
    entry: Mapping[str, Any]
    project: bool


@dataclass
class _ParsedLine:
    words: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)
    values: dict[str, list[str]] = field(default_factory=dict)


def parse_addition(rest: list[str]) -> ServerAddition:
    """Parses the words of a line.  Raises ``ToolFailure`` that says what is missing or invalid."""
    line = _parse(rest)
    name, *where = line.words or [""]
    if not name or bool(where) == bool(line.command):
        raise refused(f"%tools mcp add needs a name, and either a command or a URL, as in {_EXAMPLE}.")
    entry = _program(line) if line.command else _address(line, where[0])
    return ServerAddition(name, {**entry, **_settings(line)}, "--project" in line.switches)


def _parse(rest: list[str]) -> _ParsedLine:
    """Splits flags and command: the command begins after ``--``,
    or at the first word after the name that is not a URL.
    """
    line, remaining = _ParsedLine(), list(rest)
    while remaining:
        word = remaining.pop(0)
        if word == "--" or (line.words and not word.startswith("-") and not _is_address(word)):
            line.command = remaining if word == "--" else [word, *remaining]
            return line
        if word.startswith("-"):
            _parse_flag(line, word, remaining)
        else:
            line.words.append(word)
    return line


def _parse_flag(line: _ParsedLine, word: str, remaining: list[str]) -> None:
    flag, equals, value = word.partition("=")
    flag = _SHORT.get(flag, flag)
    if flag in SWITCHES and not equals:
        line.switches.add(flag)
    elif flag in VALUED:
        if not equals and not remaining:
            raise refused(f"{flag} needs a value after it.")
        line.values.setdefault(flag, []).append(value if equals else remaining.pop(0))
    else:
        raise refused(f"Unknown flag {flag}.{did_you_mean(flag, FLAGS)} Put the server's own flags after --.")


def _program(line: _ParsedLine) -> dict[str, Any]:
    if "--header" in line.values or "--sse" in line.switches:
        raise refused("--header and --sse only work with a URL. For a command use --env NAME=value.")
    env = dict(_split(one, "=", "--env NAME=value") for one in line.values.get("--env", ()))
    command, *args = line.command
    cwd = line.values.get("--cwd", [""])[-1]
    return {
        "command": command,
        "args": args,
        **({"env": env} if env else {}),
        **({"cwd": cwd} if cwd else {}),
    }


def _address(line: _ParsedLine, url: str) -> dict[str, Any]:
    if {"--env", "--cwd"} & set(line.values):
        raise refused("--env and --cwd only work with a command. For a URL use --header 'Name: value'.")
    headers = dict(_split(one, ":", "--header 'Name: value'") for one in line.values.get("--header", ()))
    return {
        "type": "sse" if "--sse" in line.switches else "http",
        "url": url,
        **({"headers": headers} if headers else {}),
    }


def _settings(line: _ParsedLine) -> dict[str, Any]:
    lists = {"includeTools": "--include", "excludeTools": "--exclude"}
    settings: dict[str, Any] = {
        key: _names(line.values[flag]) for key, flag in lists.items() if flag in line.values
    }
    if "--timeout" in line.values:
        settings["timeout"] = _milliseconds(line.values["--timeout"][-1])
    return {**settings, **({"trust": True} if "--trust" in line.switches else {})}


def _names(values: list[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _milliseconds(text: str) -> int:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise refused(f"--timeout must be a number of seconds above 0, not {text!r}.")
    return round(seconds * 1000)


def _split(text: str, delimiter: str, usage: str) -> tuple[str, str]:
    name, separator, value = text.partition(delimiter)
    if not separator or not name.strip():
        raise refused(f"{text!r} is not valid. Write {usage}.")
    return name.strip(), value.strip() if delimiter == ":" else value


def _is_address(word: str) -> bool:
    return bool(re.match(r"https?://", word))
