"""A log is known by what is in it, and nothing else is taken for one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtools
from nbtools.traces import TraceError
from nbtools.traces.formats import open_log
from nbtools.traces.reader import Head
from nbtools.traces.readers import FORMATS
from tests.traces.recorded import LOGS, SAMPLES

CODE = [*Path(nbtools.__file__).parent.rglob("*.py"), *Path(__file__).parent.rglob("*.py")]
TALK = '{"role": "user", "content": "hi", "timestamp": 1, "type": "message", "payload": {"type": "session_meta"}}'
NO_LOGS = {
    "nothing": "",
    "blank": "\n\n",
    "csv": 'role,content\nuser,"{""role"": ""user""}"\n',
    "notebook": json.dumps(
        {
            "cells": [{"cell_type": "code", "source": [TALK], "outputs": [], "metadata": {}}],
            "metadata": {},
            "nbformat": 4,
        },
        indent=1,
    ),
    "package.json": json.dumps(
        {"name": "x", "version": "1.0.0", "files": ["lib"], "scripts": {"build": "tsc"}, "jupyterlab": {}}
    ),
    "a schema": json.dumps(
        {"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}}
    ),
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
def test_a_file_that_is_not_a_log_has_no_format(name: str, tmp_path: Path) -> None:
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


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("log", LOGS)
def test_a_byte_order_mark_changes_nothing_but_the_positions(log: str, tmp_path: Path) -> None:
    data = (SAMPLES / log).read_bytes()
    if data[:1] not in (b"{", b"["):
        return  # an archive
    path = tmp_path / Path(log).name
    path.write_bytes(BYTE_ORDER_MARK + data)
    plain, marked = nbtools.traces.load(SAMPLES / log), nbtools.traces.load(path)
    assert marked.readings[0].format.name == plain.readings[0].format.name
    assert [problem.why for problem in marked.problems] == [problem.why for problem in plain.problems]
    assert [(one.kind, one.text) for one in marked.events] == [(one.kind, one.text) for one in plain.events]
    assert [call.id for call in marked.calls] == [call.id for call in plain.calls]
    for one, other in list(zip(marked.calls, plain.calls, strict=True))[:3]:
        assert one.detail.result == other.detail.result


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named_with_the_command_that_converts_it(encoding: str, tmp_path: Path) -> None:
    log = next(log for log in LOGS if log.startswith("claude-code/"))
    path = tmp_path / "log.jsonl"
    path.write_bytes("\ufeff".encode(encoding) + (SAMPLES / log).read_text(encoding="utf-8").encode(encoding))
    with pytest.raises(TraceError, match=r"UTF-16.*iconv"):
        open_log(path)


@pytest.mark.parametrize(
    ("name", "table", "agent"),
    [
        ("opencode.db", "", "opencode"),
        ("state_5.sqlite", "", "Codex"),
        ("thread_history_1.sqlite", "", "Codex"),
        ("state.vscdb", "ItemTable", "VS Code"),
    ],
)
def test_a_folder_with_an_agents_database_is_named(name: str, table: str, agent: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / name)) as database:
        database.execute(f"CREATE TABLE {table or 'other'} (a)")
        database.commit()
    with pytest.raises(
        TraceError, match=rf"contains {name}, which looks like a log of {agent}.*not supported yet"
    ):
        open_log(tmp_path)
