"""Hooks: your own code that runs before and after every tool call.

>>> @before("shell", closed=True)
... def no_force(call):
...     if "--force" in call.arguments["command"]:
...         return Block("No force here; ask the team first.")
>>> session = Session(".", hooks=[no_force, *claude_hooks(".claude/settings.json")])

Hooks run in order, and each gets the call as the earlier ones changed it, so put hooks that change calls
before hooks that check them.  Block is stronger than ask, ask than allow.  An allow replaces the person's
approval only where nothing but the mode requires it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from posixpath import join, normpath
from typing import Any, Literal

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.hooks import (
    AfterAnswer,
    AfterCall,
    AfterHook,
    Allow,
    Ask,
    BeforeAnswer,
    BeforeCall,
    BeforeHook,
    Block,
    Change,
    Fault,
    Hook,
    Note,
    Replace,
    Stop,
    Withhold,
)
from nbtools.core.message import changed_arguments
from nbtools.core.tool import Kind
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects import Dialect, dialect, dialect_names
from nbtools.hooks.command_hooks import CLAUDE_CONTRACT, TranslatedCall, make_command_hook
from nbtools.hooks.gemini_hooks import GEMINI_CONTRACT
from nbtools.hooks.hook_settings import read_hook_settings
from nbtools.workspace.paths import expand_home

__all__ = [
    "AfterCall",
    "AfterHook",
    "Allow",
    "Ask",
    "BeforeCall",
    "BeforeHook",
    "Block",
    "Change",
    "Fault",
    "Hook",
    "Note",
    "Replace",
    "Stop",
    "Withhold",
    "after",
    "before",
    "claude_hooks",
    "command_hook",
]


def before(
    matcher: str = "*", *, name: str = "", closed: bool = False, timeout: float = 60
) -> Callable[[Callable[[BeforeCall], BeforeAnswer | Awaitable[BeforeAnswer]]], BeforeHook]:
    """Makes a function or coroutine function a hook that runs before calls.

    ``matcher`` is a tool's name, canonical or any agent's, or a regular expression for names.  ``closed``:
    the call is blocked when the hook crashes or takes longer than ``timeout`` seconds; otherwise that is
    reported and the hook is skipped.
    """

    def decorate(run: Callable[[BeforeCall], BeforeAnswer | Awaitable[BeforeAnswer]]) -> BeforeHook:
        options: dict[str, Any] = {"matcher": matcher, "closed": closed, "timeout": timeout}
        return BeforeHook(name=name or _name_of(run), names=_any_name, run=run, **options)

    return decorate


def after(
    matcher: str = "*", *, name: str = "", closed: bool = False, timeout: float = 60
) -> Callable[[Callable[[AfterCall], AfterAnswer | Awaitable[AfterAnswer]]], AfterHook]:
    """Makes a function a hook that runs after calls, failed ones too.
    ``closed``: when it fails, the result is withheld.
    """

    def decorate(run: Callable[[AfterCall], AfterAnswer | Awaitable[AfterAnswer]]) -> AfterHook:
        options: dict[str, Any] = {"matcher": matcher, "closed": closed, "timeout": timeout}
        return AfterHook(name=name or _name_of(run), names=_any_name, run=run, **options)

    return decorate


def command_hook(
    event: Literal["before", "after", "failure"],
    command: str,
    *,
    matcher: str = "*",
    name: str = "",
    closed: bool = False,
    timeout: float = 60,
    speaks: str = "claude",
) -> Hook:
    """Returns a hook that runs a command line with ``sh``:
    JSON on stdin, a verdict by exit code and by JSON on stdout.

    ``event``: before calls, after successful calls, or after failed calls.  ``speaks`` is the dialect of its
    JSON and of ``matcher``.  With ``gemini`` the contract is Gemini CLI's (``nbtools.hooks.gemini_hooks``):
    *after* includes failed calls, and a matcher that occurs in a tool's name matches.  With any other dialect
    it is Claude Code's: exit code 2 blocks.
    """
    translator, contract = DialectTranslator(dialect(speaks)), CLAUDE_CONTRACT
    if speaks == "gemini":
        contract, matcher = GEMINI_CONTRACT, _occurring(matcher.strip())
    options: dict[str, Any] = {"matcher": matcher, "closed": closed, "timeout": timeout}
    return make_command_hook(event, command, translator, name=name, contract=contract, **options)


def _occurring(matcher: str) -> str:
    """Returns a matcher for whole names that accepts each in which Gemini CLI's ``matcher`` occurs."""
    if matcher in ("", "*"):
        return matcher
    try:
        re.compile(matcher)
    except re.error:
        return re.escape(matcher)
    return f".*(?:{matcher}).*"


def claude_hooks(path: str, *, closed: bool = False) -> tuple[Hook, ...]:
    """Reads the tool hooks from a settings file of Claude Code.
    Causes a warning for each that cannot be used.

    Raises ``SessionError`` where the file cannot be read.
    """
    settings = read_hook_settings(path, DialectTranslator(dialect("claude")), closed=closed)
    for problem in settings.problems:
        warnings.warn(problem, stacklevel=2)
    return settings.hooks


_MODES = {"auto_edit": "acceptEdits", "yolo": "bypassPermissions", "dont_ask": "dontAsk"}
_SIMILAR_TOOLS = {
    Kind.READ: ("read",),
    Kind.SEARCH: ("grep",),
    Kind.EDIT: ("edit", "write"),
    Kind.DELETE: ("edit", "write"),
    Kind.MOVE: ("edit", "write"),
    Kind.EXECUTE: ("shell",),
    Kind.FETCH: ("fetch",),
}


@dataclass(frozen=True, slots=True)
class DialectTranslator:
    """Translates calls to the dialect of a hook and its answers back."""

    dialect: Dialect

    def names(self, tool: str, kind: Kind) -> tuple[str, ...]:
        """Returns the agent's names of the tool. One that the agent lacks gets the names of similar tools."""
        # A hook that guards edits must guard patches, too.
        own = self.dialect.names_of(tool) or self._server_names(tool)
        if own or tool not in CANONICAL_NAMES:
            return own
        similar = _SIMILAR_TOOLS.get(kind, ())
        return tuple(name for one in similar for name in self.dialect.names_of(one))

    def _server_names(self, tool: str) -> tuple[str, ...]:
        """Returns the agent's names of an MCP server's tool; empty for another tool."""
        server = re.fullmatch(r"mcp__(.+?)__(.+)", tool)
        return self.dialect.server_names(server[1], server[2]) if server else ()

    def translate(self, tool: str, arguments: Mapping[str, Any], root: str) -> TranslatedCall:
        """Translates a call to the dialect, with absolute paths;
        where it cannot, uses the dialect's name and canonical arguments.
        """
        folder = str(arguments.get("path") or ".") if self.dialect.carries_folder and tool == "shell" else "."
        translated = self.dialect.speak(tool, arguments)
        if translated is not None:
            name, parameters = translated
            absolute = _absolute_paths(parameters, root)
            return TranslatedCall(
                name, absolute, lambda changed: self._read(name, tool, changed, root, folder), folder
            )
        name = next(iter(self.dialect.names_of(tool) or self._server_names(tool)), tool)
        absolute = _absolute_paths(arguments, root)
        return TranslatedCall(
            name, absolute, lambda changed: self._merged(name, tool, absolute, changed, root)
        )

    def _read(
        self, name: str, tool: str, changed: Mapping[str, Any], root: str, folder: str = "."
    ) -> Mapping[str, Any]:
        call = self.dialect.read(name, changed, root, lambda: folder)
        if call.tool != tool:
            message = f"with that input it is a call of {call.tool}, not of {tool}."
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
        return call.arguments

    def _merged(
        self, name: str, tool: str, original: Mapping[str, Any], changed: Mapping[str, Any], root: str
    ) -> Mapping[str, Any]:
        """Applies a hook's changes to canonical arguments:
        changes in the agent's parameters where readable, the rest unchanged.
        """
        try:
            before, after = (self._read(name, tool, arguments, root) for arguments in (original, changed))
        except ToolFailure:
            return changed
        merged = {**original, **changed_arguments(before, after)}
        return {key: value for key, value in merged.items() if key in after or key not in before}

    def mode_name(self, mode: str) -> str:
        return _MODES.get(mode, mode)


def _absolute_paths(arguments: Mapping[str, Any], root: str) -> dict[str, Any]:
    # Hooks compare paths, so every spelling of a path must look the same.
    paths = {key: one for key, one in arguments.items() if key.endswith("path") and isinstance(one, str)}
    return {**arguments, **{key: normpath(join(root, expand_home(path))) for key, path in paths.items()}}


def _any_name(tool: str, kind: Kind) -> Iterable[str]:
    return (name for agent in dialect_names() for name in DialectTranslator(dialect(agent)).names(tool, kind))


def _name_of(run: object) -> str:
    return str(getattr(run, "__name__", type(run).__name__))
