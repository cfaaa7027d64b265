"""The labels of a corpus: records that ingests have copied into its label file,
where those of several reviewers come together, and the table ``labels``, which places them in its logs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.sql import Database
from nbtools.traces.query.tables import arrow_without_texts
from nbtools.traces.reviews.records import Label, Record, in_force
from nbtools.traces.reviews.review import Review
from nbtools.traces.reviews.store import FILE_NAME, LabelFile, append_records
from nbtools.traces.trace import load

_CANDIDATES = """
    select source, number from (
        select source, number from sessions join internal.labelled using (id, format)
        union
        select starts.source, number from (select source, session as id, unnest(hashes) as start
          from session_starts) as starts
            join internal.labelled using (start)
            join sessions on sessions.source = starts.source and sessions.id = starts.id
              and sessions.format = labelled.format
    ) order by all
"""


class CorpusLabels:
    """Finds the labels of a corpus. Only logs with labels are read,
    each again only if it or its labels have changed.
    """

    def __init__(self, folder: Path) -> None:
        self._own = LabelFile()
        self._copied = LabelFile(folder / FILE_NAME)
        self._found: dict[str, tuple[object, Sequence[Label]]] = {}

    def copy_new(self, database: Callable[[], Database]) -> None:
        """Copies the person's own records about sessions of the corpus into it. Raises ``TraceError``."""
        known = {record.id for record in self._copied.records()}
        new = [record for record in self._own.records() if record.id not in known]
        if new:
            about = {record.id for records in self._by_source(database(), new).values() for record in records}
            append_records(self._copied.path.parent, [record for record in new if record.id in about])

    def table(self, db: Database) -> Any:
        """Returns an Arrow table. Raises ``TraceError`` where a label file cannot be read."""
        records = {record.id: record for record in (*self._own.records(), *self._copied.records())}
        in_order = sorted(records.values(), key=lambda record: (record.at, record.id))
        rows = [
            (label, source)
            for source, own in self._by_source(db, in_order).items()
            for label in self._labels(source, own)
        ]
        rows.sort(key=lambda row: (row[0].at, row[0].id))
        table = arrow_without_texts([label for label, _ in rows], Label)
        sources = import_library("pyarrow").array([source for _, source in rows], "string")
        return table.set_column(table.schema.get_field_index("source"), "source", sources)

    def _by_source(self, db: Database, records: Sequence[Record]) -> Mapping[str, list[Record]]:
        """Returns the records that may be about each log:
        by the id of a session, or by how it begins, for copies under other names.
        """
        if not records:
            return {}
        rows = [
            {
                "number": number,
                "id": one.target.session,
                "format": one.target.format,
                "start": one.target.start,
            }
            for number, one in enumerate(records)
        ]
        db.add_internal_table("labelled", import_library("pyarrow").Table.from_pylist(rows))
        by_source: dict[str, list[Record]] = defaultdict(list)
        for source, number in db.query(_CANDIDATES).fetchall():
            by_source[source].append(records[number])
        return by_source

    def _labels(self, source: str, records: Sequence[Record]) -> Sequence[Label]:
        try:
            status = Path(source).stat()
        except OSError:
            return [_unchecked(record) for record in in_force(records) if record.target.log == source]
        key = (status.st_mtime_ns, status.st_size, tuple(record.id for record in records))
        if source not in self._found or self._found[source][0] != key:
            try:
                labels: Sequence[Label] = Review(load(source)).labels_among(records)
            except TraceError:
                labels = [_unchecked(record) for record in in_force(records) if record.target.log == source]
            self._found[source] = (key, labels)
        return self._found[source][1]


def _unchecked(record: Record) -> Label:
    """Returns a label at the place that was recorded, because its log cannot be read any more."""
    target = record.target
    first, last = target.first, target.last or target.first
    return Label(
        id=record.id,
        session=target.session,
        call=first.id if first is not None and first.kind == "call" else "",
        seq=first.seq if first else None,
        last_seq=last.seq if last else None,
        kind=record.kind,
        value=record.value,
        reviewer=record.reviewer,
        at=record.at,
        span=target.span,
        status="unchecked",
        about=record.about,
        whole_session=first is None,
    )
