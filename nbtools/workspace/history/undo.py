"""Plans the undo of a call's file changes and detects conflicts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileDiff
from nbtools.core.result_data import FileUndo, UndoOutcome
from nbtools.diff.line_diff import file_diff_with_hunks
from nbtools.diff.merge import Side, merge
from nbtools.workspace.files.encoding import decode, encode
from nbtools.workspace.files.no_follow import status_or_none
from nbtools.workspace.files.read import read_if_exists
from nbtools.workspace.history.content import (
    apply_delta,
    decode_link,
    fingerprint,
    is_key_of,
    is_loose,
    stamp_tree,
)
from nbtools.workspace.history.journal import Journal
from nbtools.workspace.history.operations import (
    Link,
    MakeFolder,
    Move,
    Remove,
    RemoveFolder,
    RemoveTree,
    Restore,
    SetMode,
    Step,
    Write,
    link_target,
)
from nbtools.workspace.history.pruning import dropped_notice
from nbtools.workspace.history.store import Entry, Record

UndoMerge: TypeAlias = Literal["keep", "take_back"] | bool
"""Whether an undo keeps later changes of the same files.  Lines that were changed by the call and again since
are a conflict, unless the person says which to take: ``keep`` leaves them as they are now, ``take_back``
restores them as they were before the call.
"""
_PREFERRED: dict[UndoMerge, Side] = {"keep": "ours", "take_back": "theirs"}

_MOST_NAMED = 3
IN_EDITOR = "it was changed in the open notebook, which has its own undo"


@dataclass(slots=True)
class UndoPlan:
    """The plan of an undo.

    ``steps`` restore everything; ``folders`` delete created folders, after all other steps.  ``files`` has a
    line for each path, ``merges`` the diffs to show if files have changed since.
    """

    steps: list[Step] = field(default_factory=list)
    folders: list[Step] = field(default_factory=list)
    files: list[FileUndo] = field(default_factory=list)
    merges: list[FileDiff] = field(default_factory=list)

    @property
    def has_conflicts(self) -> bool:
        return any(file.outcome in ("mergeable", "conflict") for file in self.files)


def plan_undo(
    journal: Journal, entries: Sequence[Entry], name: Callable[[Path], str], *, merging: UndoMerge
) -> UndoPlan:
    """Plans the undo of ``entries``, the last first; ``merging``: combine with later changes."""
    planner = _Planner(journal, name, merging)
    for entry in reversed(entries):
        planner.start(entry)
        for record in reversed(entry.records):
            planner.undo(record)
    planner.remove_folders(
        folder for entry in entries for record in entry.records for folder in record.folders
    )
    return planner.plan


ChangeState: TypeAlias = Literal["made", "not made", "partly", "changed since"]


def change_state(journal: Journal, entry: Entry) -> ChangeState:
    """Returns how far a change was made, as the files show: its session may have been interrupted."""
    found = {file.outcome for file in plan_undo(journal, [entry], str, merging=False).files}
    if not found:  # the entry has folders only
        if any(os.path.lexists(folder) for record in entry.records for folder in record.folders):
            return "made"
        return "not made"
    if found == {"restored"}:
        return "made"
    if found == {"as before"}:
        return "not made"
    return "partly" if found == {"restored", "as before"} else "changed since"


@dataclass(slots=True)
class _Planner:
    """Plans the steps of an undo.

    ``now``: the contents after the steps so far, of files that they change; None: no file.  ``unmoved``:
    targets of moves that an interrupted entry had not made.
    """

    journal: Journal
    name: Callable[[Path], str]
    merging: UndoMerge
    plan: UndoPlan = field(default_factory=UndoPlan)
    now: dict[Path, bytes | None] = field(default_factory=dict)
    unmoved: frozenset[Path] = frozenset()

    def start(self, entry: Entry) -> None:
        stays = {
            record.path for record in entry.records if record.kind == "trash" and self._is_still_there(record)
        }
        moves = [
            (record.path, record.place)
            for record in entry.records
            if record.kind == "move" and record.place is not None
        ]
        self.unmoved = frozenset(
            to for path, to in moves if self._exists(path) and (to in stays or not self._exists(to))
        )

    def undo(self, record: Record) -> None:  # noqa: C901 - a line or two for each kind
        try:
            match record.kind:
                case "write":
                    self._write(record)
                case "move":
                    self._move(record, record.place or record.path)
                case "trash":
                    self._restore(record, record.place or record.path)
                case "restore":
                    self._trash(record)
                case "mode":
                    self._mode(record)
                case "link":
                    self._link(record)
                case "unfolder":
                    self._step(MakeFolder(record.path, self.name(record.path)))
                case "lost":
                    reason = "it was too large to be stored, and is lost"
                    self._leave(record.path, self._is_still_there(record), reason)
                case "cells":
                    self._report(record.path, "conflict", IN_EDITOR)
                case "folder":
                    pass
        except ToolFailure as failure:  # a folder or a pipe is there now
            self._report(record.path, "conflict", failure.message)

    def remove_folders(self, folders: Iterable[Path]) -> None:
        """Plans the deletion of folders created for the changes, as far as they are empty."""
        deepest_first = sorted(dict.fromkeys(folders), key=lambda folder: len(folder.parts), reverse=True)
        self.plan.folders += [RemoveFolder(folder, self.name(folder)) for folder in deepest_first]

    def _write(self, record: Record) -> None:
        path = record.path
        if path in self.unmoved:
            self._report(path, "as before")
            return
        now = self._content(path)
        before = self.journal.content(record.before) if record.before else None
        if record.before and before is None:
            # A large file is moved to the store only when another file has replaced it.
            self._leave(path, is_key_of(record.before, now), self._why_gone(record.before))
            return
        after = apply_delta(record.delta, before) if record.delta is not None and before is not None else None
        is_after = now == after if after is not None else fingerprint(now) == record.after
        if is_after and now != before:
            self._set(path, now, before, record.mode or None)
            self._report(path, "restored")
        elif now == before:
            self._report(path, "as before")
        else:
            self._merge(path, after, now, before)

    def _why_gone(self, key: str) -> str:
        file = self.journal.blobs.file(key)
        overwritten = is_loose(key) and file.exists()
        if overwritten:
            return f"a program that had it open changed the stored copy, {file}"
        return "its previous content is not stored"

    def _merge(self, path: Path, base: bytes | None, now: bytes | None, before: bytes | None) -> None:
        """Removes the change and keeps later ones."""
        texts = [None if data is None else decode(data) for data in (base, now, before)]
        if None in texts or now is None:
            self._report(path, "conflict", "it was deleted since" if now is None else "it was changed since")
            return
        current = texts[1]
        merged = merge(
            *(text.text for text in texts if text),
            our_label="as it is now",
            their_label="before the call",
            prefer=_PREFERRED.get(self.merging),
        )
        diff = file_diff_with_hunks(self.name(path), current.text if current else "", merged.text)[0]
        self.plan.merges.append(diff)
        if not merged.clean:
            self._report(path, "conflict", "it was changed since, in the same lines", same_lines=True)
        elif self.merging and current is not None and merged.text == current.text:
            self._report(path, "as before")
        elif self.merging and current is not None:
            self._set(path, now, encode(merged.text, current.encoding), None)
            self._report(path, "merged")
        else:
            self._report(path, "mergeable", "it was changed since")

    def _set(self, path: Path, now: bytes | None, previous: bytes | None, mode: int | None) -> None:
        subject = self.name(path)
        if previous is None:
            self._step(Remove(path, subject, now or b""))
        else:
            self._step(Write(path, subject, now, previous, mode if now is None else None))
        self.now[path] = previous

    def _move(self, record: Record, to: Path) -> None:
        """Moves it back."""
        target_exists, source_exists = self._exists(to), self._exists(record.path)
        if to in self.unmoved:
            self._report(record.path, "as before")
        elif target_exists and not source_exists:
            self._restore_by(Move(to, record.path, self.name(record.path)), record.path)
            self.now[record.path], self.now[to] = self.now.get(to, _content_of(to)), None
        elif (
            target_exists
            and source_exists
            and not {to, record.path} & self.now.keys()
            and is_same_file(to, record.path)
        ):
            self._drop_name(to)
            self._report(record.path, "restored")
        else:
            reason = (
                f"{self.name(to)} does not exist any more"
                if not target_exists
                else "something else has this name now"
            )
            self._report(record.path, "conflict", reason)

    def _drop_name(self, path: Path) -> None:
        """Deletes one of two names of a file or link whose move was interrupted."""
        target, subject = link_target(path), self.name(path)
        self._step(
            Remove(path, subject, self._content(path) or b"")
            if target is None
            else Link(path, subject, target, None)
        )
        self.now[path] = None

    def _restore(self, record: Record, backup: Path) -> None:
        if status_or_none(backup) is None:
            reason = "what was deleted is not stored any more"
            self._leave(record.path, self._is_still_there(record), reason)
        elif self._exists(record.path):
            self._leave(record.path, self._is_still_there(record), "something else has this name now")
        else:
            self._restore_by(Restore(backup, record.path, self.name(record.path)), record.path)
            self.now[record.path] = _content_of(backup)

    def _is_still_there(self, record: Record) -> bool:
        """Whether the deletion was not made: interrupted before it, or after a copy was made."""
        return (
            record.path not in self.now
            and self._exists(record.path)
            and stamp_tree(record.path).stamp == record.before
        )

    def _trash(self, record: Record) -> None:
        """Deletes again what an undo had restored."""
        backup = record.place
        if backup is not None and status_or_none(backup) is not None:
            # Interrupted before it was restored, or when it had both names.
            if is_same_file(backup, record.path):
                self._drop_name(record.path)
            self._report(record.path, "as before")
        elif not self._exists(record.path):
            self._report(record.path, "as before")
        elif self.now.get(record.path, b"") is not None and stamp_tree(record.path).stamp != record.after:
            self._report(record.path, "conflict", "it was changed since")
        else:
            # It goes where it was stored before, so that the deletion can be undone again.
            self._restore_by(RemoveTree(record.path, self.name(record.path), record.place), record.path)
            self.now[record.path] = None

    def _mode(self, record: Record) -> None:
        info, after = status_or_none(record.path), int(record.after, 8)
        if info is None or info.st_mode & 0o7777 == record.mode:
            self._report(record.path, "as before")
            return
        if info.st_mode & 0o7777 != after:
            self._report(record.path, "conflict", "its mode was changed since")
            return
        self._restore_by(SetMode(record.path, self.name(record.path), after, record.mode), record.path)

    def _link(self, record: Record) -> None:
        now, before, after = link_target(record.path), decode_link(record.before), decode_link(record.after)
        if now == before and (now is not None or status_or_none(record.path) is None):
            self._report(record.path, "as before")
        elif now == after and (now is not None or status_or_none(record.path) is None):
            self._restore_by(Link(record.path, self.name(record.path), now, before), record.path)
        else:
            self._report(record.path, "conflict", "it was changed since")

    def _content(self, path: Path) -> bytes | None:
        if path in self.now:
            return self.now[path]
        return read_if_exists(path, self.name(path), limit=sys.maxsize - 1)

    def _exists(self, path: Path) -> bool:
        return self.now[path] is not None if path in self.now else status_or_none(path) is not None

    def _step(self, step: Step) -> None:
        self.plan.steps.append(step)

    def _restore_by(self, step: Step, path: Path) -> None:
        self._step(step)
        self._report(path, "restored")

    def _leave(self, path: Path, same: bool, why: str) -> None:
        """Plans no step: nothing is to be undone where all is the ``same`` as before, else nothing can be."""
        self._report(path, "as before" if same else "conflict", "" if same else why)

    def _report(self, path: Path, outcome: UndoOutcome, why: str = "", *, same_lines: bool = False) -> None:
        """Records the outcome for a path: a later one replaces it, but a conflict stays."""
        name = self.name(path)
        previous = next((file for file in self.plan.files if file.path == name), None)
        if previous is None:
            self.plan.files.append(FileUndo(name, outcome, why, same_lines))
        elif previous.outcome not in ("conflict", "mergeable") and outcome != "as before":
            self.plan.files[self.plan.files.index(previous)] = replace(
                previous, outcome=outcome, why=why, same_lines=same_lines
            )


def is_same_file(path: Path, other: Path) -> bool:
    """Returns whether both paths exist and are the same file."""
    one, two = status_or_none(path), status_or_none(other)
    return one is not None and two is not None and os.path.samestat(one, two)


def _content_of(path: Path) -> bytes | None:
    """Returns the content of a file; empty for a folder and for a link, which exist."""
    try:
        return read_if_exists(path, str(path), limit=sys.maxsize - 1)
    except ToolFailure:
        return b""


def entries_to_undo(journal: Journal, call: str) -> tuple[Entry, ...]:
    """Returns the entries of a call in order; without a call, this session's last change not undone.

    If the session has changed nothing yet, the last change of the workspace counts.  Raises ``ToolFailure``.
    """
    if not call:
        call = _last(journal)
    entries = journal.entries(call=call)
    if not entries:
        raise _unknown(journal, call)
    own = tuple(entry for entry in entries if entry.session == journal.session)
    entries = own or tuple(entry for entry in entries if entry.session == entries[-1].session)
    in_effect = tuple(entry for entry in entries if not entry.undone_by)
    if in_effect and not any(entry.can_be_undone for entry in in_effect):
        raise ToolFailure(
            ErrorCode.EDIT_NO_CHANGE,
            f"{call} has no saved changes to undo. {may_have_changed_more(in_effect)}",
        )
    if not in_effect:
        by = entries[-1].undone_by
        raise ToolFailure(
            ErrorCode.EDIT_NO_CHANGE, f"{call} is already undone, by {by}. Undo {by} to restore its changes."
        )
    return in_effect


def _last(journal: Journal) -> str:
    own = journal.last_call(journal.session)
    if own:
        return own
    entries = journal.entries(session=journal.session)
    more = may_have_changed_more(entries)
    if any(entry.can_be_undone for entry in entries):
        reason = "Nothing is left to undo in this session: all its saved changes are undone."
        advice = "Name a call of an earlier session, or an undo to restore what it undid."
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{reason} {advice}{more and f' {more}'}")
    if more:
        raise ToolFailure(
            ErrorCode.EDIT_NO_CHANGE, f"There is nothing to undo: this session has no saved changes. {more}"
        )
    last = journal.last_call()
    if not last:
        reason = (
            "no call has saved changes here"
            if journal.settings.journal
            else "the journal is off (%tools set journal on)"
        )
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"There is nothing to undo: {reason}.")
    return last


def may_have_changed_more(entries: Iterable[Entry]) -> str:
    """Returns a sentence on commands among ``entries`` with changes that are not all saved, else ""."""
    unsaved = {entry.call: entry.unsaved for entry in entries if entry.unsaved}
    calls = list(unsaved)[-_MOST_NAMED:]
    reasons = "; ".join(dict.fromkeys(unsaved[call] for call in calls))
    earlier = f" and {len(unsaved) - len(calls):,} earlier calls" if len(unsaved) > len(calls) else ""
    if unsaved:
        return f"{', '.join(calls)}{earlier} may have changed more, which undo does not restore: {reasons}."
    return ""


def _unknown(journal: Journal, call: str) -> ToolFailure:
    pruned = dropped_notice(journal.store) if journal.exists else ""
    reason = (
        f"The journal has no change by the call {call!r}: it does not exist, or changed nothing that was"
        " saved."
    )
    return ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS,
        f"{reason} {pruned or '%tools journal (session.changes) lists what can be undone.'}",
    )
