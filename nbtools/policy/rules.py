"""A rule: whom it concerns and, in parentheses, what; written as a person writes it.

::

    grep                     every call of grep
    read(secrets/**)         what is read under secrets, with whatever tool      (gitignore patterns, relative to the workspace)
    edit(/src/**)            what is written under src; //abs and ~/home are other places to start from
    shell(git status)        exactly this command
    shell(git log:*)         this command with any arguments (also written ``git log *``)
    fetch(domain:*.x.org)    pages of the hosts under x.org
    mcp__docs__*             every tool of the server docs
    *                        every call
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
from nbtools.core.parameters import nearest
from nbtools.policy.modes import Mode
from nbtools.policy.patterns import expression

_RULE = re.compile(r"(?P<tool>[\w.*?-]+)(?:\((?P<spec>.*)\))?", re.DOTALL)
_PATHS = frozenset({"read", "edit"})


@dataclass(frozen=True, slots=True)
class Rule:
    """``tool`` is a name or a pattern of names, ``spec`` narrows it; empty means every call.

    The rest is for what no text says: ``command``, a regular expression for the beginning of a command; ``arguments``, one for a place in
    the arguments as JSON with sorted keys (see ``arguments_text``); ``modes``, those it holds in, empty: all; ``annotations`` that the tool
    must have; ``redirects``: whether an allow of commands lets them write files by redirects; ``message``, told with a denial.
    Raises ``PolicyError`` for an expression, a mode or a spec that will not do.
    """

    tool: str
    spec: str = ""
    command: str = ""
    arguments: str = ""
    modes: tuple[str, ...] = ()
    message: str = ""
    annotations: tuple[tuple[str, bool], ...] = ()
    redirects: bool = False

    def __post_init__(self) -> None:
        for text in filter(None, (self.command, self.arguments)):
            expression(text)
        for mode in self.modes:
            if mode not in list(Mode):
                raise PolicyError(f"There is no mode {mode!r}. Did you mean {' or '.join(nearest(mode, Mode))}?")
        if sum(map(bool, (self.spec, self.command, self.arguments))) > 1:
            raise PolicyError(f"{self} looks at several things. Write a rule for each.")
        if self.spec.startswith("!"):
            raise PolicyError(f"{self} takes something back, which no rule does. Name what it is to be about.")

    def __str__(self) -> str:
        named = ", ".join(f"{name} /{text}/" for name, text in (("command", self.command), ("arguments", self.arguments)) if text)
        what = ", ".join(filter(None, (self.spec, named)))
        return f"{self.tool}({what})" if what else self.tool

    @property
    def is_bare(self) -> bool:
        """Whether it speaks of every call of its tool."""
        return not (self.spec or self.command or self.arguments)

    @property
    def is_about_paths(self) -> bool:
        """Whether it speaks of what is read or written, with whatever tool."""
        return bool(self.spec) and self.tool in _PATHS

    def concerns(self, tool: str) -> bool:
        """Whether the rule is about the tool of that name."""
        return self.tool in (tool, "*") or bool(_name_pattern(self.tool).match(tool))

    def holds_in(self, mode: str) -> bool:
        return not self.modes or mode in self.modes

    def fits(self, annotations: Mapping[str, Any] | None) -> bool:
        """Whether the tool has the annotations; where they are None, only a rule that goes by none does."""
        return (
            not self.annotations
            if annotations is None
            else all(bool(annotations.get(name, False)) is value for name, value in self.annotations)
        )


@lru_cache(maxsize=65_536)
def read_rule(text: str) -> Rule:
    """The rule that ``text`` spells.  Raises ``PolicyError`` that shows one that works."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise PolicyError(f"{text!r} is not a rule. Write tool or tool(what), for example edit(src/**) or shell(git status:*).")
    spec = (found["spec"] or "").strip()
    return Rule(found["tool"], "" if spec in ("*", ":*") else spec)


def arguments_text(arguments: Mapping[str, Any]) -> str:
    r"""What ``Rule.arguments`` looks at: JSON without blanks, keys sorted at every depth, ``\0`` around each pair at the top."""
    pairs = (f"{json.dumps(name, ensure_ascii=False)}:{_json(arguments[name])}" for name in sorted(arguments))
    return "{" + ",".join(f"\0{pair}\0" for pair in pairs) + "}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=repr)


@lru_cache(maxsize=1024)
def _name_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))
