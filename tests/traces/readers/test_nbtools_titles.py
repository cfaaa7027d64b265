"""A session of a notebook is titled by what was done in it first."""

from __future__ import annotations

import json

import pytest

from nbtools.traces import load

HEADER = {
    "type": "session",
    "format": "nbtools",
    "version": 1,
    "id": "a",
    "at": 1.0,
    "workspace": "/work/shop",
}
PROMPT = {"type": "said", "session": "a", "number": 9, "at": 2.0, "kind": "user", "text": "mend it"}


def call(number, name, subject="", **fields):
    times = {"asked": 1.0, "ended": 2.0, "state": "success"}
    record = {"session": "a", "number": number, "id": f"a-{number}", "name": name, "spoken": name, **times}
    return {"type": "call", **record, "subject": subject, **fields}


GREP = call(0, "grep", "TODO")
EDITS = [call(1 + at, "edit", f"{name}.py") for at, name in enumerate(("a", "b", "c"))]
TESTS = call(4, "shell", "pytest", command="pytest -q\n --maxfail=1")


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([GREP, *EDITS], "analysis.ipynb: grep TODO, edit 3 files"),
        (
            [GREP, EDITS[0], EDITS[0], TESTS],
            "analysis.ipynb: grep TODO, edit a.py, shell pytest -q --maxfail=1",
        ),
        (
            [TESTS, call(5, "shell", command="ls"), *EDITS],
            "analysis.ipynb: shell pytest -q --maxfail=1 and 1 more, edit 3 files",
        ),
        (
            [GREP, *EDITS, TESTS, GREP, *EDITS],
            "analysis.ipynb: grep TODO, edit 3 files, shell pytest -q --maxfail=1, …",
        ),
        ([call(0, "todo")], "analysis.ipynb: todo"),
        ([call(0, "read", "x" * 9_000)], f"analysis.ipynb: read {'x' * 40}…"),
        ([GREP, PROMPT], "mend it"),
        ([], ""),
    ],
)
def test_the_title_names_the_notebook_and_its_first_calls(records, title, tmp_path):
    path = tmp_path / "2026-11-28T02-30-39-683825.jsonl"
    lines = [{**HEADER, "notebook": "analysis.ipynb"}, *records]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    assert load(path).sessions[0].title == title


def test_a_log_without_the_name_of_a_notebook_is_titled_by_its_calls(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (HEADER, GREP, *EDITS)))
    assert load(path).sessions[0].title == "grep TODO, edit 3 files"
