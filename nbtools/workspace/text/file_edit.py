"""Computes the change to one file from its bytes and the requested replacements, without writing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import DiffStat, FileDiff
from nbtools.diff.line_diff import PatchHunk, file_diff_with_hunks
from nbtools.diff.text_lines import displayable
from nbtools.workspace.files.read import not_text_failure
from nbtools.workspace.history.operations import Write
from nbtools.workspace.text.file_body import TextBody, decode_body
from nbtools.workspace.text.match import MatchMode
from nbtools.workspace.text.regions import EXCERPT_LIMITS, NO_LIMITS, DiffExcerpt, diff_excerpt
from nbtools.workspace.text.replace import LooseMatch, Replacement, apply_replacements


@dataclass(frozen=True, slots=True)
class FileChanged:
    """The result of a change to a file; ``path`` and ``folders`` (created for it) are relative to the workspace."""

    path: str
    created: bool
    places: int
    stat: DiffStat
    hunks: tuple[PatchHunk, ...]
    folders: tuple[str, ...] = ()
    loose: tuple[LooseMatch, ...] = ()
    others_changed: bool = False
    """Whether another program had changed the file since it was last read."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's content before (None: it does not exist) and after, as bytes and as text.

    ``places`` counts the replaced texts; ``loose`` are those that did not match exactly.  ``excerpt`` is what a person sees, if computed
    already; for a very large file ``original`` and ``proposed`` then hold only the parts that change.  ``stale``: another program has
    changed the file since it was last read.
    """

    path: Path
    subject: str
    before: bytes | None
    after: bytes
    original: str | None
    proposed: str
    places: int = 1
    loose: tuple[LooseMatch, ...] = ()
    excerpt: DiffExcerpt | None = None
    stale: bool = False

    @property
    def changes_nothing(self) -> bool:
        return self.before == self.after

    def compared(self, proposal: str | None = None) -> tuple[FileDiff, tuple[PatchHunk, ...]]:
        """Returns the change as a diff for a person and as hunks for a program.

        ``proposal``: what the model had proposed before a person edited it.
        """
        if self.excerpt is not None:
            return self.excerpt.compared(proposal)
        return file_diff_with_hunks(self.subject, self.original, self.proposed, proposal)

    def first_line(self) -> int:
        """Returns the number, from 1, of the first line that changes."""
        if self.excerpt is not None:
            return self.excerpt.first_line
        pairs = zip_longest((self.original or "").split("\n"), self.proposed.split("\n"))
        return next((number for number, (old, new) in enumerate(pairs, 1) if old != new), 1)

    def step(self) -> Write:
        """Returns the operation that makes the change."""
        return Write(self.path, self.subject, self.before, self.after)


MAX_WHOLE_DIFF_BYTES = 5_000_000
"""The largest file, in bytes, whose change keeps the whole text before and after; for a larger one it keeps the changed parts."""
_LARGE_BYTES = 1_000_000


def plan_edit(
    path: Path,
    subject: str,
    before: bytes,
    changes: Sequence[Replacement],
    *,
    match: MatchMode = "exact",
    in_turn: bool = False,
) -> FileChange:
    """Returns the change that makes all of ``changes`` in the file at ``path``, which holds ``before``; see ``apply_replacements``.

    Copies nothing large but the new content.  Raises ``ToolFailure``: ``read_content_failure`` if the file is not text.
    """
    body = decode_body(before)
    if body is None:
        raise not_text_failure(subject, before, len(before))
    result = apply_replacements(body, changes, subject, match=match, in_turn=in_turn)
    after = result.body.content()
    large = max(len(before), len(after)) > MAX_WHOLE_DIFF_BYTES
    display = diff_excerpt(body.data, result.body.data, result.regions, subject, EXCERPT_LIMITS if large else NO_LIMITS)
    if large:
        texts = display.diff.original_content, display.diff.new_content
        return FileChange(path, subject, before, after, *texts, result.places, result.loose, display)
    old, new = body.text(), result.body.text()
    display = DiffExcerpt(replace(display.diff, original_content=displayable(old), new_content=displayable(new)), display.hunks)
    return FileChange(path, subject, before, after, old, new, result.places, result.loose, display)


def plan_creation(path: Path, subject: str, text: str) -> FileChange:
    """Returns the creation of a file with ``text``."""
    return FileChange(path, subject, None, TextBody(b"").encode_part(text), None, text)


def plan_fill(path: Path, subject: str, before: bytes, text: str) -> FileChange:
    """Returns the change that puts ``text`` into an empty file; a byte order mark stays.

    Raises ``ToolFailure`` (``attempt_to_create_existing_file``) if the file is not empty.
    """
    body = decode_body(before)
    if body is None or body.data:
        raise ToolFailure(
            ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE,
            f"{subject} exists and is not empty. Nothing was changed. Give the text to replace (old), or use write to replace the file.",
        )
    if not text:
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{subject} is already empty. Nothing was changed. Give the text to put into it.")
    return FileChange(path, subject, before, body.with_parts([body.encode_part(text)]).content(), "", text)


def is_large(path: Path) -> bool:
    """Returns whether work on the file takes so long that it must not block the event loop."""
    try:
        return path.stat().st_size > _LARGE_BYTES
    except OSError:
        return False
