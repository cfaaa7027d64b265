"""Rules: a tool and, in parentheses, what its calls act on, in the syntax that people write.

::

    grep                     every call of grep
    read(secrets/**)         reading below secrets, with any tool      (gitignore patterns)
    edit(/src/**)            writing below src; //abs and ~/home start from the root and the home folder
    shell(git status)        exactly this command
    shell(git log:*)         this command with any arguments (also written ``git log *``)
    fetch(domain:*.x.org)    pages of the hosts below x.org
    mcp__docs__*             every tool of the MCP server docs
    *                        every call

A rule with a tool name of Claude Code, such as ``Bash(ls*)``,
has Claude Code's meaning (see ``claude_rules``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import Any

from nbtools.core.errors import PolicyError
from nbtools.core.message import did_you_mean
from nbtools.policy.modes import Mode
from nbtools.policy.patterns import expression

_RULE = re.compile(r"(?P<tool>[\w.*?-]+)(?:\((?P<spec>.*)\))?", re.DOTALL)
PATH_RULES = frozenset({"read", "edit"})
"""The tools whose rules about paths cover every tool that reads or writes."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.  ``tool`` is a name or a pattern of names; ``spec`` narrows it, empty for every call.

    The other fields have no text form.  ``command`` is a regular expression for the beginning of a command,
    ``arguments`` one that is searched in the arguments as JSON with sorted keys (see ``arguments_text``).
    ``modes`` are those it applies in, empty for all.  ``annotations`` are those that the tool must have.
    ``redirects``: whether an allow of commands lets them write files by redirects.  ``literal``: an allow of
    commands covers a line only as it is written, with no redirects unless ``redirects``: the line itself and
    each of its commands, launchers included, begin with the rule's words.  ``message`` is added to the reason
    of a denial or question.  Raises ``PolicyError`` for an invalid expression, mode or spec.
    """

    tool: str
    spec: str = ""
    command: str = ""
    arguments: str = ""
    modes: tuple[str, ...] = ()
    message: str = ""
    annotations: tuple[tuple[str, bool], ...] = ()
    redirects: bool = False
    literal: bool = False

    def __post_init__(self) -> None:
        for text in filter(None, (self.command, self.arguments)):
            expression(text)
        for mode in self.modes:
            if mode not in list(Mode):
                raise PolicyError(f"There is no mode {mode!r}.{did_you_mean(mode, Mode)}")
        if sum(map(bool, (self.spec, self.command, self.arguments))) > 1:
            raise PolicyError(f"The rule {self} has several conditions. Write one rule for each.")
        if self.spec.startswith("!"):
            raise PolicyError(
                f"The rule {self} begins with !, but rules have no exceptions. Name the paths that it is to"
                " cover."
            )

    def __str__(self) -> str:
        named = ", ".join(
            f"{name} /{text}/"
            for name, text in (("command", self.command), ("arguments", self.arguments))
            if text
        )
        what = ", ".join(filter(None, (self.spec, named)))
        return f"{self.tool}({what})" if what else self.tool

    @property
    def is_bare(self) -> bool:
        """Whether it covers every call of its tool."""
        return not (self.spec or self.command or self.arguments)

    @property
    def is_about_paths(self) -> bool:
        """Whether it covers reading or writing of paths, with any tool."""
        return bool(self.spec) and self.tool in PATH_RULES

    def applies_to(self, tool: str) -> bool:
        """Whether the rule applies to the tool of that name."""
        return self.tool in (tool, "*") or bool(_name_pattern(self.tool).match(tool))

    def applies_in(self, mode: str) -> bool:
        return not self.modes or mode in self.modes

    def fits_annotations(self, annotations: Mapping[str, Any] | None) -> bool:
        """Whether the tool has the rule's annotations; None (untrusted) fits only a rule without any."""
        if annotations is None:
            return not self.annotations
        return all(bool(annotations.get(name, False)) is value for name, value in self.annotations)


@lru_cache(maxsize=65_536)
def read_rule(text: str) -> Rule:
    """Parses a rule.  Raises ``PolicyError`` with an example of a valid rule."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise PolicyError(
            f"{text!r} is not a rule. Write tool or tool(what), for example edit(src/**) or shell(git"
            " status:*)."
        )
    return Rule(found["tool"], read_spec(found["spec"] or ""))


def read_spec(text: str) -> str:
    """Returns the spec without blanks around it; empty for a star, which stands for every call."""
    spec = text.strip()
    return "" if spec in ("*", ":*") else spec


def arguments_text(arguments: Mapping[str, Any]) -> str:
    r"""Returns what ``Rule.arguments`` matches: compact JSON, sorted, ``\0`` around each top-level pair."""
    pairs = (f"{json.dumps(name, ensure_ascii=False)}:{_json(arguments[name])}" for name in sorted(arguments))
    return "{" + ",".join(f"\0{pair}\0" for pair in pairs) + "}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=repr)


@lru_cache(maxsize=1024)
def _name_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))
