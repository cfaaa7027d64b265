"""Exports the tables of a trace, those of ``Trace.sql``, as CSV or Parquet files in a folder."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.export.removal import Patterns, Removal, removal_for, without_secrets
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.tables import TABLES, arrow_columns, columns_of, kinds_of
from nbtools.traces.trace import Trace

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Write = Callable[[Path, type, Mapping[str, list[Any]]], None]


def write_csv(
    trace: Trace,
    folder: str | os.PathLike[str],
    *,
    redact: Patterns = (),
    keep: Collection[str] = (),
    home: bool = False,
) -> Path:
    """Writes a CSV file for each table of ``Trace.sql`` that has rows into a folder, which is created.
    Lists and objects are JSON, times are in ISO 8601, unknown values are empty.

    Secrets are removed as by ``write_atif``, which explains ``redact``, ``keep`` and ``home``. Returns the
    folder. Raises ``TraceError``, and ``OSError`` where a file cannot be written.
    """
    return _write(trace, folder, _write_csv, removal_for(trace.sessions, redact, keep, home=home))


def write_parquet(
    trace: Trace,
    folder: str | os.PathLike[str],
    *,
    redact: Patterns = (),
    keep: Collection[str] = (),
    home: bool = False,
) -> Path:
    """Writes Parquet files as ``write_csv`` writes CSV, with the columns and types of ``Trace.sql``.
    Raises ``TraceError`` also where pyarrow is not installed.
    """
    import_library("pyarrow.parquet")
    return _write(trace, folder, _write_parquet, removal_for(trace.sessions, redact, keep, home=home))


def _write(trace: Trace, folder: str | os.PathLike[str], write: Write, removal: Removal) -> Path:
    rows = {name: getattr(trace, name) for name in TABLES}
    found = {name: columns_of(table, TABLES[name]) for name, table in rows.items() if len(table)}
    cleaned = _without_secrets(found, removal)  # all of them are searched before a file is written
    target = Path(folder).expanduser()
    if target.exists() and not target.is_dir():
        raise TraceError(f"{target} is a file. Name a folder: each table is a file of its own.")
    target.mkdir(parents=True, exist_ok=True)
    for name, columns in cleaned.items():
        write(target / name, TABLES[name], columns)
    return target


def _without_secrets(
    tables: Mapping[str, Mapping[str, list[Any]]], removal: Removal
) -> dict[str, dict[str, list[Any]]]:
    """Returns the tables without secrets. A column of JSON is searched as a text, where the name before a
    value tells that it is a secret, and as values, without the escapes of JSON.
    """
    cleaned = {}
    parsed = {
        name: {column: _parsed(values) for column, values in table.items() if _is_json(name, column)}
        for name, table in tables.items()
    }
    texts = without_secrets([*tables.values(), *parsed.values()], removal)
    for at, name in enumerate(tables):
        values = {column: [_json(one) for one in cells] for column, cells in texts[len(tables) + at].items()}
        again = without_secrets([values], removal)[0]
        cleaned[name] = {**texts[at], **again}
    return cleaned


def _is_json(table: str, column: str) -> bool:
    return kinds_of(TABLES[table]).get(column) == "json"


def _parsed(values: Sequence[str | None]) -> list[Any]:
    return [None if value is None else json.loads(value) for value in values]


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _write_csv(path: Path, kind: type, columns: Mapping[str, list[Any]]) -> None:
    kinds = kinds_of(kind)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value, kinds[name]) for name, value in zip(columns, row, strict=True)])
    path.with_suffix(".csv").write_bytes(text.getvalue().encode("utf-8", "replace"))


def _cell(value: Any, kind: str) -> Any:
    if value is None or kind in {"text", "number", "real", "json"}:
        return value
    if kind == "flag":
        return "true" if value else "false"
    if kind == "time":
        try:
            return (_EPOCH + timedelta(microseconds=value)).isoformat()
        except OverflowError:
            return None
    return json.dumps(value, ensure_ascii=False)


def _write_parquet(path: Path, kind: type, columns: Mapping[str, list[Any]]) -> None:
    parquet = import_library("pyarrow.parquet")
    parquet.write_table(arrow_columns([*columns.values()], kind), path.with_suffix(".parquet"))
