from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nbtools.storage.state_folder import state_folder, workspace_key


def test_the_state_folder_is_this_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "a" / "state"))
    folder = state_folder()
    assert folder == tmp_path / "a" / "state"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert state_folder() == folder


def test_a_workspaces_key_reads_like_its_name_and_is_its_own() -> None:
    one, other = workspace_key("/srv/my project"), workspace_key("/home/my project")
    assert one.startswith("my-project-")
    assert one != other
    assert workspace_key(Path("/srv/my project")) == one
    assert workspace_key("/").startswith("root-")
    assert "/" not in workspace_key("/srv/\N{SNOWMAN}/x" + "y" * 300)
    assert len(workspace_key("/srv/" + "y" * 255)) < 80
