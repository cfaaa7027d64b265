"""The data that an explorer's page gets, of real logs and of made ones."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nbtools
from nbtools.core.errors import TraceError
from nbtools.notebook.magics.command_line import words
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.explorer_messages import (
    TraceAnswer,
    TraceOpened,
    TracePosition,
    TraceProblem,
    TraceRaw,
)
from nbtools.traces.explorer.explorer_view import TRACE_MIME, TraceChoice, TracePage, TraceView
from nbtools.traces.explorer.facets import Facet
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.model import Call
from tests.notebook.magics.test_command_line import SEPARATORS, only_call
from tests.traces.explorer.samples import CLAUDE, LOGS, sample

LIMIT = 20.0


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    shown = nbtools.open_trace(sample(CLAUDE))
    shown.bundle()
    return shown


def ask(explorer: Explorer, task: dict[str, Any]) -> Any:
    """Returns the message as it is sent."""
    answer = EXPLORERS.respond({"id": 7, "explorer": explorer.id, "task": task})
    assert TraceAnswer.model_validate_json(answer.model_dump_json()) == answer
    assert (answer.id, answer.gone) == (7, False)
    return answer.reply


def page(explorer: Explorer, at: int = 0, count: int = 500, **wanted: Any) -> TracePage:
    reply = ask(explorer, {"type": "page", "filter": wanted, "first": at, "count": count})
    assert isinstance(reply, TracePage)
    return reply


def found(explorer: Explorer, text: str) -> TracePage:
    """Returns the result of a finished search."""
    deadline = time.monotonic() + LIMIT
    while (reply := page(explorer, text=text)).indexed < 100:
        assert time.monotonic() < deadline
    return reply


def choices(reply: TracePage) -> list[TraceChoice]:
    return [choice for facet in reply.facets for choice in facet.choices]


def opened(explorer: Explorer, step: str) -> TraceOpened:
    reply = ask(explorer, {"type": "open", "line": explorer.line_at(step)})
    assert isinstance(reply, TraceOpened)
    return reply


@pytest.mark.parametrize("log", LOGS)
def test_the_first_picture_of_a_log_agrees_with_what_a_page_gets_later(log: str) -> None:
    shown = nbtools.open_trace(sample(log))
    view = TraceView.model_validate_json(json.dumps(shown.bundle()[TRACE_MIME]))
    assert view.page.lines == page(shown, count=200).lines
    assert view.page.total == len(shown.lines)
    assert [facet.name for facet in view.page.facets] == ["kind", "end", "tool", "path"]
    assert all(choice.count == page(shown, chips=(choice.key,)).total > 0 for choice in choices(view.page))
    assert [line for bar in view.bars for line in range(bar.first, bar.last + 1)] == list(
        range(len(shown.lines))
    )


@pytest.mark.parametrize("log", LOGS)
def test_every_line_of_a_log_opens_and_leads_only_to_lines_and_files_that_there_are(log: str) -> None:
    shown = nbtools.open_trace(sample(log))
    shown.bundle()
    paths = {
        choice.key.partition(":")[2] for choice in choices(page(shown)) if choice.key.startswith("path:")
    }
    for line, row in list(enumerate(shown.lines.rows))[:60]:
        reply = ask(shown, {"type": "open", "line": line})
        assert isinstance(reply, TraceOpened)
        links = [part for around in reply.around for part in around.parts]
        assert all(
            part.line is None or (0 <= part.line < len(shown.lines) and part.line != line) for part in links
        )
        assert all(not part.path or part.path in paths for part in links)
        assert bool(reply.replay) == (isinstance(row, Call) and not reply.obstacle)
        assert bool(reply.tool or reply.obstacle) == isinstance(row, Call)


def test_a_page_is_a_stretch_of_what_a_filter_leaves(explorer: Explorer) -> None:
    every = page(explorer)
    assert (every.total, every.calls) == (133, 102)
    assert page(explorer, 10, 5).lines == every.lines[10:15]
    edits = page(explorer, chips=("kind:edits",))
    assert {line.name for line in edits.lines} == {"Write", "Edit"}
    assert page(explorer, chips=("kind:edits", "tool:Edit")).total == 5
    within = page(explorer, chips=("kind:edits",), first=40, last=100)
    assert within.lines == tuple(line for line in edits.lines if 40 <= line.line <= 100)
    assert page(explorer, 10_000).lines == ()
    assert isinstance(
        ask(explorer, {"type": "page", "filter": {"chips": ["huh:x"]}, "first": 0, "count": 1}), TraceProblem
    )


def test_chips_of_one_facet_add_up_and_those_of_several_combine_with_their_counts(explorer: Explorer) -> None:
    def lines(*chips: str, **more: object) -> set[int]:
        return {line.line for line in page(explorer, chips=chips, **more).lines}

    shell, reads, failed = (lines(chip) for chip in ("kind:shell", "kind:reads", "end:failed"))
    assert lines("kind:shell", "kind:reads") == shell | reads
    assert lines("kind:shell", "kind:reads", "end:failed") == (shell | reads) & failed != set()
    assert lines("kind:reads", "end:failed", first=0, last=30) == {
        line for line in reads & failed if line <= 30
    }
    filters = (
        {},
        {"chips": ("kind:reads",)},
        {"chips": ("kind:reads", "end:failed")},
        {"chips": ("tool:Read",), "first": 5, "last": 60},
    )
    for query in filters:
        chosen = query.get("chips", ())
        for choice in choices(page(explorer, **query)):
            facet = choice.key.partition(":")[0]
            others = tuple(chip for chip in chosen if not chip.startswith(f"{facet}:"))
            assert choice.count == page(explorer, **{**query, "chips": (*others, choice.key)}).total, (
                query,
                choice,
            )
    assert page(explorer, 3, 2).facets == ()


class Marked(Facet):
    name, label = "mark", "Mark"

    def __init__(self, **lines: list[int]) -> None:
        self.marked = lines

    def lines(self) -> dict[str, list[int]]:
        return self.marked


def test_an_added_facet_has_chips_that_combine_with_the_others_and_can_change(explorer: Explorer) -> None:
    facet = Marked(odd=[3, 5, 9, 40])
    explorer.add_facet(lambda _: facet)
    before = page(explorer, chips=("mark:odd",))
    assert [line.line for line in before.lines] == [3, 5, 9, 40]
    assert next(choice for choice in choices(before) if choice.key == "mark:odd").count == 4
    facet.marked = {"odd": [3], "even": [4]}
    explorer.facets.changed()
    assert [line.line for line in page(explorer, chips=("mark:odd", "mark:even")).lines] == [3, 4]


def test_folding_hides_nested_lines_and_nothing_else(explorer: Explorer) -> None:
    every = page(explorer)
    agent = next(line for line in every.lines if line.below)
    folded = page(explorer, folded=(agent.line,))
    hidden = {line.line for line in every.lines} - {line.line for line in folded.lines}
    assert hidden == set(range(agent.line + 1, agent.line + 1 + agent.below))
    assert (
        page(explorer, chips=("kind:reads",), folded=(agent.line, 10**9)).total
        < page(explorer, chips=("kind:reads",)).total
    )


def test_a_line_is_found_again_under_a_filter(explorer: Explorer) -> None:
    edits = page(explorer, chips=("kind:edits",)).lines
    for line, number in ((edits[3].line, 3), (edits[3].line + 1, 4), (0, 0), (10**6, len(edits))):
        assert ask(
            explorer, {"type": "place", "filter": {"chips": ["kind:edits"]}, "line": line}
        ) == TracePosition(number=number)


def test_a_file_has_all_steps_that_touched_it_in_any_session(explorer: Explorer) -> None:
    steps = page(explorer, chips=("path:e2e/agents/agent.go",)).lines
    assert [(line.number, line.name) for line in steps] == [("28", "Write"), ("72.1", "Read"), ("76", "Edit")]


def test_a_search_goes_through_all_text_and_marks_what_it_found(explorer: Explorer) -> None:
    reply = found(explorer, "testify")
    rows = {
        explorer.lines.line_by_row[id(hit.row)]
        for hit in explorer.trace.search("testify", 1_000)
        if id(hit.row) in explorer.lines.line_by_row
    }
    assert {line.line for line in reply.lines} == rows
    assert all(
        any(style == "hit" and text.lower() == "testify" for text, style in line.snippet)
        for line in reply.lines
    )
    assert found(explorer, "no such words anywhere").total == 0
    assert found(explorer, "package agents").total > 3


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
    reply = ask(explorer, {"type": "raw", "line": step.line})
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
    assert view.actions == ("compare", "notebook", "share", "sql")
    assert opened(shown, "28").link == f"%trace '{log}' --step 28"
    assert opened(shown, "28").replay == f"%trace '{log}' --replay 28"
    exec(ask(shown, {"type": "cell"}).source, {})


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
    written = [ask(shown, {"type": "story"}) for _ in range(2)]
    assert [one.path for one in written] == [str(tmp_path / f"session-{number}.ipynb") for number in (2, 3)]
    assert [one.place for one in written] == ["../session-2.ipynb", "../session-3.ipynb"]
    assert json.loads((tmp_path / "session-2.ipynb").read_text())["cells"]
    assert (tmp_path / "session.ipynb").read_text() == "mine"
    assert not (tmp_path / "elsewhere.ipynb").exists()


def test_a_log_without_a_file_has_no_actions() -> None:
    shown = Explorer(nbtools.open_trace(sample(CLAUDE)).trace)
    assert TraceView.model_validate(shown.bundle()[TRACE_MIME]).actions == ()
    assert isinstance(ask(shown, {"type": "story"}), TraceProblem)


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
    query = ask(shown, {"type": "cell"}).source
    assert query.split("\n") == query.splitlines()


def test_secrets_are_shown_nowhere(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    log = tmp_path / "session.jsonl"
    log.write_text(json.dumps(_message(f"Use {secret} here")) + "\n")
    shown = nbtools.open_trace(log)
    assert secret not in json.dumps(shown.bundle())
    for line in range(len(shown.lines)):
        for kind in ("open", "raw"):
            assert secret not in ask(shown, {"type": kind, "line": line}).model_dump_json()
    reply = found(shown, "here")
    assert reply.total == 1
    assert secret not in reply.model_dump_json()


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
    assert "No such file" in ask(shown, {"type": "open", "line": shown.line_at("28")}).text
    assert isinstance(ask(shown, {"type": "raw", "line": 10**6}), TraceProblem)
    assert page(shown, chips=("kind:edits",)).total == 19


def test_invalid_requests_are_answered_too() -> None:
    assert isinstance(
        EXPLORERS.respond({"id": 5, "explorer": "x", "task": {"type": "huh"}}).reply, TraceProblem
    )
    assert isinstance(EXPLORERS.respond(None).reply, TraceProblem)
    assert EXPLORERS.respond({"id": 5, "explorer": "x", "task": {"type": "raw", "line": 0}}) == TraceAnswer(
        id=5, gone=True
    )


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
