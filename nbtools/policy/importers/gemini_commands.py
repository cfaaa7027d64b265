"""Allow rules for every command, and the commands that Gemini CLI asks about all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.policy.importers.imported import ImportBuilder
from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

_EVERY_COMMAND = r"\S"
"""The expression of an allow of every command."""
_FINDS = ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf")
_SHOWS = ("--output", "--output=*", "--ext-diff", "--textconv", "--exec", "--exec=*", "--paginate")
_COMMANDS = (
    *(f"rm {option}:*" for option in ("-f", "-rf", "-fr")),
    *(f"find * {option}:*" for option in _FINDS),
    *(
        f"rg * {option}:*"
        for option in ("--pre", "--pre=*", "--hostname-bin", "--hostname-bin=*", "--search-zip", "-z")
    ),
    *(f"git * {option}:*" for option in ("-c", "-c*", "--config-env", "--config-env=*")),
    *(f"git {command} * {option}:*" for command in ("status", "log", "diff", "show") for option in _SHOWS),
    *(f"base64 * {option}:*" for option in ("-o*", "--output", "--output=*")),
)
_BRANCH = r"git branch (?!(?:--list|-l|--show-current|-a|--all|-r|--remotes|-v|-vv|--verbose|--format=\S*)$)"
"""``git branch`` with more than one option that only lists."""


def allow_every_call(tool: str, base: Mapping[str, Any]) -> Rule:
    """Returns an allow rule for every call.
    Commands that cannot be parsed are not covered, nor redirects if the original covers none.
    """
    if tool == "shell":
        return Rule(tool, command=_EVERY_COMMAND, **base, literal=True)
    return Rule(tool, **{**base, "redirects": False})


def add_allowed(builder: ImportBuilder, *rules: Rule) -> None:
    """Adds allow rules; with one for every command, ask rules in its modes for what Gemini CLI asks about,
    although a rule without conditions on the command allows it. Mode ``yolo`` does not ask.
    """
    builder.add("allow", *rules)
    for rule in rules:
        asking = tuple(mode for mode in rule.modes or Mode if mode != Mode.YOLO)
        if rule.command == _EVERY_COMMAND and asking:
            builder.add("ask", *(Rule("shell", command, modes=asking) for command in _COMMANDS))
            builder.add("ask", Rule("shell", command=_BRANCH, modes=asking))
