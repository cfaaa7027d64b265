"""Logs of several runs of one task: they begin alike, part at different steps, and end differently."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.browser.long_log import write_log

Made = tuple[str, dict[str, Any], str, bool]
"""A call: its tool, parameters, result, and whether it failed."""
PROMPT = "Make the total of the cart exact, and run the tests."
MARKUP = "<img src=x onerror=window.pwned=1>"
SHARED: Sequence[Made] = [
    ("Read", {"file_path": f"/home/ada/cart/src/part{number}.py"}, "x = 1", False) for number in range(6)
]


def edit(new: str) -> Made:
    path = "/home/ada/cart/src/part1.py"
    return (
        "Edit",
        {"file_path": path, "old_string": "x = 1", "new_string": new},
        f"The file {path} has been updated.",
        False,
    )


def shell(command: str, *, failed: bool = False) -> Made:
    return "Bash", {"command": command}, "Exit code 1\n1 failed" if failed else "1 passed", failed


TEST, FAILED_TEST = shell("pytest -q"), shell("pytest -q", failed=True)
RUNS: dict[str, Sequence[Made]] = {
    "usual": [*SHARED, edit("x = Decimal(1)"), TEST],
    "careful": [*SHARED, FAILED_TEST, edit("x = Decimal(1)"), TEST],
    "hasty": [*SHARED, edit("x = int(1)"), FAILED_TEST, shell("git stash")],
    "lost": [
        *SHARED[:3],
        shell(f"echo {MARKUP}"),
        shell("ls -la"),
        ("Grep", {"pattern": "total"}, "", False),
    ],
    "untested": [*SHARED, edit("x = Decimal(1)"), shell("pytest -q | tail -1")],
}


def write_run(path: Path, calls: Sequence[Made], answer: str = "Done: the total is exact.") -> Path:
    """Writes the session of a run, which ends with an answer."""
    said: list[tuple[str, dict[str, str], Any]] = [("user", {"role": "user"}, PROMPT)]
    for number, (name, parameters, result, failed) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": parameters}
        said.append(
            ("assistant", {"role": "assistant", "id": f"m{number}", "model": "claude-opus-4-5"}, [use])
        )
        reply = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": result,
            **({"is_error": True} if failed else {}),
        }
        said.append(("user", {"role": "user"}, [reply]))
    said.append(
        (
            "assistant",
            {"role": "assistant", "id": "last", "model": "claude-opus-4-5"},
            [{"type": "text", "text": answer}],
        )
    )
    return write_log(path, "/home/ada/cart", said)


def write_runs(folder: Path) -> list[str]:
    """Writes a log for each run, and returns their names."""
    return [write_run(folder / f"{name}.jsonl", calls).name for name, calls in RUNS.items()]
