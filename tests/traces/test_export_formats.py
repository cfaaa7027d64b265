"""Exports by the name of a format: methods of a trace, and what each format keeps and loses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet
import pytest

from nbtools import open_trace, traces
from nbtools.core.errors import TraceError
from nbtools.traces import Trace
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.export import write_csv
from nbtools.traces.export.formats import FORMATS, NAMES, default_name, write_export
from nbtools.traces.query.sql import SESSION_COUNTS
from nbtools.traces.query.tables import TABLES
from tests.traces.explorer.samples import CLAUDE, sample
from tests.traces.method_calls import call, result
from tests.traces.sharing.planted import secrets, write_planted_log


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traces.load(sample(CLAUDE))


def test_atif_keeps_calls_and_total_tokens_and_loses_those_of_requests(trace: Trace, tmp_path: Path) -> None:
    again = traces.load(trace.to_atif(tmp_path / "a.json"))
    assert [(one.native_id, one.name, one.status) for one in again.calls if one.level == "model"] == [
        (one.native_id, one.name, one.status) for one in trace.calls if one.level == "model"
    ]
    query = "select sum(output_tokens) from sessions"
    assert again.sql(query).fetchall() == trace.sql(query).fetchall()
    assert len(trace.usage) > 5
    assert {one.scope for one in again.usage} <= {"rest"}


def test_the_layout_of_claude_code_keeps_calls_and_loses_tokens(trace: Trace, tmp_path: Path) -> None:
    again = traces.load(trace.to_claude(tmp_path / "c.jsonl"))
    assert len(again.calls) == len(trace.calls)
    assert trace.sessions[0].tokens.output
    assert not any(one.tokens.output for one in again.sessions)


def test_tables_have_the_columns_and_values_of_sql(trace: Trace, tmp_path: Path) -> None:
    folder = trace.to_parquet(tmp_path / "tables", home=False)
    written = {path.stem for path in folder.iterdir()}
    assert {"sessions", "calls", "events", "usage"} <= written <= TABLES.keys()
    for name in written:
        stored = pyarrow.parquet.read_table(folder / f"{name}.parquet")
        expected = trace.sql(f"from {name}").to_arrow()
        if name == "sessions":  # SQL adds numbers that follow from the other tables
            expected = expected.drop_columns([*SESSION_COUNTS])
        assert stored.schema.names == expected.schema.names
        assert stored.schema.types == expected.schema.types
        assert stored.num_rows == expected.num_rows
    paths = "select id, name, status, duration, time, paths from calls"
    stored = pyarrow.parquet.read_table(folder / "calls.parquet")
    assert stored.select(["id", "name", "status", "duration", "time", "paths"]).to_pylist() == (
        trace.sql(paths).to_arrow().to_pylist()
    )


def test_csv_has_lists_and_objects_as_json_and_times_in_iso(trace: Trace, tmp_path: Path) -> None:
    folder = trace.to_csv(tmp_path / "tables", home=False)
    csv.field_size_limit(10**9)
    with (folder / "calls.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(trace.calls)
    for row, made in zip(rows, trace.calls, strict=True):
        assert (row["id"], row["name"], json.loads(row["paths"])) == (made.id, made.name, list(made.paths))
        assert json.loads(row["args"]) == json.loads(json.dumps(dict(made.detail.args)))
        assert row["result"].replace("\r\n", "\n") == made.detail.result.replace("\r\n", "\n")
    assert rows[0]["time"].startswith("2026-03-20T18:02:33")
    assert {row["answered"] for row in rows} <= {"true", "false"}


def test_labels_are_exported_for_scout_and_there_must_be_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    own = traces.load(sample(CLAUDE))
    with pytest.raises(TraceError, match="no labels to export"):
        own.to_scout(tmp_path / "labels.csv")
    traces.review(own).label(own.sessions[0], "loop")
    names, row = csv.reader(own.to_scout(tmp_path / "labels.csv").read_text().splitlines())
    assert dict(zip(names, row, strict=True))["label_loop"] == "true"


def test_nothing_is_overwritten_and_a_folder_gets_a_name_made_from_the_logs(
    trace: Trace, tmp_path: Path
) -> None:
    (tmp_path / "a.atif.json").write_text("mine")
    assert trace.to_atif(tmp_path / "a.atif.json").name == "a-1.atif.json"
    assert (tmp_path / "a.atif.json").read_text() == "mine"
    assert trace.to_atif(tmp_path) == tmp_path / default_name(trace, "atif")
    assert trace.to_csv(tmp_path / "t") != trace.to_csv(tmp_path / "t")
    assert trace.to_claude(tmp_path).name == f"{trace.sessions[0].id}.jsonl"


def test_each_format_says_what_it_loses_and_an_unknown_one_names_the_others(
    trace: Trace, tmp_path: Path
) -> None:
    assert [one.name for one in FORMATS] == list(NAMES)
    assert all("Lost: " in one.about for one in FORMATS)
    assert "all tokens" in next(one.about for one in FORMATS if one.name == "claude")
    with pytest.raises(TraceError, match="Did you mean parquet"):
        write_export(trace, "parket", tmp_path / "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="is a file"):
        write_csv(trace, tmp_path / "file")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "scout"])
def test_a_page_exports_without_the_secrets_that_it_lists(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [planted] = [one for one in secrets(3) if one.kind == "GitHub token"][:1]
    write_planted_log(tmp_path / "session.jsonl", [planted])
    explorer = open_trace("session.jsonl")
    EXPLORERS.add(explorer)
    preview = result(explorer, "trace.share", format=name)
    assert [one["kind"] for one in preview["secrets"] if "token" in one["kind"]] == ["GitHub token"]
    assert preview["path"] == ""
    assert [one["name"] for one in preview["formats"]] == list(NAMES)
    written = Path(result(explorer, "trace.share", format=name, write=True)["path"])
    assert written.name == default_name(explorer.trace, name).replace("session.jsonl", "session-1.jsonl")
    files = [written] if written.is_file() else list(written.iterdir())
    assert files
    assert not any(planted.secret.encode() in file.read_bytes() for file in files)
    answer, _ = call(explorer, "trace.share", format="nothing")
    assert "no format of an export" in json.dumps(answer)


@pytest.mark.parametrize("target", [".", ".."])
def test_tables_for_a_folder_without_a_name_are_a_folder_in_it(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    name = default_name(trace, "csv")
    for expected in (name, f"{name}-1"):
        written = trace.to_csv(target)
        assert written.name == expected
        assert written.resolve().parent == Path(target).resolve()
        assert (written / "calls.csv").is_file()
