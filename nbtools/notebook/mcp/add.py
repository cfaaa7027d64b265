"""The arguments of ``%tools mcp add``, and the entry of ``mcpServers`` that they describe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.notebook.magics.flags import flag, refused, switch, word, word_list

_EXAMPLE = "%tools mcp add time -- uvx mcp-server-time, or %tools mcp add docs https://host/mcp"
HINT = f"needs a name, and either a command or a URL, as in {_EXAMPLE}."
ARGUMENTS = (
    word("name"),
    word_list("target"),
    flag("header", "with a URL: a header of each request, 'Name: value'", type="array", short="H"),
    flag("env", "with a command: a variable of its environment, NAME=value", type="array", short="e"),
    flag("cwd", "with a command: the folder in which it runs"),
    switch("sse", "with a URL: the older transport over server-sent events"),
    flag("timeout", "seconds in which a call must be answered"),
    flag("include", "only these tools, separated by commas", type="array"),
    flag("exclude", "all tools but these, separated by commas", type="array"),
    switch("trust", "its tools run without approval"),
    switch("project", "add it to the project's .mcp.json, not to your own file"),
)


@dataclass(frozen=True, slots=True)
class ServerAddition:
    """``entry`` is written to the configuration;
    ``project``: to the project's file instead of the person's own.
    """

    name: str
    entry: Mapping[str, Any]
    project: bool


def begins_command(words: list[str]) -> bool:
    """Whether the words after these belong to the server's command, so that its flags are not ours."""
    return len(words) == 2 and not _is_address(words[1])


def server_addition(name: str, target: list[str], **flags: Any) -> ServerAddition:
    """Returns the addition that the arguments describe.
    Raises ``ToolFailure`` that says what is missing or invalid.
    """
    if len(target) > 1 and _is_address(target[0]):
        raise refused(f"%tools mcp add {HINT}")
    entry = _address(target[0], flags) if _is_address(target[0]) else _program(target, flags)
    for key, option in (("includeTools", "include"), ("excludeTools", "exclude")):
        if option in flags:
            names = [one.strip() for value in flags[option] for one in value.split(",")]
            entry[key] = list(filter(None, names))
    if "timeout" in flags:
        entry["timeout"] = _milliseconds(flags["timeout"])
    if flags.get("trust"):
        entry["trust"] = True
    return ServerAddition(name, entry, flags.get("project", False))


def _program(target: list[str], flags: Mapping[str, Any]) -> dict[str, Any]:
    if "header" in flags or flags.get("sse"):
        raise refused("--header and --sse only work with a URL. For a command use --env NAME=value.")
    entry: dict[str, Any] = {"command": target[0], "args": target[1:]}
    if "env" in flags:
        entry["env"] = dict(_split(one, "=", "--env NAME=value") for one in flags["env"])
    if flags.get("cwd"):
        entry["cwd"] = flags["cwd"]
    return entry


def _address(url: str, flags: Mapping[str, Any]) -> dict[str, Any]:
    if "env" in flags or "cwd" in flags:
        raise refused("--env and --cwd only work with a command. For a URL use --header 'Name: value'.")
    entry: dict[str, Any] = {"type": "sse" if flags.get("sse") else "http", "url": url}
    if "header" in flags:
        entry["headers"] = dict(_split(one, ":", "--header 'Name: value'") for one in flags["header"])
    return entry


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
