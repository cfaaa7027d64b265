"""The magics ``%tool``, ``%%tool`` and ``%tools``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import publish_display_data

from nbtools.cards.tables import Sheet, Text
from nbtools.core.errors import NbtoolsError, ToolFailure
from nbtools.core.result import ToolResult, failed
from nbtools.notebook.lazy_mcp import connect_server_of
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.magics.command_line import HelpRequested, comment_start, parse
from nbtools.notebook.magics.flags import Grammar, grammar_of
from nbtools.notebook.magics.help_pages import check_required, help_sheet, overview

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.displayhook import DeduplicatingDisplayHook
    from nbtools.notebook.magics.tools import ToolsCommands
    from nbtools.notebook.runtime import NotebookRuntime

_HELP = {"--help", "-h", "?"}


@magics_class
class ToolMagics(Magics):
    """The magics of a shell.  Errors are shown as cards or lines, not as tracebacks."""

    def __init__(
        self, shell: InteractiveShell, runtime: NotebookRuntime, displayhook: DeduplicatingDisplayHook
    ) -> None:
        super().__init__(shell)
        self._runtime = runtime
        self._displayhook = displayhook

    @cached_property
    def commands(self) -> ToolsCommands:
        from nbtools.notebook.magics.tools import (  # noqa: PLC0415 - loaded with the first %tools
            ToolsCommands,
        )

        return ToolsCommands(self._runtime)

    @no_var_expand
    @line_cell_magic
    def tool(self, line: str, cell: str | None = None) -> ToolResult | None:
        """Call a tool: ``%tool grep -i TODO src --glob "*.py"``.

        ``%tool`` alone lists the tools, ``%tool grep?`` explains one, ``r = %tool …`` assigns the result.
        ``%%tool write notes.txt`` passes the cell's text as the body parameter.  Variables in the line are
        not expanded.
        """
        name, _, rest = line.strip().partition(" ")
        if not name or name.startswith("#") or name in _HELP:
            self._show(overview(self._runtime.session))
            return None
        if name == "help" and name not in self._runtime.session.tools and rest.strip():
            name, rest = rest.split()[0], "?"
        if name.endswith("?") or rest[: comment_start(rest)].strip() in {"?", "??"}:
            self._help(name.rstrip("?"))
            return None
        try:
            connect_server_of(self._runtime, name)
            tool = self._runtime.session.tools.require(name)
            grammar = grammar_of(tool)
            arguments = parse(grammar, rest, _body(grammar, cell))
            check_required(grammar, arguments, rest)
        except HelpRequested:
            self._help(name)
            return None
        except ToolFailure as failure:
            return self._refuse(name, rest, failure)
        return self._remember(self._runtime.bridge.run(name, arguments))

    @no_var_expand
    @line_magic
    def tools(self, line: str) -> str | None:
        """Show and change the session: ``%tools`` shows it, ``%tools help`` lists the sub-commands."""
        try:
            sheet = self.commands.run(line)
            if sheet is None:
                return None
            self._show(sheet)
        except NbtoolsError as error:
            self._show(Sheet(lines=(f"✕ {error}",)))
            return None
        if not isinstance(sheet, Text):
            return None
        self._displayhook.remember(sheet.value)
        return sheet.value

    def _help(self, name: str) -> None:
        try:
            connect_server_of(self._runtime, name)
            self._show(help_sheet(self._runtime.session.tools.require(name), self._runtime.session))
        except ToolFailure as failure:
            self._show(Sheet(lines=(failure.message,)))

    def _refuse(self, name: str, rest: str, failure: ToolFailure) -> ToolResult:
        """Shows an error card for a line that could not be turned into a call."""
        from nbtools.cards.card import refusal_card  # noqa: PLC0415 - loaded with the first card

        LiveDisplay(self._runtime.frontend.display_target(None)).show_card(refusal_card(name, rest, failure))
        return self._remember(failed(failure.error))

    def _remember(self, result: ToolResult) -> ToolResult:
        self._displayhook.remember(result)
        return result

    def _show(self, sheet: Sheet) -> None:
        publish_display_data(sheet.bundle())  # type: ignore[no-untyped-call]


def _body(grammar: Grammar, cell: str | None) -> str | None:
    """Returns a cell's text for the body parameter; only the content of a file keeps its last newline."""
    if cell is None or grammar.body is None or grammar.body.whole:
        return cell
    return cell.removesuffix("\n")
