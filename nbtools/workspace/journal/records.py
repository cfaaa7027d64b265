"""What the journal knows of a change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

StepKind: TypeAlias = Literal["write", "move", "trash", "restore", "lost", "folder", "unfolder", "mode", "link", "cells"]
Status: TypeAlias = Literal["intended", "running", "made", "partly"]
"""``intended``: recorded, and about to be made or cut short: the files tell.  ``running``: a command that may still change things.
``partly``: it failed, and not all could be put back."""


@dataclass(frozen=True, slots=True)
class Record:
    """One step, as far as undoing it needs.

    ``before`` is the key of the content that was there, empty where nothing was; ``after`` says what is there now: a fingerprint, or empty
    where nothing is.  ``delta`` makes the new content of the old one; ``place`` is the other path of a move, or where what was deleted is
    kept.  ``folders`` are those missing before, outermost first; ``bytes`` counts what is kept.
    """

    kind: StepKind
    path: Path
    place: Path | None = None
    before: str = ""
    after: str = ""
    delta: bytes | None = None
    mode: int = 0
    bytes: int = 0
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of a call: all of ``records`` or none.  ``undoes`` and ``undone_by`` are calls, empty where there is none."""

    id: int
    call: str
    session: str
    tool: str
    at: float
    status: Status
    undoes: str
    undone_by: str
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What a call has changed, for a person: ``files`` relative to the workspace, ``bytes`` kept for undoing.

    ``at`` counts seconds since the epoch; ``undone_by`` is the call that has undone it, ``undoes`` the call that this one has undone, empty
    where there is none.  ``of_this_session``: whether this session made the call.
    ``partly``: it failed, and not all could be put back; undoing brings back what did change.
    """

    id: str
    tool: str
    at: float
    files: tuple[str, ...]
    bytes: int
    undone_by: str
    undoes: str
    of_this_session: bool
    partly: bool = False

    @property
    def undone(self) -> bool:
        return bool(self.undone_by)
