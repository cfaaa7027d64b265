"""The logs that sessions keep by themselves, in the state folder, apart for each workspace."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from nbtools.traces.log_records import texts_folder
from nbtools.traces.recorder import Recorder
from nbtools.workspace.state import private_folder, state_path, workspace_key

_SHARE = 4
"""A log may have this part of all bytes that are kept."""


def kept_logs(workspace: str | os.PathLike[str] = ".") -> tuple[Path, ...]:
    """The logs of the sessions on this workspace, the newest last."""
    return tuple(sorted(_folder(workspace).glob("*.jsonl")))


class KeptRecorder(Recorder):
    """The log of one more session.  With its first call the oldest logs go where all would have more than ``limit`` bytes together."""

    def __init__(self, workspace: Path, session: str, dialect: str, limit: int, *, calls_of: str = "") -> None:
        name = f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{session}.jsonl"
        limit_of_one = limit // _SHARE
        path = _folder(workspace) / name
        super().__init__(path, session=session, workspace=workspace, dialect=dialect, limit=limit_of_one, calls_of=calls_of)
        self._most = limit

    def _opened(self) -> int:
        private_folder(self.path.parent)
        _prune(self.path.parent, self._most - self._most // _SHARE)
        return super()._opened()


def _folder(workspace: str | os.PathLike[str]) -> Path:
    return state_path() / workspace_key(os.path.realpath(workspace)) / "sessions"


def _prune(folder: Path, limit: int) -> None:
    """The newest that fit into ``limit`` bytes stay."""
    left = limit
    for log in sorted(folder.glob("*.jsonl"), reverse=True):
        texts = texts_folder(log)
        left -= sum(one.stat().st_size for one in (log, *texts.glob("*")))
        if left < 0:
            log.unlink(missing_ok=True)
            shutil.rmtree(texts, ignore_errors=True)
