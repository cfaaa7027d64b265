"""What a rule is about, in plain words, for whoever is to say whether it may count."""

from __future__ import annotations

from collections.abc import Callable

from nbtools.policy.rules import Rule, read_rule

_EVERYTHING = {
    "shell": "every command",
    "read": "reading every file",
    "edit": "every change that edit makes to a file",
    "*": "every call of every tool",
}

_ABOUT = {"edit": "changing", "read": "reading", "fetch": "fetching from"}


def in_words(rule: str | Rule, tool_named: Callable[[str], str]) -> str:
    """``every command that begins with git``; ``tool_named`` gives the canonical name of a tool in any agent's words."""
    read = rule if isinstance(rule, Rule) else read_rule(rule)
    tool = tool_named(read.tool)
    if read.is_bare:
        return _EVERYTHING.get(tool, f"every call of {read.tool}")
    if not read.spec:
        return f"calls of {read.tool} that fit the expression"
    if tool == "shell":
        return _commands(read.spec)
    beginning = _ABOUT.get(tool, f"calls of {read.tool} that are about")
    return f"{beginning} {read.spec.removeprefix('domain:')}"


def _commands(spec: str) -> str:
    beginning = spec.removesuffix(":*")
    if beginning == spec and spec.endswith(" *") and "*" not in spec[:-1]:
        beginning = spec.removesuffix(" *")
    if beginning != spec:
        return f"every command that begins with {beginning}"
    return f"every command like {spec}" if "*" in spec else f"the command {spec}, as it stands"
