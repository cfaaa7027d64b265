"""Recorded sessions that are made here: what Claude Code would have written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from nbtools.traces import Trace, load
from tests.traces.recorded import SAMPLES

CWD = "/home/sam/shop"


def sample(name: str) -> Trace:
    return load(SAMPLES / name)


def log(path: Path, *calls: tuple[str, dict[str, Any], str, dict[str, Any]], cwd: str = CWD) -> Trace:
    """Each call: name, input, what the model read, what Claude Code kept for itself."""
    lines: list[dict[str, Any]] = [
        {
            "type": "user",
            "uuid": "u",
            "message": {"role": "user", "content": "Raise the price.\n\n# Why\n<b>x</b>"},
        }
    ]
    for number, (name, given, text, kept) in enumerate(calls):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
        lines.append(
            {
                "type": "assistant",
                "uuid": f"a{number}",
                "message": {"id": f"m{number}", "role": "assistant", "content": [use]},
            }
        )
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
        said = {"role": "user", "content": [result]}
        lines.append({"type": "user", "uuid": f"r{number}", "message": said, "toolUseResult": kept})
    common = {
        "sessionId": "s1",
        "cwd": cwd,
        "version": "2.1.200",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "parentUuid": None,
    }
    path.write_text("".join(json.dumps({**common, **line}) + "\n" for line in lines))
    return load(path)


def codex_log(path: Path, *calls: tuple[str, dict[str, Any] | str, str], cwd: str = CWD) -> Trace:
    """The log that Codex would have written.
    Each call: name, arguments (of a free-form tool: the text), what the model read.
    """
    lines: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": "s1", "cwd": cwd, "cli_version": "0.125.0", "originator": "codex-tui"})
    ]
    for number, (name, given, text) in enumerate(calls):
        kind = "custom_tool_call" if isinstance(given, str) else "function_call"
        said = {"input": given} if isinstance(given, str) else {"arguments": json.dumps(given)}
        lines.append(("response_item", {"type": kind, "name": name, "call_id": f"call_{number}", **said}))
        lines.append(
            ("response_item", {"type": f"{kind}_output", "call_id": f"call_{number}", "output": text})
        )
    record = {"timestamp": "2026-04-01T00:00:00.000Z"}
    path.write_text(
        "".join(json.dumps({**record, "type": kind, "payload": payload}) + "\n" for kind, payload in lines)
    )
    return load(path)


def exec_output(printed: str, code: int = 0) -> str:
    return f"Chunk ID: 3eac63\nWall time: 0.0534 seconds\nProcess exited with code {code}\nOriginal token count: 9\nOutput:\n{printed}"


def edit(
    old: str, new: str, path: str = f"{CWD}/price.py"
) -> tuple[str, dict[str, Any], str, dict[str, Any]]:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return (
        "Edit",
        given,
        f"The file {path} has been updated successfully.",
        {"filePath": path, "oldString": old, "newString": new},
    )


def bash(command: str, printed: str) -> tuple[str, dict[str, Any], str, dict[str, Any]]:
    return "Bash", {"command": command}, printed, {"stdout": printed, "stderr": "", "interrupted": False}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def shop(folder: Path) -> Path:
    """A repository of one commit, with an ignored file and a change that is not committed."""
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "price.py").write_text("price = 1\ntax = 2\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "price.py").write_text("price = 5\ntax = 2\n")
    (folder / "big.log").write_text("x")
    (folder / "new.txt").write_text("new\n")
    return folder
