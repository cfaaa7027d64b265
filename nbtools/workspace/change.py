"""A change to one file, worked out and not yet made."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from nbtools.core.errors import ToolFailure
from nbtools.core.result import DiffStat, FileDiff
from nbtools.workspace.atomic import make_folders, remove_folders, replace
from nbtools.workspace.diff import PatchHunk, compared


@dataclass(frozen=True, slots=True)
class Changed:
    """What was done to a file; ``path`` and ``folders`` (made for it) are relative to the workspace."""

    path: str
    created: bool
    places: int
    stat: DiffStat
    hunks: tuple[PatchHunk, ...]
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's content before (None: there is no file) and after, as bytes and as text; ``places`` counts the texts replaced in it."""

    path: Path
    subject: str
    before: bytes | None
    after: bytes
    original: str | None
    proposed: str
    places: int = 1

    @property
    def changes_nothing(self) -> bool:
        return self.before == self.after

    def compared(self, proposal: str | None = None) -> tuple[FileDiff, tuple[PatchHunk, ...]]:
        """What changes, for a person and for a program.  ``proposal``: what the model had proposed before a person made this of it."""
        return compared(self.subject, self.original, self.proposed, proposal)

    def first_line(self) -> int:
        """The first line that changes, 1-based."""
        pairs = zip_longest((self.original or "").split("\n"), self.proposed.split("\n"))
        return next((number for number, (old, new) in enumerate(pairs, 1) if old != new), 1)

    def apply(self) -> tuple[Path, ...]:
        """Makes the change, all of it or nothing; the folders made for it.  Raises ``ToolFailure``, ``conflict`` among them."""
        if self.changes_nothing:
            return ()
        made = make_folders(self.path, self.subject) if self.before is None else ()
        try:
            replace(self.path, self.after, self.before, self.subject)
        except ToolFailure:
            remove_folders(made)
            raise
        return made
