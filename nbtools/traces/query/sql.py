"""SQL queries over rows, with DuckDB: ``select name, count(*) from calls group by name``.

Uses only those parts of DuckDB that are stable between releases:
``sql(query).to_arrow_table()``, registered tables, functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.result_table import MAX_ROWS, query_result_html
from nbtools.traces.query.tables import TABLES, TEXTS, arrow_without_texts, texts_of
from nbtools.traces.rows import Rows


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
        return query_result_html(
            self.columns, QueryResult(self._table.slice(0, MAX_ROWS)).fetchall(), len(self)
        )


class Database:
    """A DuckDB connection; queries from several threads run one after another."""

    def __init__(self) -> None:
        self._duckdb = import_library("duckdb")
        import_library("pyarrow")
        self._connection = self._duckdb.connect(config={"autoinstall_known_extensions": "false"})
        self._connection.execute("set python_enable_replacements = false")
        self._connection.execute("set TimeZone = 'UTC'")
        self._lock = Lock()
        self._failure: list[Exception] = []

    def add_table(self, name: str, table: Any) -> None:
        """Registers an Arrow table under this name, in place of an earlier one."""
        with self._lock:
            self._connection.register(name, table)

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
        failure = (
            self._failure
        )  # not self: the connection keeps the function, and the garbage collector cannot see that cycle

        def compute(numbers: Any) -> Any:
            try:
                return pa.array([_struct(fields, of(number)) for number in numbers.to_pylist()], struct)
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
                return QueryResult(
                    import_library("pyarrow").table({})
                    if found is None
                    else _unique_columns(found.to_arrow_table())
                )
            except self._duckdb.Error as error:
                raise self._failure[0] if self._failure else TraceError(str(error)) from error
            finally:
                self._failure.clear()


def open_database(tables: Mapping[str, Rows[Any]]) -> Database:
    """Creates views ``sessions events calls file_changes problems usage context samples`` over rows in
    memory.

    Texts are read from the logs when a query needs them.
    """
    db = Database()
    for name, rows in tables.items():
        _view(db, name, rows)
    return db


def _view(db: Database, name: str, rows: Rows[Any]) -> None:
    kind = TABLES[name]
    table = arrow_without_texts(rows, kind)
    texts = TEXTS.get(kind, ())
    if not texts:
        db.add_table(name, table)
        return
    pa = import_library("pyarrow")
    db.add_table(f"{name}_rows", table.append_column("number", pa.array(range(len(rows)), pa.int64())))
    stored = [*rows]
    readings = [*rows.log_files]
    db.add_function(f"{name}_texts", texts, lambda number: texts_of(stored[number], readings[number]))
    columns = ", ".join(f"texts.{text} as {text}" for text in texts)
    inner = f"select *, {name}_texts(number) as texts from {name}_rows"  # noqa: S608 - constant names
    db.execute(f"create temp view {name} as select * exclude (number, texts), {columns} from ({inner})")  # noqa: S608 - as above


def _struct(fields: tuple[str, ...], texts: tuple[str, ...]) -> dict[str, str]:
    return {
        field: text.encode("utf-8", "replace").decode() for field, text in zip(fields, texts, strict=True)
    }


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
