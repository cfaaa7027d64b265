"""Reviews the sessions and steps of a trace: notes, labels and verdicts, and what follows from them."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.nesting import rows_by_step
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.reviews.anchors import Anchors, Found, Step
from nbtools.traces.reviews.code_book import CodeBook, load_code_book
from nbtools.traces.reviews.queue import Order, ordered, outcome_of
from nbtools.traces.reviews.records import (
    VERDICTS,
    Kind,
    Label,
    Record,
    ReviewRow,
    Signal,
    Target,
    in_force,
)
from nbtools.traces.reviews.review_settings import default_reviewer, review_settings
from nbtools.traces.reviews.signals import signals_of
from nbtools.traces.reviews.statistics import Agreement, Rate, agreement_of, rate_of
from nbtools.traces.reviews.store import LabelFile
from nbtools.traces.rows import Rows
from nbtools.traces.session_index.index import number_of, session_id

if TYPE_CHECKING:
    from nbtools.traces.trace_rows import TraceRows

Where: TypeAlias = ReviewRow | str | int | tuple[Step, Step] | None
"""A session, call or event; a step's number as in the explorer (``46``, ``"48.1"``), a range (``"46-52"``,
or its first and last row); None is the trace's only session.
"""
Place: TypeAlias = tuple[str, str, int | None, int | None]
"""A place to review: log, session, first and last position; the positions are None for a whole session."""


class Review:
    """The review of ``trace``. Records are written to ``file``, by default the person's own label file,
    in the name of ``reviewer``.

    ``reviewer`` is by default ``$NBTOOLS_REVIEWER``, else the user's name;
    ``book`` is the code book of the project or the person.
    """

    def __init__(
        self,
        trace: TraceRows,
        file: LabelFile | None = None,
        reviewer: str = "",
        book: CodeBook | None = None,
    ) -> None:
        self._trace = trace
        self.file = file or LabelFile()
        self.reviewer = reviewer or default_reviewer()
        self._book = book
        self._rows = (trace.calls, len(trace.calls) + len(trace.events))
        self._found: dict[str, tuple[Record, Found]] = {}
        self._label_of: dict[str, Label] = {}
        self._unknown: set[str] = set()
        self._orders: dict[tuple[Order, int, bool], list[ReviewRow]] = {}
        self._labels: tuple[tuple[int, str], Rows[Label]] = ((-1, ""), Rows(Label))

    def current(self) -> Review:
        """Returns this review, or a new one with the same file,
        reviewer and code book if rows were added to the trace.
        """
        trace, (calls, count) = self._trace, self._rows
        if calls is trace.calls and count == len(trace.calls) + len(trace.events):
            return self
        return Review(trace, self.file, self.reviewer, self._book)

    def prepare(self) -> None:
        """Builds the indexes that the first record needs,
        which takes a second for a hundred thousand calls.
        """
        self.anchors.prepare()
        _ = self._steps_by_row

    @property
    def book(self) -> CodeBook:
        """The code book: for logs that are reviewed by a rubric this one. Raises ``TraceError`` where its
        file is not a code book.
        """
        self._book = self._book or self._rubric() or load_code_book()
        return self._book

    def _rubric(self) -> CodeBook | None:
        settings = review_settings()
        if settings.rubric is None:
            return None
        ids = {session_id(number_of(str(log.source.path.absolute()))) for log in self._trace.readings}
        return settings.rubric if ids <= {*settings.queue} else None

    # --- writing

    def note(self, where: Where, text: str, span: str = "") -> Label:
        """Writes a note. ``span`` is a text of the step that it quotes. Raises ``TraceError``."""
        if not text.strip():
            raise TraceError("The note is empty.")
        return self._write("note", where, text.strip(), span)

    def label(self, where: Where, code: str, span: str = "") -> Label:
        """Applies a code of the code book, by its name or key; a label that is there already stays.
        Raises ``TraceError``.
        """
        name = self.book.code(code).name
        return self._existing("label", where, name, span) or self._write("label", where, name, span)

    def verdict(self, where: Where, value: str, span: str = "") -> Label:
        """Gives the verdict ``pass``, ``fail`` or ``defer``, in place of the reviewer's earlier one.
        Raises ``TraceError``.
        """
        if value not in VERDICTS:
            raise TraceError(f"{value!r} is not a verdict. Verdicts: {', '.join(VERDICTS)}.")
        return self._existing("verdict", where, value, span) or self._write("verdict", where, value, span)

    def sort_note(self, note: Label | str, code: str) -> Label:
        """Sorts a note under a code of the code book, in place of an earlier code. Raises ``TraceError``."""
        record = self.record(note)
        if record.kind != "note":
            raise TraceError("Only notes are sorted under a code. Use label(…) for a step.")
        return self._append("code", record.target, self.book.code(code).name, record.id)

    def withdraw(self, label: Label | str) -> None:
        """Takes back a record by appending its withdrawal; a note's code goes with the note.
        Raises ``TraceError``.
        """
        record = self.record(label)
        self._append("withdrawn", record.target, about=record.id)

    def undo(self) -> Label | None:
        """Takes back this reviewer's latest record in this trace and returns it; None where there is none."""
        mine = [label for label in self.labels if label.reviewer == self.reviewer]
        if not mine:
            return None
        latest = max(mine, key=lambda label: self._order[label.id])
        self.withdraw(latest)
        return latest

    # --- reading

    @property
    def labels(self) -> Rows[Label]:
        """Notes, labels and verdicts in force in this trace, oldest first:
        without what was withdrawn or replaced.

        ``status`` says whether each record's place is still the same.
        Raises ``TraceError`` where the label file cannot be read.
        """
        records = self.file.records()
        version = (len(records), records[-1].id if records else "")
        if self._labels[0] != version:
            rows: Rows[Label] = Rows(Label)
            logs = {str(log.source.path): log for log in self._trace.readings}
            for label in self.labels_among(records):
                rows.append(label)
                if label.source in logs:
                    rows.assign_log_file(logs[label.source])
            self._labels = (version, rows)
        return self._labels[1]

    def labels_among(self, records: Iterable[Record]) -> tuple[Label, ...]:
        """Returns those of these records that are in force and about this trace."""
        found = [self._found[record.id] for record in in_force(records) if self._locate(record)]
        return _last_verdicts(self._label(record, place) for record, place in found)

    def rows_of(self, label: Label | str) -> tuple[ReviewRow | None, ReviewRow | None]:
        """Returns the first and the last row of a label of this trace;
        the session for one about a whole session, None for a lost place.
        """
        found = self._found[label if isinstance(label, str) else label.id][1]
        if found.first is not None:
            return found.first, found.last
        record = self._found[label if isinstance(label, str) else label.id][0]
        session = found.session if record.target.first is None else None
        return session, session

    def rates(self, confidence: float = 0.95) -> list[Rate]:
        """Returns how many of the reviewed places have each verdict and each code,
        with Wilson's confidence interval.

        A place is a session or a step that somebody has reviewed;
        a deferred verdict counts as a value of its own.
        """
        values: dict[str, set[Place]] = {
            **{value: set() for value in VERDICTS},
            **{code.name: set() for code in self.book.codes},
        }
        placed = [label for label in self.labels if label.placed]
        for label in placed:
            if label.kind != "note":
                values.setdefault(label.value, set()).add(place_of(label))
        total = len({place_of(label) for label in placed})
        return [
            rate_of(value, len(places), total, confidence)
            for value, places in values.items()
            if places or value in VERDICTS
        ]

    def agreement(self, a: str, b: str, code: str = "") -> Agreement:
        """Returns how far two reviewers agree: on verdicts, or with ``code`` on where that code applies.

        Only places that both have reviewed count. Raises ``TraceError`` for an unknown code.
        """
        values = self._codes_by_place(self.book.code(code).name) if code else self._verdicts_by_place()
        pairs = [(values[a][place], values[b][place]) for place in values[a] if place in values[b]]
        return agreement_of(a, b, pairs)

    def queue(self, order: Order = "random", seed: int = 0, *, steps: bool | None = None) -> list[ReviewRow]:
        """Returns what this reviewer has given no verdict yet: sessions, or with ``steps`` calls.
        By default sessions if there are several.

        ``random`` and ``stratified`` (by agent and outcome) always give the same order for a seed;
        a call's outcome is its status.
        """
        return [*self.unreviewed(order, seed, steps=steps)]

    def unreviewed(
        self, order: Order = "random", seed: int = 0, *, steps: bool | None = None
    ) -> Iterator[ReviewRow]:
        """Yields the rows of ``queue`` one by one."""
        key = (order, seed, self._reviews_steps(steps))
        if key not in self._orders:
            self._orders = {key: ordered(self._items(steps), order, seed, self._stratum)}
        reviewed = self._reviewed()
        return (row for row in self._orders[key] if id(row) not in reviewed)

    def progress(self, *, steps: bool | None = None) -> tuple[int, int]:
        """Returns how many sessions (or calls) have a verdict of this reviewer, and how many there are."""
        items = self._items(steps)
        return len(self._reviewed() & self._item_ids[self._reviews_steps(steps)]), len(items)

    # --- internals

    def _write(self, kind: Kind, where: Where, value: str, span: str) -> Label:
        return self._append(kind, self._target(where, span), value)

    def _append(self, kind: Kind, target: Target, value: str = "", about: str = "") -> Label:
        record = new_record(kind, target, value, self.reviewer, about)
        self.file.append([record])
        return self._label(record, self.anchors.find(target))

    def _target(self, where: Where, span: str) -> Target:
        first, last = self.resolve(where)
        return self.anchors.target(first, last, span)

    def _existing(self, kind: Kind, where: Where, value: str, span: str) -> Label | None:
        first, last = self.resolve(where)
        place = self._place(first, last or first)
        mine = (
            one
            for one in self.labels
            if (one.kind, one.reviewer, one.span, place_of(one)) == (kind, self.reviewer, span, place)
        )
        return next((label for label in mine if label.value == value), None)

    def resolve(self, where: Where) -> tuple[ReviewRow, Step | None]:
        """Returns the rows that ``where`` names. Raises ``TraceError`` where it names none."""
        match where:
            case None:
                if len(self._roots) != 1:
                    raise TraceError(
                        f"The trace has {len(self._roots)} sessions; say which one:"
                        " traces.review(trace).verdict(session, …)."
                    )
                return self._roots[0], None
            case tuple():
                return _checked_range(*where)
            case Session() | Call() | Event():
                return where, None
        first, _, last = str(where).replace("–", "-").partition("-")
        row = self._row_at(first)
        return (row, None) if not last else _checked_range(row, self._row_at(last))

    def _row_at(self, step: str) -> ReviewRow:
        row = self._rows_by_step.get(step.strip())
        if row is None:
            raise TraceError(
                f"Step {step.strip()} does not exist. Steps have the numbers that %trace shows: 46, 48.1,"
                " 46-52."
            )
        return row

    def record(self, label: Label | str) -> Record:
        """Returns the record of a label. Raises ``TraceError`` where the label file does not have it."""
        name = label if isinstance(label, str) else label.id
        found = next(
            (
                record
                for record in reversed(self.file.records())
                if record.id == name and record.kind != "withdrawn"
            ),
            None,
        )
        if found is None:
            raise TraceError(f"There is no record {name} in {self.file.path}.")
        return found

    def _locate(self, record: Record) -> bool:
        """Finds a record's place once. Returns whether its session is in the trace."""
        if record.id in self._unknown:
            return False
        if record.id not in self._found:
            found = self.anchors.find(record.target)
            if found.session is None:
                self._unknown.add(record.id)
                return False
            self._found[record.id] = record, found
        return True

    def _label(self, record: Record, found: Found) -> Label:
        if record.id in self._label_of and self._found[record.id][1] is found:
            return self._label_of[record.id]
        self._found[record.id] = record, found
        target, first, last = record.target, found.first, found.last
        label = Label(
            id=record.id,
            session=found.session.id if found.session else target.session,
            call=first.id if isinstance(first, Call) else "",
            seq=first.seq if first else None,
            last_seq=last.seq if last else None,
            step=self._steps_by_row.get(id(first), "") if first else "",
            last_step=self._steps_by_row.get(id(last), "") if last else "",
            kind=record.kind,
            value=record.value,
            reviewer=record.reviewer,
            at=record.at,
            span=target.span,
            status=found.status,
            about=record.about,
            whole_session=target.first is None,
            source=self.anchors.path_of(found.session) if found.session else "",
        )
        self._label_of[record.id] = label
        return label

    def _place(self, first: ReviewRow, last: ReviewRow) -> Place:
        source = self.anchors.path_of(first)
        if isinstance(first, Session) or isinstance(last, Session):
            return source, first.id if isinstance(first, Session) else first.session, None, None
        return source, first.session, first.seq, last.seq

    def _reviewed(self) -> set[int]:
        """Returns the identities of the rows that have a verdict of this reviewer,
        for themselves and not as part of a range.
        """
        mine = (
            one
            for one in self.labels
            if one.kind == "verdict" and one.reviewer == self.reviewer and one.placed
        )
        rows = (self.rows_of(one) for one in mine)
        return {id(first) for first, last in rows if first is last}

    def _reviews_steps(self, steps: bool | None) -> bool:
        return len(self._roots) <= 1 if steps is None else steps

    def _items(self, steps: bool | None) -> Sequence[ReviewRow]:
        """Returns what is to be reviewed: sessions that no other started, or the calls that models made."""
        return self._calls if self._reviews_steps(steps) else self._roots

    @cached_property
    def _item_ids(self) -> Mapping[bool, frozenset[int]]:
        return {True: frozenset(map(id, self._calls)), False: frozenset(map(id, self._roots))}

    @cached_property
    def _calls(self) -> Sequence[Call]:
        return [call for call in self._trace.calls if call.level == "model" and call.live]

    def _stratum(self, row: ReviewRow) -> tuple[str, str]:
        session = row if isinstance(row, Session) else self.anchors.session_of(row)
        if isinstance(row, Session):
            return session.agent, outcome_of(session, self._calls_by_session[session.id])
        return session.agent, row.status if isinstance(row, Call) else ""

    def _verdicts_by_place(self) -> Mapping[str, Mapping[Place, str]]:
        values: dict[str, dict[Place, str]] = defaultdict(dict)
        for label in self.labels:
            if label.kind == "verdict" and label.placed:
                values[label.reviewer][place_of(label)] = label.value
        return values

    def _codes_by_place(self, code: str) -> Mapping[str, Mapping[Place, bool]]:
        values: dict[str, dict[Place, bool]] = defaultdict(dict)
        for label in (one for one in self.labels if one.placed):
            places = values[label.reviewer]
            places[place_of(label)] = places.get(place_of(label), False) or (
                label.kind in {"label", "code"} and label.value == code
            )
        return values

    @cached_property
    def signals(self) -> Rows[Signal]:
        """The signals of the trace. Raises ``TraceError`` where a log has changed since it was read."""
        return signals_of(self._trace)

    @cached_property
    def anchors(self) -> Anchors:
        """The anchors of the trace's rows."""
        return Anchors(self._trace)

    @property
    def _order(self) -> Mapping[str, int]:
        return {record.id: number for number, record in enumerate(self.file.records())}

    @cached_property
    def _roots(self) -> Sequence[Session]:
        return [session for session in self._trace.sessions if not session.parent]

    @cached_property
    def _calls_by_session(self) -> Mapping[str, Sequence[Call]]:
        calls: dict[str, list[Call]] = defaultdict(list)
        for call in self._trace.calls:
            calls[call.session].append(call)
        return calls

    @cached_property
    def _rows_by_step(self) -> Mapping[str, ReviewRow]:
        return rows_by_step(self._trace)

    @cached_property
    def _steps_by_row(self) -> Mapping[int, str]:
        return {id(row): step for step, row in self._rows_by_step.items()}


def review(trace: TraceRows) -> Review:
    """Returns the review of a trace: notes, labels and verdicts, the queue, rates and agreement.

    It is the same one until rows are added to the trace.
    """
    known: Review | None = trace.attachments.get("review")
    found = trace.attachments["review"] = Review(trace) if known is None else known.current()
    return found


def new_record(kind: Kind, target: Target, value: str, reviewer: str, about: str = "") -> Record:
    return Record(
        id=uuid.uuid4().hex,
        at=time.time(),
        reviewer=reviewer,
        kind=kind,
        value=value,
        about=about,
        target=target,
    )


def _last_verdicts(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Removes verdicts that were replaced: a copy of a log under another name has the same places."""
    last: dict[tuple[object, ...], Label] = {}
    for label in labels:
        verdict = label.kind == "verdict" and label.placed
        key = (label.reviewer, place_of(label), label.span) if verdict else (label.id,)
        last.pop(key, None)
        last[key] = label
    return tuple(last.values())


def place_of(label: Label) -> Place:
    """Returns what a label is about."""
    return label.source, label.session, label.seq, label.last_seq


def _checked_range(first: ReviewRow, last: ReviewRow) -> tuple[Step, Step]:
    if isinstance(first, Session) or isinstance(last, Session) or first.session != last.session:
        raise TraceError("A range begins and ends at steps of the same session.")
    return (first, last) if first.seq <= last.seq else (last, first)
