"""The output of ``nbtools trace`` contains no control sequences."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.export import terminal
from tests.traces.recorded import LOGS, SAMPLES

HOSTILE = "\x1b]52;c;QUFB\x07\x9b2J\x7f\u202e\U000e0001"
STRUCTURE = {
    "type",
    "kind",
    "role",
    "status",
    "subtype",
    "schema_version",
    "timestamp",
    "format",
    "trajectory_format",
    "source",
    "operation",
    "k",
}
"""Keys by whose values a format is recognised, or a record, or the place of a change."""
JSON_LOGS = [log for log in LOGS if log.endswith((".json", ".jsonl", ".traj"))]


def spoiled(value: Any, key: str = "") -> Any:
    """Returns the log with every free text made hostile."""
    if isinstance(value, dict):
        return {name: spoiled(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [spoiled(one, key) for one in value]
    return value + HOSTILE if isinstance(value, str) and key not in STRUCTURE else value


@pytest.fixture(params=JSON_LOGS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    text = (SAMPLES / request.param).read_text()
    path = tmp_path / Path(request.param).name
    try:
        path.write_text(json.dumps(spoiled(json.loads(text))))
    except ValueError:
        path.write_text(
            "\n".join(json.dumps(spoiled(json.loads(line))) for line in text.splitlines() if line.strip())
        )
    return str(path)


def obeyed(text: str) -> set[str]:
    return {character for character in text if not character.isprintable() and character not in "\n\t"}


def test_no_field_of_a_log_reaches_the_terminal_as_it_is(log: str) -> None:
    lines = list(terminal.summary_lines(log))
    assert len(lines) > 1
    assert obeyed("".join(lines)) == set()
    with suppress(TraceError):
        assert obeyed("".join(terminal.matching_steps(log, "QUFB"))) == set()
    assert obeyed(terminal.facts_json(log)) == set()
    assert json.loads(terminal.facts_json(log))


def test_a_version_is_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    message = {"role": "user", "content": "hello"}
    record = {
        "type": "user",
        "uuid": "a",
        "parentUuid": None,
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": message,
    }
    path.write_text(json.dumps({**record, "version": f"1{HOSTILE}"}))
    facts = list(terminal.summary_lines(str(path)))[1]
    assert "‹U+001B›" in facts
    assert obeyed(facts) == set()


def test_an_error_is_spelled_out() -> None:
    assert obeyed(terminal.error_text(TraceError(f"{HOSTILE} is no log"))) == set()
