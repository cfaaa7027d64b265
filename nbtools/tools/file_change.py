"""Base class and helpers for tools that change files: approval request with diffs, and result."""

from __future__ import annotations

import asyncio
import copy
import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from nbtools.core.confirmation import ToolEditConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, ToolName, joined
from nbtools.core.result import FileDiff, FileDiffs, ToolResult
from nbtools.core.tool import BaseToolInvocation, PathTarget, ToolLocation, UpdateOutput
from nbtools.diff.text_lines import displayable
from nbtools.workspace.files.atomic_write import conflict_failure
from nbtools.workspace.files.read import read_if_exists
from nbtools.workspace.history.changes import make_change, make_changes
from nbtools.workspace.paths import printable_path
from nbtools.workspace.read_tracking import NotRead
from nbtools.workspace.text.correction import CorrectedEdit
from nbtools.workspace.text.file_edit import FileChange, FileChanged, is_large
from nbtools.workspace.text.match import LooseMatch
from nbtools.workspace.text.match_errors import describe_match
from nbtools.workspace.text.result_check import refuse_broken_notebook
from nbtools.workspace.workspace import Workspace

P = TypeVar("P")

_OVERWRITES = "The file was changed since it was read; this overwrites those changes."
_CORRECTION_LIMIT = 2_000
"""Characters of a corrected text that the result repeats."""
_MOST_DIFF = 8_000
"""Characters of diffs in a result for a model."""


class FileChangeInvocation(BaseToolInvocation[P]):
    """Base class of invocations that change one file.  The change that a person approved is applied, or none.

    Subclasses compute the change in ``plan``.
    ``name`` is the file's path relative to the workspace, ``subject`` the same for messages.
    """

    __slots__ = (
        "approved_change",
        "corrected",
        "name",
        "path",
        "path_argument",
        "proposal",
        "subject",
        "targets",
        "workspace",
    )

    verb = "change"
    past = "Changed"
    whole = False
    """Whether the whole file is replaced, whatever it contains."""

    def __init__(self, workspace: Workspace, params: P, path_argument: str) -> None:
        super().__init__(params)
        self.workspace = workspace
        self.path_argument = path_argument
        self.path, names = workspace.locate(path_argument)
        self.name, self.targets = names[0], PathTarget(names)
        self.subject = printable_path(self.name)
        self.approved_change: FileChange | None = None
        self.corrected: CorrectedEdit | None = None
        self.proposal: str | None = None

    @abstractmethod
    def plan(self) -> FileChange:
        """Computes the change on the file's current content.  Raises ``ToolFailure`` if it cannot be made."""

    def replan(self, seen: FileChange) -> FileChange:
        """Returns the change to apply to a file that was changed after a person approved ``seen``:
        changes elsewhere in it are kept.

        Raises ``ToolFailure`` (``conflict``) if it no longer fits.
        """
        try:
            return self.plan()
        except ToolFailure as failure:
            why = Message.of(
                f"{seen.subject} was changed after the diff was displayed, and the edit no longer fits: ",
                failure.message,
            )
            raise ToolFailure(ErrorCode.CONFLICT, why) from None

    async def correct(self, failure: ToolFailure) -> CorrectedEdit:
        """Returns a corrected request after ``plan`` has failed.  Raises ``failure`` where there is none."""
        raise failure

    def with_proposal(self, proposal: str) -> Self:
        """Returns a copy of this invocation that records ``proposal`` as the model's own text."""
        same = copy.copy(self)
        same.approved_change, same.proposal = None, proposal
        return same

    def get_description(self) -> str:
        return self.subject

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (
            ToolLocation(str(self.path), self.approved_change.first_line() if self.approved_change else None),
        )

    def target(self) -> PathTarget:
        return self.targets

    async def should_confirm_execute(self) -> ToolEditConfirmationDetails:
        """Returns the question. Raises ``ToolFailure`` if the change cannot be made,
        before anyone is asked.
        """
        self._check_path()
        self.approved_change = change = await self._planned(is_large(self.path))
        diff, _ = change.compared(self.proposal)
        verb = "create" if change.before is None else self.verb
        notes = (
            self.corrected.note if self.corrected else "",
            _OVERWRITES if change.stale and self.whole else "",
        )
        return ToolEditConfirmationDetails(
            title=f"{verb.capitalize()} {change.subject}?",
            file_name=diff.file_name,
            file_path=str(self.path),
            file_diff=diff.file_diff,
            original_content=diff.original_content,
            new_content=diff.new_content,
            diff_stat=diff.diff_stat,
            is_modifying=self.proposal is not None,
            note=" ".join([*filter(None, notes), *map(_match_note, change.loose)]),
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        self._check_path()
        large = is_large(self.path)
        if self.approved_change is None:
            change = await self._planned(large)
            if change.stale and self.whole:
                raise conflict_failure(change.subject, "has been read and was changed")
        else:
            change = await self._compute(self.approved_change, large)
        folders = await self._apply(change, large)
        return self._result(change, tuple(map(self.workspace.relative, folders)))

    def _check_path(self) -> None:
        """Raises ``ToolFailure`` (``conflict``) if a link has changed since the policy decided about the
        call.
        """
        if self.workspace.resolve(self.path_argument) != self.path:
            raise ToolFailure(
                ErrorCode.CONFLICT,
                f"{printable_path(self.path_argument)} now resolves to a different path. Nothing was changed."
                " Call again.",
            )

    async def _planned(self, large: bool) -> FileChange:
        """Computes the change; if that fails, once more after a correction."""
        try:
            return await self._compute(None, large)
        except ToolFailure as failure:
            self.corrected = await self.correct(failure)
        return await self._compute(None, large)

    async def _compute(self, seen: FileChange | None, large: bool) -> FileChange:
        """Computes a change, in a thread for a large file.
        Nothing is written there, so a cancelled call may abandon the thread.
        """
        return await asyncio.to_thread(self._current_change, seen) if large else self._current_change(seen)

    def _current_change(self, seen: FileChange | None) -> FileChange:
        """Returns the change on the current content; ``seen`` itself where the file has not changed since."""
        change = seen
        if change is None:
            change = self.plan()
        elif not _is_current(change):
            change = self.replan(change)
        refuse_broken_notebook(change.path, change.subject, change.before, change.after)
        stale = change.before is not None and self.workspace.read_tracker.has_changed(
            self.path, change.before
        )
        return change if change.stale == stale else replace(change, stale=stale)

    async def _apply(self, change: FileChange, large: bool) -> tuple[Path, ...]:
        """Writes the change; returns the folders that were created."""
        folders: tuple[Path, ...] = ()
        if not change.changes_nothing:
            step, journal = change.step(), self.workspace.journal
            folders = await make_changes(journal, (step,)) if large else make_change(journal, step)
        whole = self.whole or change.before is None
        note = partial(
            self.workspace.read_tracker.record_write,
            change.path,
            change.after,
            whole=whole,
            stale=change.stale,
        )
        if large:
            await asyncio.to_thread(note)
        else:
            note()
        return folders

    def _result(self, change: FileChange, folders: tuple[str, ...]) -> ToolResult:
        diff, hunks = change.compared(self.proposal)
        created = change.before is None
        data = FileChanged(
            self.name, created, change.places, diff.diff_stat, hunks, folders, change.loose, change.stale
        )
        text = " ".join(self._sentences(change, folders))
        is_known = created and not self._was_changed(change)
        content = joined("\n", (text, _cut(diff.file_diff))) if diff.file_diff and not is_known else text
        result = ToolResult(content, diff, summary=_summary(diff, change), data=data)
        return result if self.corrected is None else _with_correction(result, self.corrected)

    def _sentences(self, change: FileChange, folders: tuple[str, ...]) -> Iterable[str]:
        if change.changes_nothing:
            yield f"{change.subject} already has this content; nothing was changed."
            return
        places = f" in {change.places} places" if change.places > 1 else ""
        yield f"{'Created' if change.before is None else self.past} {change.subject}{places}."
        yield from map(_match_note, change.loose)
        if folders:
            yield (
                f"Created the folder{'s' if len(folders) > 1 else ''}"
                f" {', '.join(map(printable_path, folders))}."
            )
        if self.approved_change is not None and self.approved_change.before != change.before:
            yield "The file was changed after the diff was displayed; those changes are kept."
        elif change.stale and self.whole:
            yield (
                "The file was changed after it was read; those changes are overwritten, as the person"
                " approved with the diff."
            )
        elif change.stale:
            yield "The file was changed after it was read; those changes are kept."
        if self._was_changed(change):
            yield "The person changed the proposed text before it was written."

    def _was_changed(self, change: FileChange) -> bool:
        """Whether the person changed the model's proposal."""
        return self.proposal is not None and self.proposal != displayable(change.proposed)


def _is_current(seen: FileChange) -> bool:
    """Whether the file still has the content on which ``seen`` was computed."""
    try:
        return read_if_exists(seen.path, seen.subject, sys.maxsize - 1) == seen.before
    except ToolFailure:
        return False


def _with_correction(result: ToolResult, corrected: CorrectedEdit) -> ToolResult:
    note = f"{corrected.note} The text that was replaced:\n{corrected.change.old[:_CORRECTION_LIMIT]}"
    return replace(result, notes=(note,), summary=f"{result.summary} · corrected by {corrected.model}")


def _match_note(match: LooseMatch) -> str:
    return f"The old text is not in the file exactly as given: {describe_match(match)}."


def _summary(diff: FileDiff, change: FileChange) -> str:
    if change.changes_nothing:
        return "nothing changed"
    added, removed = diff.changed_lines
    inexact = ", ".join(
        dict.fromkeys(
            match.how if match.how == "close match" else f"{match.how} differed" for match in change.loose
        )
    )
    return f"+{added} −{removed}{f' · {inexact}' if inexact else ''}"


def _cut(diff: str) -> str:
    """Returns the diff without its header; a long one is truncated at the end of a line."""
    body = diff.split("\n", 2)[2]
    if len(body) <= _MOST_DIFF:
        return body
    head = body[: body.rfind("\n", 0, _MOST_DIFF) + 1] or body[:_MOST_DIFF]
    omitted = f"{head}[{len(body) - len(head):,} more characters of the diff are omitted"
    return Message.of(omitted, Advice("; ", ToolName("read"), " returns the file"), "]")


def diffs_confirmation(title: str, root: Path, diffs: Sequence[FileDiff]) -> ToolEditConfirmationDetails:
    """Returns one approval request for all of ``diffs``, which must not be empty."""
    first = diffs[0]
    return ToolEditConfirmationDetails(
        title=title,
        file_name=first.file_name,
        file_path=str(root / first.file_name),
        file_diff=first.file_diff,
        original_content=first.original_content,
        new_content=first.new_content,
        diff_stat=first.diff_stat,
        others=tuple(diffs[1:]),
    )


def diffs_display(diffs: Sequence[FileDiff]) -> FileDiff | FileDiffs:
    """Returns the display of one diff or of several."""
    return diffs[0] if len(diffs) == 1 else FileDiffs(tuple(diffs))


def truncated_diffs(diffs: Sequence[FileDiff], most: int = _MOST_DIFF) -> str:
    """Returns the diffs up to ``most`` characters, truncated at the end of a line, and a note on the rest."""
    return joined("", _bounded(diffs, most))


def _bounded(diffs: Sequence[FileDiff], most: int) -> Iterator[str]:
    for number, diff in enumerate(diffs):
        text = diff.file_diff
        if len(text) <= most:
            yield text
            most -= len(text)
            continue
        head = text[: text.rfind("\n", 0, most) + 1]
        yield head
        left = sum(len(other.file_diff) for other in diffs[number:]) - len(head)
        files = len(diffs) - number
        omitted = (
            f"[{left:,} more characters of the diff, of {files:,} file{'' if files == 1 else 's'}, are"
            " omitted"
        )
        yield Message.of(omitted, Advice("; ", ToolName("read"), " returns a file"), "]")
        return


def line_counts(diffs: Sequence[FileDiff]) -> str:
    """Returns the numbers of added and removed lines, for a summary."""
    added, removed = (
        sum(diff.changed_lines[0] for diff in diffs),
        sum(diff.changed_lines[1] for diff in diffs),
    )
    return f"+{added:,} \u2212{removed:,}"


__all__ = ["NotRead"]
