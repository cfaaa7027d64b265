"""A log becomes a lesson: a question before each step, the answer folded, notes for the speaker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from nbtools import to_notebook
from nbtools.traces import Trace, load
from nbtools.traces.reviews.review import review
from tests.replay.samples import bash, edit, log
from tests.traces.recorded import SAMPLES

HOSTILE = "</details><script>window.harm = 1</script>\n```\n</details><img src=x onerror='window.harm = 1'>\n````\nend"


def cells(trace: Trace, path: Path) -> list[Any]:
    notebook = nbformat.read(to_notebook(trace, path, lesson=True), as_version=4)
    nbformat.validate(notebook)
    return list(notebook.cells)


def test_each_step_is_a_question_with_a_folded_answer(tmp_path: Path) -> None:
    title, prompt, checkpoint = cells(
        log(tmp_path / "s.jsonl", edit("price = 1", "price = 2"), bash("ls", "price.py")),
        tmp_path / "l.ipynb",
    )
    assert title.source.startswith("# ")
    assert "a new code cell, below one that has run `%load_ext nbtools`" in title.source
    assert prompt.source.startswith("**Person**\n\nRaise the price.")
    question, _, answer = checkpoint.source.partition("<details><summary>What the agent did</summary>")
    assert question == "**Checkpoint 1: what would you do next?**\n\n"
    assert (
        answer.index("**Edit**")
        < answer.index("price = 2")
        < answer.index("**Bash** ls")
        < answer.index("```text\nprice.py\n```")
    )
    assert answer.endswith("</details>")
    assert checkpoint.metadata.slideshow.slide_type == "subslide"


def test_nothing_of_a_step_is_shown_before_its_question(tmp_path: Path) -> None:
    """The agent's text before its calls is part of the answer; its last text is not."""
    trace = load(SAMPLES / "mini-swe-agent/github_issue.traj.json")
    sources = [cell.source for cell in cells(trace, tmp_path / "l.ipynb")]
    questions = [source for source in sources if source.startswith("**Checkpoint ")]
    assert len(questions) == len(trace.calls)
    assert all(source.count("<details>") == 1 for source in questions)
    assert [int(source.split()[1].rstrip(":")) for source in questions] == list(range(1, len(questions) + 1))


def test_notes_of_the_review_are_for_the_speaker(tmp_path: Path) -> None:
    trace = log(tmp_path / "s.jsonl", edit("price = 1", "price = 2"), bash("ls", "price.py"))
    (call, _) = trace.calls
    review(trace).note(call, "Why not <b>round</b>?")
    review(trace).note(None, "Ten minutes.")
    found = cells(trace, tmp_path / "l.ipynb")
    notes = [cell for cell in found if cell.metadata.get("slideshow", {}).get("slide_type") == "notes"]
    assert [note.source for note in notes] == [
        "**Speaker note**\n\nTen minutes.",
        "**Speaker note**\n\nWhy not &lt;b>round&lt;/b>?",
    ]
    assert found.index(notes[0]) == 1
    assert found[found.index(notes[1]) - 1].source.startswith("**Checkpoint 1")


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    trace = log(
        tmp_path / "s.jsonl",
        (HOSTILE, {"command": HOSTILE}, HOSTILE, {}),
        bash(HOSTILE, HOSTILE),
        edit(HOSTILE, HOSTILE),
    )
    review(trace).note(None, HOSTILE)
    for cell in cells(trace, tmp_path / "l.ipynb"):
        outside, fence = [], ""
        for line in cell.source.splitlines():
            ticks = line[: len(line) - len(line.lstrip("`"))]
            if fence:
                fence = "" if len(ticks) >= len(fence) and not line.strip("`") else fence
            elif len(ticks) >= 3:
                fence = ticks
            else:
                outside.append(line)
        text = "\n".join(outside)
        assert not fence
        assert "<script" not in text
        assert "<img" not in text
        assert text.count("</details>") == text.count("<details>")


@pytest.mark.parametrize(
    "path",
    [
        "codex/skills--019d78fc-c449-7300-92a1-1e92604a4f6a.jsonl",
        "qwen-code/made--price.jsonl",
        "pi/made--tree.jsonl",
    ],
)
def test_logs_of_others_become_lessons(path: str, tmp_path: Path) -> None:
    found = cells(load(SAMPLES / path), tmp_path / "l.ipynb")
    assert any(cell.source.startswith("**Checkpoint 1:") for cell in found)
