"""The session logs that are recorded automatically, in the state folder, separately for each workspace."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from nbtools.storage.state_folder import private_folder, state_path, workspace_key
from nbtools.traces.recording.log_records import texts_folder
from nbtools.traces.recording.recorder import Recorder

_SHARE = 4
"""A single log may use this fraction (1/n) of the bytes for all logs."""


def kept_logs(workspace: str | os.PathLike[str] = ".") -> tuple[Path, ...]:
    """Returns the session logs of this workspace, oldest first."""
    return tuple(sorted(_folder(workspace).glob("*.jsonl")))


class SessionLogRecorder(Recorder):
    """Records a session into the workspace's session logs.

    With its first call, the oldest logs are deleted where all together would exceed ``limit`` bytes.
    """

    def __init__(
        self, workspace: Path, session: str, dialect: str, limit: int, *, calls_of: str = ""
    ) -> None:
        name = f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{session}.jsonl"
        limit_of_one = limit // _SHARE
        path = _folder(workspace) / name
        super().__init__(
            path, session=session, workspace=workspace, dialect=dialect, limit=limit_of_one, calls_of=calls_of
        )
        self._total_limit = limit

    def _open(self) -> int:
        private_folder(self.path.parent)
        _prune(self.path.parent, self._total_limit - self._total_limit // _SHARE)
        return super()._open()


def _folder(workspace: str | os.PathLike[str]) -> Path:
    return state_path() / workspace_key(os.path.realpath(workspace)) / "sessions"


def _prune(folder: Path, limit: int) -> None:
    """Deletes the oldest logs, so that the rest fit into ``limit`` bytes."""
    remaining = limit
    for log in sorted(folder.glob("*.jsonl"), reverse=True):
        texts = texts_folder(log)
        remaining -= sum(one.stat().st_size for one in (log, *texts.glob("*")))
        if remaining < 0:
            log.unlink(missing_ok=True)
            shutil.rmtree(texts, ignore_errors=True)
