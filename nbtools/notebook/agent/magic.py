"""``%agent`` and ``%%agent``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import publish_display_data

from nbtools.core.errors import NbtoolsError
from nbtools.notebook.agent.asked import Asked, asked
from nbtools.notebook.agent.handle import RunError
from nbtools.notebook.sheets import Sheet

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.agent.handle import NotebookAgent


@magics_class
class AgentMagics(Magics):
    """Whatever goes wrong is one calm line."""

    def __init__(self, shell: InteractiveShell, agent: NotebookAgent) -> None:
        super().__init__(shell)
        self._agent = agent

    @no_var_expand
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> Any:
        """Have a model work on a task with this notebook's tools; it asks with their cards.

        ::

            %%agent --model openai:gpt-5
            Find out why the tests of the cart fail, and mend it.

        ``--steps N`` and ``--instructions "…"`` set more, and what is set stays set.  The next ``%%agent`` goes on with the same
        conversation.  ``%agent`` shows how it stands, ``%agent new`` forgets, ``%agent trace`` shows what it did.
        """
        try:
            found = asked(line, in_cell=cell is not None)
            found.set_on(self._agent)
            return self._did(found) if cell is None else self._agent.run(cell.strip())
        except RunError:
            return None
        except NbtoolsError as error:
            _show(Sheet(lines=(f"✕ {error}",)))
            return None

    def _did(self, found: Asked) -> Any:
        match found.verb:
            case "trace":
                return self._agent.trace()
            case "stop":
                self._agent.stop()
            case "new":
                self._agent.new()
                _show(Sheet(lines=("A new conversation begins.",)))
            case _:
                from nbtools.notebook.agent.overview import overview  # noqa: PLC0415 - loaded when it is looked at

                _show(overview(self._agent))
        return None


def _show(sheet: Sheet) -> None:
    publish_display_data(sheet.bundle())  # type: ignore[no-untyped-call]
