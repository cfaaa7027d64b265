"""Files that name servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtools.sources.mcp.reading import own_file, read_servers


def write(path: Path, servers: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers, "theme": "dark"}))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    return tmp_path / "project"


def test_all_files_are_read_and_the_first_of_a_name_is_taken(project: Path) -> None:
    write(own_file(), {"docs": {"command": "mine"}})
    write(project / ".mcp.json", {"docs": {"command": "theirs"}, "web": {"type": "http", "url": "http://h/mcp"}})
    write(project / ".gemini" / "settings.json", {"files": {"httpUrl": "http://h/mcp"}})
    write(project / ".cursor" / "mcp.json", {"web": {"command": "other"}, "more": {"command": "more"}})
    read = read_servers(project)
    assert [(one.server.name, one.server.where, one.origin.project) for one in read.servers] == [
        ("docs", "mine", False),
        ("web", "http://h/mcp", True),
        ("files", "http://h/mcp", True),
        ("more", "more", True),
    ]
    assert read.problems == ()


def test_what_is_wrong_is_told_and_the_rest_is_there(project: Path) -> None:
    write(project / ".mcp.json", {"good": {"command": "x"}, "bad": {}, "secret": {"command": "$NOT_SET"}})
    (project / ".cursor").mkdir()
    (project / ".cursor" / "mcp.json").write_text("{")
    write(project / ".gemini" / "settings.json", [])
    read = read_servers(project, {})
    assert [one.server.name for one in read.servers] == ["good"]
    said = "\n".join(read.problems)
    assert [part in said for part in ("'bad'", "NOT_SET", "no JSON", "mcpServers is no object")] == [True] * 4
    assert len(read.problems) == 4


def test_no_file_is_no_problem(project: Path) -> None:
    assert read_servers(project) == read_servers(project / "nowhere")
    assert read_servers(project).problems == ()
