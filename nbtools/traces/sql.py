"""Queries over rows, by DuckDB: ``select name, count(*) from calls group by name``.

Used of DuckDB is only what stays the same from release to release: ``sql(query).to_arrow_table()``, tables that are registered, functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.answer_html import SHOWN, answer_html
from nbtools.traces.libraries import library
from nbtools.traces.rows import Rows
from nbtools.traces.tables import TABLES, TEXTS, light, texts_of


class Answer:
    """What a query found."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Its rows as tuples of Python values; times with their zone, UTC."""
        return list(zip(*(column.to_pylist() for column in self._table.columns), strict=True))

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``."""
        return self._table

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``."""
        library("pandas")
        return self._table.to_pandas()

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``."""
        return library("polars").from_arrow(self._table)

    def __repr__(self) -> str:
        return f"<Answer of {len(self):,} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return answer_html(self.columns, Answer(self._table.slice(0, SHOWN)).fetchall(), len(self))


class Database:
    """A DuckDB connection; queries of several threads wait for each other."""

    def __init__(self) -> None:
        self._duckdb = library("duckdb")
        library("pyarrow")
        self._connection = self._duckdb.connect(config={"autoinstall_known_extensions": "false"})
        self._connection.execute("set python_enable_replacements = false")
        self._connection.execute("set TimeZone = 'UTC'")
        self._lock = Lock()
        self._failure: list[Exception] = []

    def table(self, name: str, table: Any) -> None:
        """An Arrow table, by this name from now on."""
        self._connection.register(name, table)

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def function(self, name: str, fields: tuple[str, ...], of: Callable[[int], tuple[str, ...]]) -> None:
        """``name(number)`` gives a struct of ``fields``, all of them text; it is asked only for rows and columns that a query wants."""
        pa = library("pyarrow")
        struct = pa.struct([(field, pa.string()) for field in fields])
        failure = self._failure  # not self: the connection keeps the function, and Python does not see through a connection

        def called(numbers: Any) -> Any:
            try:
                return pa.array([_struct(fields, of(number)) for number in numbers.to_pylist()], struct)
            except Exception as error:
                failure.append(error)
                raise

        given = self._connection.struct_type(dict.fromkeys(fields, "VARCHAR"))
        self._connection.create_function(name, called, ["BIGINT"], given, type="arrow")

    def ask(self, query: str) -> Answer:
        """Raises ``TraceError`` for what is no query, with what DuckDB says of it."""
        with self._lock:
            try:
                found = self._connection.sql(query)
                return Answer(library("pyarrow").table({}) if found is None else _distinct(found.to_arrow_table()))
            except self._duckdb.Error as error:
                raise self._failure[0] if self._failure else TraceError(str(error)) from error
            finally:
                self._failure.clear()


def database(tables: Mapping[str, Rows[Any]]) -> Database:
    """Views ``sessions events calls file_changes problems`` over rows that are in memory; texts are read when a query wants them."""
    made = Database()
    for name, rows in tables.items():
        _view(made, name, rows)
    return made


def _view(made: Database, name: str, rows: Rows[Any]) -> None:
    kind = TABLES[name]
    table = light(rows, kind)
    texts = TEXTS.get(kind, ())
    if not texts:
        made.table(name, table)
        return
    pa = library("pyarrow")
    made.table(f"{name}_rows", table.append_column("number", pa.array(range(len(rows)), pa.int64())))
    kept = [*rows]
    readings = [*rows.readings]
    made.function(f"{name}_texts", texts, lambda number: texts_of(kept[number], readings[number]))
    columns = ", ".join(f"texts.{text} as {text}" for text in texts)
    inner = f"select *, {name}_texts(number) as texts from {name}_rows"  # noqa: S608 - names of ours
    made.run(f"create temp view {name} as select * exclude (number, texts), {columns} from ({inner})")  # noqa: S608 - as above


def _struct(fields: tuple[str, ...], texts: tuple[str, ...]) -> dict[str, str]:
    return {field: text.encode("utf-8", "replace").decode() for field, text in zip(fields, texts, strict=True)}


def _distinct(table: Any) -> Any:
    """Frames cannot have two columns of one name; the second ``n`` is ``n_1``."""
    names: list[str] = []
    for name in table.column_names:
        number = 0
        unique = name
        while unique in names:
            number += 1
            unique = f"{name}_{number}"
        names.append(unique)
    return table.rename_columns(names)
