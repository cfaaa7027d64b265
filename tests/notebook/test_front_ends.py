"""The behaviour of each front end on a call that needs an answer: docs/front-ends.md states it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pexpect
import pytest
from nbclient import NotebookClient

from tests.terminals import end

ROOT = Path(__file__).parents[2]
EDIT = "%tool edit notes.txt --old TODO --new DONE"


@pytest.fixture
def environment(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    return {
        **os.environ,
        "IPYTHONDIR": str(home),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "TERM": "xterm",
        "NO_COLOR": "1",
    }


@pytest.fixture
def console(project, environment):
    """A real ``jupyter console`` in a pseudo-terminal, nbtools loaded."""
    arguments = [
        "-m",
        "jupyter_console",
        "--simple-prompt",
        "--ZMQTerminalInteractiveShell.banner=",
        "--no-confirm-exit",
        "--transport=ipc",
    ]
    child = pexpect.spawn(
        sys.executable,
        arguments,
        cwd=str(project),
        env=environment,
        encoding="utf-8",
        timeout=60,
        dimensions=(50, 160),
    )
    child.expect(r"In \[1\]: ")
    child.sendline("%load_ext nbtools")
    child.expect(r"In \[2\]: ")
    yield child
    end(child)


def test_jupyter_console_shows_the_result_after_each_answer_and_the_output_of_a_slow_call_once(
    console, project
):
    """It ignores updates of displays."""
    for prompt, answer, state in ((3, "n", "Denied by you"), (4, "y", "Approved once by you")):
        console.sendline(EDIT)
        console.expect_exact("[n]o: ")
        assert "Needs your answer" in console.before
        console.sendline(answer)
        console.expect(rf"In \[{prompt}\]: ")
        assert state in console.before
        assert ("DONE" in (project / "notes.txt").read_text()) is (answer == "y")
    console.sendline("%tool shell sleep 1.5; echo fin; echo ished")
    console.expect_exact("[n]o: ")
    console.sendline("y")
    console.expect(r"In \[5\]: ")
    assert console.before.count("\n  ished") == 1
    assert "Done" in console.before


def notebook_of(*cells):
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(source) for source in ("%load_ext nbtools", *cells)]
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def text_of(cell):
    return "".join(output.get("data", {}).get("text/plain", "") for output in cell["outputs"])


def test_nbclient_denies_at_once_and_says_how_to_allow(project, environment, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", environment["IPYTHONDIR"])
    notebook = notebook_of(EDIT, '%tools allow "edit"', EDIT)
    NotebookClient(notebook, resources={"metadata": {"path": str(project)}}, timeout=60).execute()
    assert "nobody to ask" in text_of(notebook.cells[1])
    assert '%tools allow "edit"' in text_of(notebook.cells[1])
    assert "DONE" in (project / "notes.txt").read_text()


def test_papermill_denies_at_once(project, environment, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", environment["IPYTHONDIR"])
    nbformat.write(notebook_of(EDIT), project / "in.ipynb")
    papermill.execute_notebook(
        project / "in.ipynb", project / "out.ipynb", cwd=str(project), progress_bar=False
    )
    made = json.loads((project / "out.ipynb").read_text(encoding="utf-8"))
    assert "nobody to ask" in json.dumps(made["cells"])
    assert "TODO" in (project / "notes.txt").read_text()


def test_nbval_denies_at_once(project, environment):
    nbformat.write(notebook_of(EDIT), project / "story.ipynb")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "nbval.plugin",
        "-p",
        "tests.kernel_sockets",
        "--nbval-lax",
        "-p",
        "no:cacheprovider",
        "-q",
        "story.ipynb",
    ]
    alone = {
        **environment,
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # the import of all that is installed takes longer than the run
    ran = subprocess.run(
        command, cwd=project, env=alone, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert "TODO" in (project / "notes.txt").read_text()


def test_the_path_of_a_question_needs_no_server_and_starts_no_thread():
    """JupyterLite's Python (Pyodide) has neither.
    It lacks termios and fcntl too, which the tools need: see docs/front-ends.md.
    """
    code = (
        "import sys, threading\n"
        "import traitlets, ipywidgets, IPython, asyncio, pydantic\n"
        "before, threads = set(sys.modules), threading.active_count()\n"
        "import nbtools.notebook.approval.confirmer, nbtools.traces.explorer.explorer, nbtools.notebook.traces.widget\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "assert threading.active_count() == threads\n"
        "print(sorted(new & {'zmq', 'ipykernel', 'multiprocessing', 'mcp', 'httpx', 'uvicorn', 'socketserver'}))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"
