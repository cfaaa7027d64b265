"""ATIF logs as tests want them: small, or of a requested size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Called:
    """A call and what came of it; no result: it was not answered."""

    name: str
    arguments: dict[str, Any]
    result: str | None = "done"


def write(path: Path, *steps: str | Called, session: str = "one", agent: str = "maker") -> Path:
    """A log: a text is what the agent says, a call is a step of its own."""
    made = [_step(number, step) for number, step in enumerate(steps, 1)]
    document = {
        "schema_version": "ATIF-v1.8",
        "session_id": session,
        "agent": {"name": agent, "version": "1"},
        "steps": made,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def many(calls: int, size: int = 200) -> Sequence[str | Called]:
    """Steps with as many calls, each of whose results is about ``size`` characters."""
    words = "alpha beta gamma delta " * (size // 23 + 1)
    return [
        Called("Bash", {"command": f"run number{n} --fast"}, f"{words[:size]} result{n}")
        for n in range(calls)
    ]


def _step(number: int, step: str | Called) -> dict[str, Any]:
    base = {"step_id": number, "timestamp": f"2026-01-02T03:04:{number % 60:02}Z", "source": "agent"}
    if isinstance(step, str):
        return {**base, "message": step}
    call = {"tool_call_id": f"t{number}", "function_name": step.name, "arguments": step.arguments}
    results = [] if step.result is None else [{"source_call_id": f"t{number}", "content": step.result}]
    return {**base, "message": "", "tool_calls": [call], "observation": {"results": results}}
