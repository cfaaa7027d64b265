"""A recorded session in a cell of a real kernel:
cards of a copy, questions, a diff where a result differs, and going on.
"""

from __future__ import annotations

import pytest

from nbtools.notebook.agent.run_messages import AGENT_MIME
from tests.replay.samples import bash, edit, log


@pytest.fixture
def lesson(lab, project, tmp_path_factory):
    path = tmp_path_factory.mktemp("lesson") / "lesson.jsonl"
    change = edit("TODO: round", "DONE: round", "/home/sam/shop/notes.txt")
    log(
        path,
        bash("cat notes.txt", "TODO: <b>round</b>\n"),
        change,
        ("Task", {"description": "Look"}, "All is well.", {}),
    )
    lab.run('%tools allow "shell(cat:*)"')
    assert "No model" not in lab.run(f"%agent --model recorded:{path} --project {project}").text
    return lab


def parts(cell):
    data = [output["data"] for output in cell.outputs if "data" in output]
    return [one[AGENT_MIME]["part"] if AGENT_MIME in one else one["text/plain"] for one in data]


def test_a_lesson_stops_at_a_difference_asks_and_goes_on(lesson, project):
    head, about, prompt, shell, difference, foot = parts(lesson.run("%%agent"))
    assert (head["model"], head["status"]) == ("recorded:lesson.jsonl", "Stopped")
    assert "No model is asked. The calls run in a copy of the folder as it is" in about
    assert "# Why" in prompt
    assert "cat notes.txt" in shell
    assert "Different from recorded" in difference
    assert "TODO: <b>round</b>" in difference
    assert (foot["status"], foot["actions"]) == (
        "Call 1 has another result than the recorded one",
        ["play-on", "open-trace"],
    )
    cell = lesson.start("%agent continue")
    lesson.answer_with("once")
    lesson.until(lambda: cell.done)
    _, change, task, last, foot = parts(cell)
    assert change.splitlines()[0].split()[1] == "edit"
    assert "Recorded, not run" in task
    assert "without an answer" in last["block"]["text"]
    assert (foot["status"], foot["actions"]) == ("Done", ["open-trace"])
    assert (project / "notes.txt").read_text() == "TODO: round\n"
    assert lesson.value("(agent.root / 'notes.txt').read_text()") == "DONE: round\n"
    assert "has ended: every prompt was played" in str(parts(lesson.run("%agent continue"))[-1])


def test_a_copy_ends_with_its_model(lesson):
    lesson.run("%%agent")
    assert lesson.value("(copy := agent.root).is_dir()") is True
    shown = lesson.run("%agent").text
    assert "recorded:lesson.jsonl" in shown
    assert "%agent continue goes on" in shown
    lesson.run("agent.model = 'test'")
    assert lesson.value("copy.exists(), agent.root, agent.is_recorded") == (False, None, False)


def test_a_copy_ends_when_the_notebook_moves_or_begins_again(lesson, project):
    lesson.run("%%agent")
    lesson.run("copy = agent.root\nagent.new()")
    lesson.run("%%agent")
    assert lesson.value("copy.exists(), agent.root != copy, agent.root.exists()") == (False, True, True)
    lesson.run("copy = agent.root\n%tools workspace src")
    assert lesson.value("copy.exists(), agent.root") == (False, None)


def test_a_denial_and_one_step_at_a_time(lesson, project):
    lesson.run("%agent --pace step")
    lesson.run("%%agent")
    cell = lesson.start("%agent continue")
    lesson.answer_with("deny")
    lesson.until(lambda: cell.done)
    assert "was denied; the recording goes on" in parts(cell)[-1]["status"]
    assert parts(lesson.run("%agent continue"))[-1]["status"] == "Call 3 is done"


def test_mistakes_are_one_line(lesson):
    assert "not a number of seconds" in lesson.run("%agent --pace soon").text
    lesson.run("agent.model = 'test'")
    assert "Only a recorded session goes on by itself" in lesson.run("%agent continue").text
    lesson.run("agent.model = 'recorded:none.jsonl'")
    assert "recorded:none.jsonl cannot be played" in str(parts(lesson.run("%%agent"))[-1]["status"])
