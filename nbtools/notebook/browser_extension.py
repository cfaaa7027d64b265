"""The IPython extension in a browser (JupyterLite): ``%trace`` works;
tools and agents say why they cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from nbtools.core.browser import NO_TOOLS
from nbtools.core.errors import SessionError
from nbtools.notebook.frontend import show_notice
from nbtools.notebook.traces.comm import register_in_kernel
from nbtools.notebook.traces.magic import TraceMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.traces.magic_arguments import ReplayLog

WELCOME = (
    "nbtools is ready. Try %trace LOG (the session log of an agent). Tools and agents cannot run in the"
    " browser."
)


class BrowserTraceMagics(TraceMagics):
    """``%trace`` without ``--replay``."""

    def __init__(self, shell: InteractiveShell) -> None:
        Magics.__init__(self, shell)

    def _replay(self, command: ReplayLog) -> None:
        raise UsageError(NO_TOOLS)


@magics_class
class UnavailableMagics(Magics):
    """``%tool``, ``%tools`` and ``%agent``: each raises ``UsageError``."""

    @no_var_expand
    @line_cell_magic
    def tool(self, line: str, cell: str | None = None) -> None:
        """Cannot run in the browser."""
        raise UsageError(NO_TOOLS)

    @no_var_expand
    @line_cell_magic
    def tools(self, line: str, cell: str | None = None) -> None:
        """Cannot run in the browser."""
        raise UsageError(NO_TOOLS)

    @no_var_expand
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> None:
        """Cannot run in the browser."""
        raise UsageError(NO_TOOLS)


class Unavailable:
    """``tools`` and ``agent`` in a browser: every public attribute raises ``SessionError``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise SessionError(NO_TOOLS)

    def __repr__(self) -> str:
        return NO_TOOLS


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by ``%load_ext nbtools``."""
    shell.register_magics(BrowserTraceMagics(shell), UnavailableMagics(shell))
    shell.push({"tools": Unavailable(), "agent": Unavailable()}, interactive=False)  # type: ignore[no-untyped-call]
    register_in_kernel()
    show_notice(WELCOME)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by ``%unload_ext nbtools``."""
    for kind in ("line", "cell"):
        for name in ("trace", "tool", "tools", "agent"):
            shell.magics_manager.magics[kind].pop(name, None)
    shell.drop_by_id({name: value for name, value in shell.user_ns.items() if type(value) is Unavailable})  # type: ignore[no-untyped-call]
