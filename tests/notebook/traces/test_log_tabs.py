"""Requests of JupyterLab's log tabs: paths below the server's folder, and nothing else."""

from __future__ import annotations

import shutil

import pytest

import nbtools
from nbtools.core.methods import respond
from nbtools.notebook.traces.log_tabs import LogTabs
from tests.traces.explorer.asking import ask
from tests.traces.method_calls import call
from tests.traces.recorded import SAMPLES

REAL = SAMPLES / "claude-code" / "external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl"


@pytest.fixture
def folder(tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    shutil.copy(REAL, served / "a.jsonl")
    shutil.copy(REAL, tmp_path / "outside.jsonl")
    return served


class Answer:
    """The views that were opened, or the problem."""

    def __init__(self, message):
        self.problem = message.get("problem", "")
        opened = message.get("result") or {}
        self.view, self.comparison = opened.get("view"), opened.get("comparison")


def answer(folder, params):
    answers = []
    message = {"id": 1, "method": "logs.open", "params": params}
    respond(LogTabs(folder), message, lambda reply, _: answers.append(reply))
    return Answer(*answers)


def test_a_log_is_opened_and_its_explorer_answers(folder):
    opened = answer(folder, {"logs": ["a.jsonl"]})
    assert opened.view is not None
    assert call(opened.view["explorer"], "trace.raw", line=0)[0]["result"]["text"]


def test_two_logs_are_compared(folder):
    compared = answer(folder, {"logs": ["a.jsonl", "a.jsonl"]})
    assert "no difference" in compared.comparison["facts"]
    assert compared.view is None


@pytest.mark.parametrize(
    "path", ["../outside.jsonl", "a/../../outside.jsonl", "{parent}/outside.jsonl", "a\0.jsonl"]
)
def test_a_path_cannot_leave_the_folder(folder, path):
    refused = answer(folder, {"logs": [path.format(parent=folder.parent)]})
    assert refused.view is None
    assert "outside the folder" in refused.problem


@pytest.mark.parametrize(
    "request_",
    [
        None,
        "x",
        [],
        {},
        {"logs": "a.jsonl"},
        {"logs": [1]},
        {"logs": ["a"] * 21},
        {"logs": [""]},
        {"logs": ["x" * 5000]},
    ],
)
def test_an_invalid_request_is_a_problem(folder, request_):
    assert answer(folder, request_).problem


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_is_not_a_log_is_a_problem(folder, name):
    assert answer(folder, {"logs": [name]}).problem


def test_a_log_begins_at_a_step(folder):
    view = answer(folder, {"logs": ["a.jsonl"], "step": "3"}).view
    assert view["step"] is not None
    assert answer(folder, {"logs": ["a.jsonl"], "step": ""}).view["step"] is None


@pytest.mark.parametrize("step", ["999999", "9" * 100, "9" * 101, "-1", "1;x", "<b>", "\0", "a/b"])
def test_a_step_that_does_not_exist_is_a_problem(folder, step):
    refused = answer(folder, {"logs": ["a.jsonl"], "step": step})
    assert refused.view is None
    assert refused.problem


def test_a_step_has_the_place_of_its_log_beside_the_notebook(folder, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", str(folder / "below" / "notebook.ipynb"))
    explorer = nbtools.open_trace(folder / "a.jsonl")
    assert ask(explorer, "open", line=0).place == "../a.jsonl"
