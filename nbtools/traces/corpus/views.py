"""The tables of a corpus as DuckDB sees them: all parts as one, without what is dead in them."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nbtools.traces.corpus.manifest import Manifest, Part
from nbtools.traces.libraries import library
from nbtools.traces.model import Problem
from nbtools.traces.sql import Database
from nbtools.traces.tables import TABLES, schema


def database(manifest: Manifest, folder: Path) -> Database:
    """Views ``sessions events calls file_changes problems`` over the parts in ``folder``, as they are now."""
    made = Database()
    parts = manifest.parts().values()
    for name, kind in TABLES.items():
        made.table(f"no_{name}", schema(kind).empty_table() if name != "problems" else _unread(manifest))
        made.run(f"create temp view {name} as from no_{name}{''.join(_unions(folder, name, parts))}")
    return made


def quoted(text: str) -> str:
    """As a string in a query."""
    return "'" + text.replace("'", "''") + "'"


def _unread(manifest: Manifest) -> Any:
    rows = [{"why": log.why, "source": log.path, "recovered": 0} for log in manifest.logs().values() if log.why]
    return library("pyarrow").Table.from_pylist(rows, schema(Problem))


def _unions(folder: Path, table: str, parts: Iterable[Part]) -> Iterator[str]:
    """Parts that are whole together; one in which there are dead logs by itself."""
    having = [part for part in parts if table in part.tables]
    whole = [part for part in having if not part.dead]
    for some in ([whole] if whole else []) + [[part] for part in having if part.dead]:
        listed = ", ".join(quoted(glob.escape(str(folder / part.name / f"{table}.parquet"))) for part in some)
        dead = ", ".join(quoted(path) for part in some for path in part.dead)
        without = f" where source not in ({dead})" if dead else ""
        yield f" union all by name select * from read_parquet([{listed}], union_by_name = false){without}"  # noqa: S608 - quoted
