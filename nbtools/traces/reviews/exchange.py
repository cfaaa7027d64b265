"""Exchanges reviews with other tools: CSV for validation sets of Inspect Scout,
and JSON lines for datasets and other reviewers.

Files that are imported are untrusted: what does not fit is counted and left out.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.core.redaction import Redactor
from nbtools.core.secret_variables import secret_variables
from nbtools.traces.model import Call, Session
from nbtools.traces.reviews.records import Label, Record, ReviewRow
from nbtools.traces.reviews.review import new_record, review
from nbtools.traces.reviews.visible_labels import visible_labels
from nbtools.traces.source import DECODE_ERRORS

if TYPE_CHECKING:
    from nbtools.traces.trace_rows import TraceRows

_MAX_BYTES = 100 << 20
_MAX_LINE = 1 << 20
_CODE = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
_VERDICTS = {"true": "pass", "false": "fail", "pass": "pass", "fail": "fail", "defer": "defer"}
_TRUE, _FALSE = frozenset({"true", "1"}), frozenset({"false", "0", ""})
_SHARED_KINDS = frozenset({"note", "label", "verdict", "code"})


class Imported(NamedTuple):
    """``added`` records are new in the label file, ``known`` ones were there;
    ``refused`` lines or cells did not fit.
    """

    added: int
    known: int
    refused: int


def write_scout_csv(
    trace: TraceRows, path: str | Path, what: Literal["labels", "verdicts"] = "labels", reviewer: str = ""
) -> Path:
    """Writes a validation set for ``inspect_scout.validation_set``, with one row for each reviewed session,
    by its id.

    ``labels`` writes columns ``label_…`` with true or false for each code, which a session has if it or one
    of its steps has it. ``verdicts`` writes ``target``: true for *pass*, false for *fail*; deferred sessions
    are left out. ``reviewer`` is whose records to write, by default everybody's; of several verdicts on a
    session the last one counts. Raises ``TraceError``.
    """
    labels = [
        label
        for label in visible_labels(trace)[0]
        if label.placed and (not reviewer or label.reviewer == reviewer)
    ]
    rows = _label_rows(trace, labels) if what == "labels" else _verdict_rows(labels)
    target = Path(path).expanduser()
    try:
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    except OSError as error:
        raise TraceError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def _label_rows(trace: TraceRows, labels: Sequence[Label]) -> Iterator[Sequence[str]]:
    values = {label.value for label in labels if label.kind in {"label", "code"}}
    codes = [*dict.fromkeys([code.name for code in review(trace).book.codes] + sorted(values))]
    yield ["id", *(f"label_{code}" for code in codes)]
    for session in dict.fromkeys(label.session for label in labels):
        own = {
            label.value for label in labels if label.session == session and label.kind in {"label", "code"}
        }
        yield [_scout_id(session), *("true" if code in own else "false" for code in codes)]


def _verdict_rows(labels: Sequence[Label]) -> Iterator[Sequence[str]]:
    yield ["id", "target"]
    last = {label.session: label.value for label in labels if label.kind == "verdict" and label.whole_session}
    yield from (
        [_scout_id(session), "true" if value == "pass" else "false"]
        for session, value in last.items()
        if value != "defer"
    )


def _scout_id(session: str) -> str:
    """Returns the id as Scout reads it: it splits an id at commas unless it is a JSON list."""
    return json.dumps([session]) if "," in session or session.strip().startswith("[") else session


def read_scout_csv(trace: TraceRows, path: str | Path, reviewer: str = "") -> Imported:
    """Imports a validation set of Inspect Scout about sessions of ``trace``, as records of ``reviewer``.
    Raises ``TraceError``.

    Cells of ``label_…`` that are true become labels, ``target`` becomes a verdict.
    Sessions that the trace does not have are refused.
    """
    sessions: dict[str, Session] = {}
    for session in trace.sessions:
        sessions.setdefault(session.id, session)
    present = {
        (label.session, label.kind, label.value, label.reviewer)
        for label in review(trace).labels
        if label.whole_session
    }
    name = reviewer or review(trace).reviewer
    records: list[Record] = []
    known = refused = 0
    for row in _csv_rows(path):
        found, bad = _scout_values(row)
        refused += bad
        for session_id in _ids(row.get("id") or ""):
            refused += session_id not in sessions
            for kind, value in found if session_id in sessions else ():
                if (session_id, kind, value, name) in present:
                    known += 1
                else:
                    present.add((session_id, kind, value, name))
                    records.append(
                        new_record(kind, review(trace).anchors.target(sessions[session_id]), value, name)
                    )
    if records:
        review(trace).file.append(records)
    return Imported(len(records), known, refused)


def _scout_values(row: Mapping[str, str | None]) -> tuple[list[tuple[Literal["label", "verdict"], str]], int]:
    """Returns the labels and the verdict of a row,
    and the number of cells that have no value that we know.
    """
    found: list[tuple[Literal["label", "verdict"], str]] = []
    refused = 0
    for column, cell in row.items():
        value = (cell or "").strip().lower()
        code = column.removeprefix("label_")
        if code != column:
            if value in _TRUE and _CODE.fullmatch(code):
                found.append(("label", code))
            else:
                refused += value not in _FALSE
        elif column == "target":
            if value in _VERDICTS:
                found.append(("verdict", _VERDICTS[value]))
            else:
                refused += bool(value)
    return found, refused


def _ids(cell: str) -> list[str]:
    if cell.strip().startswith("["):
        try:
            return msgspec.json.decode(cell, type=list[str])
        except DECODE_ERRORS:
            return [cell]
    return [part.strip() for part in cell.split(",")]


def _csv_rows(path: str | Path) -> Iterator[Mapping[str, str | None]]:
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise TraceError(f"{file} is too large to import (more than {_MAX_BYTES:,} bytes).")
        with file.open(newline="", encoding="utf-8-sig", errors="replace") as opened:
            reader = csv.DictReader(opened, restkey="", strict=False)
            if "id" not in (reader.fieldnames or ()):
                raise TraceError(f"{file} is not a validation set: it has no column id.")
            for row in reader:
                yield {name: cell for name, cell in row.items() if name and isinstance(cell, str)}
    except OSError as error:
        raise TraceError(f"{file} cannot be read: {error.strerror or error}.") from error
    except csv.Error as error:
        raise TraceError(f"{file} is not CSV: {error}.") from error


def write_jsonl(trace: TraceRows, path: str | Path, reviewer: str = "") -> Path:
    """Writes the labels in force as JSON lines:
    each with its session, its step, the beginning of its text, and its anchor.

    Known secrets are removed from texts. ``read_jsonl`` imports the file. Raises ``TraceError``.
    """
    redactor = Redactor.of(secret_variables(os.environ))
    lines = [
        _dataset_line(trace, label, redactor)
        for label in review(trace).labels
        if not reviewer or label.reviewer == reviewer
    ]
    target = Path(path).expanduser()
    try:
        target.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    except OSError as error:
        raise TraceError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def _dataset_line(trace: TraceRows, label: Label, redactor: Redactor) -> dict[str, Any]:
    row = review(trace).rows_of(label)[0]
    session = next((one for one in trace.sessions if one.id == label.session), None)
    record = review(trace).record(label)
    return {
        **msgspec.to_builtins(record),
        "value": redactor.text(label.value),
        "status": label.status,
        "session": label.session,
        "agent": session.agent if session else "",
        "model": session.models[0] if session and session.models else "",
        "step": label.step,
        "last_step": label.last_step,
        **({} if row is None else {"text": redactor.text(_text_of(row))}),
        **({"tool": row.name, "op": row.op, "outcome": row.status} if isinstance(row, Call) else {}),
    }


def _text_of(row: ReviewRow) -> str:
    if isinstance(row, Session):
        return row.title
    return row.subject if isinstance(row, Call) else row.text


def read_jsonl(trace: TraceRows, path: str | Path) -> Imported:
    """Imports records that ``write_jsonl`` wrote, for logs on this machine or elsewhere.
    Raises ``TraceError``.

    A record that the label file has already, by its id, is not imported again; withdrawals are refused.
    """
    file = Path(path).expanduser()
    decoder = decoder_of(Record)
    known = {record.id for record in review(trace).file.records()}
    records: dict[str, Record] = {}
    repeated = refused = 0
    try:
        with file.open("rb") as opened:
            while line := opened.readline(_MAX_LINE):
                try:
                    record = decoder.decode(line)
                except DECODE_ERRORS:
                    refused += bool(line.strip())
                    continue
                if not is_valid(record):
                    refused += 1
                elif record.id in known or record.id in records:
                    repeated += 1
                else:
                    records[record.id] = record
    except OSError as error:
        raise TraceError(f"{file} cannot be read: {error.strerror or error}.") from error
    if records:
        review(trace).file.append(records.values())
    return Imported(len(records), repeated, refused)


def is_valid(record: Record) -> bool:
    """Returns whether an imported record could have been written here."""
    if record.kind not in _SHARED_KINDS:
        return False
    if record.kind == "verdict":
        return record.value in {"pass", "fail", "defer"}
    return record.kind == "note" or _CODE.fullmatch(record.value) is not None
