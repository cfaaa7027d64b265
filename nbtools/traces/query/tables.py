"""Converts rows to Arrow tables.

Column types are defined here, not guessed from the data, because logs are too heterogeneous.

A row's ``at`` is the column ``time``, because AT is a word of SQL; times are UTC. Each token count of a
session is a column. Every row has the path of its log in ``source``. A value that does not fit its column is
null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Literal, TypeAlias, cast

from nbtools.traces.model import (
    Call,
    ContextPart,
    Event,
    FileChange,
    Metric,
    Problem,
    RequestUsage,
    SampleResult,
    Session,
)
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.reader import LogFile
from nbtools.traces.reviews.records import Label, SessionStart, Signal
from nbtools.traces.row_texts import CALL_TEXTS, EVENT_TEXTS, text_of_event, texts_of_call
from nbtools.traces.usage.requests import TOKEN_KINDS, input_of
from nbtools.traces.usage.totals import Total

BATCH = 1_000
"""Number of rows that are read and converted at a time."""
ColumnType: TypeAlias = Literal["text", "texts", "numbers", "json", "number", "real", "flag", "time", "ref"]
Texts: TypeAlias = Callable[[Any, LogFile | None], Sequence[str | None]]

TABLES: dict[str, type] = {
    "sessions": Session,
    "events": Event,
    "calls": Call,
    "file_changes": FileChange,
    "problems": Problem,
    "usage": RequestUsage,
    "context": ContextPart,
    "samples": SampleResult,
    "metrics": Metric,
}
REVIEW_TABLES: dict[str, type] = {"labels": Label, "signals": Signal}
"""The tables that are made when a query names them."""
CORPUS_TABLES: dict[str, type] = {**TABLES, "signals": Signal, "session_starts": SessionStart}
"""The tables that a corpus stores."""
TOKEN_COLUMNS = {"uncached_input_tokens": "input"} | {
    f"{kind}_tokens": kind for kind in TOKEN_KINDS if kind != "input"
}
"""The columns of the fields of ``Tokens``; ``input_tokens`` is the sum of those that were sent."""
_TOKENS = " ".join(("input_tokens", *TOKEN_COLUMNS))


def _columns_of(table: str) -> dict[str, ColumnType]:
    """Reads a table of columns: each line has names, in order, and their type."""
    lines = (line.partition(":") for line in table.strip().splitlines())
    return {name: cast("ColumnType", kind.strip()) for names, _, kind in lines for name in names.split()}


COLUMNS: dict[type, dict[str, ColumnType]] = {
    Session: _columns_of(f"""
        id format format_version agent agent_version parent parent_call title cwd: text
        repository branch commit: text
        models: texts
        started ended: time
        records {_TOKENS}: number
        native_tokens: json
        cost: real
        flags: texts
        counts: json
        ref: ref
    """),
    Event: _columns_of("""
        session: text
        seq: number
        kind text: text
        size: number
        time: time
        role model: text
        turn: number
        live: flag
        key parent type: text
        ref: ref
    """),
    Call: _columns_of("""
        session id: text
        seq: number
        name op native_id level parent subject: text
        paths: texts
        time ended: time
        duration: real
        status status_source: text
        exit_code: number
        answered: flag
        result_size: number
        permission child: text
        turn: number
        live counted by_sub_agent has_failed: flag
        ref result_ref: ref
    """),
    FileChange: _columns_of("""
        session call path kind: text
        added removed: number
        basis: text
        applied: flag
    """),
    Problem: {"ref": "ref", "why": "text", "recovered": "number"},
    Label: _columns_of("""
        id session call: text
        seq last_seq: number
        step last_step kind value reviewer: text
        time: time
        span status about: text
        whole_session: flag
    """),
    Signal: _columns_of("""
        session kind: text
        seq last_seq: number
        seqs: numbers
        explanation: text
    """),
    SampleResult: _columns_of("""
        session id: text
        epoch: number
        input target answer explanation: text
        scores: json
        error limit_reached: text
        total_tokens scorer_tokens: number
        duration working_time: real
    """),
    Metric: _columns_of("""
        scorer name: text
        value: real
        reducer: text
        params scorer_params: json
        samples: number
    """),
    SessionStart: {"session": "text", "hashes": "texts"},
    Total: _columns_of("""
        name: text
        sessions calls failed_calls requests input_tokens output_tokens: number
        cost: real
        unpriced: number
        lower_bound: flag
    """),
    RequestUsage: _columns_of(f"""
        session: text
        seq last: number
        scope id model: text
        time: time
        turn: number
        live: flag
        {_TOKENS}: number
        cost: real
        flags: texts
        ref: ref
    """),
    ContextPart: _columns_of("""
        session: text
        seq: number
        call part name: text
        characters tokens_min tokens_max tokens_estimate requests cached_requests turn: number
        live proven: flag
    """),
}
"""The columns of each row type and their types, without texts."""

TEXTS: dict[type, tuple[str, ...]] = {Call: CALL_TEXTS, Event: EVENT_TEXTS}
"""Columns whose contents stay in the log: a call's arguments and output, the full text of an event."""

_ATTRIBUTES = {
    "time": "at",
    **{column: f"tokens.{name}" for column, name in TOKEN_COLUMNS.items()},
}
_LARGEST = 2**63


def arrow_table(rows: Sequence[Any], kind: type) -> Any:
    """Converts ``rows``, all of this type, to a ``pyarrow.Table`` with ``schema(kind)``."""
    batches = [
        record_batch(rows[start : start + BATCH], kind, readings) for start, readings in _batches(rows)
    ]
    return import_library("pyarrow").Table.from_batches(batches, schema(kind))


def arrow_without_texts(rows: Sequence[Any], kind: type) -> Any:
    """Converts rows like ``arrow_table``, but without the columns ``TEXTS``."""
    columns = _schema_without_texts(kind)
    batches = [
        _batch(_columns(rows[start : start + BATCH], kind, readings), columns)
        for start, readings in _batches(rows)
    ]
    return import_library("pyarrow").Table.from_batches(batches, columns)


def record_batch(
    rows: Sequence[Any], kind: type, readings: Sequence[LogFile | None], texts: Texts | None = None
) -> Any:
    """Returns a ``pyarrow.RecordBatch``; ``texts`` reads the texts of a row."""
    return _batch(_columns_with_texts(rows, kind, readings, texts or texts_of), schema(kind))


def columns_of(rows: Sequence[Any], kind: type) -> dict[str, list[Any]]:
    """Returns the columns of the table by name, texts included, as values of JSON; times in microseconds."""
    columns: dict[str, list[Any]] = {name: [] for name in kinds_of(kind)}
    for start, readings in _batches(rows):
        batch = _columns_with_texts(rows[start : start + BATCH], kind, readings, texts_of)
        for values, added in zip(columns.values(), batch, strict=True):
            values.extend(added)
    return columns


def kinds_of(kind: type) -> dict[str, ColumnType]:
    """Returns the types of all columns, by name and in order."""
    texts: dict[str, ColumnType] = {
        name: "json" if name == "args" else "text" for name in TEXTS.get(kind, ())
    }
    return {**COLUMNS[kind], "source": "text", **texts}


def arrow_columns(columns: list[list[Any]], kind: type) -> Any:
    """Returns a ``pyarrow.Table`` of the columns that ``columns_of`` returns."""
    return import_library("pyarrow").Table.from_batches([_batch(columns, schema(kind))])


def texts_of(row: Any, reading: LogFile | None) -> tuple[str, ...]:
    """Returns the contents of the columns ``TEXTS`` for a row."""
    return texts_of_call(row) if isinstance(row, Call) else (text_of_event(row, reading),)


@cache
def schema(kind: type) -> Any:
    """Returns the schema of the table for this row type: ``COLUMNS``, ``source``, ``TEXTS``."""
    pa = import_library("pyarrow")
    plain = _schema_without_texts(kind)
    return pa.schema([*plain, *(pa.field(name, pa.string()) for name in TEXTS.get(kind, ()))])


@cache
def _schema_without_texts(kind: type) -> Any:
    pa = import_library("pyarrow")
    number, text = pa.int64(), pa.string()
    ref = pa.struct(
        [("offset", number), ("length", number), ("line", number), ("file", number), ("member", text)]
    )
    time = pa.timestamp("us", tz="UTC")
    types: dict[ColumnType, Any] = {
        "text": text,
        "texts": pa.list_(text),
        "numbers": pa.list_(number),
        "json": text,
        "number": number,
        "real": pa.float64(),
        "flag": pa.bool_(),
        "time": time,
        "ref": ref,
    }
    fields = [pa.field(name, types[held]) for name, held in COLUMNS[kind].items()]
    return pa.schema([*fields, pa.field("source", text)])


def _batches(rows: Sequence[Any]) -> Iterator[tuple[int, Sequence[LogFile | None]]]:
    readings: Sequence[LogFile | None] = getattr(rows, "log_files", ())
    if len(readings) != len(rows):
        origins = (getattr(row, "origin", None) for row in rows)
        readings = [origin if isinstance(origin, LogFile) else None for origin in origins]
    for start in range(0, len(rows), BATCH):
        yield start, readings[start : start + BATCH]


def _columns(rows: Sequence[Any], kind: type, readings: Sequence[LogFile | None]) -> list[list[Any]]:
    columns: list[list[Any]] = []
    for name, held in COLUMNS[kind].items():
        getter = attrgetter(name) if kind is Total else _getter(name)
        values, convert = map(getter, rows), _CONVERTERS.get(held)
        columns.append(list(map(convert, values) if convert else values))
    return [*columns, [None if reading is None else str(reading.source.path) for reading in readings]]


def _columns_with_texts(
    rows: Sequence[Any], kind: type, readings: Sequence[LogFile | None], texts: Texts
) -> list[list[Any]]:
    columns = _columns(rows, kind, readings)
    if kind in TEXTS:
        found = [*map(texts, rows, readings)]
        columns += [[one[place] for one in found] for place in range(len(TEXTS[kind]))]
    return columns


@cache
def _getter(column: str) -> Callable[[Any], Any]:
    if column == "input_tokens":
        return lambda row: input_of(row.tokens)
    return attrgetter(_ATTRIBUTES.get(column, column))


def _batch(columns: list[list[Any]], fields: Any) -> Any:
    arrays = [_array(values, field.type) for values, field in zip(columns, fields, strict=True)]
    return import_library("pyarrow").RecordBatch.from_arrays(arrays, schema=fields)


def _array(values: list[Any], type_: Any) -> Any:
    pa = import_library("pyarrow")
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):
        return pa.array([_fit(value, type_) for value in values], type_)


def _fit(value: Any, type_: Any) -> Any:
    """Returns the part of a value that fits its column:
    text with unpaired surrogates replaced, None for a value of another type.
    """
    pa = import_library("pyarrow")
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
    elif isinstance(value, list):
        value = [str(one).encode("utf-8", "replace").decode() for one in value]
    try:
        pa.scalar(value, type_)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):
        return None
    return value


def _microseconds(at: Any) -> int | None:
    if not isinstance(at, int | float) or not -_LARGEST < at * 1e6 < _LARGEST:
        return None
    return round(at * 1e6)


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _ref_struct(ref: Any) -> dict[str, Any]:
    return {name: getattr(ref, name) for name in ("offset", "length", "line", "file", "member")}


_CONVERTERS: dict[ColumnType, Callable[[Any], Any]] = {
    "texts": list,
    "numbers": list,
    "json": _json,
    "time": _microseconds,
    "ref": _ref_struct,
}
