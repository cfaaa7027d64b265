"""Review records: notes, labels and verdicts about sessions and steps,
and the anchors that find their place again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from nbtools.traces.model import Call, Event, Session

Kind: TypeAlias = Literal["note", "label", "verdict", "code", "withdrawn"]
"""``code`` sorts the note ``about`` under a code of the code book;
``withdrawn`` takes back the record ``about``.
"""
VERDICTS = ("pass", "fail", "defer")
Status: TypeAlias = Literal["same", "moved", "changed", "gone", "unchecked"]
"""Where a record's place is now: ``same``, or ``moved`` to another position with the same content;
``changed``: the id has other content; ``gone``: the session has no such step; ``unchecked``: a corpus has
rows of a log that cannot be read any more.
"""
ReviewRow: TypeAlias = Session | Call | Event

_Name: TypeAlias = Annotated[str, Meta(max_length=200)]
_Id: TypeAlias = Annotated[str, Meta(max_length=1_000)]
_Hash: TypeAlias = Annotated[str, Meta(max_length=64)]
_Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]
MAX_TEXT = 20_000
"""Maximum number of characters of a note."""
MAX_SPAN = 4_000
"""Maximum number of characters of a quoted text."""


class StepAnchor(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A call or an event, by its id and its content.

    ``id`` is the call's id, or the provider's id of an event's message; ``native``: the log itself has the
    id. ``record`` and ``result`` are hashes of the bytes of the call's or event's record and of the result,
    ``part`` is the position among rows of this kind that share a record, and ``before`` is a hash of up to
    three records before it.
    """

    kind: _Name
    seq: _Count
    id: _Id = ""
    native: bool = False
    part: _Count = 0
    record: _Hash = ""
    result: _Hash = ""
    before: _Hash = ""
    context: _Count = 0
    """The number of records in ``before``."""


class Target(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The place that a record speaks about:
    a session, a step (``first``), or the steps ``first`` to ``last`` of a session.

    ``start`` is a hash of the first ``rows`` records of the session, by which copies under another name are
    recognised. ``span`` is a text that is quoted from the step. ``log`` is the path of the log when the
    record was written; it identifies nothing.
    """

    format: _Name
    session: _Id
    start: _Hash = ""
    rows: _Count = 0
    first: StepAnchor | None = None
    last: StepAnchor | None = None
    span: Annotated[str, Meta(max_length=MAX_SPAN)] = ""
    log: Annotated[str, Meta(max_length=8_000)] = ""


class Record(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One entry of a label file. ``at`` is in seconds since the epoch;
    ``value`` is a note's text, a label's code, or a verdict.
    """

    id: Annotated[str, Meta(min_length=1, max_length=100)]
    at: float
    reviewer: Annotated[str, Meta(min_length=1, max_length=200)]
    kind: Kind
    value: Annotated[str, Meta(max_length=MAX_TEXT)] = ""
    about: Annotated[str, Meta(max_length=100)] = ""
    target: Target


class Label(Struct, frozen=True, kw_only=True):
    """A note, label or verdict in force, at its place in a trace.
    ``kind`` is ``code`` for a note that was sorted under a code.

    ``call`` is the id of the call it begins at, empty for messages and sessions. ``seq`` … ``last_seq`` are
    the positions of its steps (both inclusive), None where it is about a whole session, or its place was not
    found: ``status`` says why.
    """

    id: str
    session: str
    call: str = ""
    seq: int | None = None
    last_seq: int | None = None
    step: str = ""
    last_step: str = ""
    kind: Kind
    value: str
    reviewer: str
    at: float
    span: str = ""
    status: Status = "same"
    about: str = ""
    whole_session: bool = False
    source: str = ""
    """The path of the log in which it was found."""

    @property
    def placed(self) -> bool:
        """Whether its place was found: its steps, or its session with the same beginning."""
        return self.seq is not None or (self.whole_session and self.status == "same")


SignalKind: TypeAlias = Literal[
    "repeated_call",
    "undone_edit",
    "failure_not_retried",
    "tests_claimed_not_run",
    "file_read_often",
    "context_pressure",
]


class Signal(Struct, frozen=True, kw_only=True):
    """A pattern that is worth a look, found by a rule and not by a model.
    ``seqs`` are the positions of its steps in the session.
    """

    session: str
    kind: SignalKind
    seqs: tuple[int, ...]
    explanation: str

    @property
    def seq(self) -> int:
        return self.seqs[0]

    @property
    def last_seq(self) -> int:
        return self.seqs[-1]


class SessionStart(Struct, frozen=True):
    """Identifies a session by hashes of its first record, of its first two, and so on up to eight.
    Copies have the same ones.

    A record's ``Target.start`` is one of them.
    """

    session: str
    hashes: tuple[str, ...]


def in_force(records: Iterable[Record]) -> list[Record]:
    """Returns the records without those that were withdrawn or replaced:
    the last verdict of a reviewer on a place, a note's last code.
    """
    listed = list(records)
    withdrawn = {record.about for record in listed if record.kind == "withdrawn"}
    last: dict[tuple[object, ...], Record] = {}
    for record in listed:
        if (
            record.kind == "withdrawn"
            or record.id in withdrawn
            or (record.kind == "code" and record.about in withdrawn)
        ):
            continue
        key: tuple[object, ...] = (record.id,)
        if record.kind == "verdict":
            key = ("verdict", record.reviewer, _replaced_by(record.target))
        elif record.kind == "code":
            key = ("code", record.about)
        last.pop(key, None)
        last[key] = record
    return list(last.values())


def _replaced_by(target: Target) -> tuple[object, ...]:
    """Returns what two verdicts on the same place have in common,
    however much the session has grown between them.
    """
    steps = tuple(
        (one.kind, one.id, one.part, one.record, one.before) for one in (target.first, target.last) if one
    )
    # Logs of different runs may give their sessions the same id, so how a session begins tells them apart.
    return target.format, target.session, steps or target.start, target.span
