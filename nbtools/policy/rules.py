"""A rule: whom it concerns and, in parentheses, what; written as a person writes it.

::

    grep                     every call of grep
    edit(src/**)             edits of files under src        (gitignore patterns, relative to the workspace)
    shell(git status)        exactly this command
    shell(git log:*)         this command with any arguments (also written ``git log *``)
    mcp__docs__*             every tool of the server docs
    *                        every call
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from nbtools.core.errors import PolicyError
from nbtools.core.shell_syntax import SimpleCommand, parse_shell
from nbtools.core.tool import CommandTarget, PathTarget, Target

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_RULE = re.compile(r"(?P<tool>[\w.*?-]+)(?:\((?P<spec>.*)\))?", re.DOTALL)

Piece: TypeAlias = str | SimpleCommand
"""What a rule is held against: one path, or one simple command of a command line."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``tool`` is a name or a pattern of names, ``spec`` narrows it; empty means every call."""

    tool: str
    spec: str = ""

    def __str__(self) -> str:
        return f"{self.tool}({self.spec})" if self.spec else self.tool

    def concerns(self, tool: str) -> bool:
        """Whether the rule speaks of this tool at all."""
        return self.tool in (tool, "*") or bool(_name_pattern(self.tool).match(tool))

    def allows(self, piece: Piece) -> bool:
        """Like ``covers``, but a program whose name the shell only works out when it runs is nobody's to allow."""
        return self.covers(piece) and (not self.spec or isinstance(piece, str) or 0 not in piece.dynamic)

    def covers(self, piece: Piece) -> bool:
        if not self.spec:
            return True
        if isinstance(piece, str):
            return _gitignore(self.spec).match_file(piece)
        return _covers_command(self.spec, piece)


@lru_cache(maxsize=1024)
def read_rule(text: str) -> Rule:
    """The rule that ``text`` spells.  Raises ``PolicyError`` that shows one that works."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise PolicyError(f"{text!r} is not a rule. Write tool or tool(what), for example edit(src/**) or shell(git status:*).")
    spec = (found["spec"] or "").strip()
    return Rule(found["tool"], "" if spec == "*" else spec)


def pieces(target: Target) -> tuple[Piece, ...]:
    """All that a call acts on, each to be covered by a rule of its own."""
    match target:
        case PathTarget(paths):
            return paths
        case CommandTarget(command):
            return parse_shell(command).commands


def obstacle(target: Target) -> str:
    """Why no rule with a spec may allow this call, empty when one may: what is not understood is asked."""
    if isinstance(target, PathTarget):
        return ""
    parsed = parse_shell(target.command)
    if parsed.parse_error:
        return f"the command could not be read whole ({parsed.parse_error})"
    written = [redirect.target for part in parsed.commands for redirect in part.redirects if redirect.writes]
    return f"it writes {', '.join(written)}" if written else ""


def _covers_command(spec: str, part: SimpleCommand) -> bool:
    """Word by word: ``git log:*`` covers ``git log`` and ``git log -1``, not ``git logs``."""
    wanted, open_ended = _words_of(spec)
    words = (*part.assignments, *part.argv)
    if len(words) < len(wanted) or (len(words) > len(wanted) and not open_ended):
        return False
    return all(_word_pattern(want).fullmatch(word) for want, word in zip(wanted, words, strict=False))


@lru_cache(maxsize=1024)
def _words_of(spec: str) -> tuple[tuple[str, ...], bool]:
    open_ended = spec.endswith((":*", " *"))
    return tuple((spec[:-2] if open_ended else spec).split()), open_ended


@lru_cache(maxsize=1024)
def _word_pattern(word: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(piece) for piece in word.split("*")), re.DOTALL)


@lru_cache(maxsize=1024)
def _name_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


@lru_cache(maxsize=256)
def _gitignore(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec as Spec  # noqa: PLC0415 - 45 ms: only rules about paths pay for it

    return Spec.from_lines([pattern.removeprefix("./")])
