"""What the person has said of servers in one workspace: which of the project's may start, and which are on or off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.errors import ErrorCode, from_os_error
from nbtools.sources.mcp.settings.writing import write_whole
from nbtools.workspace.folder_lock import folder_lock
from nbtools.workspace.state import private_folder, state_path, workspace_key


class Said(BaseModel):
    """By the servers' names; trust is in an entry as it stood, by its digest."""

    model_config = ConfigDict(frozen=True)

    trusted: dict[str, str] = {}
    on: dict[str, bool] = {}


class Choices:
    """Kept in the state folder.  A file that cannot be read says nothing: then no server is trusted."""

    def __init__(self, root: Path) -> None:
        self._path = state_path() / workspace_key(root) / "mcp.json"

    def said(self) -> Said:
        try:
            return Said.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return Said()

    def trust(self, name: str, digest: str) -> None:
        """An empty digest takes it back.  Raises ``ToolFailure`` where that cannot be kept."""

        def change(said: Said) -> Said:
            others = {one: kept for one, kept in said.trusted.items() if one != name}
            return said.model_copy(update={"trusted": {**others, name: digest} if digest else others})

        self._change(change)

    def switch(self, name: str, on: bool) -> None:
        """Raises ``ToolFailure``."""
        self._change(lambda said: said.model_copy(update={"on": {**said.on, name: on}}))

    def _change(self, change: Callable[[Said], Said]) -> None:
        try:
            private_folder(self._path.parent)
            with folder_lock(self._path.parent):
                write_whole(self._path, change(self.said()).model_dump_json(indent=2) + "\n")
        except OSError as error:
            raise from_os_error(error, str(self._path), ErrorCode.FILE_WRITE_FAILURE) from None
