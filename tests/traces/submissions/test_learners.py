"""Learners' work: numbers, facts about notebooks, marks, and what is not read; the folders may be hostile."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path, PurePath

import pytest

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.traces.explorer.explorer import open_trace
from nbtools.traces.reviews.code_book import Code, CodeBook
from nbtools.traces.reviews.review import Review
from nbtools.traces.reviews.review_settings import change_review_settings, review_settings
from nbtools.traces.session_list.review_queue import ReviewQueue
from nbtools.traces.session_list.rows import SessionChanges
from nbtools.traces.session_list.session_messages import ReviewSessionsParams
from nbtools.traces.session_list.view import session_catalog
from nbtools.traces.submissions import folder as folder_module
from nbtools.traces.submissions import learner as learner_module
from nbtools.traces.submissions import learner_set
from nbtools.traces.submissions.notebooks import NotebookFacts, notebook_facts
from tests.traces.recorded import SAMPLES
from tests.traces.reviews.logs import Log
from tests.traces.session_index.home import OVERRIDES
from tests.traces.submissions.work import (
    code,
    log_with_tests,
    session_id,
    submissions,
    text,
    write_notebook,
)
from tests.traces.test_stored_sessions import Database

RUBRIC = {"tests first": "A test fails before the edit.", "explains": "The learner says why."}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("NBTOOLS_REVIEWER", "tea")
    session_catalog.cache_clear()
    return tmp_path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return submissions(tmp_path)


def reasons(found: traces.LearnerSet) -> dict[str, str]:
    return {str(one.path.relative_to(found.folder)): one.reason for one in found.left_out}


def test_each_folder_is_a_learner_with_raw_numbers(work: Path) -> None:
    found = traces.learners(work, rubric=RUBRIC)
    assert [one.name for one in found] == ["anna", "ben", "carla"]
    anna, ben, carla = found.records()
    assert anna["sessions"] == anna["prompts"] == anna["test_runs"] == anna["failed_calls"] == 1
    assert (anna["calls"], anna["edits"], anna["edits_after_tests"]) == (4, 3, 1)
    assert anna["session_time"] == pytest.approx(9)
    assert (ben["calls"], ben["prompts"], ben["test_runs"], ben["edits_after_tests"]) == (0, 1, 0, None)
    assert (carla["sessions"], carla["calls"], carla["prompts"], carla["session_time"]) == (
        0,
        None,
        None,
        None,
    )
    assert not [name for name in anna if "score" in name or "rank" in name or "grade" in name]
    assert found["ben"].sessions[0].path == work / "ben/session.jsonl"
    assert len(found.to_pandas()) == len(found)
    with pytest.raises(TraceError, match="no learner 'Ben'"):
        found["Ben"]


def test_signals_are_counted_by_kind(work: Path) -> None:
    log = Log(session_id(3)).person("Build it.")
    for _ in range(3):
        log.bash("make", failed=True)
    log.write(work / "ben/again.jsonl")
    ben = traces.learners(work)["ben"]
    assert dict(ben.signals) == {"repeated_call": 1, "failure_not_retried": 1}
    assert len(ben.sessions) == 2


def test_logs_of_any_agent_are_read_and_the_log_does_not_say_whose_it_is(tmp_path: Path) -> None:
    """The folder says it, whatever working directory the log claims."""
    for name, pattern in {"a": "codex/*external*.jsonl", "b": "gemini-cli/session*.json"}.items():
        (tmp_path / "all" / name).mkdir(parents=True)
        for path in SAMPLES.glob(pattern):
            (tmp_path / "all" / name / path.name).write_bytes(path.read_bytes())
    claim = log_with_tests(7)
    claim.lines = [
        json.dumps({**json.loads(line), "cwd": str(tmp_path / "all/b")}).encode() + b"\n"
        for line in claim.lines
    ]
    claim.write(tmp_path / "all/a/claim.jsonl")
    found = traces.learners(tmp_path / "all")
    assert {one.agent for one in found["a"].sessions} == {"codex", "claude-code"}
    assert {one.agent for one in found["b"].sessions} == {"gemini-cli"}
    assert str(tmp_path / "all/b") in {one.project for one in found["a"].sessions}


def test_a_prompt_is_a_message_that_asks_for_something(work: Path) -> None:
    log = Log(session_id(3)).person("/clear").person("<system-reminder>Be brief.</system-reminder>")
    log.person("Explain sums.").person("And means.").write(work / "ben/more.jsonl")
    ben = traces.learners(work)["ben"]
    assert ben.prompts == 3


def test_logs_of_sub_agents_belong_to_the_session_that_started_them(tmp_path: Path) -> None:
    (folder,) = SAMPLES.glob("claude-code/subagent-layout")
    shutil.copytree(folder, tmp_path / "all/a")
    found = traces.learners(tmp_path / "all")
    (log,) = (tmp_path / "all/a").glob("*.jsonl")
    assert [one.path for one in found["a"].sessions] == [log]
    assert found["a"].counts == traces.load(log).counts
    assert found.left_out == []


def test_facts_about_a_notebook_are_those_of_its_file(work: Path) -> None:
    found = traces.learners(work)
    assert found["anna"].notebooks == (NotebookFacts("hw1.ipynb", 4, 3, 3, True, 1, 1, ("NameError",)),)
    assert found["carla"].notebooks == (NotebookFacts("hw1.ipynb", 2, 2, 2, False),)


def test_a_long_cell_of_blanks_takes_no_time(tmp_path: Path) -> None:
    """A pattern that tries each number of blanks at both ends would take days."""
    write_notebook(tmp_path / "a.ipynb", code(" " * 2_000_000 + "x" + "\n" * 2_000_000 + "y"))
    assert notebook_facts(tmp_path / "a.ipynb", "a").empty == 0


@pytest.mark.parametrize(
    ("cell", "empty"),
    [
        (code("   \n"), True),
        (code("# only a comment\n\npass"), True),
        (code("def f():\n    # YOUR CODE HERE\n    raise NotImplementedError()"), True),
        (code("def f():\n    # YOUR CODE HERE\n    return 1"), False),
        (text("YOUR ANSWER HERE"), True),
        (text("Because."), False),
        (code("print('...')"), False),
    ],
)
def test_an_answer_is_empty_where_only_the_placeholder_is_left(tmp_path: Path, cell, empty: bool) -> None:
    path = write_notebook(tmp_path / "a.ipynb", cell, text("The end."))
    assert notebook_facts(path, "a").empty == empty


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no json",
        b'{"worksheets": []}',
        b'{"cells": 3}',
        b'{"cells": [{"cell_type": "code", "source": 3}]}',
        b'{"cells": ' + b"[" * 100_000,
        b"\xff\xfe" + b"{",
    ],
)
def test_a_damaged_notebook_has_a_problem_and_no_numbers(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.ipynb").write_bytes(content)
    assert notebook_facts(tmp_path / "a.ipynb", "a") == NotebookFacts(
        "a", problem="It is no notebook of format 4."
    )


def test_everything_that_is_not_read_is_named_with_its_reason(work: Path) -> None:
    (work / "notes.txt").write_text("For me.")
    (work / ".git").mkdir()
    (work / "ben/.git").mkdir()
    (work / "ben/data.json").write_text('{"price": 3}')
    (work / "ben/empty.jsonl").write_text("")
    (work / "ben/broken.jsonl").write_bytes(log_with_tests(9).lines[0][:40])
    (work / "ben/.aider.chat.history.md").write_text("# aider chat started at 2026-01-01\n\n> hi\n")
    os.mkfifo(work / "ben/pipe.jsonl")
    (work / "ben/link").symlink_to("/etc")
    found = reasons(traces.learners(work))
    assert found.keys() == {
        *("notes.txt", ".git", "anna/README.md", "ben/.git", "ben/data.json", "ben/empty.jsonl"),
        *("ben/broken.jsonl", "ben/.aider.chat.history.md", "ben/pipe.jsonl", "ben/link"),
    }
    assert "Aider" in found["ben/.aider.chat.history.md"]
    assert "pipe" in found["ben/pipe.jsonl"]
    assert "neither a notebook nor a session log" in found["ben/data.json"]
    assert "link" in found["ben/link"]


def test_no_link_leads_out_of_a_learners_folder(work: Path, tmp_path: Path) -> None:
    """Neither the learner's folder, nor a log, nor what a reader finds beside a log."""
    secret = log_with_tests(5, "My secret plan").write(tmp_path / "secret.jsonl")
    (work / "dora").symlink_to(work / "anna")
    (work / "ben/other.jsonl").symlink_to(secret)
    (work / "anna/session").mkdir()
    (work / "anna/session/subagents").symlink_to("/")
    (work / "carla/session.ipynb").symlink_to(work / "anna/hw1.ipynb")
    found = traces.learners(work)
    assert [one.name for one in found] == ["anna", "ben", "carla"]
    assert not [one for learner in found for one in learner.sessions]
    named = reasons(found)
    assert "link" in named["dora"]
    assert "subagents" in named["anna/session.jsonl"]
    assert "other.jsonl" in named["ben/session.jsonl"]
    assert "My secret plan" not in repr(found) + found._repr_html_()


def test_a_link_to_data_does_not_stop_the_logs_beside_it(work: Path) -> None:
    Log(session_id(3)).bash('cat "data"').write(work / "ben/more.jsonl")
    (work / "ben/data").symlink_to("/usr/share")
    found = traces.learners(work)
    assert len(found["ben"].sessions) == 2
    assert reasons(found)["ben/data"].startswith("It is a link")


def test_the_log_of_a_database_that_is_a_link_is_not_read(work: Path, tmp_path: Path) -> None:
    stored = Database(work / "ben")
    stored.session("ses_1", "Sum up")
    stored.connection.close()
    (work / "ben/opencode.db-wal").symlink_to(tmp_path / "other.db-wal")
    found = traces.learners(work)
    assert "opencode.db-wal" in reasons(found)["ben/opencode.db"]
    assert [one.agent for one in found["ben"].sessions] == ["claude-code"]


def test_a_link_whose_name_is_no_text_does_not_stop_the_learner(work: Path) -> None:
    (work / "ben" / os.fsdecode(b"\xff" * 20)).symlink_to("/etc")
    assert len(traces.learners(work)["ben"].sessions) == 1


def test_a_file_that_cannot_be_looked_at_is_named(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that is gone, or in a folder that may be listed and not entered."""
    listed = folder_module._entries

    def entries(folder: Path) -> list[os.DirEntry[str]]:
        found = listed(folder)
        if folder.name == "ben":
            (folder / "gone.txt").unlink()
        return found

    (work / "ben/gone.txt").write_text("")
    monkeypatch.setattr(folder_module, "_entries", entries)
    found = traces.learners(work)
    assert "cannot be read" in reasons(found)["ben/gone.txt"]
    assert len(found["ben"].sessions) == 1


def test_links_and_folders_count_as_entries(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "MAX_ENTRIES", 50)
    for number in range(60):
        (work / f"ben/a{number:02}").symlink_to("/etc")
        (work / f"carla/a{number:02}").mkdir()
    found = traces.learners(work)
    for name in ("ben", "carla"):
        assert "more than 50 entries" in reasons(found)[name]
        assert len(found[name].left_out) <= 51
    assert len(found["anna"].sessions) == 1


def test_a_file_is_compared_with_no_other_file(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def equal(one: Path, other: object) -> bool:
        nonlocal compared
        compared += 1
        return str(one) == str(other)

    for number in range(300):
        (work / f"ben/{number}.txt").write_text("")
        (work / f"ben/to{number}").symlink_to("/etc")
    monkeypatch.setattr(PurePath, "__eq__", equal)
    traces.learners(work)
    assert compared < 300 * 100


def test_a_log_that_is_too_large_is_named_and_not_read(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_module, "MAX_LOG", 100)
    # Not even opened: readers look for the names of other files in a whole document.
    monkeypatch.setattr(learner_module, "open_log", lambda path: pytest.fail(f"{path} was opened"))
    (work / "anna/README.md").unlink()
    found = traces.learners(work)
    assert not found["anna"].sessions
    assert "Open it by itself" in reasons(found)["anna/session.jsonl"]


def test_a_sparse_log_of_a_gigabyte_costs_nothing(work: Path) -> None:
    with (work / "ben/session.jsonl").open("r+b") as file:
        file.truncate(1 << 30)
    assert "1.1 GB" in reasons(traces.learners(work))["ben/session.jsonl"]


def test_a_learner_whose_reading_fails_does_not_stop_the_others(work, monkeypatch):
    def read(folder):
        if folder.name == "ben":
            raise MemoryError("too large")
        return learner_module.read_learner(folder)

    monkeypatch.setattr(learner_set, "read_learner", read)
    found = traces.learners(work)
    assert [len(one.sessions) for one in found] == [1, 0, 0]
    assert "MemoryError" in reasons(found)["ben"]


def test_names_are_shown_as_text(work: Path) -> None:
    for name in ("<script>alert(1)<", "..evil", "a\nb\u202e", "$x$"):
        (work / name).mkdir()
        write_notebook(
            work / name / "<img src=x onerror=alert(1)>.ipynb", code("<script>alert(2)</script>", 1)
        )
    found = traces.learners(work, rubric={"<b>bold</b>": "<i>"})
    html = found._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "alert(2)" not in html
    assert "\u202e" not in html + repr(found)
    assert "&lt;script&gt;" in html


def test_the_same_session_of_two_learners_is_a_fact(work: Path) -> None:
    copied = (work / "anna/session.jsonl").read_bytes()
    (work / "ben/copy.jsonl").write_bytes(copied.replace(session_id(1).encode(), session_id(8).encode()))
    (work / "carla/session.jsonl").write_bytes(copied)
    found = traces.learners(work)
    facts = {(one.learner, one.path.name): one for one in found.overlaps}
    assert facts.keys() == {("anna", "session.jsonl"), ("ben", "copy.jsonl"), ("carla", "session.jsonl")}
    anna = facts["anna", "session.jsonl"]
    assert anna.others == ("ben", "carla")
    assert (anna.same_id, anna.same_start) == (True, True)
    ben = facts["ben", "copy.jsonl"]
    assert (ben.same_id, ben.same_start, ben.records) == (False, False, ben.of)
    assert "carla" in found._repr_html_()
    assert "has in common with ben, carla" in repr(found)
    assert traces.learners(submissions(work)).overlaps == ()


def test_the_name_of_a_file_does_not_identify_a_session(tmp_path: Path) -> None:
    """Formats without an id take the file's name, which is the same for many learners."""
    for name in ("a", "b"):
        (tmp_path / "all" / name).mkdir(parents=True)
        messages = [{"role": "user", "content": f"Task {name}"}, {"role": "assistant", "content": "Done."}]
        (tmp_path / "all" / name / "chat.json").write_text(json.dumps(messages))
    found = traces.learners(tmp_path / "all")
    assert [len(one.sessions) for one in found] == [1, 1]
    assert found.overlaps == ()


def test_a_copy_under_another_id_has_the_same_records(tmp_path: Path) -> None:
    (sample,) = SAMPLES.glob("claude-code/external-agents--9d*.jsonl")
    for name, data in {
        "a": sample.read_bytes(),
        "b": sample.read_bytes().replace(sample.stem.encode()[-36:], session_id(1).encode()),
    }.items():
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "log.jsonl").write_bytes(data)
    a, b = traces.learners(tmp_path / "all").overlaps
    assert (a.same_id, b.same_id) == (False, False)
    assert a.records == b.records > 0.9 * a.of


def mark(path: Path, reviewer: str, verdict: str, *codes: str) -> None:
    review = Review(traces.load(path), reviewer=reviewer, book=CodeBook("r", tuple(map(Code, RUBRIC))))
    for name in codes:
        review.label(None, name)
    review.verdict(None, verdict)


def test_criteria_are_marks_and_a_blind_reader_sees_them_after_the_own_verdict(work: Path) -> None:
    mark(work / "anna/session.jsonl", "ana", "pass", "tests first")
    mark(work / "ben/session.jsonl", "ana", "fail")
    seen = traces.learners(work, rubric=RUBRIC, reviewer="ben")
    assert seen.marks()["anna"].labels == {"tests first": ("ana",)}
    assert seen.records()[0]["mark tests first"] == "ana"
    blind = traces.learners(work, rubric=RUBRIC, reviewer="ben", blind=True)
    assert (blind.marks()["anna"].labels, blind.marks()["anna"].verdicts) == ({}, {})
    assert blind.marks()["anna"].hidden
    assert "ana" not in blind._repr_html_().replace("anna", "")
    blind.review.label(work / "anna/session.jsonl", "explains")
    blind.review.verdict(work / "anna/session.jsonl", "fail")
    marks = blind.marks()
    assert marks["anna"].labels == {"tests first": ("ana",), "explains": ("ben",)}
    assert marks["anna"].verdicts == {"ben": "fail", "ana": "pass"}
    assert marks["ben"].hidden
    assert not marks["ben"].labels


def test_agreement_is_on_verdicts_and_on_each_criterion(work: Path) -> None:
    for reviewer, codes in {"ana": ("tests first",), "ben": ("tests first", "explains")}.items():
        mark(work / "anna/session.jsonl", reviewer, "pass", *codes)
        mark(work / "ben/session.jsonl", reviewer, "fail")
    found = traces.learners(work, rubric=RUBRIC)
    assert found.agreement("ana", "ben").kappa == 1
    assert found.agreement("ana", "ben", "tests first").kappa == 1
    explains = found.agreement("ana", "ben", "explains")
    assert (explains.items, explains.observed, explains.kappa) == (2, 0.5, 0)
    with pytest.raises(TraceError, match="no criterion"):
        found.agreement("ana", "ben", "style")


def test_the_queue_of_the_list_reviews_the_sessions_by_the_rubric(work: Path) -> None:
    found = traces.learners(work, rubric=RUBRIC, reviewer="ben", blind=True)
    shown = found.review_these()
    settings = review_settings()
    assert settings.queue == tuple(one.id for one in found.review.sessions)
    assert (settings.reviewer, settings.blind) == ("ben", True)
    assert {one.path for one in shown.sessions} == {one.path for one in found.review.sessions}
    review = traces.review(open_trace(work / "anna/session.jsonl").trace)
    assert [(one.name, one.key) for one in review.book.codes] == [("tests first", "1"), ("explains", "2")]
    other = log_with_tests(11).write(work.parent / "mine.jsonl")
    assert traces.review(traces.load(other)).book.name == "default"
    catalog = session_catalog()
    changes = SessionChanges(catalog)
    changes.update()
    ReviewQueue(catalog, changes).begin(ReviewSessionsParams(explorer="", ids=()))
    assert review_settings().rubric is None
    change_review_settings(reviewer="", blind=False)


def test_a_rubric_that_cannot_be_stored_is_refused(work: Path) -> None:
    """Settings that are not valid would be lost as a whole, with the queue."""
    change_review_settings(blind=True)
    for rubric in ({"a\nb": ""}, [""], {"long": "x" * 2_000}, [str(number) for number in range(200)]):
        with pytest.raises(TraceError, match="not a code book"):
            traces.learners(work, rubric=rubric)
    for changes in ({"reviewer": "x" * 300}, {"rubric": CodeBook("a", (Code("b\n"),))}):
        with pytest.raises(TraceError, match="Nothing was changed"):
            change_review_settings(**changes)
    assert review_settings().blind


def test_a_folder_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        traces.learners(tmp_path / "none")
    with pytest.raises(TraceError, match="cannot be read"):
        traces.learners(tmp_path, rubric=tmp_path / "none.toml")
