"""Logs of Claude Code, as long as one wishes:
what somebody said, then calls of four tools in turn, some of which fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Record = tuple[str, dict[str, str], Any]
"""Its type, its message without what it says, and that."""
HOME = "/home/ada/cart"
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TURN = 100
"""Calls after each thing that the person says."""
FAILS = 50
"""Every which call fails."""
TOGETHER = 20
"""Calls of one message."""


def write_long_log(path: Path, calls: int) -> Path:
    """About 250 bytes a call."""
    return write_log(path, HOME, _records(calls))


def write_cart_log(path: Path) -> Path:
    """Somebody's session on the small project, which lies in the log's folder:
    a search, an edit and a command.
    """
    cart = str(path.parent / "src" / "cart.py")
    calls = (
        (
            "Grep",
            {"pattern": "total = 0", "path": "src", "output_mode": "content"},
            "src/cart.py:18:    total = 0",
        ),
        (
            "Edit",
            {"file_path": cart, "old_string": "total = 0", "new_string": "total = Decimal(0)"},
            f"The file {cart} has been updated.",
        ),
        ("Bash", {"command": "cat notes.txt"}, "one\ntwo\nfour"),
    )
    said: list[Record] = [("user", {"role": "user"}, "Make the total exact.")]
    for number, (name, parameters, result) in enumerate(calls):
        said.append(
            (
                "assistant",
                {"role": "assistant", "id": f"m{number}", "model": "claude-opus-4-5"},
                [_use(number, name, parameters)],
            )
        )
        said.append(
            (
                "user",
                {"role": "user"},
                [{"type": "tool_result", "tool_use_id": f"t{number}", "content": result}],
            )
        )
    return write_log(path, str(path.parent), said)


def write_log(path: Path, cwd: str, records: Iterable[Record]) -> Path:
    """Each record a second after the one before."""
    with path.open("w", encoding="utf-8") as file:
        parent = None
        for number, (kind, role, content) in enumerate(records):
            time = (
                (START + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            )
            head = {
                "uuid": f"u{number}",
                "parentUuid": parent,
                "sessionId": "s1",
                "version": "2.1.0",
                "cwd": cwd,
                "timestamp": time,
            }
            record = {**head, "type": kind, "message": {**role, "content": content}}
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            parent = head["uuid"]
    return path


def _records(calls: int) -> Iterator[Record]:
    for first in range(0, calls, TOGETHER):
        if first % TURN == 0:
            yield "user", {"role": "user"}, f"Now make part {first // TURN} exact."
        numbers = range(first, min(first + TOGETHER, calls))
        yield (
            "assistant",
            {"role": "assistant", "id": f"m{first}", "model": "claude-opus-4-5"},
            [_request(number) for number in numbers],
        )
        yield "user", {"role": "user"}, [_answered(number) for number in numbers]


def _request(number: int) -> dict[str, Any]:
    name, parameters, _ = _call(number)
    return _use(number, name, parameters)


def _use(number: int, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": parameters}


def _answered(number: int) -> dict[str, Any]:
    failed = {"is_error": True} if number % FAILS == FAILS - 1 else {}
    return {"type": "tool_result", "tool_use_id": f"t{number}", "content": _call(number)[2], **failed}


def _call(number: int) -> tuple[str, dict[str, Any], str]:
    path = f"{HOME}/src/part{number // TURN % 40}.py"
    match number % 4:
        case 0:
            return "Read", {"file_path": path}, f"     1\u2192total = {number}\n"
        case 1:
            return "Grep", {"pattern": f"total_{number}", "path": "src"}, f"{path}:1:total = {number}"
        case 2:
            return (
                "Edit",
                {"file_path": path, "old_string": f"total = {number}", "new_string": f"total = {number + 1}"},
                f"{path} updated.",
            )
        case _:
            return "Bash", {"command": f"pytest -q tests/test_{number}.py"}, f"{number} passed"
