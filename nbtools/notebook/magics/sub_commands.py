"""Helpers for the sub-commands of ``%tools``: their arguments, messages and errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from nbtools.cards.tables import Sheet
from nbtools.core.errors import ErrorCode, ToolFailure

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SubCommand:
    """A sub-command: its arguments, its purpose, and its function.
    ``run`` returns None where a card shows the result.
    """

    takes: str
    says: str
    run: Callable[[list[str]], Sheet | None]


def inside(runtime: NotebookRuntime, work: Callable[[Session], T]) -> T:
    """Runs ``work`` in the session's thread, the only one that may change the session."""

    async def change() -> T:
        return work(runtime.session)

    return runtime.blocking.run(change())


def sheet_of_lines(*lines: str) -> Sheet:
    """Returns a table of lines only."""
    return Sheet(lines=lines)


def refused(problem: str) -> ToolFailure:
    """Returns the error for invalid arguments of a sub-command."""
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, problem)


def one_of(rest: list[str], command: str, example: str) -> str:
    """Returns the only argument of a command.  Raises ``ToolFailure`` unless there is exactly one."""
    if len(rest) != 1:
        raise refused(f"%tools {command} takes one argument, as in %tools {command} {example}.")
    return rest[0]


def without_flags(rest: list[str], command: str, *flags: str) -> tuple[list[str], frozenset[str]]:
    """Returns the words without flags, and the flags among them.
    Raises ``ToolFailure`` for a flag the command does not have.
    """
    unknown = [word for word in rest if word.startswith("--") and word not in flags]
    if unknown:
        raise refused(f"%tools {command} has no flag {unknown[0]}. Flags: {', '.join(flags) or 'none'}.")
    return [word for word in rest if word not in flags], frozenset(word for word in rest if word in flags)
