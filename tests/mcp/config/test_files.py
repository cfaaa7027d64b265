"""Files that name servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtools.mcp.config.files import own_file, read_servers


def write(path: Path, servers: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers, "theme": "dark"}))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    return tmp_path / "project"


def test_all_files_are_read_and_the_first_of_a_name_is_taken(project: Path) -> None:
    write(own_file(), {"docs": {"command": "mine"}})
    write(
        project / ".mcp.json", {"docs": {"command": "theirs"}, "web": {"type": "http", "url": "http://h/mcp"}}
    )
    write(project / ".gemini" / "settings.json", {"files": {"httpUrl": "http://h/mcp"}})
    write(project / ".cursor" / "mcp.json", {"web": {"command": "other"}, "more": {"command": "more"}})
    read = read_servers(project)
    assert [(one.server.name, one.server.location, one.origin.project) for one in read.servers] == [
        ("docs", "mine", False),
        ("web", "http://h/mcp", True),
        ("files", "http://h/mcp", True),
        ("more", "more", True),
    ]
    assert read.problems == ()


def test_wrong_entries_are_reported_and_the_others_are_used(project: Path) -> None:
    write(project / ".mcp.json", {"good": {"command": "x"}, "bad": {}, "secret": {"command": "$NOT_SET"}})
    (project / ".cursor").mkdir()
    (project / ".cursor" / "mcp.json").write_text("{")
    write(project / ".gemini" / "settings.json", [])
    read = read_servers(project, {})
    assert [one.server.name for one in read.servers] == ["good"]
    said = "\n".join(problem.text for problem in read.problems)
    parts = (
        "'bad'",
        "NOT_SET",
        "mcp.json cannot be read: invalid JSON at line 1, column 2",
        "mcpServers is not an object",
    )
    assert [part in said for part in parts] == [True] * 4
    assert [problem.name for problem in read.problems] == ["bad", "secret", "", ""]
    assert len(read.problems) == 4


def test_servers_in_the_persons_file_of_claude_code_are_the_persons(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    here = {"mcpServers": {"local": {"command": "here"}, "both": {"command": "here"}}}
    everywhere = {"both": {"command": "everywhere"}, "all": {"command": "x"}}
    kept = {
        "numStartups": 3,
        "projects": {str(project): here, "/other": {"mcpServers": {"no": {"command": "x"}}}},
        "mcpServers": everywhere,
    }
    (tmp_path / ".claude.json").write_text(json.dumps(kept))
    found = read_servers(project).servers
    assert [(one.server.name, one.server.location, one.origin.project) for one in found] == [
        ("local", "here", False),
        ("both", "here", False),
        ("all", "x", False),
    ]


def test_the_digest_of_an_entry_depends_on_its_text(project: Path) -> None:
    def digest(entry: Any) -> str:
        write(project / ".mcp.json", {"x": entry})
        return read_servers(project, {"TOKEN": "a"}).servers[0].digest

    first = digest({"command": "x", "env": {"A": "$TOKEN"}})
    assert digest({"env": {"A": "$TOKEN"}, "command": "x"}) == first
    assert digest({"command": "x", "env": {"A": "a"}}) != first
    assert digest({"command": "x", "env": {"A": "$TOKEN"}, "trust": True}) != first


def test_no_file_is_no_problem(project: Path) -> None:
    assert read_servers(project) == read_servers(project / "nowhere")
    assert read_servers(project).problems == ()
