"""``docs/agents.md`` says what is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nbtools import Limits
from nbtools.agents import adapters
from nbtools.agents.agent import _CONNECT_SECONDS
from nbtools.agents.instructions import _MOST_CHARACTERS
from tests.agents.openai_stub import Says, stub
from tests.agents.scripted_http import chat, provider

PAGE = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")
DEFERRED, LIMITED, ADAPTED = re.findall(r"```python\n(import asyncio.*?)```", PAGE, flags=re.DOTALL)
READ = ("1", "read", {"path": "a.txt"})


PROGRAM = """
import contextlib, io, json, os, sys
for code, folder, environment in json.load(sys.stdin):
    os.chdir(folder)
    os.environ.update(environment)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {"__name__": "__main__"})
    print(json.dumps(printed.getvalue().splitlines()))
"""
"""Runs the page's programs one after the other in one process, which imports each framework once."""


@dataclass(frozen=True)
class Ran:
    """The output of a program, its folder, and the provider of its model."""

    printed: list[str]
    folder: Path
    server: Any


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Ran]]:
    write = ("1", "write", {"path": "a.txt", "content": "done"})
    with (
        provider(chat(calls=(write,)), chat("Written.")) as deferring,
        stub(Says(calls=(("1", "read", '{"path": "a.txt"}'),)), Says(("It says one.",))) as limiting,
        provider(chat(calls=(READ,)), chat("It says one.")) as adapting,
    ):
        servers = {"deferred": deferring, "limited": limiting, "adapted": adapting}
        folders = {name: tmp_path_factory.mktemp(name) for name in servers}
        for name in ("limited", "adapted"):
            (folders[name] / "a.txt").write_text("one\n")
        urls = {"deferred": f"{deferring.url}/v1", "limited": limiting.url, "adapted": f"{adapting.url}/v1"}
        codes = {"deferred": DEFERRED, "limited": LIMITED, "adapted": ADAPTED}
        programs = [
            (codes[name], str(folders[name]), environment(folders[name], urls[name])) for name in servers
        ]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps(programs),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert not done.stderr
        printed = [json.loads(line) for line in done.stdout.splitlines()]
        yield {
            name: Ran(lines, folders[name], servers[name])
            for name, lines in zip(servers, printed, strict=True)
        }


def environment(folder: Path, url: str) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "k",
        "NBTOOLS_STATE": str(folder / "state"),
        "NBTOOLS_CONFIG": str(folder),
    }


def test_a_deferred_call_needs_approval_and_then_runs(ran: Mapping[str, Ran]) -> None:
    asked, said = ran["deferred"].printed
    assert asked.startswith("write ")
    assert (said, (ran["deferred"].folder / "a.txt").read_text()) == ("Written.", "done")


def test_an_agent_reads_and_answers(ran: Mapping[str, Ran]) -> None:
    assert ran["limited"].printed == ["It says one. done 2 1"]
    told = str(ran["limited"].server.messages_of(1))
    assert "Answer in one sentence." in told
    assert "'content': 'one" in told


def test_an_adapter_goes_through_the_session(ran: Mapping[str, Ran]) -> None:
    assert ran["adapted"].printed == ["It says one."]
    assert "one" in ran["adapted"].server.asked[1]["messages"][-1]["content"]


def test_every_adapter_is_named() -> None:
    table = PAGE.partition("## Other frameworks")[2]
    assert sorted(re.findall(r"`(answer_\w+|\w+_tools)`", table)) == adapters.__all__


def test_figures_are_those_of_the_code() -> None:
    assert f"({Limits().steps} where nothing is said)" in PAGE
    assert f"({_MOST_CHARACTERS:,} characters each at most)" in PAGE
    assert (_CONNECT_SECONDS, "longer than ten seconds" in PAGE) == (10, True)
