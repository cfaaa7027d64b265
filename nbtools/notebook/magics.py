"""``%tool``, ``%%tool`` and ``%tools``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import publish_display_data

from nbtools.core.errors import NbtoolsError, ToolFailure
from nbtools.core.result import ToolResult, failed
from nbtools.notebook.command_line import parse
from nbtools.notebook.flags import Grammar, grammar_of
from nbtools.notebook.having import have
from nbtools.notebook.help_pages import help_sheet, overview
from nbtools.notebook.sheets import Sheet, Text

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.manage import Management
    from nbtools.notebook.shown import Shown
    from nbtools.notebook.workbench import Workbench


@magics_class
class ToolMagics(Magics):
    """Magics that show a calm card for whatever goes wrong."""

    def __init__(self, shell: InteractiveShell, bench: Workbench, shown: Shown) -> None:
        super().__init__(shell)
        self._bench = bench
        self._shown = shown

    @cached_property
    def management(self) -> Management:
        from nbtools.notebook.manage import Management  # noqa: PLC0415 - loaded when something is managed

        return Management(self._bench)

    @no_var_expand
    @line_cell_magic
    def tool(self, line: str, cell: str | None = None) -> ToolResult | None:
        """Call a tool: ``%tool grep -i TODO src --glob "*.py"``.

        ``%tool`` alone lists the tools, ``%tool grep?`` explains one, ``r = %tool …`` keeps the result.  ``%%tool write notes.txt`` takes
        the cell's text as the tool's own text.  The line is taken as it stands: nothing in it is expanded.
        """
        name, _, rest = line.strip().partition(" ")
        if not name:
            self._show(overview(self._bench.session))
            return None
        if name.endswith("?") or rest.strip() in {"?", "??"}:
            self._help(name.rstrip("?"))
            return None
        try:
            have(self._bench, name)
            tool = self._bench.session.tools.get(name)
            arguments = parse(grammar_of(tool), rest, _body(grammar_of(tool), cell))
        except ToolFailure as failure:
            return self._refuse(name, rest, failure)
        return self._keep(self._bench.bridge.run(name, arguments))

    @no_var_expand
    @line_magic
    def tools(self, line: str) -> str | None:
        """Manage the session: ``%tools`` shows it, ``%tools help`` lists what there is to manage."""
        try:
            sheet = self.management.run(line)
            if sheet is None:
                return None
            self._show(sheet)
        except NbtoolsError as error:
            self._show(Sheet(lines=(f"✕ {error}",)))
            return None
        if not isinstance(sheet, Text):
            return None
        self._shown.remember(sheet.value)
        return sheet.value

    def _help(self, name: str) -> None:
        try:
            have(self._bench, name)
            self._show(help_sheet(self._bench.session.tools.get(name), self._bench.session))
        except ToolFailure as failure:
            self._show(Sheet(lines=(failure.message,)))

    def _refuse(self, name: str, rest: str, failure: ToolFailure) -> ToolResult:
        """A card for a call that could not even be made."""
        from nbtools.notebook.refusal import show_refusal  # noqa: PLC0415 - drawing cards is not loaded before there is one

        show_refusal(name, rest, failure, self._bench.frontend.place(None))
        return self._keep(failed(failure.error))

    def _keep(self, result: ToolResult) -> ToolResult:
        self._shown.remember(result)
        return result

    def _show(self, sheet: Sheet) -> None:
        publish_display_data(sheet.bundle())  # type: ignore[no-untyped-call]


def _body(grammar: Grammar, cell: str | None) -> str | None:
    """A cell's text as the tool wants it: a file keeps its last newline, a command or a replacement has none."""
    if cell is None or grammar.body is None or grammar.body.whole:
        return cell
    return cell.removesuffix("\n")
