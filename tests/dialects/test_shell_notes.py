"""Every note on a command's card reaches the model, too, in every dialect, text and function response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session, Settings, ToolResult
from nbtools.core.result import CommandOutput
from nbtools.core.schema.json_schema import Provider, convert_to_function_response
from nbtools.dialects import dialect_names
from nbtools.testing import ONCE, ScriptedConfirmer
from nbtools.workspace.processes.sandbox import bubblewrap

CALLS: Mapping[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "nbtools": lambda command: ("shell", {"command": command}),
    "gemini": lambda command: ("run_shell_command", {"command": command}),
    "claude": lambda command: ("Bash", {"command": command}),
    "void": lambda command: ("run_command", {"command": command}),
    "codex": lambda command: ("shell", {"command": ["bash", "-lc", command]}),
}
PROVIDERS: tuple[Provider, ...] = ("gemini", "anthropic", "openai", "mcp")
SANDBOX = pytest.mark.skipif(isinstance(bubblewrap(), str), reason="needs bubblewrap")
NOTES = {
    "cannot be undone": ("touch new", Settings(snapshot_files=1), "its changes cannot be undone"),
    "cannot be undone, and fails": (
        "touch new; exit 3",
        Settings(snapshot_files=1),
        "its changes cannot be undone",
    ),
    "variables withheld": ("echo 401 unauthorized; exit 1", Settings(), "NBTOOLS_TEST_TOKEN"),
}
IN_SANDBOX = {
    "sandbox": ("touch /etc/new || exit 4", Settings(sandbox="required"), "In a sandbox"),
    "sandbox, protected file created": (
        "mkdir -p .vscode; touch .vscode/x",
        Settings(sandbox="required"),
        "the command created",
    ),
}
CASES = [
    *(pytest.param(*case, id=name) for name, case in NOTES.items()),
    *(pytest.param(*case, id=name, marks=SANDBOX) for name, case in IN_SANDBOX.items()),
]


async def run(root: Path, dialect: str, command: str, settings: Settings) -> ToolResult:
    for name in ("a", "b"):
        (root / name).write_text("x")
    async with Session(
        root,
        dialect=dialect,
        policy=Policy(mode="yolo"),
        confirmer=ScriptedConfirmer(ONCE),
        settings=settings,
    ) as session:
        name, arguments = CALLS[dialect](command)
        return await session.call(name, arguments)


@pytest.mark.parametrize("dialect", dialect_names())
@pytest.mark.parametrize(("command", "settings", "words"), CASES)
async def test_every_note_reaches_the_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dialect: str,
    command: str,
    settings: Settings,
    words: str,
) -> None:
    monkeypatch.setenv("NBTOOLS_TEST_TOKEN", "x" * 20)
    result = await run(tmp_path, dialect, command, settings)
    assert isinstance(result.return_display, CommandOutput)
    assert words in result.return_display.note
    assert words in str(result.llm_content)
    assert any(words in note for note in result.notes)
    for provider in PROVIDERS:
        assert words in str(convert_to_function_response("1", "x", result, provider)), provider
