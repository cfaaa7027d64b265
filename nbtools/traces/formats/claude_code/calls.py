"""Calls on their way from the record that asks to the one that answers."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Literal

from msgspec import Struct

from nbtools.traces.formats.claude_code.names import AGENTS, op, paths, subject
from nbtools.traces.formats.claude_code.records import Block, Outcome
from nbtools.traces.model import NOWHERE, PREVIEW, Call, FileChange, Origin, Ref, Status, StatusSource

_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
SPILLED = "<persisted-output>"
"""What a result begins with that is in a file of its own."""
_SIGN = itemgetter(slice(1))
_REFUSED = ("The user doesn't want to", "Permission to use ", "This command requires approval", "Claude requested permissions")


class Asked(Struct, gc=False):
    """A call without its answer; ``record`` is the record that asks."""

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


class Answer(Struct, gc=False):
    """A result, also one that comes before its call."""

    text: str
    """The beginning of an error, of what is in a file of its own, and of what is more than a text."""
    size: int
    images: int
    is_error: bool
    outcome: Outcome | None
    at: float | None
    ref: Ref


def answer(block: Block, outcome: Outcome | None, at: float | None, ref: Ref) -> Answer:
    content, failed = block.content, block.is_error is True
    if isinstance(content, str):
        return Answer(content[:PREVIEW] if failed or content.startswith(SPILLED) else "", len(content), 0, failed, outcome, at, ref)
    texts = [part.text for part in content or () if part.text]
    images = sum(part.type == "image" for part in content or ())
    return Answer("\n".join(texts)[:PREVIEW], sum(map(len, texts)), images, failed, outcome, at, ref)


def beginning(block: Block) -> str:
    content = block.content or ""
    return (content if isinstance(content, str) else "\n".join(part.text or "" for part in content))[:PREVIEW]


def answered(asked: Asked, answer: Answer | None, child: str, origin: Origin, live: bool) -> Call:
    """The row; without an answer one of a call that has none."""
    block, outcome = asked.block, answer.outcome if answer else None
    name, said = block.name or "?", block.input
    status, source, code, permission = _status(answer)
    return Call(  # by position: that is the fastest by far, and past fifteen keywords Python makes a dictionary of them first
        asked.session,
        asked.id,
        asked.seq,
        name,
        op(name),
        origin,
        asked.native,
        asked.level,
        asked.parent,
        subject(said, agent=name in AGENTS) if said else "",
        paths(said) if said else (),
        asked.at,
        answer.at if answer else None,
        _taken(outcome) if outcome else None,
        status,
        source,
        code,
        answer is not None,
        answer.size if answer else 0,
        permission,
        child,
        asked.turn,
        live,
        True,
        asked.ref,
        answer.ref if answer else NOWHERE,
    )


def _taken(outcome: Outcome) -> float | None:
    """In seconds."""
    taken = outcome.duration_ms if outcome.duration_ms is not None else outcome.total_duration_ms
    return None if taken is None else taken / 1000


def _status(answer: Answer | None) -> tuple[Status, StatusSource, int | None, str]:
    """And the exit code, and what is said about permission."""
    if answer is None:
        return "unanswered", "none", None, ""
    if answer.is_error:
        code = _EXIT.match(answer.text)
        return "error", "flag", int(code[1]) if code else None, "denied" if answer.text.startswith(_REFUSED) else ""
    if answer.outcome is not None and answer.outcome.interrupted:
        return "interrupted", "flag", None, ""
    return _WELL


_WELL: tuple[Status, StatusSource, int | None, str] = ("ok", "flag", None, "")


def change(asked: Asked, outcome: Outcome | None, *, applied: bool) -> FileChange:
    """What an edit changed."""
    said = asked.block.input
    path = (said.file_path or said.notebook_path) if said else ""
    plain = FileChange(session=asked.session, call=asked.id, path=path if isinstance(path, str) else "", applied=applied)
    if outcome is None:
        return plain
    if outcome.type == "create" and said is not None and isinstance(said.content, str):
        lines = said.content.count("\n") + (not said.content.endswith("\n") if said.content else 0)
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
