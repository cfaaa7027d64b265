"""Hooks: the user's own code that runs before each call and after its result.

A hook returns nothing, one of the verdicts below, or several at once:
``return Change({...}), Note("the path was corrected")``.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from nbtools.core.decision import Decision
from nbtools.core.errors import SessionError
from nbtools.core.result import LlmContent, ToolResult
from nbtools.core.tool import Kind


@dataclass(frozen=True, slots=True)
class CallContext:
    """The context of calls: the workspace's root, the session's id, the permission mode."""

    root: str
    session: str
    mode: str


@dataclass(frozen=True, slots=True)
class BeforeCall:
    """A call before it runs.  ``tool`` and ``arguments`` are canonical;
    ``spoken`` is the tool's name as the caller wrote it.

    ``decision`` is that of the policy and of the hooks before this one.
    """

    id: str
    tool: str
    kind: Kind
    arguments: Mapping[str, Any]
    spoken: str
    decision: Decision
    setting: CallContext


@dataclass(frozen=True, slots=True)
class AfterCall:
    """A call after it ran, with its result or failure, and its duration in ``seconds``."""

    id: str
    tool: str
    kind: Kind
    arguments: Mapping[str, Any]
    spoken: str
    result: ToolResult
    seconds: float
    setting: CallContext


@dataclass(frozen=True, slots=True)
class Block:
    """Before a call: prevents it.  After a call: tells the model what is wrong with it.
    ``reason`` is passed to the model.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Requires approval, whatever rules allow the call."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Allow:
    """Replaces the approval that the mode requires.  It does not override rules."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """Replaces all arguments; they are canonical, and are validated and decided like any others."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Note:
    """Adds a text for the model after the result."""

    text: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Replaces the content of the result for the model."""

    content: LlmContent


@dataclass(frozen=True, slots=True)
class Withhold:
    """After a call: replaces its result by an error (``execution_failed``) with ``reason`` for the model."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Ends the message: this call fails with ``stop_execution``,
    and the calls of the same message that have not begun are cancelled.

    After a call, its result is withheld; its effects remain.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Fault:
    """The hook itself failed: reported like a crash, and blocks the call if the hook is ``closed``."""

    problem: str


Before: TypeAlias = Block | Ask | Allow | Change | Note | Stop | Fault
After: TypeAlias = Block | Note | Replace | Withhold | Stop | Fault
BeforeAnswer: TypeAlias = Before | Iterable[Before] | None
AfterAnswer: TypeAlias = After | Iterable[After] | None

NameAliases: TypeAlias = Callable[[str, Kind], Iterable[str]]
"""Returns further names of a canonical tool, for matchers that use an agent's tool names."""


def _no_other_names(_: str, __: Kind) -> Iterable[str]:
    return ()


@dataclass(frozen=True, kw_only=True)
class _Hook:
    """Base class of hooks.  ``matcher`` is a regular expression for a tool's whole name,
    empty or ``*`` for every tool.

    ``timeout`` is in seconds.  A hook that crashes, is missing or times out is reported and otherwise
    ignored; if it is ``closed``, it blocks the call.  Raises ``SessionError`` for an invalid matcher.
    """

    name: str
    matcher: str = "*"
    closed: bool = False
    timeout: float = 60
    names: NameAliases = _no_other_names

    def __post_init__(self) -> None:
        try:
            re.compile(self._pattern)
        except re.error as error:
            raise SessionError(
                f"The matcher of hook {self.name} is not a valid regular expression: {self.matcher!r}"
                f" ({error})."
            ) from None

    @property
    def _pattern(self) -> str:
        return ".*" if self.matcher in ("", "*") else self.matcher

    def matches(self, tool: str, kind: Kind, spoken: str) -> bool:
        """Whether the matcher fits one of the tool's names."""
        return any(re.fullmatch(self._pattern, name) for name in (tool, spoken, *self.names(tool, kind)))


@dataclass(frozen=True, kw_only=True)
class BeforeHook(_Hook):
    """A hook that runs before calls.  ``run`` is a function, run in a thread, or a coroutine function."""

    run: Callable[[BeforeCall], BeforeAnswer | Awaitable[BeforeAnswer]]


@dataclass(frozen=True, kw_only=True)
class AfterHook(_Hook):
    """A hook that runs after calls.  ``run`` is a function, run in a thread, or a coroutine function."""

    run: Callable[[AfterCall], AfterAnswer | Awaitable[AfterAnswer]]


Hook: TypeAlias = BeforeHook | AfterHook
