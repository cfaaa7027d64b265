"""From a step that is about to be made to what undoing it needs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from nbtools.core.errors import ToolFailure
from nbtools.workspace.journal.blobs import Blob
from nbtools.workspace.journal.content import delta, fingerprint
from nbtools.workspace.journal.journal import Draft, Journal
from nbtools.workspace.journal.records import Record
from nbtools.workspace.journal.store import unkept
from nbtools.workspace.journal.trees import tree_of
from nbtools.workspace.nofollow import look
from nbtools.workspace.steps import (
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


def recorded(journal: Journal, steps: Sequence[Step]) -> list[Draft]:
    """What to record of ``steps``, none of which is made yet.  Raises ``ToolFailure`` where it cannot be kept."""
    try:
        return [draft for step in steps for draft in _drafts(journal, step)]
    except OSError as error:
        raise unkept(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from None


def _drafts(journal: Journal, step: Step) -> Iterator[Draft]:  # noqa: C901 - a line or two for each kind of step
    match step:
        case Write():
            yield _write(journal, step)
        case Remove():
            blob = journal.blobs.prepared(step.before)
            mode = _mode(step.path)
            yield Draft(Record("write", step.path, before=blob.key, mode=mode, bytes=blob.stored), blob)
        case Move():
            if step.keep is not None and look(step.to) is not None:
                tree = tree_of(step.to)
                yield Draft(Record("trash", step.to, step.keep, before=tree.stamp, bytes=tree.bytes))
            yield Draft(Record("move", step.path, step.to, folders=missing_folders(step.to)))
        case RemoveTree():
            tree = tree_of(step.path)
            if step.keep is None:
                yield Draft(Record("lost", step.path, before=tree.stamp))
            else:
                yield Draft(Record("trash", step.path, step.keep, before=tree.stamp, bytes=tree.bytes))
        case Restore():
            yield Draft(Record("restore", step.path, step.keep, after=tree_of(step.keep).stamp, folders=missing_folders(step.path)))
        case MakeFolder():
            yield Draft(Record("folder", step.path, folders=missing_folders(step.path / "-")))
        case RemoveFolder():
            yield Draft(Record("unfolder", step.path))
        case SetMode():
            yield Draft(Record("mode", step.path, after=f"{step.after:o}", mode=step.before))
        case Link():
            yield Draft(Record("link", step.path, before=_link(step.before), after=_link(step.after), folders=missing_folders(step.path)))


def _write(journal: Journal, step: Write) -> Draft:
    if step.before is None:
        return Draft(Record("write", step.path, after=fingerprint(step.after), folders=missing_folders(step.path)))
    change = delta(step.before, step.after)
    if step.keep is None:
        blob = journal.blobs.prepared(step.before)
    else:
        blob = Blob(step.keep.name, packed=False, stored=len(step.before), data=None)
    after = fingerprint(step.after) if change is None else "delta"
    return Draft(Record("write", step.path, before=blob.key, after=after, delta=change, bytes=blob.stored), blob)


def missing_folders(path: Path) -> tuple[Path, ...]:
    """Those above ``path`` that are not there, outermost first."""
    missing = []
    for above in path.parents:
        if os.path.lexists(above):
            break
        missing.append(above)
    return tuple(reversed(missing))


def _mode(path: Path) -> int:
    try:
        info = look(path)
    except ToolFailure:
        return 0
    return stat.S_IMODE(info.st_mode) if info else 0


def _link(target: str | None) -> str:
    """A link's target as text that the journal can hold; empty where there is no link."""
    return "" if target is None else os.fsencode(target).hex()


def link_of(text: str) -> str | None:
    return os.fsdecode(bytes.fromhex(text)) if text else None
