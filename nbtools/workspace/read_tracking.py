"""Tracks what a session has read, so that no file is overwritten unread or after somebody else changed it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure


class ReadExtent(StrEnum):
    """The extent to which a file was read."""

    WHOLE = "whole"
    RANGE = "range"
    """Requested lines: enough to edit the file, not enough to overwrite it."""
    PARTIAL = "partial"
    """Cut at a limit without a request for a part: not enough for any change."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """A record of one read: its extent, and a digest of the file's whole content at that time."""

    digest: bytes
    view: ReadExtent


@dataclass(frozen=True, slots=True)
class NotRead:
    """The data of a refusal: the file was not read at all, or only ``partly``."""

    partly: bool


class ReadTracker:
    """Tracks files by real path. ``required``: an existing file must be read before it is changed.

    Files are compared by content, never by modification time.
    """

    def __init__(self) -> None:
        self.required = False
        self._reads: dict[Path, FileRead] = {}

    def record(self, path: Path, data: bytes, view: ReadExtent | None = None) -> None:
        """Records that the file held ``data`` (its whole content) when ``view`` of it was read.

        ``view=None``: the session itself has just written ``data``;
        parts that were unknown before stay unknown.
        """
        previous = self._reads.get(path)
        digest = _digest(data)
        if view is None:
            view = ReadExtent.WHOLE if previous is None else previous.view
        elif previous is not None and previous.digest == digest and _RANK[previous.view] > _RANK[view]:
            return
        self._reads[path] = FileRead(digest, view)

    def record_write(self, path: Path, data: bytes, *, whole: bool, stale: bool) -> None:
        """Records that the session has written ``data``, replacing the ``whole`` file or a part of it.

        After the change of a part no more is known than before;
        nothing of the rest is known if the file was ``stale`` or not read.
        """
        view = ReadExtent.RANGE if stale or path not in self._reads else None
        self.record(path, data, ReadExtent.WHOLE if whole else view)

    def forget(self, path: Path) -> None:
        """Drops the file, or the folder with everything in it, after its deletion."""
        for tracked in self._below(path):
            del self._reads[tracked]

    def rename(self, path: Path, to: Path) -> None:
        """Updates the paths of a file, or of a folder with everything in it, after a move."""
        for tracked in self._below(path):
            self._reads[to / tracked.relative_to(path)] = self._reads.pop(tracked)

    def _below(self, path: Path) -> list[Path]:
        return [tracked for tracked in self._reads if tracked == path or path in tracked.parents]

    def has_read(self, path: Path) -> bool:
        """Returns whether any part of the file was read."""
        return path in self._reads

    def has_changed(self, path: Path, current: bytes) -> bool:
        """Returns whether the file held another content when it was read."""
        previous = self._reads.get(path)
        return previous is not None and previous.digest != _digest(current)

    def require_read(self, path: Path, subject: str, current: bytes, *, whole: bool) -> None:
        """Raises ``edit_preparation_failure`` if reading first is required and the file was not read.

        ``whole``: all of the file is replaced, so all of it must have been read, and it must not have changed
        since (``conflict``).  An edit of a part needs no such check: the text to replace must still be there.
        """
        if not self.required:
            return
        previous = self._reads.get(path)
        if (
            previous is None
            or previous.view is ReadExtent.PARTIAL
            or (whole and previous.view is not ReadExtent.WHOLE)
        ):
            reason = "has not been read" if previous is None else "has been read only in part"
            message = f"{subject} {reason} in this session. Read it first, then change it."
            raise ToolFailure(ErrorCode.EDIT_PREPARATION_FAILURE, message, NotRead(previous is not None))
        if whole and previous.digest != _digest(current):
            raise ToolFailure(
                ErrorCode.CONFLICT, f"{subject} has changed since it was read. Read it again, then change it."
            )


_RANK = {ReadExtent.PARTIAL: 0, ReadExtent.RANGE: 1, ReadExtent.WHOLE: 2}


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
