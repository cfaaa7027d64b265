"""Declarations of the sub-commands of ``%tools`` and ``%tools mcp``: arguments, help and completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from nbtools.cards.tables import Sheet
from nbtools.core.message import did_you_mean
from nbtools.notebook.magics.command_line import HelpRequested, complete_declared, parse_declared, words
from nbtools.notebook.magics.flags import Grammar, Parameter, declared, refused, word

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session

T = TypeVar("T")
_HELP = ("--help", "-h", "?", "??")


@dataclass(frozen=True, slots=True)
class SubCommand:
    """A sub-command: its name, its purpose, and its function with the arguments that it takes.

    ``run`` returns None where a card shows the result.  ``hint`` says what it takes, with an example: the
    error where the words of a line do not fit.  ``usage`` replaces the one made from ``arguments``.
    """

    name: str
    about: str
    run: Callable[..., Sheet | None]
    arguments: tuple[Parameter, ...] = ()
    hint: str = ""
    usage: str = ""
    ends_flags: Callable[[list[str]], bool] | None = None

    def grammar(self, title: str) -> Grammar:
        hint = self.hint or ("" if self.arguments else "takes no arguments.")
        return declared(
            f"{title} {self.name}".strip(), *self.arguments, hint=hint, ends_flags=self.ends_flags
        )

    def help_row(self, title: str) -> tuple[str, str]:
        grammar = self.grammar(title)
        return f"{grammar.tool} {self.usage or grammar.usage}".strip(), self.about


class CommandSet:
    """The sub-commands of ``title``, which may be sets of their own.
    ``prepare`` is called before one of them runs.

    Errors are raised as ``NbtoolsError`` with a one-line message.
    """

    def __init__(
        self,
        title: str,
        *commands: SubCommand | CommandSet,
        about: str = "",
        footer: str = "",
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = title.rpartition(" ")[2]
        self._title = title
        self._about = about
        self._footer = footer
        self._prepare = prepare
        explain = SubCommand(
            "help",
            "explains one command, or lists all of them",
            self.help,
            (word("command", required=False, offers=lambda *_: self._names),),
            f"takes one argument, as in {title} help {next(one.name for one in commands if one.name)}.",
        )
        self._commands = {command.name: command for command in (*commands, explain)}

    @property
    def _names(self) -> list[str]:
        return [name for name in self._commands if name]

    def run(self, line: str) -> Sheet | None:
        """Runs a line and returns the table to show; None where a card shows the result."""
        first = next(words(line), None)
        name, rest = (first.text, line[first.end :]) if first else ("", "")
        if name in _HELP:
            return self.help()
        if name.endswith("?"):
            return self.help(name.rstrip("?"))
        command = self._command(name)
        if isinstance(command, CommandSet):
            return command.run(rest)
        if [one.text for one in words(rest)] in [[sign] for sign in _HELP]:
            return self.help(name)
        try:
            arguments = parse_declared(command.grammar(self._title), rest)
        except HelpRequested:
            return self.help(name)
        self._prepare()
        return command.run(**arguments)

    def complete(self, before: list[str], fragment: str) -> Iterator[tuple[str, str]]:
        """Yields completions of ``fragment`` after the words ``before``, each with its kind."""
        if not before:
            yield from ((name, "keyword") for name in self._names)
            return
        command = self._commands.get(before[0])
        if isinstance(command, CommandSet):
            yield from command.complete(before[1:], fragment)
        elif command is not None:
            yield from complete_declared(command.grammar(self._title), before[1:], fragment)

    def help_row(self, title: str) -> tuple[str, str]:
        return f"{title} {self.name} […]", self._about

    def _command(self, name: str) -> SubCommand | CommandSet:
        command = self._commands.get(name)
        if command is None:
            raise refused(
                f"{self._title} has no sub-command {name!r}.{did_you_mean(name, self._names)}"
                f" {self._title} help lists them."
            )
        return command

    def help(self, command: str = "") -> Sheet:
        if not command:
            rows = tuple(one.help_row(self._title) for one in self._commands.values())
            return Sheet("", rows, (self._footer,))
        found = self._command(command)
        if isinstance(found, CommandSet):
            return found.help()
        flags = tuple((one.usage, one.description) for one in found.arguments if one.description)
        return Sheet("", (found.help_row(self._title), *flags))


def inside(runtime: NotebookRuntime, work: Callable[[Session], T]) -> T:
    """Runs ``work`` in the session's thread, the only one that may change the session."""

    async def change() -> T:
        return work(runtime.session)

    return runtime.blocking.run(change())


def sheet_of_lines(*lines: str) -> Sheet:
    """Returns a table of lines only."""
    return Sheet(lines=lines)
