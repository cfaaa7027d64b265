"""The command line: what replaces the process, or writes to another one, in a process of its own,
and the others in this one.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import nbformat
import pytest

from nbtools.cli import main
from tests.traces.recorded import SAMPLES
from tests.traces.session_index.home import BY_AGENT, OVERRIDES, make_home

LOG = str(SAMPLES / "claude-code/external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl")


@pytest.fixture
def nbtools(monkeypatch, tmp_path):
    """The program in this process: it starts in no time."""

    def run(*arguments, **environment):
        out, errors = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
            for name, value in {"IPYTHONDIR": str(tmp_path / "ipython"), **environment}.items():
                patch.setenv(name, value)
            try:
                code = main(arguments)
            except SystemExit as ended:
                code = ended.code
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())

    return run


@pytest.fixture
def program(tmp_path):
    """The program as a person starts it."""

    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "nbtools", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), **environment},
        )

    return run


def kernel_says(nbtools_dir, code):
    command = [
        sys.executable,
        "-m",
        "IPython",
        "--simple-prompt",
        "--no-banner",
        "--colors=NoColor",
        "-c",
        code,
    ]
    environment = {**os.environ, "IPYTHONDIR": str(nbtools_dir / "ipython")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout


def test_enable_and_disable_leave_the_profile_as_it_was(nbtools, tmp_path):
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    assert "not enabled" in nbtools("disable").stdout
    assert "Every new kernel now loads nbtools" in nbtools("enable").stdout
    assert "Already enabled" in nbtools("enable").stdout
    assert "read" in kernel_says(tmp_path, "print(tools)")
    assert "no longer load nbtools" in nbtools("disable").stdout
    assert {path.name for path in startup.iterdir()} <= {"README"}
    assert "read" not in kernel_says(tmp_path, "print(tools)")


def test_doctor_names_everything(nbtools):
    done = nbtools("doctor")
    for name in (
        "nbtools",
        "ipykernel",
        "ipywidgets",
        "JupyterLab",
        "SQL over session logs",
        "ripgrep",
        "lab extension",
        "load in every kernel",
    ):
        assert name in done.stdout
    assert done.returncode == (1 if "missing" in done.stdout else 0)


def test_doctor_says_how_to_repair_a_missing_part(nbtools):
    done = nbtools("doctor", NBTOOLS_RG="/no/such/rg")
    assert done.returncode == 1
    assert "/no/such/rg" in done.stdout
    assert "pip install" in done.stdout


def test_lab_becomes_jupyterlab_and_changes_nothing(program, tmp_path):
    done = program("lab", "--version")
    assert "%load_ext nbtools" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("4.")
    assert not (tmp_path / "ipython").exists()


@pytest.mark.parametrize(
    "arguments", [(), ("dance",), ("doctor", "now"), ("trace", LOG, "--json", "--search", "go")]
)
def test_unknown_arguments_are_refused(nbtools, arguments):
    done = nbtools(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_session_is_written_as_one_file_to_share(nbtools, tmp_path):
    patterns = tmp_path / "patterns"
    patterns.write_text("# of ours\n\nexternal-agents\n")
    done = nbtools("trace", LOG, "--html", str(tmp_path / "shared.html"), "--redact", str(patterns))
    assert done.stdout.strip() == str(tmp_path / "shared.html")
    assert "removed: pattern, exte" in done.stderr
    assert "external-agents" not in (tmp_path / "shared.html").read_text().partition("<body>")[0]


def test_a_session_is_exported_in_formats_of_other_tools(nbtools, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = nbtools("trace", LOG, "--export", "atif", "mine.json")
    assert (done.returncode, done.stdout.strip()) == (0, "mine.json")
    assert "Lost: the tokens of single requests" in done.stderr
    assert json.loads((tmp_path / "mine.json").read_text())["schema_version"] == "ATIF-v1.8"
    tables = tmp_path / nbtools("trace", LOG, "--export", "csv").stdout.strip()
    assert tables.name.endswith("-csv")
    assert {"calls.csv", "sessions.csv"} <= {path.name for path in tables.iterdir()}
    assert nbtools("trace", LOG, "--export", "html").stdout.strip().endswith(".html")
    assert "Did you mean claude" in nbtools("trace", LOG, "--export", "claud").stderr
    assert "one name too many" in nbtools("trace", LOG, "--export", "csv", "a", "b").stderr
    assert "--export takes a log" in nbtools("trace", "--export", "csv", LOG).stderr


def test_a_log_is_printed_step_by_step(nbtools):
    done = nbtools("trace", LOG)
    title, facts, *steps = done.stdout.splitlines()
    assert done.returncode == 0
    assert title == "upgrade-external-agents-e2e-tests"
    assert "102 calls · 7 failed" in facts
    assert any(step.split()[0] == "72.20" and "go vet -tags=e2e ./..." in step for step in steps)
    assert steps[-1].split()[0] == "88"


def test_steps_are_found_by_their_text(nbtools):
    found = nbtools("trace", LOG, "--search", "go vet").stdout.splitlines()
    assert [line.split()[0] for line in found] == ["62", "63", "70", "72", "72.20", "81"]
    nothing = nbtools("trace", LOG, "--search", "no such word in it")
    assert nothing.returncode == 1
    assert "contains 'no such word in it'" in nothing.stderr


def test_a_log_is_counted_and_written_as_a_notebook(nbtools, tmp_path):
    counted = json.loads(nbtools("trace", LOG, "--json").stdout)
    assert (counted["format"], counted["tool_calls"], counted["tool_errors"]) == ("claude-code", 57, 6)
    written = tmp_path / "story.ipynb"
    assert nbtools("trace", LOG, "--notebook", str(written)).stdout.strip() == str(written)
    assert sum(cell.cell_type == "code" for cell in nbformat.read(written, 4).cells) > 57


@pytest.mark.parametrize("log", ["nothing here.jsonl", __file__])
def test_a_file_that_is_not_a_log_is_an_error_in_one_line(nbtools, log):
    done = nbtools("trace", log)
    assert done.returncode == 1
    assert log in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    command = f"{sys.executable} -m nbtools trace {LOG} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_trace_adds_up_sessions(nbtools, tmp_path, monkeypatch):
    for name in OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    make_home(tmp_path)
    home = {"HOME": str(tmp_path), "NBTOOLS_STATE": str(tmp_path / "state")}
    listed = json.loads(nbtools("trace", "--json", **home).stdout)
    totals = nbtools("trace", "codex", "--totals", "agent", **home).stdout.splitlines()
    assert totals[0].split() == ["Agent", "Sessions", "Calls", "Failed", "Tokens", "Cost"]
    assert totals[1].startswith("Codex")
    assert "$" in totals[1]
    days = json.loads(nbtools("trace", "codex", "--totals", "day", "--json", **home).stdout)
    assert sum(day["calls"] for day in days) == sum(one["calls"] for one in listed if one["agent"] == "codex")
    assert nbtools("trace", LOG, "--totals", "day", **home).returncode == 1
    assert nbtools("trace", "--totals", "hour", **home).returncode == 2
    assert "no --limit" in nbtools("trace", "--totals", "day", "--limit", "2", **home).stderr
    assert "no --all" in nbtools("trace", "--totals", "day", "--all", **home).stderr
    assert "at least two" in nbtools("trace", "--check", "tests", **home).stderr
    assert "at least two" in nbtools("trace", LOG, "--baseline", "A", **home).stderr
    assert "takes a log" in nbtools("trace", "--redact", "words.txt", **home).stderr


def age_of(path):
    return -path.stat().st_mtime


def test_sessions_are_opened_by_their_numbers_and_folders_added(nbtools, tmp_path, monkeypatch):
    for name in OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    make_home(tmp_path)
    home = {
        "HOME": str(tmp_path),
        "NBTOOLS_STATE": str(tmp_path / "state"),
        "NBTOOLS_CONFIG": str(tmp_path / "config"),
        "COLUMNS": "120",
    }
    paths = nbtools("trace", "codex", "--paths", **home).stdout.splitlines()
    assert [line.strip() for line in paths[2:6:2]] == [
        f"~/{one.relative_to(tmp_path)}" for one in sorted((tmp_path / ".codex").rglob("*.jsonl"), key=age_of)
    ]
    second = json.loads(nbtools("trace", "codex", "--json", **home).stdout)[1]
    assert nbtools("trace", "codex", "2", **home).stdout.startswith(second["title"])
    assert "2 runs" in nbtools("trace", "codex", "1", "2", **home).stdout
    assert "no number 9 in the list of 2 sessions" in nbtools("trace", "codex", "9", **home).stderr
    assert "--paths is for the list of sessions" in nbtools("trace", "latest", "--paths", **home).stderr
    assert "it takes no --paths" in nbtools("trace", "--totals", "day", "--paths", **home).stderr
    for stray in (("--search", "a"), ("--totals", "day"), ("--limit", "2"), ("codex",), ("--html", "x.html")):
        assert "it takes no" in nbtools("trace", "--left-out", *stray, **home).stderr
    added = nbtools("trace", "--add", str(SAMPLES / "atif"), **home).stdout
    assert "listed from now on: 3 sessions found." in added
    assert "terminus-2" in nbtools("trace", **home).stdout
    (tmp_path / "nothing-in-it").mkdir()
    none = nbtools("trace", "--add", str(tmp_path / "nothing-in-it"), **home).stdout
    assert "0 sessions found. Only files whose names end in .jsonl" in none


def test_trace_lists_the_sessions_of_this_machine(nbtools, tmp_path, monkeypatch):
    for name in OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    empty = {"HOME": str(tmp_path / "nobody"), "NBTOOLS_STATE": str(tmp_path / "nothing")}
    nothing = nbtools("trace", **empty).stdout
    assert "~/.claude\n" in nothing
    assert "nbtools trace --add FOLDER" in nothing
    make_home(tmp_path)
    home = {
        "HOME": str(tmp_path),
        "NBTOOLS_STATE": str(tmp_path / "state"),
        "NBTOOLS_CONFIG": str(tmp_path / "config"),
        "COLUMNS": "120",
    }
    table = nbtools("trace", **home).stdout.splitlines()
    assert table[0].split()[:3] == ["#", "Session", "Agent"]
    assert max(map(len, table)) <= 120
    upgrade = next(line for line in table if "upgrade-external-agents" in line)
    assert upgrade.split()[-3:-1] == ["+1,839", "−203"]
    assert upgrade.split()[-1].startswith("$")
    assert table[-1].startswith("Costs are by genai-prices")
    assert len(nbtools("trace", "external-agents", **home).stdout.splitlines()) == 4
    assert len(nbtools("trace", "external", "--limit", "1", **home).stdout.splitlines()) == 4
    assert len(nbtools("trace", "codex", **home).stdout.splitlines()) == 4
    assert len(json.loads(nbtools("trace", "--agent", "codex", "--json", **home).stdout)) == 2
    assert "Did you mean external-agents" in nbtools("trace", "external-agent5", **home).stderr
    assert "--follow takes a log" in nbtools("trace", "codex", "--follow", **home).stderr
    assert "--all is for the list of sessions" in nbtools("trace", "latest", "--all", **home).stderr
    assert "either --limit or --all" in nbtools("trace", "--limit", "3", "--all", **home).stderr
    found = nbtools("trace", "codex", "--search", "func Test", **home).stdout.splitlines()
    assert found[-1].startswith("6 steps of 2 sessions contain 'func Test'. Searched: messages, arguments,")
    assert found[0].split()[0].isdecimal()
    assert "func" in found[1].lower()
    assert found[2].strip().endswith(".jsonl")
    assert "No step contains 'xyzzyplugh'" in nbtools("trace", "--search", "xyzzyplugh", **home).stdout
    as_json = json.loads(nbtools("trace", "--search", "antigravity", "--json", **home).stdout)
    assert {one["agent"]: one["hits"] for one in as_json["sessions"]} == {"codex": 4, "gemini-cli": 28}
    assert as_json["searched"] > 10
    assert as_json["not_indexed"] == 0
    listed = json.loads(nbtools("trace", "--json", **home).stdout)
    assert {one["agent"] for one in listed} == BY_AGENT.keys() - {
        "inspect"
    }  # its folder is relative to the current one
    assert nbtools("trace", "latest", "codex", **home).stdout.startswith("plugins/entire/skills/search")
    assert nbtools("trace", "latest", "nobody", **home).returncode == 1
    compared = nbtools("trace", LOG, LOG, "--check", "command go test", **home).stdout
    assert "2 runs · no difference" in compared
    assert "command go test" in compared
    assert json.loads(nbtools("trace", LOG, LOG, "--json", **home).stdout)["shared"] > 0
    assert "takes one log" in nbtools("trace", LOG, LOG, "--follow", **home).stderr
    assert "name at most 20" in nbtools("trace", *[LOG] * 21, **home).stderr
    assert "is not a check" in nbtools("trace", LOG, LOG, "--check", "rm -rf", **home).stderr
    (tmp_path / ".codex/sessions/rollout-odd.jsonl").write_text("no log\n")
    assert "1 file is not listed (--left-out says why)" in nbtools("trace", **home).stdout
    assert "rollout-odd.jsonl" in nbtools("trace", "--left-out", **home).stdout
    (named,) = json.loads(nbtools("trace", "--left-out", "--json", **home).stdout)
    assert (named["agent"], named["reason"]) == ("codex", "It is in no known format.")
    assert "1 file is not listed" in nbtools("trace", "--json", **home).stderr
