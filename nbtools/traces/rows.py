"""A list of rows that can be converted to Arrow, pandas and Polars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex, TypeVar, overload

from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.tables import arrow_table
from nbtools.traces.reader import LogFile

R = TypeVar("R")


class Rows(list[R]):
    """Rows of one type (``kind``), with the log that each was read from, as long as the list is not modified.
    A slice is also ``Rows``.

    Data frames have the columns of ``tables.COLUMNS``, and the texts that stay in the log,
    which are read on conversion.
    """

    def __init__(self, kind: type[R], rows: Iterable[R] = (), readings: Iterable[LogFile] = ()) -> None:
        super().__init__(rows)
        self.kind = kind
        self.log_files = list(readings)

    def assign_log_file(self, reading: LogFile) -> None:
        """Records that all rows added since the last call came from this log."""
        self.log_files += [reading] * (len(self) - len(self.log_files))

    @overload
    def __getitem__(self, index: SupportsIndex) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Rows[R]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> R | Rows[R]:
        if isinstance(index, slice):
            return Rows(self.kind, super().__getitem__(index), self.log_files[index])
        return super().__getitem__(index)

    def to_arrow(self) -> Any:
        """Returns a ``pyarrow.Table``. Raises ``TraceError`` where a log has changed since it was read,
        or pyarrow is not installed.
        """
        return arrow_table(self, self.kind)

    def to_pandas(self) -> Any:
        """Returns a ``pandas.DataFrame``."""
        import_library("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Returns a ``polars.DataFrame``."""
        return import_library("polars").from_arrow(self.to_arrow())
