"""Leaves out of a corpus's tables what a fork's log repeats of its parent's,
by the rule of ``repeated_records``.

The view ``all_NAME`` has every row of a table.
Only the rows of related logs are looked at; mostly there are none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs
from msgspec.structs import replace

from nbtools.core.errors import TraceError
from nbtools.traces.model import Call, Detail, Event, Origin, Ref, RequestUsage, Session, Tokens
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.parallel_reading import RowBatch
from nbtools.traces.query.sql import Database, with_counts
from nbtools.traces.query.tables import CORPUS_TABLES, TOKEN_COLUMNS, schema
from nbtools.traces.repeated_records import COPIED_SESSION, MIN_ID, Repeats, find_repeats
from nbtools.traces.usage.requests import input_of

_RELATED = f"""
with identities as (
    select source, session, 'request' as kind, id, time from all_usage
    where length(id) >= {MIN_ID} and time is not null
    union all select source, session, 'call', native_id, time from all_calls
      where length(native_id) >= {MIN_ID} and time is not null
), shared as (
    select kind, id, time from identities group by all having min(session) <> max(session)
      and min(source) <> max(source)
), copies as (select id from all_sessions where list_contains(flags, '{COPIED_SESSION}'))
select distinct source from identities semi join shared using (kind, id, time)
union select source from all_sessions semi join copies using (id)
"""  # noqa: S608 - constants
_TOKENS = ("input_tokens", *TOKEN_COLUMNS)
_COUNTED = ", ".join(
    f"if(r.id is null, s.{name}, r.{name}) as {name}" for name in (*_TOKENS, "cost", "flags", "counts")
)
_VIEWS = {
    "sessions": (
        f"select s.* replace ({_COUNTED}) from all_sessions s"  # noqa: S608 - as above
        " left join internal.counted_sessions r using (source, id) "
        "where r.elsewhere is distinct from true"
    ),
    "events": "from all_events anti join internal.repeated_steps using (source, seq)",
    "calls": "from all_calls anti join internal.repeated_steps using (source, seq)",
    "file_changes": "from all_file_changes anti join internal.repeated_calls using (source, session, call)",
    "usage": (
        "select s.* replace (if(r.session is null, s.cost, r.cost) as cost) from all_usage s left join"
        " internal.counted_rests r using (source, session, scope) anti join internal.repeated_requests"
        " using (source, session, scope, id, time, ref)"
    ),
    "context": "from all_context anti join internal.repeated_steps using (source, seq)",
    "signals": "from all_signals anti join internal.repeated_signals using (source, session, kind, seqs)",
}


def add_views(db: Database) -> None:
    """Creates the views of a corpus over those with all rows, so that they have each record once."""
    sources = [source for (source,) in db.query(_RELATED).fetchall()]
    logs = _Logs(db, sources).batches() if sources else {}
    found = dict(zip(logs, find_repeats([*logs.values()]), strict=True))
    repeats = {source: one for source, one in found.items() if one is not None}
    if repeats:
        _add_tables(db, logs, repeats)
    views = {name: (_VIEWS.get(name) if repeats else None) or f"from all_{name}" for name in CORPUS_TABLES}
    sessions = views.pop("sessions")
    for name, rows in views.items():
        db.execute(f"create temp view {name} as {rows}")
    db.execute(f"create temp view sessions as {with_counts(f'({sessions})')}")


class _Logs:
    """Reads what ``find_repeats`` needs of the rows of some logs."""

    def __init__(self, db: Database, sources: Sequence[str]) -> None:
        self._db = db
        db.add_internal_table("related_logs", import_library("pyarrow").table({"source": sources}))

    def batches(self) -> dict[str, RowBatch]:
        """Returns the rows by log, those of a log in reading order."""
        logs: dict[str, RowBatch] = defaultdict(RowBatch)
        for row in self._rows(
            "sessions", "id, format, epoch_us(ended) as ended, cost, flags, counts", _TOKENS
        ):
            session = Session(
                id=row["id"],
                format=row["format"],
                ended=_seconds(row["ended"]),
                tokens=_tokens(row),
                cost=row["cost"],
                flags=tuple(row["flags"] or ()),
                counts=msgspec.json.decode(row["counts"] or "{}", type=dict[str, Any]),
            )
            logs[row["source"]].sessions.append(session)
        for row in self._rows(
            "events", "session, seq, kind, text, size, epoch_us(time) as at, type, key, ref", order="seq"
        ):
            event = Event(
                row["session"], row["seq"], row["kind"], row["text"], row["size"], _seconds(row["at"])
            )
            logs[row["source"]].events.append(
                replace(event, type=row["type"], key=row["key"], ref=Ref(**row["ref"]))
            )
        fields = "session, id, seq, name, native_id, subject, epoch_us(time) as at, answered, ref, result_ref"
        for row in self._rows("calls", fields, order="seq"):
            call = Call(
                row["session"],
                row["id"],
                row["seq"],
                row["name"],
                "other",
                _NO_ORIGIN,
                at=_seconds(row["at"]),
            )
            refs: dict[str, Any] = {name: Ref(**row[name]) for name in ("ref", "result_ref")}
            call = replace(
                call, native_id=row["native_id"], subject=row["subject"], answered=row["answered"], **refs
            )
            logs[row["source"]].calls.append(call)
        for row in self._rows("usage", "session, scope, id, model, epoch_us(time) as at, cost, ref", _TOKENS):
            names = {name: row[name] for name in ("scope", "id", "model", "cost")}
            request = RequestUsage(
                row["session"], at=_seconds(row["at"]), tokens=_tokens(row), ref=Ref(**row["ref"]), **names
            )
            logs[row["source"]].usage.append(request)
        return dict(logs)

    def _rows(
        self, table: str, fields: str, others: Iterable[str] = (), order: str = ""
    ) -> list[dict[str, Any]]:
        columns = ", ".join(("source", fields, *others))
        ordered = f" order by source, {order}" if order else ""
        found = self._db.query(
            f"select {columns} from all_{table} semi join internal.related_logs using (source){ordered}"  # noqa: S608 - constants
        )
        rows: list[dict[str, Any]] = found.to_arrow().to_pylist()
        return rows


class _NoOrigin(Origin):
    """The origin of calls that only serve to be compared."""

    def detail(self, call: Call) -> Detail:
        raise TraceError("The corpus has no details; open the log.")


_NO_ORIGIN = _NoOrigin()


def _add_tables(db: Database, logs: Mapping[str, RowBatch], repeats: Mapping[str, Repeats]) -> None:
    """Registers what is left out, and what sessions count instead of what their logs say."""
    pa = import_library("pyarrow")
    sessions, requests = schema(Session), schema(RequestUsage)
    steps: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    rests: list[dict[str, Any]] = []
    counted: list[dict[str, Any]] = []
    for source, found in repeats.items():
        steps += ({"source": source, "seq": seq} for seq in found.steps)
        calls += ({"source": source, "session": session, "call": call} for session, call in found.calls)
        left_out += (_request(source, logs[source].usage[at]) for at in found.requests)
        rests += (
            {"source": source, "session": one.session, "scope": one.scope, "cost": one.cost}
            for one in found.rests.values()
        )
        counted += (_session(source, name, one) for name, one in found.sessions.items())
    names = {"source": pa.string(), "session": pa.string()}
    keys = {name: requests.field(name).type for name in ("source", "session", "scope", "id", "time", "ref")}
    counts = {
        name: sessions.field(name).type for name in ("source", "id", *_TOKENS, "cost", "flags", "counts")
    }
    tables = {
        "repeated_steps": (steps, {"source": pa.string(), "seq": pa.int64()}),
        "repeated_calls": (calls, {**names, "call": pa.string()}),
        "repeated_requests": (left_out, keys),
        "counted_rests": (rests, {**names, "scope": pa.string(), "cost": pa.float64()}),
        "counted_sessions": (counted, {**counts, "elsewhere": pa.bool_()}),
    }
    for name, (rows, types) in tables.items():
        db.add_internal_table(name, pa.Table.from_pylist(rows, pa.schema(types)))
    db.execute(
        "create view internal.repeated_signals as select source, session, kind, seqs from all_signals s"
        " where not exists (select 1 from unnest(s.seqs) as step(seq) anti join (select seq from"
        " internal.repeated_steps r where r.source = s.source) using (seq))"
    )


def _request(source: str, request: RequestUsage) -> dict[str, Any]:
    at = None if request.at is None else round(request.at * 1e6)
    named = {name: getattr(request, name) for name in ("session", "scope", "id")}
    return {"source": source, **named, "time": at, "ref": structs.asdict(request.ref)}


def _session(source: str, name: str, session: Session | None) -> dict[str, Any]:
    if session is None:
        return {"source": source, "id": name, "elsewhere": True}
    tokens = {column: getattr(session.tokens, kind) for column, kind in TOKEN_COLUMNS.items()}
    tokens["input_tokens"] = input_of(session.tokens)
    counts = json.dumps(session.counts, ensure_ascii=False)
    return {
        "source": source,
        "id": name,
        **tokens,
        "cost": session.cost,
        "flags": [*session.flags],
        "counts": counts,
    }


def _tokens(row: Mapping[str, Any]) -> Tokens:
    return Tokens(**{kind: row[column] for column, kind in TOKEN_COLUMNS.items()})


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6
