"""Reviews are exchanged with other tools; imported files may contain anything."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.traces import Trace, TraceError, load, load_many
from nbtools.traces.export import write_atif
from nbtools.traces.model import Call, Event
from nbtools.traces.reviews.atif_labels import read_atif_labels
from nbtools.traces.reviews.exchange import Imported, read_jsonl, read_scout_csv, write_jsonl, write_scout_csv
from nbtools.traces.reviews.review import Review, review
from nbtools.traces.reviews.store import LabelFile
from tests.traces.recorded import SAMPLES
from tests.traces.reviews.logs import Log, session

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_REVIEWER", "ana")


@pytest.fixture
def trace(tmp_path: Path, state: None) -> Trace:
    names = ["00000000-a", "[b],c", "00000002-c"]
    trace = load_many(
        [
            session(name, ["ls", "make"]).write(tmp_path / f"{number}.jsonl")
            for number, name in enumerate(names)
        ]
    )
    review(trace).verdict(trace.sessions[0], "fail")
    review(trace).verdict(trace.sessions[1], "pass")
    review(trace).verdict(trace.sessions[2], "defer")
    review(trace).label(trace.calls[0], "loop")
    review(trace).label(trace.sessions[1], "good")
    note = review(trace).note((trace.calls[2], trace.calls[3]), f'Odd, "very" odd\n=HYPERLINK(1) {TOKEN}')
    review(trace).sort_note(note, "unsafe")
    return trace


def fresh(trace: Trace, tmp_path: Path) -> Trace:
    """Returns the logs with an empty label file."""
    again = load_many([log.source.path for log in trace.readings])
    review(again).file = LabelFile(tmp_path / "other.jsonl")
    return again


def as_scout(path: Path) -> list[dict[str, object]]:
    """Reads ids and values as Scout's ``validation_set`` does:
    a JSON list or a comma makes several ids, true and false are booleans.
    """
    rows = []
    for row in csv.DictReader(io.StringIO(path.read_text())):
        cell = row.pop("id")
        ids = json.loads(cell) if cell.startswith("[") else [part.strip() for part in cell.split(",")]
        values = {name: {"true": True, "false": False}[value] for name, value in row.items()}
        rows += [{"id": ids[0] if len(ids) == 1 else ids, **values}]
    return rows


def test_verdicts_for_scout(trace: Trace, tmp_path: Path) -> None:
    path = write_scout_csv(trace, tmp_path / "set.csv", "verdicts")
    assert as_scout(path) == [{"id": "00000000-a", "target": False}, {"id": "[b],c", "target": True}]
    again = fresh(trace, tmp_path)
    assert read_scout_csv(again, path) == Imported(2, 0, 0)
    assert [(label.session, label.value) for label in review(again).labels] == [
        ("00000000-a", "fail"),
        ("[b],c", "pass"),
    ]
    assert read_scout_csv(again, path) == Imported(0, 2, 0)


def test_labels_for_scout(trace: Trace, tmp_path: Path) -> None:
    path = write_scout_csv(trace, tmp_path / "set.csv")
    rows = as_scout(path)
    assert [row["id"] for row in rows] == ["00000000-a", "[b],c", "00000002-c"]
    assert [[name for name, value in row.items() if value is True] for row in rows] == [
        ["label_loop"],
        ["label_unsafe", "label_good"],
        [],
    ]
    again = fresh(trace, tmp_path)
    assert read_scout_csv(again, path) == Imported(3, 0, 0)
    assert sorted((label.session, label.value) for label in review(again).labels) == [
        ("00000000-a", "loop"),
        ("[b],c", "good"),
        ("[b],c", "unsafe"),
    ]


def test_scout_reads_it(trace: Trace, tmp_path: Path) -> None:
    """Uses Scout itself, where it is installed."""
    scout = pytest.importorskip("inspect_scout")
    found = scout.validation_set(write_scout_csv(trace, tmp_path / "set.csv", "verdicts"))
    assert [(case.id, case.target) for case in found.cases] == [("00000000-a", False), (["[b],c"], True)]
    labels = scout.validation_set(write_scout_csv(trace, tmp_path / "labels.csv"))
    assert [case.labels["loop"] for case in labels.cases] == [True, False, False]


def test_one_reviewer_is_exported(trace: Trace, tmp_path: Path) -> None:
    Review(trace, reviewer="ben").verdict(trace.sessions[0], "pass")
    rows = {
        name: as_scout(write_scout_csv(trace, tmp_path / "set.csv", "verdicts", name))[0]["target"]
        for name in ("ana", "ben")
    }
    assert rows == {"ana": False, "ben": True}


def test_json_lines_there_and_back(trace: Trace, tmp_path: Path) -> None:
    path = write_jsonl(trace, tmp_path / "labels.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    loop = next(line for line in lines if line["value"] == "loop")
    assert (loop["session"], loop["step"], loop["text"], loop["tool"], loop["op"]) == (
        "00000000-a",
        "3",
        "ls",
        "Bash",
        "shell",
    )
    assert TOKEN not in path.read_text()
    again = fresh(trace, tmp_path)
    assert read_jsonl(again, path) == Imported(7, 0, 0)
    assert [(one.kind, one.session, one.seq, one.last_seq, one.at) for one in review(again).labels] == [
        (one.kind, one.session, one.seq, one.last_seq, one.at) for one in review(trace).labels
    ]
    assert read_jsonl(again, path) == Imported(0, 7, 0)


@pytest.mark.usefixtures("state")
def test_atif_there_and_back(tmp_path: Path) -> None:
    (sample,) = (SAMPLES / "claude-code").glob("skills--35ea950f*.jsonl")
    log = shutil.copy(sample, tmp_path / "log.jsonl")
    trace = load(log)
    message = next(event for event in trace.events if event.kind == "assistant_text")
    review(trace).label(trace.calls[5], "loop")
    review(trace).note(message, "Well said.")
    review(trace).verdict(None, "pass")
    plain, labelled = tmp_path / "plain.json", tmp_path / "labelled.json"
    write_atif(trace, plain)
    write_atif(trace, labelled, labels=True)
    assert b"Well said" not in plain.read_bytes()
    atif = load(labelled)
    review(atif).file = LabelFile(tmp_path / "other.jsonl")
    assert read_atif_labels(atif) == Imported(3, 0, 0)
    assert read_atif_labels(atif) == Imported(0, 3, 0)
    found = {label.kind: review(atif).rows_of(label)[0] for label in review(atif).labels}
    assert found["verdict"] == atif.sessions[0]
    assert (found["label"].subject, found["label"].native_id) == (
        trace.calls[5].subject,
        trace.calls[5].native_id,
    )
    assert found["note"].text == message.text


STEPS = st.lists(st.sampled_from(["person", "agent", "thought", "bash"]), min_size=1, max_size=12)
PLACES = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from(["note", "label", "verdict"])),
    max_size=8,
)


def content(row: object) -> object:
    if isinstance(row, Call):
        return row.native_id, row.subject
    return (row.kind, row.text) if isinstance(row, Event) else getattr(row, "id", None)


@given(steps=STEPS, places=PLACES)
def test_labels_in_atif_come_back_at_their_steps(
    steps: list[str], places: list[tuple[int, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("atif")
    log = Log().person("go")
    for number, step in enumerate(steps):
        getattr(log, step)(f"{step} {number}")
    trace = load(log.write(folder / "log.jsonl"))
    review(trace).file = LabelFile(folder / "mine.jsonl")
    rows = sorted([*trace.calls, *trace.events], key=lambda row: row.seq)
    for first, last, kind in places:
        where = rows[first % len(rows)], rows[last % len(rows)]
        where = where[0] if where[0] is where[1] else where
        getattr(review(trace), kind)(where, {"note": "x", "label": "loop", "verdict": "fail"}[kind])
    review(trace).verdict(None, "defer")
    atif = load(write_atif(trace, folder / "labelled.json", labels=True))
    review(atif).file = LabelFile(folder / "other.jsonl")
    assert read_atif_labels(atif) == Imported(len(review(trace).labels), 0, 0)
    found = {label.id: [content(row) for row in review(atif).rows_of(label)] for label in review(atif).labels}
    assert found == {
        label.id: [content(row) for row in review(trace).rows_of(label)] for label in review(trace).labels
    }


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("end", [{"id": "other"}, {"id": 5}, "a", None])
def test_a_range_in_atif_without_its_end_is_refused(end: object, tmp_path: Path) -> None:
    trace = load(session().write(tmp_path / "log.jsonl"))
    review(trace).label((trace.calls[0], trace.calls[2]), "loop")
    path = write_atif(trace, tmp_path / "labelled.json", labels=True)
    document = json.loads(path.read_text())
    (owner,) = [
        call
        for step in document["steps"]
        for call in step.get("tool_calls", ())
        if "label_ends" in call["extra"]["nbtools"]
    ]
    owner["extra"]["nbtools"]["label_ends"] = [end]
    path.write_text(json.dumps(document))
    atif = load(path)
    review(atif).file = LabelFile(tmp_path / "other.jsonl")
    assert read_atif_labels(atif).added == 0
    assert atif.calls[2].status == trace.calls[2].status


HOSTILE_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "kind", "value", "target", "at", "first"]), inner, max_size=6
        )
    ),
    max_leaves=20,
)


@given(
    lines=st.lists(
        st.binary(max_size=200) | HOSTILE_JSON.map(lambda value: json.dumps(value).encode()), max_size=8
    )
)
def test_hostile_json_lines(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "labels.jsonl").write_bytes(b"\n".join(lines))
    trace = load(session().write(folder / "log.jsonl"))
    review(trace).file = LabelFile(folder / "mine.jsonl")
    done = read_jsonl(trace, folder / "labels.jsonl")
    assert len(review(trace).file.records()) == done.added
    assert review(trace).labels == []


def test_records_that_could_not_have_been_written_here(trace: Trace, tmp_path: Path) -> None:
    good = json.loads(write_jsonl(trace, tmp_path / "good.jsonl").read_text().splitlines()[0])
    mine = review(trace).labels[0].id
    bad = [
        {**good, "kind": "withdrawn", "about": mine},
        {**good, "kind": "verdict", "value": "perfect"},
        {**good, "kind": "label", "value": "a\nb"},
        {**good, "kind": "label", "value": ""},
        {**good, "reviewer": ""},
        {**good, "reviewer": "x" * 10_000},
        {**good, "value": "x" * 100_000},
        {**good, "id": ""},
        {**good, "target": {"format": "x"}},
        {**good, "target": {"format": "x", "session": "y", "first": {"kind": "call", "seq": -1}}},
        {**good, "at": "yesterday"},
    ]
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(map(json.dumps, bad)) + "\n" + "[" * 1_000_000 + "\n")
    again = fresh(trace, tmp_path)
    done = read_jsonl(again, path)
    assert done.added == 0
    assert done.refused >= len(bad)
    assert not review(again).file.path.exists()


@given(text=st.text(alphabet=st.sampled_from('id,target_labl"\n\r\0;=+@x1truefas '), max_size=300))
def test_hostile_csv(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "set.csv").write_text(text, newline="")
    trace = load(session().write(folder / "log.jsonl"))
    review(trace).file = LabelFile(folder / "mine.jsonl")
    with contextlib.suppress(TraceError):
        read_scout_csv(trace, folder / "set.csv")
    assert review(trace).labels == []


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("id,target\nSESSION,true\nnobody,false\n", Imported(1, 0, 1)),
        ("id,target\nSESSION,perfect\n", Imported(0, 0, 1)),
        ("id,label_a,label_b,label_c\nSESSION,true,false,maybe\n", Imported(1, 0, 1)),
        ('id,target\n"[""SESSION"", ""nobody""]",true\n', Imported(1, 0, 1)),
        ("id,target\n[1,true\n", Imported(0, 0, 1)),
        ("\ufeffid,target\r\nSESSION,false\r\n", Imported(1, 0, 0)),
        ("id,target,,x\nSESSION,true,a,b,c,d\n", Imported(1, 0, 0)),
        ('id,"label_a\nb"\nSESSION,true\n', Imported(0, 0, 1)),
        (f"id,label_{'x' * 500}\nSESSION,true\n", Imported(0, 0, 1)),
    ],
)
def test_cells_that_do_not_fit_are_counted(tmp_path: Path, text: str, done: Imported) -> None:
    trace = load(session().write(tmp_path / "log.jsonl"))
    path = tmp_path / "set.csv"
    path.write_text(text.replace("SESSION", trace.sessions[0].id), newline="")
    assert read_scout_csv(trace, path) == done
    assert len(review(trace).labels) == done.added


@pytest.mark.usefixtures("state")
def test_a_csv_without_ids(tmp_path: Path) -> None:
    trace = load(session().write(tmp_path / "log.jsonl"))
    (tmp_path / "set.csv").write_text("name,target\na,true\n")
    with pytest.raises(TraceError, match="no column id"):
        read_scout_csv(trace, tmp_path / "set.csv")
    with pytest.raises(TraceError):
        read_scout_csv(trace, tmp_path / "nothing.csv")
