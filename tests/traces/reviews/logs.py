"""Logs of Claude Code that tests write, grow, copy and edit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SESSION = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f"


class Log:
    """A session under construction. Each method appends records."""

    def __init__(self, session: str = SESSION) -> None:
        self.session = session
        self.lines: list[bytes] = []

    def person(self, text: str) -> Log:
        return self._add("user", {"role": "user", "content": text})

    def agent(self, text: str) -> Log:
        number = len(self.lines)
        return self._add(
            "assistant",
            {"id": f"m{number}", "role": "assistant", "content": [{"type": "text", "text": text}]},
        )

    def thought(self, text: str) -> Log:
        number = len(self.lines)
        content = [{"type": "thinking", "thinking": text, "signature": "s"}]
        return self._add("assistant", {"id": f"m{number}", "role": "assistant", "content": content})

    def call(self, name: str, args: dict[str, Any], output: str = "done", *, failed: bool = False) -> Log:
        number = len(self.lines)
        use = {"type": "tool_use", "id": f"t{self.session[:4]}{number}", "name": name, "input": args}
        result = {
            "type": "tool_result",
            "tool_use_id": use["id"],
            "content": output,
            **({"is_error": True} if failed else {}),
        }
        self._add("assistant", {"id": f"m{number}", "role": "assistant", "content": [use]})
        return self._add("user", {"role": "user", "content": [result]})

    def bash(self, command: str, *, failed: bool = False) -> Log:
        return self.call("Bash", {"command": command}, "Exit code 1\nno" if failed else "done", failed=failed)

    def edit(self, path: str, old: str, new: str) -> Log:
        return self.call("Edit", {"file_path": path, "old_string": old, "new_string": new})

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.lines))
        return path

    def _add(self, kind: str, message: dict[str, Any]) -> Log:
        number = len(self.lines)
        record = {
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": False,
            "sessionId": self.session,
            "type": kind,
            "uuid": f"u{number}",
            "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z",
            "message": message,
        }
        self.lines.append(json.dumps(record).encode() + b"\n")
        return self


def session(name: str = SESSION, commands: Sequence[str] = ("ls", "make", "git status")) -> Log:
    log = Log(name).person(f"Please build {name}")
    for command in commands:
        log.bash(command)
    return log.agent("It is built.")
