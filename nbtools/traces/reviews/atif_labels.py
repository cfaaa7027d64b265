"""Labels in ATIF: under ``extra.nbtools.labels`` of a trajectory, a step or a tool call.

A range begins where its label is, and ends at the step or call whose ``extra.nbtools.label_ends`` name the
label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from nbtools.core.decoders import converted, decoder_of
from nbtools.traces.atif_extra import KEY, LabelEnd, LabelExtra
from nbtools.traces.json_access import mapping, mappings
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.reviews.anchors import Step
from nbtools.traces.reviews.exchange import Imported, is_valid
from nbtools.traces.reviews.records import Label, Record, ReviewRow
from nbtools.traces.reviews.review import new_record, review
from nbtools.traces.reviews.visible_labels import visible_labels
from nbtools.traces.source import DECODE_ERRORS

if TYPE_CHECKING:
    from nbtools.traces.trace_rows import TraceRows

_MOST = 1_000
"""Maximum number of labels of one row."""


@dataclass(frozen=True)
class ExportedLabels:
    """The labels that begin at each row, and the ends of those about ranges, by the row's identity."""

    starts: Mapping[int, Sequence[LabelExtra]]
    ends: Mapping[int, Sequence[LabelEnd]]

    def fields(self, row: ReviewRow) -> dict[str, Any]:
        """Returns what is stored in the ``extra`` of a row."""
        values = {
            "labels": tuple(self.starts.get(id(row), ())),
            "label_ends": tuple(self.ends.get(id(row), ())),
        }
        return {name: value for name, value in values.items() if value}


NO_LABELS = ExportedLabels({}, {})


def labels_by_row(trace: TraceRows, is_exported: Callable[[Step], bool]) -> ExportedLabels:
    """Returns the labels of the rows that are exported.
    Of a range, rows at its ends that are not exported are left out.
    """
    starts: dict[int, list[LabelExtra]] = defaultdict(list)
    ends: dict[int, list[LabelEnd]] = defaultdict(list)
    for label in visible_labels(trace)[0]:
        first, last = _exported(trace, label, is_exported)
        if first is not None and label.kind != "withdrawn":
            extra = LabelExtra(
                id=label.id,
                kind=label.kind,
                value=label.value,
                reviewer=label.reviewer,
                at=label.at,
                about=label.about,
                span=label.span,
                range=last is not None,
                reasoning=_is_reasoning(first),
            )
            starts[id(first)].append(extra)
        if last is not None:
            ends[id(last)].append(LabelEnd(id=label.id, reasoning=_is_reasoning(last)))
    return ExportedLabels(starts, ends)


def _exported(
    trace: TraceRows, label: Label, is_exported: Callable[[Step], bool]
) -> tuple[ReviewRow | None, Step | None]:
    """Returns the first row of a label, and the last one of a label about several."""
    first, last = review(trace).rows_of(label)
    if first is None or isinstance(first, Session) or isinstance(last, Session) or last is None:
        return first, None
    if first is last:
        return (first if is_exported(first) else None), None
    steps = [row for row in review(trace).anchors.steps_between(first, last) if is_exported(row)]
    if not steps:
        return None, None
    return steps[0], steps[-1] if len(steps) > 1 else None


def _is_reasoning(row: ReviewRow) -> bool:
    return isinstance(row, Event) and row.kind == "thinking"


def read_atif_labels(trace: TraceRows) -> Imported:
    """Imports the labels that an ATIF log contains, as records about the rows of ``trace``.
    Raises ``TraceError``.

    A label about a range whose end the log does not name is refused.
    """
    known = {record.id for record in review(trace).file.records()}
    records: dict[str, Record] = {}
    repeated = 0
    recorded = _recorded_labels(trace)
    refused = recorded.refused
    for extra, first in recorded.labels:
        if extra.id in known or extra.id in records:
            repeated += 1
        elif (record := _record(trace, extra, first, recorded.ends.get(extra.id))) is None:
            refused += 1
        else:
            records[record.id] = record
    if records:
        review(trace).file.append(records.values())
    return Imported(len(records), repeated, refused)


def _record(trace: TraceRows, extra: LabelExtra, first: ReviewRow, end: Step | None) -> Record | None:
    last = end if extra.range else None
    if extra.range and (
        last is None or isinstance(first, Session) or not review(trace).anchors.is_range(first, last)
    ):
        return None
    try:
        target = review(trace).anchors.target(first, last, extra.span)
        record = new_record(extra.kind, target, extra.value, extra.reviewer, about=extra.about)
        record = msgspec.structs.replace(record, id=extra.id, at=extra.at)
        decoder_of(Record).decode(msgspec.json.encode(record))
    except DECODE_ERRORS:
        return None
    return record if is_valid(record) else None


@dataclass
class _Recorded:
    """The labels that a log contains, with the rows where they begin and end.
    ``refused`` counts what is no label.
    """

    labels: list[tuple[LabelExtra, ReviewRow]] = field(default_factory=list)
    ends: dict[str, Step] = field(default_factory=dict)
    refused: int = 0


class _Owner(NamedTuple):
    """A trajectory, a step or a tool call, and its rows:
    of a step those of its messages, or its first call where it has none.
    """

    record: Mapping[str, Any]
    rows: Sequence[ReviewRow]

    def row(self, *, reasoning: bool) -> ReviewRow:
        return next((row for row in self.rows if _is_reasoning(row) == reasoning), self.rows[0])


def _recorded_labels(trace: TraceRows) -> _Recorded:
    found = _Recorded()
    for owner in _owners(trace):
        ours = mapping(mapping(owner.record.get("extra")).get(KEY))
        for value in _values(ours, "labels"):
            try:
                extra = converted(value, LabelExtra)
            except DECODE_ERRORS:
                found.refused += 1
            else:
                found.labels.append((extra, owner.row(reasoning=extra.reasoning)))
        for value in _values(ours, "label_ends"):
            try:
                end = converted(value, LabelEnd)
            except DECODE_ERRORS:
                found.refused += 1
            else:
                row = owner.row(reasoning=end.reasoning)
                if not isinstance(row, Session):
                    found.ends.setdefault(end.id, row)
    return found


def _values(ours: Mapping[str, Any], name: str) -> Sequence[Any]:
    values = ours.get(name)
    return values[:_MOST] if isinstance(values, list) else ()


def _owners(trace: TraceRows) -> Iterator[_Owner]:
    """Yields the trajectories, steps and tool calls of the ATIF logs of a trace."""
    steps: dict[tuple[int, int, int], tuple[Mapping[str, Any], list[ReviewRow]]] = {}
    rows: list[ReviewRow] = [*trace.sessions, *trace.events, *trace.calls]
    for row in rows:
        log = review(trace).anchors.log_of(row)
        if log is None or log.format.name != "atif" or not row.ref.length:
            continue
        if isinstance(row, Session):
            yield _Owner(mapping(log.source.record(row.ref)), [row])
            continue
        key = id(log), row.ref.file, row.ref.offset
        if key not in steps:
            steps[key] = mapping(log.source.record(row.ref)), [row]
        elif isinstance(row, Event):
            steps[key][1].append(row)
        if isinstance(row, Call):
            calls = mappings(steps[key][0].get("tool_calls"))
            number = row.id.rpartition(".")[2]
            if number.isdigit() and int(number) < len(calls):
                yield _Owner(calls[int(number)], [row])
    for record, own in steps.values():
        yield _Owner(record, own)
