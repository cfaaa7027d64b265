"""Files of settings that are changed by us, and are others' all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbtools.core.errors import ToolFailure
from nbtools.mcp.config.files import add_server, remove_server

ENTRY = {"command": "x"}


def test_other_content_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(
        '{\n    "theme": "hell & dunkel – ü",\n    "mcpServers": {"old": {"command": "o", "unknown": [1]}}\n}\n',
        encoding="utf-8",
    )
    path.chmod(0o640)
    add_server(path, "new", ENTRY)
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{\n    "theme": "hell & dunkel – ü",\n    "mcpServers": {\n        "old"')
    assert json.loads(text)["mcpServers"] == {"old": {"command": "o", "unknown": [1]}, "new": ENTRY}
    assert path.stat().st_mode & 0o777 == 0o640
    remove_server(path, "new")
    remove_server(path, "nobody")
    assert list(json.loads(path.read_text(encoding="utf-8"))["mcpServers"]) == ["old"]
    assert [file.name for file in tmp_path.iterdir()] == ["settings.json"]


def test_a_new_file_is_the_person_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "config" / "mcp.json"
    add_server(path, "new", ENTRY)
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {"new": ENTRY}}
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}", encoding="utf-8")
    (tmp_path / "mcp.json").symlink_to("real.json")
    add_server(tmp_path / "mcp.json", "new", ENTRY)
    assert (tmp_path / "mcp.json").is_symlink()
    assert "new" in (tmp_path / "real.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "says"),
    [("{\n  oops", "line 2"), ('{"mcpServers": []}', "not an object"), ("[]", "not a JSON object")],
)
def test_an_unreadable_file_is_not_changed(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ToolFailure, match=says):
        add_server(path, "new", ENTRY)
    assert path.read_text(encoding="utf-8") == text


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    add_server(tmp_path / "mcp.json", "new", ENTRY)
    with pytest.raises(ToolFailure, match="already has an MCP server 'new'"):
        add_server(tmp_path / "mcp.json", "new", {"command": "y"})
    add_server(tmp_path / "mcp.json", "new", {"command": "y"}, replace=True)
    assert json.loads((tmp_path / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["new"] == {
        "command": "y"
    }
