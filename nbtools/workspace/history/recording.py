"""Describes operations for the journal before they are made: what undoing them needs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from nbtools.core.errors import ToolFailure
from nbtools.workspace.files.no_follow import status_or_none
from nbtools.workspace.history.blobs import Blob
from nbtools.workspace.history.content import delta, fingerprint, stamp_tree
from nbtools.workspace.history.journal import Journal, RecordDraft
from nbtools.workspace.history.operations import Link, MakeFolder, Move, Remove, RemoveFolder, RemoveTree, Restore, SetMode, Step, Write
from nbtools.workspace.history.store import Record, cannot_store


def draft_records(journal: Journal, steps: Sequence[Step]) -> list[RecordDraft]:
    """Returns what to record of ``steps``, none of which is made yet.  Raises ``ToolFailure`` if the contents cannot be stored."""
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
                Record("restore", step.path, step.keep, after=stamp_tree(step.keep).stamp, folders=missing_folders(step.path))
            )
        case MakeFolder():
            yield RecordDraft(Record("folder", step.path, folders=missing_folders(step.path / "-")))
        case RemoveFolder():
            yield RecordDraft(Record("unfolder", step.path))
        case SetMode():
            yield RecordDraft(Record("mode", step.path, after=f"{step.after:o}", mode=step.before))
        case Link():
            yield RecordDraft(
                Record("link", step.path, before=_link(step.before), after=_link(step.after), folders=missing_folders(step.path))
            )


def _write(journal: Journal, step: Write) -> RecordDraft:
    if step.before is None:
        return RecordDraft(Record("write", step.path, after=fingerprint(step.after), folders=missing_folders(step.path)))
    change = delta(step.before, step.after)
    if step.keep is None:
        blob = journal.blobs.prepare(step.before)
    else:
        blob = Blob(step.keep.name, packed=False, stored=len(step.before), data=None)
    after = fingerprint(step.after) if change is None else "delta"
    return RecordDraft(Record("write", step.path, before=blob.key, after=after, delta=change, bytes=blob.stored), blob)


def missing_folders(path: Path) -> tuple[Path, ...]:
    """Returns the folders above ``path`` that do not exist, outermost first."""
    missing = []
    for parent in path.parents:
        if os.path.lexists(parent):
            break
        missing.append(parent)
    return tuple(reversed(missing))


def _mode(path: Path) -> int:
    try:
        info = status_or_none(path)
    except ToolFailure:
        return 0
    return stat.S_IMODE(info.st_mode) if info else 0


def _link(target: str | None) -> str:
    """Returns a link's target as text that the journal can hold; empty if there is no link."""
    return "" if target is None else os.fsencode(target).hex()


def decode_link(text: str) -> str | None:
    """Returns the link target from the journal's text; None for an empty text."""
    return os.fsdecode(bytes.fromhex(text)) if text else None
