"""The builder that every log reader uses, and the reader that docs/architecture.md shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nbtools.traces.conversation import CallPart, ResultPart, TextPart
from nbtools.traces.model import NOWHERE, Call, Detail, Event, FileChange, Problem, Ref, Row, Session
from nbtools.traces.reader import Format, LogFile
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, duration_of
from nbtools.traces.source import Source

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
EDIT = {"file_path": "a.py", "old_string": "1\n", "new_string": "2\n"}


class Nowhere:
    def detail(self, call: Call) -> Detail:
        raise NotImplementedError(call)


@pytest.fixture
def session() -> SessionBuilder:
    return LogBuilder("test", Nowhere()).session("s")


def rows(session: SessionBuilder) -> list[Row]:
    return [*session.log.take()]


def test_numbers_continue_over_the_sessions_of_a_log(session: SessionBuilder) -> None:
    other = session.log.session("s")
    session.message("user", "a", NOWHERE)
    other.message("user", "b", NOWHERE)
    session.wait(session.call("1", "bash", NOWHERE, {"command": "ls"}))
    session.end()
    found = rows(session)
    assert [(row.session, row.seq, row.turn) for row in found if isinstance(row, Event | Call)] == [
        ("s", 0, 1),
        ("s#2", 1, 1),
        ("s", 2, 1),
    ]


def test_results_find_their_calls_by_id_and_without_ids_by_name_and_order(session: SessionBuilder) -> None:
    for id_, native, name in (("1", "x", "bash"), ("2", "", "bash"), ("3", "", "grep"), ("4", "", "bash")):
        session.part(CallPart(native, name, {}), id_, NOWHERE, 1.0)
    for piece in (
        ResultPart("", "g", "grep"),
        ResultPart("", "one"),
        ResultPart("x", "by id", status="error"),
        ResultPart("no", "lost"),
    ):
        session.part(piece, "", Ref(1, 2), 3.0)
    session.end()
    *done, lost, waiting, _ = rows(session)
    assert [
        (call.id, call.status, call.duration, call.result_size) for call in done if isinstance(call, Call)
    ] == [
        ("3", "unknown", 2.0, 1),
        ("2", "unknown", 2.0, 3),
        ("1", "error", 2.0, 5),
    ]
    assert isinstance(lost, Event)
    assert (lost.kind, lost.key, lost.text) == ("tool_result", "no", "lost")
    assert isinstance(waiting, Call)
    assert (waiting.id, waiting.status, waiting.answered) == ("4", "unanswered", False)


def test_a_result_adds_what_the_arguments_of_a_known_tool_changed(session: SessionBuilder) -> None:
    for id_, status in (("1", "ok"), ("2", "error")):
        session.part(CallPart(id_, "Edit", EDIT), id_, NOWHERE)
        session.part(ResultPart(id_, "done", status=status), "", NOWHERE)  # type: ignore[arg-type]
    (change,) = (row for row in rows(session) if isinstance(row, FileChange))
    assert (change.call, change.path, change.kind, change.added, change.removed) == (
        "1",
        "a.py",
        "modify",
        1,
        1,
    )


def test_the_session_has_the_times_and_models_of_its_records(session: SessionBuilder) -> None:
    for at, model in ((3.0, "b"), (None, ""), (1.0, "a"), (2.0, "b")):
        session.part(TextPart("assistant_text", "t", "assistant"), "", NOWHERE, at, model)
    session.flags["malformed"] = None
    session.end(title="t")
    found = rows(session)[-1]
    assert isinstance(found, Session)
    assert (found.started, found.ended, found.models, found.flags, found.title) == (
        1.0,
        3.0,
        ("b", "a"),
        ("malformed",),
        "t",
    )


def test_problems_are_rows_in_the_place_of_their_records(session: SessionBuilder) -> None:
    items: list[Any] = [(Ref(0, 1), "a"), Problem(Ref(1, 1), "bad"), (Ref(2, 1), "b")]
    found = [*session.log.read(items, lambda text, ref: session.event("system", text, ref))]
    assert [type(row) for row in found] == [Event, Problem, Event]


def test_ids_of_calls_are_unique(session: SessionBuilder) -> None:
    assert [session.unique_id(name) for name in ("a", "a", "", "a")] == ["a", "a#2", "?", "a#3"]


def test_a_duration_needs_an_end_that_is_not_before_its_start() -> None:
    assert [duration_of(*pair) for pair in ((1.0, 3.0), (None, 3.0), (1.0, None), (3.0, 1.0))] == [
        2.0,
        None,
        None,
        None,
    ]


def test_the_reader_in_the_documentation_reads(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## A log reader")[2]
    (code,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    lines = re.findall(r"`(\{\".*?\})`", section)
    assert all(isinstance(json.loads(line), dict) for line in lines)
    names: dict[str, Any] = {}
    exec(code, names)
    example: Format = names["Example"]()
    (path := tmp_path / "log.jsonl").write_text("\n".join([*lines, "no JSON"]) + "\n")
    log = LogFile(Source(path, example.files(path)), example)
    message, call, problem, end = log.rows()
    assert isinstance(message, Event)
    assert isinstance(call, Call)
    assert isinstance(problem, Problem)
    assert isinstance(end, Session)
    assert (message.kind, message.turn, call.status, call.op, call.subject, call.detail.result) == (
        "user",
        1,
        "ok",
        "shell",
        "ls",
        "x",
    )
