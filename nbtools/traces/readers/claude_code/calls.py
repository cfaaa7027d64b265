"""Builds rows of calls from the record that makes the call and the record with its result."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Literal

from msgspec import Struct

from nbtools.traces.model import NOWHERE, PREVIEW, Call, FileChange, Origin, Ref, Status, StatusSource
from nbtools.traces.readers.claude_code.records import AGENTS, Block, Outcome, op_of, paths_of, subject_of

_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
SPILLED_PREFIX = "<persisted-output>"
"""Prefix of a result whose full text is in a file of its own."""
_SIGN = itemgetter(slice(1))
_DENIAL_TEXTS = ("The user doesn't want to", "Permission to use ", "This command requires approval", "Claude requested permissions")


class PendingCall(Struct, gc=False):
    """A call without its result; ``record`` is the id of the record that makes it."""

    session: str
    id: str
    native: str
    block: Block
    seq: int
    at: float | None
    ref: Ref
    level: Literal["model", "nested"]
    parent: str
    turn: int
    record: str


class CallResult(Struct, gc=False):
    """A result, which may also come before its call."""

    text: str
    """The beginning of an error, of a result in a file of its own, and of a result with several parts."""
    size: int
    images: int
    is_error: bool
    outcome: Outcome | None
    at: float | None
    ref: Ref


def result_of(block: Block, outcome: Outcome | None, at: float | None, ref: Ref) -> CallResult:
    """Returns the result of a call."""
    content, failed = block.content, block.is_error is True
    if isinstance(content, str):
        return CallResult(
            content[:PREVIEW] if failed or content.startswith(SPILLED_PREFIX) else "", len(content), 0, failed, outcome, at, ref
        )
    texts = [part.text for part in content or () if part.text]
    images = sum(part.type == "image" for part in content or ())
    return CallResult("\n".join(texts)[:PREVIEW], sum(map(len, texts)), images, failed, outcome, at, ref)


def result_preview(block: Block) -> str:
    """Returns the beginning of a result's text."""
    content = block.content or ""
    return (content if isinstance(content, str) else "\n".join(part.text or "" for part in content))[:PREVIEW]


def call_row(pending: PendingCall, answer: CallResult | None, child: str, origin: Origin, live: bool) -> Call:
    """Returns the row of a call; without an ``answer``, that of an unanswered call."""
    block, outcome = pending.block, answer.outcome if answer else None
    name, arguments = block.name or "?", block.input
    status, source, code, permission = _status(answer)
    return Call(  # positional arguments are much faster: beyond fifteen keywords Python builds a dictionary
        pending.session,
        pending.id,
        pending.seq,
        name,
        op_of(name),
        origin,
        pending.native,
        pending.level,
        pending.parent,
        subject_of(arguments, agent=name in AGENTS) if arguments else "",
        paths_of(arguments) if arguments else (),
        pending.at,
        answer.at if answer else None,
        _duration(outcome) if outcome else None,
        status,
        source,
        code,
        answer is not None,
        answer.size if answer else 0,
        permission,
        child,
        pending.turn,
        live,
        True,
        pending.ref,
        answer.ref if answer else NOWHERE,
    )


def _duration(outcome: Outcome) -> float | None:
    """Returns the duration in seconds."""
    milliseconds = outcome.duration_ms if outcome.duration_ms is not None else outcome.total_duration_ms
    return None if milliseconds is None else milliseconds / 1000


def _status(answer: CallResult | None) -> tuple[Status, StatusSource, int | None, str]:
    """Returns the status, its source, the exit code, and what is recorded about the permission."""
    if answer is None:
        return "unanswered", "none", None, ""
    if answer.is_error:
        code = _EXIT.match(answer.text)
        return "error", "flag", int(code[1]) if code else None, "denied" if answer.text.startswith(_DENIAL_TEXTS) else ""
    if answer.outcome is not None and answer.outcome.interrupted:
        return "interrupted", "flag", None, ""
    return _SUCCESS


_SUCCESS: tuple[Status, StatusSource, int | None, str] = ("ok", "flag", None, "")


def file_change(pending: PendingCall, outcome: Outcome | None, *, applied: bool) -> FileChange:
    """Returns what an edit changed."""
    arguments = pending.block.input
    path = (arguments.file_path or arguments.notebook_path) if arguments else ""
    plain = FileChange(session=pending.session, call=pending.id, path=path if isinstance(path, str) else "", applied=applied)
    if outcome is None:
        return plain
    if outcome.type == "create" and arguments is not None and isinstance(arguments.content, str):
        lines = arguments.content.count("\n") + (not arguments.content.endswith("\n") if arguments.content else 0)
        return FileChange(
            session=plain.session,
            call=plain.call,
            path=plain.path,
            kind="add",
            added=lines,
            removed=0,
            basis="arguments",
            applied=applied,
        )
    if not outcome.structured_patch:
        return plain
    signs = [sign for hunk in outcome.structured_patch for sign in map(_SIGN, hunk.lines)]
    return FileChange(
        session=plain.session,
        call=plain.call,
        path=plain.path,
        kind="modify",
        added=signs.count("+"),
        removed=signs.count("-"),
        basis="recorded_patch",
        applied=applied,
    )
