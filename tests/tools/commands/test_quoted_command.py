"""A command line in quotes as a whole is refused with the way to write it."""

from __future__ import annotations

import pytest

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.tools.commands.shell import ShellTool
from nbtools.workspace.workspace import Workspace


@pytest.mark.parametrize("command", ['"echo a; echo b"', "'ls -l | head'", ' "pytest -q" ', '"a&&b"'])
def test_it_says_how_to_write_it(tmp_path, command):
    with pytest.raises(ToolFailure, match="in quotes") as caught:
        ShellTool(Workspace(tmp_path)).build({"command": command})
    assert caught.value.code is ErrorCode.INVALID_TOOL_PARAMS
    assert caught.value.message.endswith(f": {command.strip()[1:-1]}")


@pytest.mark.parametrize(
    "command", ['"ls"', '"./my tool"', "echo 'a; b'", "'a b' 'c d'", '"$HOME/my tool"', '"a b" > out', "ls"]
)
def test_other_lines_are_built(tmp_path, command):
    (tmp_path / "my tool").write_text("#!/bin/sh\n")
    assert ShellTool(Workspace(tmp_path)).build({"command": command}).params.command == command
