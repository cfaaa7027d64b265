"""The data that an explorer's page gets, of real logs and of made ones."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nbtools
from nbtools.core.errors import TraceError
from nbtools.notebook.magics.command_line import words
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.explorer_messages import TraceOpened, TraceRaw
from nbtools.traces.explorer.explorer_view import TRACE_MIME, TraceView
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.explorer.saved_filters import SavedFilter
from nbtools.traces.model import Call
from tests.notebook.magics.test_command_line import SEPARATORS, only_call
from tests.traces.explorer.asking import Problem, answered, ask, hits, listed, with_chip
from tests.traces.explorer.samples import CLAUDE, LOGS, sample


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    shown = nbtools.open_trace(sample(CLAUDE))
    shown.bundle()
    return shown


def opened(explorer: Explorer, step: str) -> TraceOpened:
    reply = ask(explorer, "open", line=explorer.line_at(step))
    assert isinstance(reply, TraceOpened)
    return reply


@pytest.mark.parametrize("log", LOGS)
def test_the_first_picture_of_a_log_agrees_with_the_rows_that_a_page_gets_later(log: str) -> None:
    shown = nbtools.open_trace(sample(log))
    bundle = shown.bundle()
    view = TraceView.model_validate_json(json.dumps(bundle[TRACE_MIME]))
    rows = listed(shown)
    assert view.total == len(rows) == len(shown.lines)
    assert all(row["number"] in bundle["text/plain"] for row in rows[:200])
    assert [line for bar in view.bars for line in range(bar.first, bar.last + 1)] == list(
        range(len(shown.lines))
    )


def test_the_view_of_a_notebook_that_was_saved_with_lines_still_opens(explorer: Explorer) -> None:
    view = explorer.view().model_dump(mode="json")
    del view["total"]
    page = {"type": "page", "first": 0, "total": 1, "calls": 0, "lines": [], "indexed": 100, "facets": []}
    assert TraceView.model_validate({**view, "page": page}).total == 0


@pytest.mark.parametrize("log", LOGS)
def test_every_line_of_a_log_opens_and_leads_only_to_lines_and_files_that_there_are(log: str) -> None:
    shown = nbtools.open_trace(sample(log))
    shown.bundle()
    paths = {
        key.partition(":")[2] for row in listed(shown) for key in row["chips"] if key.startswith("path:")
    }
    for line, row in list(enumerate(shown.lines.rows))[:60]:
        reply = ask(shown, "open", line=line)
        assert isinstance(reply, TraceOpened)
        links = [part for around in reply.around for part in around.parts]
        assert all(
            part.line is None or (0 <= part.line < len(shown.lines) and part.line != line) for part in links
        )
        assert all(not part.path or part.path in paths for part in links)
        assert bool(reply.replay) == (isinstance(row, Call) and not reply.obstacle)
        assert bool(reply.tool or reply.obstacle) == isinstance(row, Call)


def under(explorer: Explorer, *chips: str, text: str = "") -> set[int]:
    """Returns the lines under a filter."""
    found = explorer.rows_under(SavedFilter(name="", chips=chips, text=text))
    return {explorer.lines.line_by_row[id(row)] for row in found}


def test_a_filter_in_python_lists_what_the_chips_of_rows_say(explorer: Explorer) -> None:
    rows = listed(explorer)
    for key in sorted({key for row in rows for key in row["chips"]}):
        assert under(explorer, key) == {row["line"] for row in rows if key in row["chips"]} != set()
    assert {rows[line]["name"] for line in under(explorer, "kind:edits")} == {"Write", "Edit"}
    assert len(under(explorer, "kind:edits", "tool:Edit")) == 5
    with pytest.raises(TraceError, match=r"Unknown filter: huh:x\. Available: kind, end, tool, path"):
        under(explorer, "huh:x")


def test_chips_of_one_facet_add_up_and_those_of_several_combine(explorer: Explorer) -> None:
    shell, reads, failed = (under(explorer, chip) for chip in ("kind:shell", "kind:reads", "end:failed"))
    assert under(explorer, "kind:shell", "kind:reads") == shell | reads
    assert under(explorer, "kind:shell", "kind:reads", "end:failed") == (shell | reads) & failed != set()
    assert under(explorer, "kind:reads", text="testify") == reads & {*hits(explorer, "testify")}


def test_a_step_names_its_neighbours(explorer: Explorer) -> None:
    step = opened(explorer, "28")
    around = {one.label: "".join(part.text for part in one.parts) for one in step.around}
    assert around["Why"].startswith("“Good. Now let me create all the sub-package files.")
    assert around["After"] == "step 29: Write e2e/agents/tmux.go"
    assert around["File history"] == "e2e/agents/agent.go: read 72.1 · changed 28, 76 · show all 3"
    assert step.card.blocks[0].type == "diff"
    assert step.foot == "step 28 · request: 75 k in (74 k cached), at least 1 out"
    assert step.card.record.endswith(" · turn 1")
    assert step.tool.startswith("%%tool write --path=e2e/agents/agent.go\n")
    inner = {one.label: "".join(part.text for part in one.parts) for one in opened(explorer, "3.7").around}
    assert inner["Part of"] == "step 3: Read existing e2e files"
    assert "Sub-agent" in {one.label for one in opened(explorer, "3").around}


def test_a_call_that_cannot_be_replayed_says_why(explorer: Explorer) -> None:
    outside = opened(explorer, "10")
    assert (outside.replay, outside.tool) == ("", "")
    assert "is outside of the session's folder" in outside.obstacle
    said = opened(explorer, "1")
    assert (said.replay, said.obstacle, said.card.tool) == ("", "", "You")
    assert len(said.card.blocks[0].text) > 10_000  # type: ignore[union-attr]


def test_the_bytes_of_a_step_are_those_of_its_record(explorer: Explorer) -> None:
    step = opened(explorer, "28")
    reply = ask(explorer, "raw", line=step.line)
    assert isinstance(reply, TraceRaw)
    call = explorer.call_at("28")
    assert (
        f"line {call.ref.line} · bytes {call.ref.offset:,}–{call.ref.offset + call.ref.length - 1:,}"
        in step.raw
    )
    record = sample(CLAUDE).read_bytes()[call.ref.offset : call.ref.offset + call.ref.length]
    assert json.loads(reply.text[: reply.text.index("\n}") + 2]) == json.loads(record)


def recorded_in(folder: Path) -> bytes:
    """Returns a log whose session ran in ``folder``."""
    cwd = nbtools.open_trace(sample(CLAUDE)).trace.sessions[0].cwd
    return sample(CLAUDE).read_bytes().replace(cwd.encode(), str(folder).encode())


def test_a_step_whose_folder_is_missing_is_not_offered_again(explorer: Explorer) -> None:
    step = opened(explorer, "28")
    assert (step.replay, bool(step.tool)) == ("", True)
    assert "does not exist on this machine" in step.obstacle
    assert "--in FOLDER" in step.obstacle


def test_the_cells_that_go_on_from_here(tmp_path: Path) -> None:
    folder = tmp_path / "my logs"
    folder.mkdir()
    log = folder / "a log.jsonl"
    log.write_bytes(recorded_in(tmp_path))
    shown = nbtools.open_trace(log, step=28)
    view = TraceView.model_validate(shown.bundle()[TRACE_MIME])
    assert view.step == shown.line_at("28")
    assert view.actions == ("compare", "notebook", "share", "export", "sql")
    assert opened(shown, "28").link == f"%trace '{log}' --step 28"
    assert opened(shown, "28").replay == f"%trace '{log}' --replay 28"
    exec(ask(shown, "cell").source, {})


def test_a_search_result_opens_at_its_step():
    trace = nbtools.traces.load(sample(CLAUDE))
    for row in (trace.calls[0], trace.calls[-1]):
        shown = nbtools.open_trace(row_at(sample(CLAUDE), row.session, row.seq))
        opened = shown.lines.rows[shown.step]
        assert (opened.session, opened.seq) == (row.session, row.seq)
    with pytest.raises(TraceError, match="no step at position 123456789"):
        nbtools.open_trace(row_at(sample(CLAUDE), trace.calls[0].session, 123456789))


def row_at(source, session, seq):
    return SimpleNamespace(source=source, session=session, seq=seq)


def test_a_bundle_has_no_code(explorer: Explorer) -> None:
    assert not {"compare", "notebook", "sql"} & set(explorer.bundle()[TRACE_MIME])


def test_a_notebook_is_written_beside_the_log_and_never_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(sample(CLAUDE).read_bytes())
    (tmp_path / "session.ipynb").write_text("mine")
    (tmp_path / "session-1.ipynb").symlink_to(tmp_path / "elsewhere.ipynb")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "notebooks" / "asking.ipynb"))
    monkeypatch.chdir(tmp_path)
    shown = nbtools.open_trace("session.jsonl")
    shown.bundle()
    written = [ask(shown, "notebook") for _ in range(2)]
    assert [one.path for one in written] == [str(tmp_path / f"session-{number}.ipynb") for number in (2, 3)]
    assert [one.place for one in written] == ["../session-2.ipynb", "../session-3.ipynb"]
    assert json.loads((tmp_path / "session-2.ipynb").read_text())["cells"]
    assert (tmp_path / "session.ipynb").read_text() == "mine"
    assert not (tmp_path / "elsewhere.ipynb").exists()


def test_a_log_without_a_file_has_no_actions() -> None:
    shown = Explorer(nbtools.open_trace(sample(CLAUDE)).trace)
    assert TraceView.model_validate(shown.bundle()[TRACE_MIME]).actions == ()
    assert isinstance(ask(shown, "notebook"), Problem)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_name_with_a_separator_of_lines_is_one_argument_of_its_cells(
    tmp_path: Path, separator: str
) -> None:
    log = tmp_path / f"session{separator}open('pwned','w')#.jsonl"
    log.write_bytes(recorded_in(tmp_path))
    shown = nbtools.open_trace(log)
    shown.bundle()
    sources = (opened(shown, "28").link, opened(shown, "28").replay)
    for source in sources:
        name, (magic, line) = only_call(source)
        assert (name, magic) == ("run_line_magic", "trace")
        assert next(words(line)).text == str(log)
    query = ask(shown, "cell").source
    assert query.split("\n") == query.splitlines()


def test_secrets_are_shown_nowhere(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    log = tmp_path / "session.jsonl"
    log.write_text(json.dumps(_message(f"Use {secret} here")) + "\n")
    shown = nbtools.open_trace(log)
    assert secret not in json.dumps(shown.bundle())
    for line in range(len(shown.lines)):
        for kind in ("open", "raw"):
            assert secret not in ask(shown, kind, line=line).model_dump_json()
    assert secret not in str(listed(shown))
    found = hits(shown, "here")
    assert len(found) == 1
    assert secret not in ask(shown, "excerpts", version=0, text="here", lines=found).model_dump_json()


def _message(text: str) -> dict[str, Any]:
    """A session of one message."""
    about = {"sessionId": "s", "version": "2.0.0", "cwd": "/p", "isSidechain": False, "userType": "external"}
    message = {"role": "user", "content": text}
    return {
        **about,
        "type": "user",
        "uuid": "1",
        "parentUuid": None,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": message,
    }


def test_a_deleted_log_is_reported_without_an_exception(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(sample(CLAUDE).read_bytes())
    shown = nbtools.open_trace(log)
    shown.bundle()
    log.unlink()
    assert "No such file" in ask(shown, "open", line=shown.line_at("28"))
    assert isinstance(ask(shown, "raw", line=10**6), Problem)
    assert len(with_chip(shown, "kind:edits")) == 19


def test_invalid_requests_are_answered_too(explorer: Explorer) -> None:
    for method, params in (
        ("huh", {}),
        ("open", {}),
        ("open", {"line": "x"}),
        ("rows", {"version": 0, "first": -1, "count": 1}),
        ("excerpts", {"version": 0, "text": "a", "lines": [0] * 501}),
    ):
        answer, _ = answered(explorer, method, **params)
        assert "does not support" in answer["problem"]
    assert EXPLORERS.find("no such explorer") is None


def test_steps_are_found_by_their_numbers(explorer: Explorer) -> None:
    assert explorer.call_at("72.1").name == "Read"
    assert explorer.step_of(explorer.call_at("72.1")) == "72.1"
    assert [call.name for call in explorer.calls_between("28", "29")] == ["Write", "Write"]
    assert len(explorer.calls_between("72", "72")) == explorer.lines[explorer.line_at("72")].below + 1
    for step, why in (
        ("1", "is a message"),
        ("999", "Step 999 does not exist .the log has steps 1–88"),
        ("x", "Step x does not exist"),
    ):
        with pytest.raises(TraceError, match=why):
            explorer.call_at(step)
    with pytest.raises(TraceError, match="contain no tool call"):
        explorer.calls_between("1", "1")
    with pytest.raises(TraceError, match="Step 999 does not exist"):
        nbtools.open_trace(sample(CLAUDE), step=999)
