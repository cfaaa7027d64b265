"""The diff of one call's changes, from its result or else from the journal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.cards.blocks import MAX_DIFFS, diff_blocks, diffs_of, text_block
from nbtools.cards.card import changed_lines
from nbtools.cards.card_model import Block, Card
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.cards.phrases import UNDONE, clock
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import counted
from nbtools.core.redaction import Redactor
from nbtools.core.result import FileDiff
from nbtools.core.secret_variables import secret_variables
from nbtools.core.tool import Icon
from nbtools.diff.line_diff import file_diff_with_hunks
from nbtools.workspace.files.encoding import decode
from nbtools.workspace.files.read import read_if_exists
from nbtools.workspace.history.content import apply_delta, fingerprint
from nbtools.workspace.history.store import Entry, Record

if TYPE_CHECKING:
    from nbtools.session import Session

_LIMIT = 20_000_000
"""Bytes of a file that is compared."""
_KINDS = {
    "move": "moved",
    "trash": "deleted",
    "restore": "restored",
    "mode": "permissions changed",
    "link": "link changed",
    "lost": "changed; the previous content was too large to be stored",
    "cells": "changed in the open notebook",
}


def change_card(session: Session, call_id: str, root: str) -> Card:
    """Returns a card with the diffs of a call of this session.
    Raises ``ToolFailure`` if the journal does not have it (any more).
    """
    journal = session.workspace.journal
    entries = journal.entries(call=call_id, session=journal.session)
    if not entries:
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, "This change is not in the journal of this session any more."
        )
    files = _of_result(session, call_id) or tuple(_diffs(session, entries))
    blocks: tuple[Block, ...] = (
        *diff_blocks(files),
        *_notes(session, entries, {file.file_name for file in files}),
    )
    undone = all(entry.undone_by for entry in entries)
    return Card(
        id=call_id,
        state="success",
        tool=one_line(entries[0].tool, 100),
        icon=Icon.PENCIL.value,
        subject=(
            files[0].file_name
            if len(files) == 1
            else counted(len({r.path for e in entries for r in e.records}), "file")
        ),
        root=root,
        status=f"{UNDONE}, {clock(entries[0].at)}" if undone else f"Changed {clock(entries[0].at)}",
        blocks=blocks,
        **changed_lines(blocks),
    )


def _of_result(session: Session, call_id: str) -> tuple[FileDiff, ...]:
    """Returns the diffs that the call's result shows, if it is a finished call of this kernel."""
    display = next(
        (call.result.return_display for call in reversed(session.history) if call.request.id == call_id), None
    )
    return diffs_of(display)


def _diffs(session: Session, entries: tuple[Entry, ...]) -> list[FileDiff]:
    """Returns the diffs of written text files: from the first previous content to the last new one."""
    written: dict[Path, list[Record]] = {}
    for entry in entries:
        for record in entry.records:
            if record.kind == "write":
                written.setdefault(record.path, []).append(record)
    redactor = Redactor.of(secret_variables(os.environ)) if session.settings.redact else None
    found = []
    for path, records in list(written.items())[:MAX_DIFFS]:
        before, after = _before(session, records[0]), _after(session, records[-1])
        if after is None or (before is None and records[0].before):
            continue
        old, new = None if before is None else decode(before), decode(after)
        if new is None or (before is not None and old is None):
            continue
        former, latest = None if old is None else old.text, new.text
        if redactor is not None:
            former, latest = None if former is None else redactor.text(former), redactor.text(latest)
        found.append(file_diff_with_hunks(seen(session.workspace.relative(path)), former, latest)[0])
    return found


def _before(session: Session, record: Record) -> bytes | None:
    return session.workspace.journal.content(record.before) if record.before else None


def _after(session: Session, record: Record) -> bytes | None:
    """Returns the content after a write: stored as a difference, or still that of the file;
    None if it is not known any more.
    """
    before = _before(session, record)
    if record.delta is not None and before is not None:
        return apply_delta(record.delta, before)
    try:
        now = read_if_exists(record.path, str(record.path), limit=_LIMIT)
    except ToolFailure:
        return None
    return now if now is not None and fingerprint(now) == record.after else None


def _notes(session: Session, entries: tuple[Entry, ...], in_diffs: set[str]) -> tuple[Block, ...]:
    """Returns a line for each path that no diff shows."""
    lines = []
    for record in (record for entry in entries for record in entry.records):
        name = seen(session.workspace.relative(record.path))
        if name in in_diffs or record.kind in ("folder", "unfolder"):
            continue
        target = (
            f" to {seen(session.workspace.relative(record.place))}"
            if record.kind == "move" and record.place
            else ""
        )
        lines.append(
            f"{name}:"
            f" {_KINDS.get(record.kind, 'changed; its content is not text or has changed since')}{target}"
        )
    return (text_block("\n".join(dict.fromkeys(lines))),) if lines else ()
