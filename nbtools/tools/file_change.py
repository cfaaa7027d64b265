"""What calls that change one file have in common: the question with the diff, and the result."""

from __future__ import annotations

import asyncio
import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from nbtools.core.confirmation import ToolEditConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import DiffStat, ToolResult
from nbtools.core.tool import BaseToolInvocation, PathTarget, ToolLocation, UpdateOutput
from nbtools.workspace.atomic import conflict
from nbtools.workspace.change import Changed, FileChange
from nbtools.workspace.changes import carry_out, make
from nbtools.workspace.editing.replacing import is_large
from nbtools.workspace.editing.splice import Loosely
from nbtools.workspace.paths import shown
from nbtools.workspace.seen import View
from nbtools.workspace.text import displayable
from nbtools.workspace.workspace import Workspace

P = TypeVar("P")

_HOW = {"trailing blanks": "trailing blanks differed", "indentation": "indentation differed", "close match": "close match"}
_OVERWRITES = "It was changed since it was read; this overwrites those changes."
_MOST_DIFF = 8_000
"""Characters of the diff that go into the answer for a model."""


class FileChangeInvocation(BaseToolInvocation[P]):
    """``plan`` works the change out; what a person has seen of it is what is made, or nothing."""

    __slots__ = ("given", "path", "proposal", "seen", "workspace")

    verb = "change"
    past = "Changed"
    whole = False
    """Whether all of the file is replaced, whatever was in it."""

    def __init__(self, workspace: Workspace, params: P, given: str) -> None:
        super().__init__(params)
        self.workspace = workspace
        self.given = given
        self.path = workspace.resolve(given)
        self.seen: FileChange | None = None
        self.proposal: str | None = None

    @abstractmethod
    def plan(self, path: Path) -> FileChange:
        """The change as it would be made just now.  Raises ``ToolFailure`` when it cannot be."""

    @abstractmethod
    def renewed(self, seen: FileChange) -> FileChange:
        """What to make of a change that a person has seen, now that time has passed.  Raises ``ToolFailure``."""

    def with_proposal(self, proposal: str) -> Self:
        """The same call, of which ``proposal`` was the model's part."""
        same = copy.copy(self)
        same.seen, same.proposal = None, proposal
        return same

    def get_description(self) -> str:
        return shown(self._relative())

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return (ToolLocation(str(self.path), self.seen.first_line() if self.seen else None),)

    def target(self) -> PathTarget:
        return PathTarget(self.workspace.spellings(self.given))

    async def should_confirm_execute(self) -> ToolEditConfirmationDetails:
        """Raises ``ToolFailure`` when the change cannot be made: nobody is asked in vain."""
        self.seen = change = await self._planned(self._resolved())
        diff, _ = change.compared(self.proposal)
        verb = "create" if change.before is None else self.verb
        return ToolEditConfirmationDetails(
            title=f"{verb.capitalize()} {change.subject}?",
            file_name=diff.file_name,
            file_path=str(self.path),
            file_diff=diff.file_diff,
            original_content=diff.original_content,
            new_content=diff.new_content,
            diff_stat=diff.diff_stat,
            is_modifying=self.proposal is not None,
            note=" ".join([*([_OVERWRITES] if change.stale and self.whole else []), *map(_loosely, change.loose)]),
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        path = self._resolved()
        if self.seen is None:
            change = await self._planned(path)
            if change.stale and self.whole:
                raise conflict(change.subject, "has been read and was changed")
        else:
            change = await self._worked_out(partial(self._renewed, self.seen), path)
        folders = await self._made(change)
        return self._result(change, tuple(map(self.workspace.relative, folders)))

    async def _planned(self, path: Path) -> FileChange:
        return await self._worked_out(self.plan, path)

    def _renewed(self, seen: FileChange, _: Path) -> FileChange:
        return self.renewed(seen)

    async def _worked_out(self, plan: Callable[[Path], FileChange], path: Path) -> FileChange:
        """In a thread where it takes long: nothing is changed there, so that a call that is cancelled may leave it to its end."""
        return await asyncio.to_thread(self._compared, plan, path) if is_large(path) else self._compared(plan, path)

    def _compared(self, plan: Callable[[Path], FileChange], path: Path) -> FileChange:
        change = plan(path)
        return replace(change, stale=change.before is not None and self.workspace.seen.has_changed(path, change.before))

    async def _made(self, change: FileChange) -> tuple[Path, ...]:
        journal = self.workspace.journal
        if not is_large(change.path):
            folders = () if change.changes_nothing else make(journal, change.step())
            self._note(change)
            return folders
        if not change.changes_nothing:
            await carry_out(journal, (change.step(),))
        await asyncio.to_thread(self._note, change)
        return ()

    def _note(self, change: FileChange) -> None:
        """What is known of the file now: no more than before, but for the part that was changed."""
        seen = self.workspace.seen
        if self.whole or change.before is None:
            seen.note(change.path, change.after, View.WHOLE)
        else:
            seen.note(change.path, change.after, View.RANGE if change.stale or not seen.knows(change.path) else None)

    def _resolved(self) -> Path:
        """Where the path leads now.  It must be where it led when policy judged the call: a link may have been turned since."""
        path = self.workspace.resolve(self.given)
        if path != self.path:
            raise ToolFailure(ErrorCode.CONFLICT, f"{shown(self.given)} leads somewhere else by now. Nothing was changed. Call again.")
        return path

    def _result(self, change: FileChange, folders: tuple[str, ...]) -> ToolResult:
        diff, hunks = change.compared(self.proposal)
        created = change.before is None
        data = Changed(self._relative(), created, change.places, diff.diff_stat, hunks, folders, change.loose, change.stale)
        told = " ".join(self._told(change, folders))
        is_known = created and not self._was_changed(change)
        answer = f"{told}\n{_cut(diff.file_diff)}" if diff.file_diff and not is_known else told
        return ToolResult(answer, diff, summary=_summary(diff.diff_stat, change), data=data)

    def _told(self, change: FileChange, folders: tuple[str, ...]) -> Iterable[str]:
        if change.changes_nothing:
            yield f"{change.subject} holds this already; nothing was changed."
            return
        places = f" in {change.places} places" if change.places > 1 else ""
        yield f"{'Created' if change.before is None else self.past} {change.subject}{places}."
        yield from map(_loosely, change.loose)
        if folders:
            yield f"Made the folder{'s' if len(folders) > 1 else ''} {', '.join(map(shown, folders))}."
        if self.seen is not None and self.seen.before != change.before:
            yield "The file had been changed since the diff was shown; those changes are still in it."
        elif change.stale and self.whole:
            yield "The file had been changed since it was read; those changes are overwritten, as the person who saw the diff said."
        elif change.stale:
            yield "The file had been changed since it was read; those changes are still in it."
        if self._was_changed(change):
            yield "The person changed the proposed text before it was written."

    def _was_changed(self, change: FileChange) -> bool:
        """By the person: it is not what the model had proposed."""
        return self.proposal is not None and self.proposal != displayable(change.proposed)

    def _relative(self) -> str:
        return self.workspace.relative(self.path)


def replanned_or_conflict(invocation: FileChangeInvocation[Any], seen: FileChange) -> FileChange:
    """The change worked out anew on the file's current content.  Raises ``ToolFailure`` (``conflict``) when it no longer can be."""
    try:
        return invocation.plan(seen.path)
    except ToolFailure as failure:
        why = f"{seen.subject} was changed since the diff was shown, and the edit does not fit any more: {failure.message}"
        raise ToolFailure(ErrorCode.CONFLICT, why) from None


def _loosely(one: Loosely) -> str:
    how = {
        "trailing blanks": "it was found but for blanks at the ends of lines",
        "indentation": "it was found but for its indentation, and the new text is indented as the lines there",
        "close match": f"the nearest text was taken for it ({one.likeness:.0%} alike)",
    }
    return f"The old text is not in the file as given: at line {one.line} {how[one.how]}."


def _summary(stat: DiffStat, change: FileChange) -> str:
    if change.changes_nothing:
        return "nothing changed"
    added, removed = stat.model_added_lines + stat.user_added_lines, stat.model_removed_lines + stat.user_removed_lines
    loosely = ", ".join(dict.fromkeys(_HOW[one.how] for one in change.loose))
    return f"+{added} −{removed}{f' · {loosely}' if loosely else ''}"


def _cut(diff: str) -> str:
    """The diff without its header; of a long one the beginning, to the end of a line."""
    body = diff.split("\n", 2)[2]
    if len(body) <= _MOST_DIFF:
        return body
    head = body[: body.rfind("\n", 0, _MOST_DIFF) + 1] or body[:_MOST_DIFF]
    return f"{head}[{len(body) - len(head):,} more characters of the diff are left out; read shows the file]"
