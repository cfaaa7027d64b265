"""The table ``labels`` of a corpus: the person's own label file and the one in the corpus's folder, placed in the logs of the corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.sql import Database
from nbtools.traces.query.tables import arrow_without_texts
from nbtools.traces.review.model import Label, Record
from nbtools.traces.review.review import Review, in_force
from nbtools.traces.review.store import FILE_NAME, LabelFile
from nbtools.traces.trace import load


class CorpusLabels:
    """Finds the labels of a corpus. Only logs with labels are read, each again only if it or its labels have changed."""

    def __init__(self, folder: Path) -> None:
        self._files = (LabelFile(), LabelFile(folder / FILE_NAME))
        self._found: dict[str, tuple[object, Sequence[Label]]] = {}

    def table(self, db: Database) -> Any:
        """Returns an Arrow table. Raises ``TraceError`` where a label file cannot be read."""
        records = {record.id: record for file in self._files for record in file.records()}
        by_session: dict[str, list[Record]] = defaultdict(list)
        for record in records.values():
            by_session[record.target.session].append(record)
        rows = [(label, source) for source, own in self._by_source(db, by_session).items() for label in self._labels(source, own)]
        rows.sort(key=lambda row: (row[0].at, row[0].id))
        table = arrow_without_texts([label for label, _ in rows], Label)
        sources = import_library("pyarrow").array([source for _, source in rows], "string")
        return table.set_column(table.schema.get_field_index("source"), "source", sources)

    def _by_source(self, db: Database, by_session: Mapping[str, Sequence[Record]]) -> Mapping[str, list[Record]]:
        """Returns the records that may be about each log, by the ids and formats of its sessions."""
        names = import_library("pyarrow").table({"id": list(by_session)}) if by_session else None
        if names is None:
            return {}
        db.add_table("labelled_sessions", names)
        found = db.query("select source, id, format from sessions semi join labelled_sessions using (id) order by source").fetchall()
        by_source: dict[str, list[Record]] = defaultdict(list)
        for source, session, format_name in found:
            by_source[source] += [record for record in by_session[session] if record.target.format == format_name]
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
