"""SQL queries over rows, with DuckDB: ``select name, count(*) from calls group by name``,
and their results, which are displayed as script-free HTML tables.

Uses only those parts of DuckDB that are stable between releases:
``sql(query).to_arrow_table()``, registered tables, functions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Lock
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.formats import formats
from nbtools.traces.html import render
from nbtools.traces.model import Session
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.tables import (
    REVIEW_TABLES,
    TABLES,
    TEXTS,
    ColumnType,
    arrow_without_texts,
    schema,
    texts_of,
)
from nbtools.traces.rows import Rows

MAX_ROWS = 50
"""Maximum number of rows in the table."""
_CELL = 200
_TOOLTIP = 2_000
"""Maximum number of characters in a tooltip; fifty long outputs would make a notebook large."""
_NUMBERS = (int, float, Decimal, timedelta)
_EXPONENT_FROM = 1e6
"""Numbers from here on would be written with an exponent at six digits."""


SESSION_COUNTS: dict[str, ColumnType] = dict.fromkeys(
    ("calls", "nested_calls", "failed_calls", "errors", "edits", "added_lines", "removed_lines"), "number"
)
"""The columns that ``sessions`` has in SQL only: numbers of the session, by ``counts.DEFINITIONS``."""
_WITH_COUNTS = """
select s.*, coalesce(c.calls, 0) as calls, coalesce(c.nested_calls, 0) as nested_calls,
  if(coalesce(c.failed, 0) = 0 and s.format in ({silent}), null, coalesce(c.failed, 0)) as failed_calls,
  coalesce(e.errors, 0) as errors, coalesce(f.edits, 0) as edits, f.added_lines, f.removed_lines
from {sessions} s
left join (
  select source, session, count(has_failed) as calls, count(*) filter (has_failed) as failed,
    count(*) filter (live and has_failed is null) as nested_calls
  from {calls} group by all
) c on c.source is not distinct from s.source and c.session = s.id
left join (
  select source, session, count(*) as errors from {events} where kind = 'error' and text <> '' group by all
) e on e.source is not distinct from s.source and e.session = s.id
left join (
  select source, session, count(*) as edits, sum(added)::bigint as added_lines,
    sum(removed)::bigint as removed_lines
  from file_changes where applied group by all
) f on f.source is not distinct from s.source and f.session = s.id
"""
"""Adds ``SESSION_COUNTS`` to sessions."""


class QueryResult:
    """The result of a query."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns the rows as tuples of Python values; times have the zone UTC."""
        return list(zip(*(column.to_pylist() for column in self._table.columns), strict=True))

    def to_arrow(self) -> Any:
        """Returns a ``pyarrow.Table``."""
        return self._table

    def to_pandas(self) -> Any:
        """Returns a ``pandas.DataFrame``."""
        import_library("pandas")
        return self._table.to_pandas()

    def to_polars(self) -> Any:
        """Returns a ``polars.DataFrame``."""
        return import_library("polars").from_arrow(self._table)

    def __repr__(self) -> str:
        return f"<QueryResult with {len(self):,} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        first = QueryResult(self._table.slice(0, MAX_ROWS)).fetchall()
        return query_result_html(self.columns, first, len(self))


class Database:
    """A DuckDB connection; queries from several threads run one after another."""

    def __init__(self) -> None:
        self._duckdb = import_library("duckdb")
        import_library("pyarrow")
        self._connection = self._duckdb.connect(config={"autoinstall_known_extensions": "false"})
        self._connection.execute("set python_enable_replacements = false")
        self._connection.execute("set TimeZone = 'UTC'")
        self._connection.execute("create schema internal")  # which show tables does not list
        self._lock = Lock()
        self._failure: list[Exception] = []

    def add_table(self, name: str, table: Any) -> None:
        """Registers an Arrow table under this name, in place of an earlier one."""
        with self._lock:
            self._connection.register(name, table)

    def add_internal_table(self, name: str, table: Any) -> None:
        """Copies an Arrow table into the schema ``internal``, which only views use, over an earlier one."""
        with self._lock:
            self._connection.register("added", table)
            self._connection.execute(f"create or replace table internal.{name} as from added")
            self._connection.unregister("added")

    def execute(self, statement: str) -> None:
        """Raises ``TraceError`` with DuckDB's message where it fails."""
        try:
            self._connection.execute(statement)
        except self._duckdb.Error as error:
            raise TraceError(str(error)) from error

    def add_function(self, name: str, fields: tuple[str, ...], of: Callable[[int], tuple[str, ...]]) -> None:
        """Registers ``name(number)``, which returns a struct of the text ``fields``.

        The function is called only for rows and columns that a query needs.
        """
        pa = import_library("pyarrow")
        import_library("numpy")  # DuckDB needs it for every function in Python, Arrow's too
        struct = pa.struct([(field, pa.string()) for field in fields])
        # Not self: the connection keeps the function, and the garbage collector cannot see that cycle.
        failure = self._failure

        def compute(numbers: Any) -> Any:
            try:
                texts = map(of, numbers.to_pylist())
                clean = ([text.encode("utf-8", "replace").decode() for text in one] for one in texts)
                return pa.array([dict(zip(fields, one, strict=True)) for one in clean], struct)
            except Exception as error:
                failure.append(error)
                raise

        return_type = self._connection.struct_type(dict.fromkeys(fields, "VARCHAR"))
        self._connection.create_function(name, compute, ["BIGINT"], return_type, type="arrow")

    def query(self, query: str) -> QueryResult:
        """Returns the result of a query. Raises ``TraceError`` with DuckDB's message where it is invalid."""
        with self._lock:
            try:
                found = self._connection.sql(query)
                if found is None:
                    return QueryResult(import_library("pyarrow").table({}))
                return QueryResult(_unique_columns(found.to_arrow_table()))
            except self._duckdb.Error as error:
                raise self._failure[0] if self._failure else TraceError(str(error)) from error
            finally:
                self._failure.clear()


def open_database(tables: Mapping[str, Rows[Any]]) -> Database:
    """Creates views ``sessions events calls file_changes problems usage context samples metrics`` over
    rows in memory, and empty tables ``labels signals`` for those that the caller adds when a query needs
    them.

    Texts are read from the logs when a query needs them.
    """
    db = Database()
    for name, kind in REVIEW_TABLES.items():
        db.add_table(name, schema(kind).empty_table())
    for name, rows in tables.items():
        _view(db, name, rows)
    query = with_counts("internal.session_rows", "internal.calls_rows", "internal.events_rows")
    db.execute(f"create temp view sessions as {query}")
    return db


def with_counts(sessions: str, calls: str = "calls", events: str = "events") -> str:
    """Returns the query that adds the numbers of calls, errors and edits to the rows of ``sessions``,
    a table or a query in brackets.
    """
    silent = ", ".join(f"'{one.name}'" for one in formats() if not one.tells_errors)
    return _WITH_COUNTS.format(sessions=sessions, calls=calls, events=events, silent=silent)


def _view(db: Database, name: str, rows: Rows[Any]) -> None:
    kind = TABLES[name]
    table = arrow_without_texts(rows, kind)
    texts = TEXTS.get(kind, ())
    if not texts:
        add = db.add_internal_table if kind is Session else db.add_table
        add("session_rows" if kind is Session else name, table)
        return
    pa = import_library("pyarrow")
    numbered = table.append_column("number", pa.array(range(len(rows)), pa.int64()))
    db.add_internal_table(f"{name}_rows", numbered)
    stored = [*rows]
    readings = [*rows.log_files]
    db.add_function(f"{name}_texts", texts, lambda number: texts_of(stored[number], readings[number]))
    columns = ", ".join(f"texts.{text} as {text}" for text in texts)
    inner = f"select *, {name}_texts(number) as texts from internal.{name}_rows"  # noqa: S608 - constant names
    db.execute(f"create temp view {name} as select * exclude (number, texts), {columns} from ({inner})")  # noqa: S608 - as above


def _unique_columns(table: Any) -> Any:
    """Makes column names unique, as data frames require: the second ``n`` becomes ``n_1``."""
    names: list[str] = []
    for name in table.column_names:
        number = 0
        unique = name
        while unique in names:
            number += 1
            unique = f"{name}_{number}"
        names.append(unique)
    return table.rename_columns(names)


def query_result_html(columns: tuple[str, ...], rows: list[tuple[Any, ...]], count: int) -> str:
    """Renders the first ``rows`` of a result with ``count`` rows. Pass at most ``MAX_ROWS``."""
    numeric: list[bool] = []
    for index in range(len(columns)):
        present = [row[index] for row in rows if row[index] is not None]
        are_numbers = (isinstance(one, _NUMBERS) and not isinstance(one, bool) for one in present)
        numeric.append(bool(present) and all(are_numbers))
    return render(
        "query_result",
        columns=columns,
        numeric=numeric,
        rows=[list(map(_cell, row)) for row in rows],
        count=count,
    )


def format_value(value: Any) -> str:
    """Formats a value for a cell; times are UTC, to the second."""
    return _FORMATTERS.get(type(value), str)(value)


def _format_float(value: Any) -> str:
    return f"{value:,.6g}" if abs(value) < _EXPONENT_FROM else f"{value:,.0f}"


def _format_json(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


_FORMATTERS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "",
    bool: lambda value: "true" if value else "false",
    int: lambda value: f"{value:,}",
    float: _format_float,
    Decimal: _format_float,
    datetime: lambda value: f"{value:%Y-%m-%d %H:%M:%S}",
    timedelta: lambda value: str(timedelta(seconds=round(value.total_seconds()))),
    list: _format_json,
    dict: _format_json,
}


def _cell(value: Any) -> tuple[str, str]:
    """Returns the text of a cell and its tooltip."""
    text = format_value(value)
    if isinstance(value, datetime):
        return text, value.isoformat()
    if len(text) <= _CELL:
        return text, ""
    return f"{text[:_CELL]}…", text[:_TOOLTIP] + ("…" if len(text) > _TOOLTIP else "")
