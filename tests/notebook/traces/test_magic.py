"""``%trace`` and ``nbtools.open_trace`` in a real kernel."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import nbtools
from nbtools.core.errors import TraceError
from tests.notebook.conftest import card_in
from tests.notebook.magics.test_completion import offered
from tests.traces.explorer.samples import CLAUDE, sample
from tests.traces.session_index.home import BY_AGENT, OVERRIDES, make_home


@pytest.fixture
def log(project: Path) -> str:
    """A log beside the notebook, in a folder with a space."""
    folder = project / "my logs"
    folder.mkdir()
    shutil.copy(sample(CLAUDE), folder / "session.jsonl")
    return "my logs/session.jsonl"


def card(cell: Any) -> dict[str, Any]:
    (output,) = cell.outputs
    assert cell.error == ""
    return card_in(output["data"])


@pytest.mark.parametrize("line", ["%trace {}", '%trace "{}"', "import nbtools\nnbtools.open_trace('{}')"])
def test_a_log_is_shown(lab: Any, log: str, line: str) -> None:
    cell = lab.run(line.format(log))
    (output,) = cell.outputs
    assert "102 calls" in output["data"]["text/html"]
    assert output["data"]["text/plain"].startswith(
        "upgrade-external-agents-e2e-tests\n  Claude Code 2.1.80 · "
    )


@pytest.mark.parametrize("line", ["--help", "-h", "--help  # how?"])
def test_it_explains_itself(lab, line):
    text = lab.run(f"%trace {line}").text
    assert "--replay 46-52" in text
    assert "compares up to 20 logs" in text


def test_the_explorer_can_be_assigned_to_a_name(lab: Any, log: str) -> None:
    assert lab.run(f"t = %trace {log}").outputs == []
    assert lab.value("len(t.trace.calls), len(t.lines)") == (102, 133)
    assert lab.value("repr(t)") == "<Explorer of 'upgrade-external-agents-e2e-tests', 133 steps>"


def test_a_missing_log_is_an_error_that_lists_the_existing_ones(lab: Any, log: str) -> None:
    shown = card(lab.run('%trace "my logs/sesion.jsonl"'))
    assert (shown["state"], shown["status"]) == ("error", "File not found")
    assert shown["blocks"][0]["text"].endswith("Did you mean my logs/session.jsonl?")
    assert "The folder nowhere does not exist." in card(lab.run("%trace nowhere/x"))["blocks"][0]["text"]


def test_a_file_that_is_not_a_log_is_an_error_that_lists_the_formats(lab: Any) -> None:
    shown = card(lab.run("%trace notes.txt"))
    assert shown["status"] == "Unknown format"
    assert "claude-code" in shown["blocks"][0]["text"]
    # Without the dot, it could be the project of a session of another test.
    assert card(lab.run("%trace ./src"))["status"] == "Is a folder"
    assert card(lab.run("%trace notes.txt src x"))["status"] == "Unknown format"
    assert "matches fewer" in card(lab.run(f"%trace {'x ' * 21}"))["blocks"][0]["text"]
    assert "no log matches" in card(lab.run("%trace nothing/*.jsonl"))["blocks"][0]["text"]
    assert "in quotes" in card(lab.run("%trace notes.txt src --step 3"))["blocks"][0]["text"]


SESSIONS = sum(BY_AGENT.values()) - BY_AGENT["inspect"]
"""Inspect's logs are below the notebook's folder, if anywhere."""


@pytest.fixture
def home(lab: Any, tmp_path_factory: Any) -> Path:
    """A home folder with the logs of agents, which the kernel uses as its own."""
    home: Path = tmp_path_factory.mktemp("home")
    make_home(home)
    unset = "".join(f"os.environ.pop({name!r}, None);" for name in OVERRIDES)
    lab.run(
        f"import os; {unset} os.environ |= dict(HOME={str(home)!r}, NBTOOLS_STATE={str(home / 'state')!r})"
    )
    return home


def test_alone_it_lists_the_sessions_of_this_machine(lab: Any, home: Path) -> None:
    (output,) = lab.run("%trace").outputs
    assert output["data"]["application/vnd.nbtools.sessions.v1+json"]["filter"]["project"] == ""
    assert f"{SESSIONS} sessions on this machine" in output["data"]["text/html"]
    assert "upgrade-external-agents-e2e-tests" in output["data"]["text/html"]
    assert "upgrade-external-agents-e2e-tests" in output["data"]["text/plain"]
    assert lab.run("s = %trace").outputs == []
    assert lab.value("len(s.sessions)") == SESSIONS
    (of_project,) = lab.run("%trace agent-plugins").outputs
    assert (
        of_project["data"]["application/vnd.nbtools.sessions.v1+json"]["filter"]["project"] == "agent-plugins"
    )
    assert "1 session on this machine" in of_project["data"]["text/html"]
    assert lab.run("s = %trace gemini --since 2000-01-01\nn = %trace --all --agent codex").error == ""
    assert lab.value("s.filter.agent, len(s.sessions), len(n.sessions)") == ("gemini-cli", 2, 2)
    assert "Every log in the agents' folders is listed" in lab.run("%trace --left-out").text
    for stray in ("--search x", "codex"):
        assert "it takes no" in card(lab.run(f"%trace --left-out {stray}"))["blocks"][0]["text"]
    assert "Did you mean agent-plugins" in card(lab.run("%trace agent-plugin5"))["blocks"][0]["text"]
    assert "--step takes a log" in card(lab.run("%trace codex --step 2"))["blocks"][0]["text"]
    assert "--search is for the list" in card(lab.run("%trace latest --search x"))["blocks"][0]["text"]
    found = lab.run("f = %trace --search antigravity")
    assert (found.error, lab.value("f.filter.text")) == ("", "antigravity")
    assert "Write it as 7d" in card(lab.run("%trace --since soon"))["blocks"][0]["text"]
    latest = lab.run("t = %trace latest\nc = %trace latest codex --step 2\np = %trace latest gemini")
    assert latest.error == ""
    assert lab.value("[os.path.basename(one.trace.readings[0].source.path) for one in (t, c, p)]") == [
        "9d5beed4.jsonl",
        "rollout-a.jsonl",
        "session-2025-12-24.json",
    ]
    numbered = lab.run("n = %trace codex 1\nprint(c.trace.sessions[0].id == n.trace.sessions[0].id)")
    assert (numbered.error, numbered.text.strip()) == ("", "True")
    assert "no number 99 in the list" in card(lab.run("%trace 99"))["blocks"][0]["text"]
    assert "No session of hal" in card(lab.run("%trace latest hal"))["blocks"][0]["text"]
    shown = lab.value("get_ipython().find_line_magic('trace').__doc__")
    assert all(
        word in shown
        for word in ("%trace LOG --replay 46", "%trace latest", "%trace A B", "--in", "--at", "--step")
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--repaly 3", "Did you mean --replay"),
        ("--in src", "--in only works together with --replay"),
        ("--step 3 --replay 3", "not both"),
        ("--step first", "46 or 48.1"),
        ("--replay", "needs a value"),
        ("--replay 900", "Step 900 does not exist (the log has steps 1–"),
        ("--replay 1", "Step 1 is a message"),
        ("--replay 5-3", "contain no tool call"),
    ],
)
def test_a_line_that_asks_for_what_there_is_not_says_what_there_is(
    lab: Any, log: str, flags: str, message: str
) -> None:
    assert message in card(lab.run(f"%trace {log} {flags}"))["blocks"][0]["text"]


def test_a_log_opens_at_a_step(lab: Any, log: str) -> None:
    lab.run(f"t = %trace {log} --step 12")
    assert lab.value("t.lines[t.step].number") == "12"


def test_several_logs_are_compared(lab: Any, log: str, tmp_path: Path) -> None:
    (output,) = lab.run(
        f"c = %trace '{log}' '{log}' --check tests --check 'command pytest' --baseline B\nc"
    ).outputs
    assert "no difference" in output["data"]["text/html"]
    assert "command pytest" in output["data"]["text/plain"]
    assert lab.value("c.baseline") == 1
    for name in "abc":
        shutil.copy(sample(CLAUDE), tmp_path / f"{name}.jsonl")
    (output,) = lab.run(f"c = %trace {tmp_path}/*.jsonl\nc").outputs
    assert "3 runs" in output["data"]["text/html"]
    cell = lab.run(f"%trace '{log}' nothing.jsonl")
    assert card(cell)["status"] == "File not found"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("%trace not", "%trace notes.txt"),
        ("t = %trace sr", "t = %trace src/"),
        ("%trace src/c", "%trace src/cart.py"),
        ("%trace ./s", "%trace ./src/"),
        ("%trace notes.txt --re", "%trace notes.txt --replay"),
        ("%trace notes.txt --replay 3 --in sr", "%trace notes.txt --replay 3 --in src/"),
    ],
)
def test_paths_are_completed_from_the_notebooks_folder(lab: Any, typed: str, completed: str) -> None:
    assert completed in offered(lab, typed)


def test_paths_are_completed_wherever_logs_are(lab: Any, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    assert f"%trace {tmp_path}/.claude/" in offered(lab, f"%trace {tmp_path}/.c")
    assert not any(".claude" in text for text in offered(lab, f"%trace {tmp_path}/"))
    assert offered(lab, "%trace /nowhere/x") == []


def test_it_goes_with_the_extension(lab: Any) -> None:
    lab.run("%unload_ext nbtools")
    assert "not found" in lab.run("%trace notes.txt").text


def test_a_program_gets_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        nbtools.open_trace(tmp_path / "nothing.jsonl")
