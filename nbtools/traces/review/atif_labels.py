"""Labels in ATIF: under ``extra.nbtools.labels`` of a trajectory, a step or a tool call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from nbtools.traces.atif_extra import KEY, LabelExtra
from nbtools.traces.json_access import mapping, mappings
from nbtools.traces.model import Call, Session
from nbtools.traces.review.exchange import Imported, is_valid
from nbtools.traces.review.model import Record, ReviewRow
from nbtools.traces.review.review import new_record
from nbtools.traces.source import DECODE_ERRORS

if TYPE_CHECKING:
    from nbtools.traces.trace import Trace

_MOST = 1_000
"""Maximum number of labels of one row."""


def labels_by_row(trace: Trace) -> Mapping[int, Sequence[LabelExtra]]:
    """Returns the labels of each row, by the row's identity. A range is at its first step, with the number of its steps."""
    found: dict[int, list[LabelExtra]] = defaultdict(list)
    for label in trace.labels:
        first, _ = trace.review.rows_of(label)
        if first is not None and label.kind != "withdrawn":
            extra = LabelExtra(
                id=label.id,
                kind=label.kind,
                value=label.value,
                reviewer=label.reviewer,
                at=label.at,
                about=label.about,
                span=label.span,
                steps=1 if label.seq is None or label.last_seq is None else label.last_seq - label.seq + 1,
            )
            found[id(first)].append(extra)
    return found


def read_atif_labels(trace: Trace) -> Imported:
    """Imports the labels that an ATIF log contains, as records about the rows of ``trace``. Raises ``TraceError``.

    A range is imported as a label of its first step, because positions in ATIF are others than in the log it was made from.
    """
    known = {record.id for record in trace.review.file.records()}
    records: dict[str, Record] = {}
    repeated = refused = 0
    for row, values in _rows_with_labels(trace):
        for value in values:
            record = _record(trace, row, value)
            if record is None:
                refused += 1
            elif record.id in known or record.id in records:
                repeated += 1
            else:
                records[record.id] = record
    if records:
        trace.review.file.append(records.values())
    return Imported(len(records), repeated, refused)


def _record(trace: Trace, row: ReviewRow, value: Any) -> Record | None:
    try:
        extra = msgspec.convert(value, LabelExtra)
        record = new_record(extra.kind, trace.review.anchors.target(row, span=extra.span), extra.value, extra.reviewer, about=extra.about)
        record = msgspec.structs.replace(record, id=extra.id, at=extra.at)
        msgspec.json.decode(msgspec.json.encode(record), type=Record)
    except DECODE_ERRORS:
        return None
    return record if is_valid(record) else None


def _rows_with_labels(trace: Trace) -> Iterator[tuple[ReviewRow, Sequence[Any]]]:
    steps: set[tuple[int, int]] = set()
    rows: list[ReviewRow] = [*trace.sessions, *trace.calls, *trace.events]
    for row in rows:
        log = trace.review.anchors.log_of(row)
        if log is None or log.format.name != "atif" or not row.ref.length:
            continue
        owner = mapping(log.source.record(row.ref))
        if isinstance(row, Call):
            calls = mappings(owner.get("tool_calls"))
            number = row.id.rpartition(".")[2]
            owner = calls[int(number)] if number.isdigit() and int(number) < len(calls) else {}
        elif not isinstance(row, Session):
            if (row.ref.file, row.ref.offset) in steps:
                continue
            steps.add((row.ref.file, row.ref.offset))
        values = mapping(mapping(owner.get("extra")).get(KEY)).get("labels")
        if isinstance(values, list) and values:
            yield row, values[:_MOST]
