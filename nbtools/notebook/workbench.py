"""The session of one notebook, with all that shows it and asks for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from nbtools.notebook.frontend import Kernel, frontend_of
from nbtools.sources.functions import FunctionTool
from nbtools.workspace.state import project_folder

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.blocking import BlockingSession
    from nbtools.notebook.bridge import Bridge
    from nbtools.notebook.live import FrontendNotebooks
    from nbtools.notebook.serving.served import Served
    from nbtools.session import Session


class Guest(Protocol):
    """What else makes calls in this notebook: a session in a copy of a folder, an agent's run."""

    def cancel(self, call_id: str) -> object: ...

    def leave(self) -> object:
        """The notebook is about to work on another folder."""

    def close(self) -> None: ...


class Workbench:
    """Opened on a folder when it is first used, for loading an extension should cost little.

    ``move`` opens it on another folder, with the same policy and settings, and no grants of this session: they speak of a folder's files.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self.frontend = frontend_of(shell)
        self._folder = project_folder(Path.cwd())
        self._own: dict[str, FunctionTool] = {}
        self._bridge: Bridge | None = None
        self._live: FrontendNotebooks | None = None
        self.guests: list[Guest] = []
        self.served: Served | None = None

    @property
    def bridge(self) -> Bridge:
        if self._bridge is None:
            self._bridge = self._open(self._folder, None)
        return self._bridge

    @property
    def blocking(self) -> BlockingSession:
        return self.bridge.blocking

    @property
    def session(self) -> Session:
        return self.bridge.blocking.session

    @property
    def root(self) -> str:
        """The workspace as seen from the notebook's folder."""
        return os.path.relpath(self.session.workspace.root)

    @property
    def live(self) -> FrontendNotebooks | None:
        """The way to the notebooks that are open around this kernel; None in a terminal."""
        if self._live is None and isinstance(self.frontend, Kernel):
            from nbtools.notebook.live import FrontendNotebooks, comm_publisher  # noqa: PLC0415 - as in _open

            self._live = FrontendNotebooks(self.frontend, comm_publisher())
        return self._live

    def adopt(self, tool: FunctionTool) -> None:
        """Adds a tool that the person has made; it stays when the workspace changes."""
        self._own[tool.name] = tool
        if self._bridge is not None:
            self.session.tools.register(tool)

    def move(self, folder: str) -> None:
        """Works on another folder.  Raises ``ToolFailure`` when it is none; then nothing has changed.

        An agent's run on the one that is left ends first, so that whoever awaits it is told.
        """
        before = self.bridge
        after = self._open(Path(folder).expanduser(), self.session)
        for guest in tuple(self.guests):
            guest.leave()
        self.stop_serving("The notebook works on another folder.")
        self._bridge = after
        before.blocking.close()

    def stop_serving(self, why: str) -> bool:
        """Ends ``%tools serve``.  False where the notebook does not serve."""
        served, self.served = self.served, None
        if served is not None:
            served.close(why)
        return served is not None

    def cancel(self, call_id: str) -> None:
        """Stops a call, whichever session makes it; from any thread, without waiting for its end."""
        self.bridge.cancel(call_id)
        for guest in tuple(self.guests):
            guest.cancel(call_id)

    def close(self) -> None:
        """Cancels what is under way and ends the threads."""
        for guest in tuple(self.guests):
            guest.close()
        self.stop_serving("The notebook has closed.")
        if self._bridge is not None:
            self._bridge.blocking.close()

    def _open(self, folder: Path, before: Session | None) -> Bridge:
        from nbtools.notebook.opening import open_bridge  # noqa: PLC0415 - everything that a call needs, which loading does not

        return open_bridge(self.frontend, folder, before, self._own.values(), lambda: self.root, self.live)
