"""The session of one notebook, with all that shows it and asks for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.blocking import BlockingSession
from nbtools.notebook.bridge import Bridge
from nbtools.notebook.cards import Cards
from nbtools.notebook.confirm import NotebookConfirmer
from nbtools.notebook.frontend import frontend_of
from nbtools.notebook.places import Place
from nbtools.notebook.prompt import Prompt
from nbtools.policy.decide import Policy
from nbtools.session import Session
from nbtools.sources.functions import FunctionTool

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Workbench:
    """Opened on a folder; ``move`` opens it on another one, with the same policy and no grants, for grants speak of a folder's files."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.frontend = frontend_of(shell)
        self._own: dict[str, FunctionTool] = {}
        self.bridge = self._open(project_folder(Path.cwd()), Policy())

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

    def adopt(self, tool: FunctionTool) -> None:
        """Adds a tool that the person has made; it stays when the workspace changes."""
        self._own[tool.name] = tool
        self.session.tools.register(tool)

    def move(self, folder: str) -> None:
        """Works on another folder.  Raises ``ToolFailure`` when it is none; then nothing has changed."""
        before = self.bridge
        self.bridge = self._open(Path(folder).expanduser(), self.session.policy)
        before.blocking.close()

    def close(self) -> None:
        """Cancels what is under way and ends the thread."""
        self.blocking.close()

    def _open(self, folder: Path, policy: Policy) -> Bridge:
        session = Session(folder, policy=policy)
        cards = Cards(self._elsewhere, lambda: self.root)
        session.confirmer = NotebookConfirmer(cards, Prompt(self.frontend), lambda: self.root)
        session.observe(cards)
        for tool in self._own.values():
            session.tools.register(tool)
        return Bridge(session.sync(), cards, self.frontend)

    def _elsewhere(self) -> Place:
        return self.frontend.place(None, early=True)


def project_folder(start: Path) -> Path:
    """The nearest folder from ``start`` upwards that is a git checkout; ``start`` itself where there is none."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
