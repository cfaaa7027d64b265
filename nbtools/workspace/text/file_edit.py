"""Computes the change to one file from its bytes and the requested replacements, without writing it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, ToolName
from nbtools.core.result import DiffStat, FileDiff
from nbtools.diff.line_diff import PatchHunk, diff_stat, file_diff_with_hunks, format_unified
from nbtools.diff.patch_model import Replacement
from nbtools.workspace.files.encoding import UTF8, decode, encode
from nbtools.workspace.files.read import not_text_failure
from nbtools.workspace.history.operations import Write
from nbtools.workspace.text.match import LooseMatch, MatchMode
from nbtools.workspace.text.replace import ReplacementResult, apply_replacements
from nbtools.workspace.text.result_check import refuse_broken_code


@dataclass(frozen=True, slots=True)
class FileChanged:
    """A change to a file; ``path`` and ``folders`` (created for it) are relative to the workspace."""

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

    ``places`` counts the replaced texts; ``loose`` are those that did not match exactly.  ``computed``: the
    diff, if computed already; for a very large file ``original`` and ``proposed`` then hold only the parts
    that change.  ``stale``: another program has changed the file since it was last read.
    """

    path: Path
    subject: str
    before: bytes | None
    after: bytes
    original: str | None
    proposed: str
    places: int = 1
    loose: tuple[LooseMatch, ...] = ()
    computed: tuple[FileDiff, tuple[PatchHunk, ...]] | None = None
    stale: bool = False

    @property
    def changes_nothing(self) -> bool:
        return self.before == self.after

    def compared(self, proposal: str | None = None) -> tuple[FileDiff, tuple[PatchHunk, ...]]:
        """Returns the change as a diff for a person and as hunks for a program.

        ``proposal``: what the model had proposed before a person edited it.
        """
        if self.computed is None:
            return file_diff_with_hunks(self.subject, self.original, self.proposed, proposal)
        diff, hunks = self.computed
        if proposal is not None:
            diff = replace(diff, diff_stat=diff_stat(diff.original_content or "", diff.new_content, proposal))
        return diff, hunks

    def first_line(self) -> int:
        """Returns the number, from 1, of the first line that changes."""
        if self.computed is not None:
            hunk = self.computed[1][0]
            return hunk.old_start + next(k for k, line in enumerate(hunk.lines) if not line.startswith(" "))
        pairs = zip_longest((self.original or "").split("\n"), self.proposed.split("\n"))
        return next((number for number, (old, new) in enumerate(pairs, 1) if old != new), 1)

    def step(self) -> Write:
        """Returns the operation that makes the change."""
        return Write(self.path, self.subject, self.before, self.after)


MAX_WHOLE_DIFF_BYTES = 5_000_000
"""The largest file, in bytes, whose change keeps the whole text; of a larger one, the changed parts."""
_MAX_EXCERPT = 1_000_000
"""Characters of the hunks from which on a change to a larger file omits the remaining ones."""
_LARGE_BYTES = 1_000_000
_GAP = re.compile(r"^⋯ lines [\d,]+ to [\d,]+ are not shown ⋯\n", re.MULTILINE)


def plan_edit(
    path: Path,
    subject: str,
    before: bytes,
    changes: Sequence[Replacement],
    *,
    match: MatchMode = "exact",
    in_turn: bool = False,
    keep_end: bool = False,
) -> FileChange:
    """Returns the change that makes ``changes`` in the file at ``path``; see ``apply_replacements``.

    ``keep_end``: a final newline that the replacements remove is added again, and one that they add is
    removed.  Raises ``ToolFailure``: ``read_content_failure`` if the file is not text.
    """
    file = decode(before)
    if file is None:
        raise not_text_failure(subject, before, len(before))
    result = apply_replacements(file.text, changes, subject, match=match, in_turn=in_turn)
    if keep_end and result.text.endswith("\n") != file.text.endswith("\n"):
        result = _with_end_of(file.text, result, subject)
    if result.loose:
        refuse_broken_code(path, subject, file.text, result.text)
    after = encode(result.text, file.encoding, file.text)
    diff, hunks = file_diff_with_hunks(subject, file.text, result.text, changes=result.changes)
    original, proposed = file.text, result.text
    if max(len(before), len(after)) > MAX_WHOLE_DIFF_BYTES:
        hunks = tuple(_first_hunks(hunks))
        count = file.text.count("\n") + (not file.text.endswith("\n"))
        original, proposed = (_excerpt(hunks, count, sign) for sign in "-+")
        diff = replace(
            diff, file_diff=format_unified(subject, hunks), original_content=original, new_content=proposed
        )
    return FileChange(
        path, subject, before, after, original, proposed, result.places, result.loose, (diff, hunks)
    )


def _with_end_of(before: str, result: ReplacementResult, subject: str) -> ReplacementResult:
    """Returns the result with the end of ``before``: its final line ending, or none."""
    if before.endswith("\n"):
        text = result.text + ("\r\n" if before.endswith("\r\n") else "\n")
    else:
        text = result.text.removesuffix("\n").removesuffix("\r")
    if text == before:
        reason = "old and new differ only in the newline at the end of the file, which stays as it is"
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{subject}: {reason}. Nothing was changed.")
    return replace(result, text=text, changes=())


def _first_hunks(hunks: Sequence[PatchHunk]) -> Iterator[PatchHunk]:
    size = 0
    for hunk in hunks:
        size += sum(map(len, hunk.lines))
        if size > _MAX_EXCERPT and hunk is not hunks[0]:
            return
        yield hunk


def _excerpt(hunks: Sequence[PatchHunk], count: int, sign: str) -> str:
    """Returns the old (``-``) or new (``+``) lines of the hunks, with a line for each gap."""
    parts, line = list[str](), 1
    for hunk in hunks:
        parts += [_gap(line, hunk.old_start - 1), *_side(hunk, sign)]
        line = hunk.old_start + hunk.old_lines
    return "".join([*parts, _gap(line, count)])


def _gap(first: int, last: int) -> str:
    return f"⋯ lines {first:,} to {last:,} are not shown ⋯\n" if first <= last else ""


def _side(hunk: PatchHunk, sign: str) -> Iterator[str]:
    for line, following in zip_longest(hunk.lines, hunk.lines[1:], fillvalue=""):
        if line[0] in {" ", sign}:
            yield line[1:] if following.startswith("\\") else f"{line[1:]}\n"


def excerpt_parts(excerpts: str) -> list[str]:
    """Returns the parts between the gaps of an excerpt; the whole text if it has no gaps."""
    return _GAP.split(excerpts)


def plan_creation(path: Path, subject: str, text: str) -> FileChange:
    """Returns the creation of a file with ``text``."""
    return FileChange(path, subject, None, encode(text, UTF8), None, text)


def plan_fill(path: Path, subject: str, before: bytes, text: str) -> FileChange:
    """Returns the change that puts ``text`` into an empty file; a byte order mark stays.

    Raises ``ToolFailure`` (``attempt_to_create_existing_file``) if the file is not empty.
    """
    file = decode(before)
    if file is None or file.text:
        raise ToolFailure(
            ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE,
            Message.of(
                f"{subject} exists and is not empty. Nothing was changed. Give the text to replace",
                Advice(" (", Parameter("old"), ")"),
                Advice(", or use ", ToolName("write"), " to replace the file"),
                ".",
            ),
        )
    if not text:
        raise ToolFailure(
            ErrorCode.EDIT_NO_CHANGE,
            f"{subject} is already empty. Nothing was changed. Give the text to put into it.",
        )
    return FileChange(path, subject, before, encode(text, file.encoding), "", text)


def is_large(path: Path) -> bool:
    """Returns whether work on the file takes so long that it must not block the event loop."""
    try:
        return path.stat().st_size > _LARGE_BYTES
    except OSError:
        return False
