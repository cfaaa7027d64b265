"""A log is known by what is in it, and nothing else is taken for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtools
from nbtools.traces import TraceError
from nbtools.traces.reader import Head, open_log
from nbtools.traces.readers import FORMATS
from tests.traces.recorded import LOGS, SAMPLES

CODE = [*Path(nbtools.__file__).parent.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]
TALK = '{"role": "user", "content": "hi", "timestamp": 1, "type": "message", "payload": {"type": "session_meta"}}'
NO_LOGS = {
    "nothing": "",
    "blank": "\n\n",
    "csv": 'role,content\nuser,"{""role"": ""user""}"\n',
    "notebook": json.dumps(
        {"cells": [{"cell_type": "code", "source": [TALK], "outputs": [], "metadata": {}}], "metadata": {}, "nbformat": 4}, indent=1
    ),
    "package.json": json.dumps({"name": "x", "version": "1.0.0", "files": ["lib"], "scripts": {"build": "tsc"}, "jupyterlab": {}}),
    "a schema": json.dumps({"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}}),
    "toml": f"[project]\nname = 'x'\nreadme = '''\n{TALK}\n'''\n",
    "pytest": f"=== test session starts ===\ncollected 2 items\nE   assert {TALK} == 3\n=== 1 failed ===\n",
    "a readme": f"[![badge](x)](y)\n\n```json\n[\n  {TALK}\n]\n```\n",
    "an error of an API": '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
    "a list of numbers": "[1, 2, 3]",
    "a text": '"messages"',
}


def recognised(data: bytes, path: Path) -> list[str]:
    return [known.name for known in FORMATS if known.recognises(Head(path, data[: 64 << 10]))]


@pytest.mark.parametrize("log", LOGS)
def test_a_log_is_read_by_the_format_of_its_agent(log: str) -> None:
    """``Messages`` knows what others have in them, and is asked last."""
    first, *others = recognised((SAMPLES / log).read_bytes(), SAMPLES / log)
    assert first == log.partition("/")[0]
    assert set(others) <= {"messages"}
    assert open_log(SAMPLES / log).format.name == first


@pytest.mark.parametrize("log", LOGS)
def test_so_it_is_where_its_first_line_is_cut(log: str, tmp_path: Path) -> None:
    data = (SAMPLES / log).read_bytes()
    if len(data.splitlines()) > 3 and log.endswith(".jsonl"):
        assert set(recognised(data[7:], tmp_path / "cut")) <= {log.partition("/")[0], "messages"}


@pytest.mark.parametrize("name", NO_LOGS)
def test_what_is_no_log_is_of_no_format(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(NO_LOGS[name])
    assert recognised(path.read_bytes(), path) == []
    with pytest.raises(TraceError, match="not recognised as a session log"):
        open_log(path)


def test_source_code_is_of_no_format() -> None:
    """Also of the readers, which have all the keys in them."""
    assert [path for path in CODE if recognised(path.read_bytes(), path)] == []


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_of_no_format(data: bytes) -> None:
    assert recognised(data, Path(__file__)) == []
