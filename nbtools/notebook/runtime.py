"""The runtime of one notebook: its session, cards, agents, explorers and frontend."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.core.toolset import check_declaration
from nbtools.notebook.frontend import Kernel, frontend_of
from nbtools.storage.state_folder import project_folder

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.approval.open_questions import OpenQuestions
    from nbtools.notebook.call_bridge import Bridge
    from nbtools.notebook.mcp.serving import ClientServing
    from nbtools.notebook.open_notebooks import FrontendNotebooks
    from nbtools.plugins.function_tool import FunctionTool
    from nbtools.session import Session
    from nbtools.session.sync import BlockingSession


@dataclass(frozen=True, slots=True)
class SourceWork:
    """Work in progress that a person can stop.
    ``started`` is in seconds since the epoch; ``status`` is empty until it has ended.
    """

    id: str
    subject: str
    started: float
    cell_id: str
    status: str
    failed: bool


class CallSource(Protocol):
    """Another source of calls in this notebook: a session in a copy of a folder, an agent's run."""

    def work(self) -> SourceWork | None:
        """Returns what to show of it beside its calls; None if there is nothing."""

    def cancel(self, call_id: str) -> object: ...

    def leave(self) -> object:
        """Ends the source's work, because the notebook is about to switch to another folder."""

    def close(self) -> None: ...


class NotebookRuntime:
    """The runtime of one shell.  The session is created when it is first used,
    so that loading the extension is fast.

    ``move`` creates another session on another folder with the same policy and settings, but without grants,
    which are about files of the previous folder.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self.frontend = frontend_of(shell)
        self._folder = project_folder(Path.cwd())
        self._own: dict[str, FunctionTool] = {}
        self._bridge: Bridge | None = None
        self._open_notebooks: FrontendNotebooks | None = None
        self._questions: OpenQuestions | None = None
        self._opening = threading.RLock()
        self._watchers: list[Callable[[], None]] = []
        self.call_sources: list[CallSource] = []
        self.served: ClientServing | None = None

    @property
    def bridge(self) -> Bridge:
        if self._bridge is None:
            with self._opening:
                if self._bridge is None:
                    self._bridge = self._open(self._folder, None)
            self._notify()
        return self._bridge

    @property
    def opened_bridge(self) -> Bridge | None:
        """The bridge if the session exists already."""
        return self._bridge

    @property
    def blocking(self) -> BlockingSession:
        return self.bridge.blocking

    @property
    def session(self) -> Session:
        return self.bridge.blocking.session

    @property
    def root(self) -> str:
        """The workspace relative to the notebook's folder."""
        return os.path.relpath(self.session.workspace.root)

    @property
    def questions(self) -> OpenQuestions:
        """The questions of all sessions of this notebook that wait for a click."""
        if self._questions is None:
            from nbtools.notebook.approval.open_questions import (  # noqa: PLC0415 - not needed to load the extension
                OpenQuestions,
            )

            self._questions = OpenQuestions()
        return self._questions

    @property
    def open_notebooks(self) -> FrontendNotebooks | None:
        """Access to the open notebooks; None in a terminal."""
        if self._open_notebooks is None and isinstance(self.frontend, Kernel):
            from nbtools.notebook.open_notebooks import (  # noqa: PLC0415 - not needed to load the extension
                FrontendNotebooks,
                publish,
            )

            self._open_notebooks = FrontendNotebooks(self.frontend, publish)
        return self._open_notebooks

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Calls ``watcher`` when the session is created or replaced and when a source of calls comes or goes;
        returns what ends this.
        """
        self._watchers.append(watcher)

        def stop() -> None:
            with suppress(ValueError):
                self._watchers.remove(watcher)

        return stop

    def _notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()

    def add_source(self, source: CallSource) -> None:
        self.call_sources.append(source)
        self._notify()

    def remove_source(self, source: CallSource) -> None:
        """Removes a source of calls; an unknown one is ignored."""
        if source in self.call_sources:
            self.call_sources.remove(source)
            self._notify()

    def adopt(self, tool: FunctionTool) -> None:
        """Registers a tool that the person has defined, also for later workspaces;
        it replaces only one that they defined before.

        Raises ``ValueError`` for the name of another tool, or an invalid one; then nothing has changed.
        """
        if self._bridge is not None:
            self.session.tools.register(tool, replace=tool.name in self._own)
        elif tool.name in CANONICAL_NAMES:
            raise ValueError(f"There is a tool {tool.name} already. Give this one another name.")
        else:
            check_declaration(tool)
        self._own[tool.name] = tool

    def move(self, folder: str) -> None:
        """Switches to another folder.  Raises ``ToolFailure`` when it does not exist;
        then nothing has changed.

        An agent's run on the previous folder is ended first, so that code that awaits it is notified.
        """
        before = self.bridge
        after = self._open(Path(folder).expanduser(), self.session)
        for source in tuple(self.call_sources):
            source.leave()
        self.stop_serving("The notebook has switched to another folder.")
        self._bridge = after
        self._notify()
        before.blocking.close()

    def stop_serving(self, why: str) -> bool:
        """Stops ``%tools serve``; returns False if the notebook was not serving."""
        served, self.served = self.served, None
        if served is not None:
            served.close(why)
        return served is not None

    def cancel(self, call_id: str) -> None:
        """Cancels a call of any session of this notebook; thread-safe, does not wait for its end."""
        self.bridge.cancel(call_id)
        for source in tuple(self.call_sources):
            source.cancel(call_id)

    def close(self) -> None:
        """Cancels all running calls and ends the threads."""
        for source in tuple(self.call_sources):
            source.close()
        self.stop_serving("The notebook has closed.")
        if self._bridge is not None:
            self._bridge.blocking.close()

    def _open(self, folder: Path, before: Session | None) -> Bridge:
        from nbtools.notebook.create_session import (  # noqa: PLC0415 - not needed to load the extension
            open_bridge,
        )

        return open_bridge(
            self.frontend,
            folder,
            before,
            self._own.values(),
            lambda: self.root,
            self.questions,
            self.open_notebooks,
        )
