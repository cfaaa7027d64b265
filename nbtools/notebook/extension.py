"""The IPython extension: ``%load_ext nbtools`` installs everything into a shell,
``%unload_ext nbtools`` removes it.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbtools.core.extension_points import NEW_TOOL, listen
from nbtools.notebook import channel
from nbtools.notebook.agent.handle import NotebookAgent
from nbtools.notebook.agent.magic import AgentMagics
from nbtools.notebook.displayhook import DeduplicatingDisplayHook
from nbtools.notebook.frontend import CLICKS_SINCE, Kernel, clicks_arrive, show_notice
from nbtools.notebook.input_transforms import ToolLine, insert_tool_cell, tool_cell
from nbtools.notebook.magics.completion import matcher_of
from nbtools.notebook.magics.tool import ToolMagics
from nbtools.notebook.portal import Portal
from nbtools.notebook.runtime import NotebookRuntime
from nbtools.notebook.state.comm import StateComm
from nbtools.notebook.tool_functions import Tools
from nbtools.notebook.traces.comm import register_target, unregister_target
from nbtools.notebook.traces.magic import TraceMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.magic import Magics

WELCOME = (
    "nbtools is ready. Try %tool grep TODO, %tool edit? (how to use it, with examples), %trace (session logs"
    " of agents)."
)
DISTRIBUTION = "nbtools-agent"


class Extension:
    """Everything that nbtools installs into one shell.  ``close`` removes all of it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell: Any = shell
        self.runtime = NotebookRuntime(shell)
        self._displayhook = DeduplicatingDisplayHook(
            shell, lambda: self.runtime.session.history, lambda: self.runtime.root
        )
        self._portal = Portal(shell)
        self._magics = ToolMagics(shell, self.runtime, self._displayhook)
        self._trace_magics = TraceMagics(shell, self.runtime, self._displayhook)
        self._agent = NotebookAgent(self.runtime, self._displayhook.remember)
        self._agent_magics = AgentMagics(shell, self._agent)
        self._names = {"tools": Tools(self.runtime, self._displayhook.remember), "agent": self._agent}
        frontend = self.runtime.frontend
        self._state = StateComm(self.runtime, frontend, shell) if isinstance(frontend, Kernel) else None
        self._matcher = matcher_of(
            self.runtime,
            lambda: self._magics.commands,
            lambda: self._shell.user_ns.get("tools") is self._names["tools"],
        )
        self._services: dict[str, channel.Service] = {
            "forms": self._forms,
            "cards": self._cards,
            "cells": self._open_notebooks,
        }
        self._before: dict[tuple[str, str], Any] = {}

    def open(self) -> None:
        self._portal.open()
        self._displayhook.open()
        self._register_magics()
        self._shell.Completer.custom_matchers.append(self._matcher)
        self._shell.input_transformer_manager.token_transformers.insert(0, ToolLine)
        insert_tool_cell(self._shell.input_transformer_manager.cleanup_transforms)
        self._define_names()
        self._register_target()
        self._stop_adopting = listen(NEW_TOOL, self.runtime.adopt)
        decorated = sys.modules.get(
            "nbtools.plugins.function_tool"
        )  # it takes long to load, and without it there are no such tools
        if decorated is not None:
            for value in [
                value for value in self._shell.user_ns.values() if type(value) is decorated.FunctionTool
            ]:
                self.runtime.adopt(value)
        atexit.register(self.runtime.close)

    def close(self) -> None:
        atexit.unregister(self.runtime.close)
        self._stop_adopting()
        self._unregister_target()
        self._shell.drop_by_id(self._names)
        _discard(self._shell.input_transformer_manager.token_transformers, ToolLine)
        _discard(self._shell.input_transformer_manager.cleanup_transforms, tool_cell)
        _discard(self._shell.Completer.custom_matchers, self._matcher)
        self._unregister_magics()
        self._displayhook.close()
        self._portal.close()
        self.runtime.close()

    def _define_names(self) -> None:
        """Defines ``tools`` and ``agent``, unless the person has variables with these names."""
        for name, value in self._names.items():
            if name in self._shell.user_ns:
                show_notice(
                    f"A variable {name!r} already exists and is not replaced; %{name.removesuffix('s')} works"
                    " without it."
                )
            else:
                self._shell.push({name: value}, interactive=False)

    def _register_magics(self) -> None:
        known = self._shell.magics_manager.magics
        ours = [
            (kind, name)
            for magics in self._all_magics
            for kind, names in magics.magics.items()
            for name in names
        ]
        self._before = {(kind, name): known[kind][name] for kind, name in ours if name in known[kind]}
        self._shell.register_magics(*self._all_magics)

    def _unregister_magics(self) -> None:
        manager = self._shell.magics_manager
        for magics in self._all_magics:
            for kind, names in magics.magics.items():
                for name, magic in names.items():
                    if manager.magics[kind].get(name) == magic:
                        del manager.magics[kind][name]
            manager.registry.pop(type(magics).__name__, None)
        for (kind, name), magic in self._before.items():
            manager.magics[kind].setdefault(name, magic)

    @property
    def _all_magics(self) -> tuple[Magics, ...]:
        return self._magics, self._trace_magics, self._agent_magics

    def _register_target(self) -> None:
        if isinstance(self.runtime.frontend, Kernel):
            self._shell.events.register("pre_run_cell", self.runtime.frontend.begin_cell)
            self._shell.events.register("post_run_cell", self.runtime.frontend.end_cell)
            register_target(_comms())
            for word, service in self._services.items():
                channel.serve(word, service)
            if self._state is not None:
                self._state.open()

    def _unregister_target(self) -> None:
        if isinstance(self.runtime.frontend, Kernel):
            self._shell.events.unregister("pre_run_cell", self.runtime.frontend.begin_cell)
            self._shell.events.unregister("post_run_cell", self.runtime.frontend.end_cell)
            unregister_target(_comms())
            for word, service in self._services.items():
                channel.withdraw(word, service)
            if self._state is not None:
                self._state.close()

    def _forms(self, *_: object) -> object:
        from nbtools.notebook.forms.requests import (  # noqa: PLC0415 - not needed to load the extension
            Forms,
        )

        return Forms(self.runtime)

    def _cards(self, *_: object) -> object:
        from nbtools.notebook.card_requests import (  # noqa: PLC0415 - not needed to load the extension
            CardRequests,
        )

        return CardRequests(self.runtime)

    def _open_notebooks(self, *_: object) -> object | None:
        return self.runtime.open_notebooks


_extensions: dict[int, Extension] = {}
"""By the identity of their shell."""
_extensions_before: set[int] = set()
"""Shells in which the extension was loaded at some time; these do not show the first line again."""


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by ``%load_ext nbtools``."""
    if id(shell) in _extensions:
        return
    _refuse_if_shadowed()
    extension = Extension(shell)
    extension.open()
    welcomed = id(shell) in _extensions_before
    _extensions[id(shell)] = extension
    _extensions_before.add(id(shell))
    if not welcomed and extension.runtime.frontend.is_interactive_cell:
        show_notice(WELCOME)
    if isinstance(extension.runtime.frontend, Kernel) and not clicks_arrive():
        minimum = ".".join(map(str, CLICKS_SINCE))
        show_notice(
            f"Buttons need ipykernel {minimum} or later; until then approval is requested as text. pip"
            f' install -U "ipykernel>={minimum}"'
        )


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Called by ``%unload_ext nbtools``."""
    extension = _extensions.pop(id(shell), None)
    if extension is not None:
        extension.close()


def _refuse_if_shadowed() -> None:
    """Raises ``UsageError`` if the package nbtools of another project is installed:
    the two overwrite each other's files.
    """
    try:
        other = importlib.metadata.distribution("nbtools")
    except importlib.metadata.PackageNotFoundError:
        return
    raise UsageError(
        f"The package nbtools {other.version} (GenePattern) installs into the same folder. Keep only one: pip"
        f" uninstall nbtools, then pip install --force-reinstall {DISTRIBUTION}"
    )


def _discard(items: list[Any], item: Any) -> None:
    if item in items:
        items.remove(item)


def _comms() -> Any:
    import comm  # noqa: PLC0415 - only available in a kernel

    return comm.get_comm_manager()
