"""``docs/mcp.md`` says what is."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from nbtools.mcp.config.entries import Address, parse_server
from nbtools.mcp.config.files import config_files
from tests.conformance.tables import client_table, server_table
from tests.warm_python import warm_python

HERE = Path(__file__)
PAGE = (HERE.parents[2] / "docs/mcp.md").read_text(encoding="utf-8")
ENTRIES = [
    json.loads(block)["mcpServers"] for block in re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
]


def test_the_tables_of_conformance_are_those_of_the_tests() -> None:
    assert client_table() in PAGE
    assert server_table() in PAGE


@pytest.mark.parametrize("entries", ENTRIES)
def test_every_entry_can_be_read(entries: dict[str, object]) -> None:
    for name, entry in entries.items():
        parse_server(name, entry, {"SHOP_KEY": "k", "SECRET": "s"})


def test_logins_are_read_as_it_says() -> None:
    read = {name: parse_server(name, entry, {"SECRET": "s"}).transport for name, entry in ENTRIES[1].items()}
    logins = {name: one.login for name, one in read.items() if isinstance(one, Address)}
    assert {name: login.client_id for name, login in logins.items()} == {
        "claude": "me",
        "gemini": "me",
        "cursor": "me",
        "robot": "robot",
    }
    assert {
        name: login.client_secret for name, login in logins.items() if login.client_secret
    } == dict.fromkeys(("gemini", "cursor", "robot"), "s")
    assert [name for name, login in logins.items() if login.alone] == ["robot"]
    assert logins["claude"].redirect == "http://localhost:8080/callback"


def test_every_file_is_there_in_its_order(tmp_path: Path) -> None:
    told = re.findall(r"^\| `([^`]+)`[^|]*\| (yours|the project's)", PAGE, flags=re.MULTILINE)
    known = list(dict.fromkeys((origin.path, origin.project) for origin in config_files(tmp_path)))
    assert [(path.name, project) for path, project in known] == [
        (Path(name).name, whose == "the project's") for name, whose in told
    ]
    assert all(
        str(path).endswith(name.removeprefix("~")) for (path, _), (name, _) in zip(known, told, strict=True)
    )


def test_the_code_that_it_shows_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(import asyncio.*?)```", PAGE, flags=re.DOTALL)
    own = tmp_path / "config" / "mcp.json"
    own.parent.mkdir()
    shop = {"command": warm_python(), "args": [str(HERE.parents[1] / "notebook/shop_server.py")]}
    own.write_text(json.dumps({"mcpServers": {"shop": shop}}))
    env = {
        **os.environ,
        "NBTOOLS_CONFIG": str(own.parent),
        "NBTOOLS_STATE": str(tmp_path / "state"),
        "CLAUDE_CONFIG_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [warm_python(), "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout.splitlines(), done.stderr) == (["shop connected ", "1 pears: 0.40 €"], "")
