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
from typing import Any, Literal, TypeAlias

from nbtools.traces.model import (
    Call,
    ContextPart,
    Event,
    FileChange,
    Problem,
    RequestUsage,
    SampleResult,
    Session,
)
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.reader import LogFile
from nbtools.traces.review.model import Label, SessionStart, Signal
from nbtools.traces.row_texts import CALL_TEXTS, EVENT_TEXTS, text_of_event, texts_of_call
from nbtools.traces.usage.requests import TOKEN_KINDS

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
}
CORPUS_TABLES: dict[str, type] = {**TABLES, "signals": Signal, "session_starts": SessionStart}
"""The tables that a corpus stores."""
_TOKENS = tuple(f"{kind}_tokens" for kind in TOKEN_KINDS)

COLUMNS: dict[type, dict[str, ColumnType]] = {
    Session: {
        **dict.fromkeys(
            (
                "id",
                "format",
                "format_version",
                "agent",
                "agent_version",
                "parent",
                "parent_call",
                "title",
                "cwd",
            ),
            "text",
        ),
        **dict.fromkeys(("repository", "branch", "commit"), "text"),
        "models": "texts",
        "started": "time",
        "ended": "time",
        "records": "number",
        **dict.fromkeys(_TOKENS, "number"),
        "native_tokens": "json",
        "cost": "real",
        "flags": "texts",
        "counts": "json",
        "ref": "ref",
    },
    Event: {
        "session": "text",
        "seq": "number",
        "kind": "text",
        "text": "text",
        "size": "number",
        "time": "time",
        "role": "text",
        "model": "text",
        "turn": "number",
        "live": "flag",
        "key": "text",
        "parent": "text",
        "type": "text",
        "ref": "ref",
    },
    Call: {
        "session": "text",
        "id": "text",
        "seq": "number",
        **dict.fromkeys(("name", "op", "native_id", "level", "parent", "subject"), "text"),
        "paths": "texts",
        "time": "time",
        "ended": "time",
        "duration": "real",
        "status": "text",
        "status_source": "text",
        "exit_code": "number",
        "answered": "flag",
        "result_size": "number",
        "permission": "text",
        "child": "text",
        "turn": "number",
        "live": "flag",
        "counted": "flag",
        "ref": "ref",
        "result_ref": "ref",
    },
    FileChange: {
        **dict.fromkeys(("session", "call", "path", "kind"), "text"),
        "added": "number",
        "removed": "number",
        "basis": "text",
        "applied": "flag",
    },
    Problem: {"ref": "ref", "why": "text", "recovered": "number"},
    Label: {
        **dict.fromkeys(("id", "session", "call"), "text"),
        "seq": "number",
        "last_seq": "number",
        **dict.fromkeys(("step", "last_step", "kind", "value", "reviewer"), "text"),
        "time": "time",
        **dict.fromkeys(("span", "status", "about"), "text"),
        "whole_session": "flag",
    },
    Signal: {
        "session": "text",
        "kind": "text",
        "seq": "number",
        "last_seq": "number",
        "seqs": "numbers",
        "explanation": "text",
    },
    SampleResult: {
        "session": "text",
        "id": "text",
        "epoch": "number",
        "scores": "json",
        "error": "text",
        "limit_reached": "text",
        "total_tokens": "number",
        "duration": "real",
        "working_time": "real",
    },
    SessionStart: {"session": "text", "hashes": "texts"},
    RequestUsage: {
        "session": "text",
        "seq": "number",
        "last": "number",
        "scope": "text",
        "id": "text",
        "model": "text",
        "time": "time",
        "turn": "number",
        "live": "flag",
        **dict.fromkeys(_TOKENS, "number"),
        "cost": "real",
        "flags": "texts",
        "ref": "ref",
    },
    ContextPart: {
        "session": "text",
        "seq": "number",
        "call": "text",
        "part": "text",
        "name": "text",
        "characters": "number",
        "tokens_min": "number",
        "tokens_max": "number",
        "requests": "number",
        "cached_requests": "number",
        "turn": "number",
        "live": "flag",
    },
}
"""The columns of each row type and their types, without texts."""

TEXTS: dict[type, tuple[str, ...]] = {Call: CALL_TEXTS, Event: EVENT_TEXTS}
"""Columns whose contents stay in the log: a call's arguments and output, the full text of an event."""

_ATTRIBUTES = {
    "time": "at",
    **{f"{name}_tokens": f"tokens.{name}" for name in TOKEN_KINDS},
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
    columns = _columns(rows, kind, readings)
    if kind in TEXTS:
        read = texts or texts_of
        found = [read(row, reading) for row, reading in zip(rows, readings, strict=True)]
        columns += (
            [list(column) for column in zip(*found, strict=True)] if found else [[] for _ in TEXTS[kind]]
        )
    return _batch(columns, schema(kind))


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
    types = _arrow_types()
    return pa.schema(
        [
            *(pa.field(name, types[held]) for name, held in COLUMNS[kind].items()),
            pa.field("source", pa.string()),
        ]
    )


@cache
def _arrow_types() -> dict[ColumnType, Any]:
    pa = import_library("pyarrow")
    number, text = pa.int64(), pa.string()
    ref = pa.struct(
        [("offset", number), ("length", number), ("line", number), ("file", number), ("member", text)]
    )
    time = pa.timestamp("us", tz="UTC")
    return {
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


def _batches(rows: Sequence[Any]) -> Iterator[tuple[int, Sequence[LogFile | None]]]:
    readings: Sequence[LogFile | None] = getattr(rows, "log_files", ())
    if len(readings) != len(rows):
        readings = [
            origin if isinstance(origin := getattr(row, "origin", None), LogFile) else None for row in rows
        ]
    for start in range(0, len(rows), BATCH):
        yield start, readings[start : start + BATCH]


def _columns(rows: Sequence[Any], kind: type, readings: Sequence[LogFile | None]) -> list[list[Any]]:
    columns = [
        [_CONVERTERS[held](value) for value in map(_getter(name), rows)]
        for name, held in COLUMNS[kind].items()
    ]
    return [*columns, [None if reading is None else str(reading.source.path) for reading in readings]]


@cache
def _getter(column: str) -> Callable[[Any], Any]:
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


def _unchanged(value: Any) -> Any:
    return value


def _microseconds(at: Any) -> int | None:
    if not isinstance(at, int | float) or not -_LARGEST < at * 1e6 < _LARGEST:
        return None
    return round(at * 1e6)


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _ref_struct(ref: Any) -> dict[str, Any]:
    return {
        "offset": ref.offset,
        "length": ref.length,
        "line": ref.line,
        "file": ref.file,
        "member": ref.member,
    }


_CONVERTERS: dict[ColumnType, Callable[[Any], Any]] = {
    "text": _unchanged,
    "texts": list,
    "numbers": list,
    "json": _json,
    "number": _unchanged,
    "real": _unchanged,
    "flag": _unchanged,
    "time": _microseconds,
    "ref": _ref_struct,
}
