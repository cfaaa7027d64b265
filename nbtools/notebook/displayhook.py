"""A display hook that does not print results already shown as cards,
and shows the card of a result displayed later.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from nbtools.cards.hidden_characters import seen
from nbtools.core.result import ToolResult

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.core.call import FinishedCall


class DeduplicatingDisplayHook:
    """Wraps IPython's display hook: a value that the cell has already displayed is stored (``_``,
    ``Out``) but not printed.
    """

    def __init__(
        self, shell: InteractiveShell, history: Callable[[], Iterable[FinishedCall]], root: Callable[[], str]
    ) -> None:
        self._shell: Any = shell
        self._history = history
        self._root = root
        self._displayed: list[object] = []

    def open(self) -> None:
        self._inner = self._shell.display_trap.hook
        self._replace_hook(self._inner, self)
        self._shell.events.register("pre_run_cell", self._forget)
        self._shell.display_formatter.mimebundle_formatter.for_type(ToolResult, self._bundle)
        self._plain.for_type(ToolResult, lambda result, printer, _: printer.text(seen(repr(result))))

    def close(self) -> None:
        self._replace_hook(self, self._inner)
        self._shell.events.unregister("pre_run_cell", self._forget)
        self._shell.display_formatter.mimebundle_formatter.pop(ToolResult, None)
        self._plain.pop(ToolResult, None)

    @property
    def _plain(self) -> Any:
        return self._shell.display_formatter.formatters["text/plain"]

    def remember(self, value: object) -> None:
        """Marks ``value`` as already displayed by this cell."""
        self._displayed.append(value)

    def __call__(self, value: object = None) -> None:
        if not any(displayed is value for displayed in self._displayed):
            self._inner(value)
            return
        hook = self._shell.displayhook
        hook.check_for_underscore()
        hook.update_user_ns(value)
        hook.fill_exec_result(value)

    def _replace_hook(self, before: Any, after: Any) -> None:
        if self._shell.display_trap.hook is before:
            self._shell.display_trap.hook = after
        if sys.displayhook is before:
            sys.displayhook = after

    def _forget(self, _: object) -> None:
        self._displayed.clear()

    def _bundle(self, result: ToolResult, **_: Any) -> dict[str, Any]:
        """Returns the card of the call that returned this result, for notebooks;
        terminals show the result's own text.
        """
        call = next((call for call in self._history() if call.result is result), None)
        if call is None:
            return {}
        from nbtools.cards.card import bundle, card_of  # noqa: PLC0415 - loaded with the first card

        return {
            mime: content
            for mime, content in bundle(card_of(call, root=self._root())).items()
            if mime != "text/plain"
        }
