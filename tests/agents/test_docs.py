"""``docs/agents.md`` says what is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from nbtools import Limits
from nbtools.agents import adapters
from nbtools.agents.agent import _CONNECT_SECONDS
from nbtools.agents.instructions import _MOST_CHARACTERS
from tests.agents.openai_stub import Says, stub
from tests.agents.scripted_http import chat, provider

PAGE = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")
DEFERRED, LIMITED, ADAPTED = re.findall(r"```python\n(import asyncio.*?)```", PAGE, flags=re.DOTALL)
READ = ("1", "read", {"path": "a.txt"})


def ran(code: str, folder: Path, url: str) -> list[str]:
    """What it prints, its model on loopback."""
    env = {
        **os.environ,
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "k",
        "NBTOOLS_STATE": str(folder / "state"),
        "NBTOOLS_CONFIG": str(folder),
    }
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.splitlines()


def test_what_is_deferred_is_asked_and_then_runs(tmp_path: Path) -> None:
    with provider(chat(calls=(("1", "write", {"path": "a.txt", "content": "done"}),)), chat("Written.")) as server:
        asked, said = ran(DEFERRED, tmp_path, f"{server.url}/v1")
    assert asked.startswith("write ")
    assert (said, (tmp_path / "a.txt").read_text()) == ("Written.", "done")


def test_an_agent_reads_and_answers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with stub(Says(calls=(("1", "read", '{"path": "a.txt"}'),)), Says(("It says one.",))) as server:
        assert ran(LIMITED, tmp_path, server.url) == ["It says one. done 2 1"]
    told = str(server.said(1))
    assert "Answer in one sentence." in told
    assert "'content': 'one" in told


def test_an_adapter_goes_through_the_session(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with provider(chat(calls=(READ,)), chat("It says one.")) as server:
        assert ran(ADAPTED, tmp_path, f"{server.url}/v1") == ["It says one."]
    assert "one" in server.asked[1]["messages"][-1]["content"]


def test_every_adapter_is_named() -> None:
    table = PAGE.partition("## Other frameworks")[2]
    assert sorted(re.findall(r"`(answer_\w+|\w+_tools)`", table)) == adapters.__all__


def test_figures_are_those_of_the_code() -> None:
    assert f"({Limits().steps} where nothing is said)" in PAGE
    assert f"({_MOST_CHARACTERS:,} characters each at most)" in PAGE
    assert (_CONNECT_SECONDS, "longer than ten seconds" in PAGE) == (10, True)
