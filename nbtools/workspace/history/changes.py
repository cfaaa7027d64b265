"""Applies changes to files: records them in the journal first, then makes all of them or none.

Each operation keeps the previous state: the old file itself under a hidden name beside it, where the file
system supports hard links, so that reverting it takes no space and no writing.  The hidden names are deleted
after the last operation.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.workspace.files.atomic_write import missing_folders
from nbtools.workspace.files.no_follow import status_or_none
from nbtools.workspace.history.content import Blob, delta, encode_link, fingerprint, stamp_tree
from nbtools.workspace.history.journal import Journal, RecordDraft
from nbtools.workspace.history.operations import (
    AppliedStep,
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
)
from nbtools.workspace.history.store import Record, cannot_store
from nbtools.workspace.history.undo import change_state

__all__ = ["Move", "Remove", "Step", "Write", "apply_all"]

_MAX_NAMED = 5
_MANY = 64
"""From this number of changes on, they are synced together; one by one takes a hundred times as long."""


def _nothing(*_: object) -> None:
    return None


async def apply_all(
    steps: Sequence[Step],
    progress: Callable[[int], None] | None = None,
    first: Callable[[], None] = _nothing,
    on_not_reverted: Callable[[Step], None] = _nothing,
) -> tuple[Path, ...]:
    """Makes all operations in order, or none; returns the folders created for them.

    ``progress`` is called in this event loop with the number of finished operations; ``first`` runs before
    them, in their thread.  Raises ``ToolFailure`` if one fails; the message names those that could not be
    reverted, and ``on_not_reverted`` is called for each.  When cancelled, it reverts everything first.
    """
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def done(count: int) -> None:
        if progress is not None:
            loop.call_soon_threadsafe(progress, count)

    task = loop.create_task(asyncio.to_thread(_make_all, steps, stop, done, first, on_not_reverted))
    try:
        made = await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await _finished(task)
        await _finished(loop.create_task(asyncio.to_thread(_revert_result, task, on_not_reverted)))
        raise
    # From here on the changes are final: a cancellation comes too late, and the caller gets the result.
    await _finished(loop.create_task(asyncio.to_thread(_settle, made)))
    return tuple(folder for one in made for folder in one.folders)


def _revert_result(task: asyncio.Task[list[AppliedStep]], on_not_reverted: Callable[[Step], None]) -> None:
    """Reverts what the task did before it noticed the cancellation."""
    if not task.cancelled() and task.exception() is None:
        _revert(task.result(), on_not_reverted)


def _settle(made: Sequence[AppliedStep]) -> None:
    for one in made:
        with contextlib.suppress(OSError):
            one.discard_backup()


async def _finished(
    task: asyncio.Task[object] | asyncio.Task[list[AppliedStep]] | asyncio.Task[None],
) -> None:
    """Waits for the task's end, despite cancellation: partial changes are worse than a late answer."""
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue


def _make_all(
    steps: Sequence[Step],
    stop: threading.Event,
    done: Callable[[int], None],
    first: Callable[[], None],
    on_not_reverted: Callable[[Step], None],
) -> list[AppliedStep]:
    made: list[AppliedStep] = []
    first()
    sync_each = len(steps) < _MANY
    for step in steps:
        if stop.is_set():
            break
        try:
            made.append(step.make(sync=sync_each))
        except ToolFailure as failure:
            raise _reverted_failure(failure, made, len(steps), on_not_reverted) from None
        except BaseException:
            _revert(made, on_not_reverted)
            raise
        done(len(made))
    if not sync_each:
        os.sync()  # previous contents are still stored until now
    return made


def _reverted_failure(
    failure: ToolFailure, made: list[AppliedStep], total: int, on_not_reverted: Callable[[Step], None]
) -> ToolFailure:
    """Reverts all operations in ``made``, as far as possible, and returns the failure to raise."""
    stuck = _revert(made, on_not_reverted)
    if stuck:
        return ToolFailure(
            ErrorCode.FILE_WRITE_FAILURE,
            f"{failure.message} Not everything could be restored: {_named(stuck)}",
        )
    if total == 1:
        return failure
    verb = " was" if len(made) == 1 else "s were"
    note = f": {len(made):,} earlier change{verb} reverted" if made else ""
    return ToolFailure(failure.code, f"{failure.message} Nothing was changed{note}.")


def _revert(made: list[AppliedStep], on_not_reverted: Callable[[Step], None]) -> list[str]:
    """Reverts the operations, the last first; returns a sentence for each that could not be reverted."""
    stuck = []
    for operation in reversed(made):
        try:
            operation.revert()
        except (ToolFailure, OSError) as error:
            failure = from_os_error(error, operation.step.subject) if isinstance(error, OSError) else error
            stuck.append(_with_backup(operation, failure.message))
            on_not_reverted(operation.step)
    return stuck


def _with_backup(made: AppliedStep, reason: str) -> str:
    backup = made.backup
    if backup is not None and os.path.lexists(backup):
        return f"{reason} Its previous content is in {backup.name} beside it."
    return reason


def _named(stuck: list[str]) -> str:
    more = f" ({len(stuck) - _MAX_NAMED:,} more)" if len(stuck) > _MAX_NAMED else ""
    return " ".join(stuck[:_MAX_NAMED]) + more


def make_change(journal: Journal, step: Step) -> tuple[Path, ...]:
    """Makes one change; returns the folders created for it. Raises ``ToolFailure`` and reverts all then."""
    if not journal.settings.journal:
        return _make_alone(step)
    step = _with_backup_path(journal, step)
    entry = journal.record_intent(draft_records(journal, [step]))
    try:
        folders = _make_alone(step)
    except BaseException as error:
        _record_failure(journal, entry, error)
        raise
    journal.mark_made(entry)
    return folders


async def make_changes(
    journal: Journal,
    steps: Sequence[Step],
    progress: Callable[[int], None] | None = None,
    *,
    undoes: str = "",
) -> tuple[Path, ...]:
    """Makes all changes or none, as ``apply_all`` does, and records them as undoing the call ``undoes``."""
    if not journal.settings.journal:
        return await apply_all(steps, progress)
    entry = 0
    steps = [_with_backup_path(journal, step) for step in steps]
    drafts: list[list[RecordDraft]] = []
    not_reverted: list[Step] = []

    def first() -> None:
        nonlocal entry
        drafts.extend(draft_records(journal, [step]) for step in steps)
        entry = journal.record_intent([draft for of_step in drafts for draft in of_step], undoes=undoes)

    try:
        folders = await apply_all(steps, progress, first, not_reverted.append)
    except BaseException as error:
        if not_reverted:
            journal.mark_partly(
                entry,
                [
                    draft
                    for step, of_step in zip(steps, drafts, strict=True)
                    if step in not_reverted
                    for draft in of_step
                ],
            )
        elif entry:
            _record_failure(journal, entry, error)
        raise
    journal.mark_made(entry)
    return folders


def _make_alone(step: Step) -> tuple[Path, ...]:
    if isinstance(step, Write):
        return step.make_alone()
    made = step.make(sync=True)
    made.discard_backup()
    return made.folders


def _with_backup_path(journal: Journal, step: Step) -> Step:
    """Returns the step with a path for what it deletes or replaces."""
    match step:
        case Move(overwrite=True) | RemoveTree(keep=None, for_good=False):
            return replace(step, keep=journal.trash_path())
        case Write(before=bytes() as before):
            return replace(step, keep=journal.backup_path(step.path, before))
        case _:
            return step


def _record_failure(journal: Journal, entry: int, error: BaseException) -> None:
    """Records that nothing is to be undone, unless the failed step left something behind."""
    # Another program's change must not be taken for ours.
    is_conflict = isinstance(error, ToolFailure) and error.code is ErrorCode.CONFLICT
    if is_conflict or _is_unchanged(journal, entry):
        journal.mark_void(entry)
    else:
        journal.mark_partly(entry)


def _is_unchanged(journal: Journal, entry: int) -> bool:
    try:
        return change_state(journal, journal.entry(entry)) == "not made"
    except (OSError, ToolFailure):  # the caller must see the first failure
        return False


def draft_records(journal: Journal, steps: Sequence[Step]) -> list[RecordDraft]:
    """Returns the records of ``steps`` not made yet. Raises ``ToolFailure`` if contents cannot be stored."""
    try:
        return [draft for step in steps for draft in _drafts(journal, step)]
    except OSError as error:
        raise cannot_store(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from None


def _drafts(journal: Journal, step: Step) -> Iterator[RecordDraft]:  # noqa: C901 - a line or two for each kind of step
    match step:
        case Write():
            yield _write(journal, step)
        case Remove():
            blob = journal.blobs.prepare(step.before)
            mode = _mode(step.path)
            yield RecordDraft(Record("write", step.path, before=blob.key, mode=mode, bytes=blob.stored), blob)
        case Move():
            if step.keep is not None and status_or_none(step.to) is not None:
                tree = stamp_tree(step.to)
                yield RecordDraft(Record("trash", step.to, step.keep, before=tree.stamp, bytes=tree.bytes))
            yield RecordDraft(Record("move", step.path, step.to, folders=missing_folders(step.to)))
        case RemoveTree():
            tree = stamp_tree(step.path)
            if step.keep is None:
                yield RecordDraft(Record("lost", step.path, before=tree.stamp))
            else:
                yield RecordDraft(Record("trash", step.path, step.keep, before=tree.stamp, bytes=tree.bytes))
        case Restore():
            yield RecordDraft(
                Record(
                    "restore",
                    step.path,
                    step.keep,
                    after=stamp_tree(step.keep).stamp,
                    folders=missing_folders(step.path),
                )
            )
        case MakeFolder():
            yield RecordDraft(Record("folder", step.path, folders=missing_folders(step.path / "-")))
        case RemoveFolder():
            yield RecordDraft(Record("unfolder", step.path))
        case SetMode():
            yield RecordDraft(Record("mode", step.path, after=f"{step.after:o}", mode=step.before))
        case Link():
            yield RecordDraft(
                Record(
                    "link",
                    step.path,
                    before=encode_link(step.before),
                    after=encode_link(step.after),
                    folders=missing_folders(step.path),
                )
            )


def _write(journal: Journal, step: Write) -> RecordDraft:
    if step.before is None:
        return RecordDraft(
            Record("write", step.path, after=fingerprint(step.after), folders=missing_folders(step.path))
        )
    change = delta(step.before, step.after)
    if step.keep is None:
        blob = journal.blobs.prepare(step.before)
    else:
        blob = Blob(step.keep.name, packed=False, stored=len(step.before), data=None)
    after = fingerprint(step.after) if change is None else "delta"
    return RecordDraft(
        Record("write", step.path, before=blob.key, after=after, delta=change, bytes=blob.stored), blob
    )


def _mode(path: Path) -> int:
    try:
        info = status_or_none(path)
    except ToolFailure:
        return 0
    return stat.S_IMODE(info.st_mode) if info else 0
