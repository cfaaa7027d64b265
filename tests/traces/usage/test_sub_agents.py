"""Sub-agents' tokens of Claude Code count once, in every layout in which their messages are recorded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.formats import open_log
from tests.traces.recorded import SAMPLES

FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
EXTRA = os.environ.get("NBTOOLS_TEST_LOGS", "")
MORE = sorted(Path(EXTRA).rglob("*.jsonl")) if EXTRA else []
CLAUDE = [
    path
    for path in (*SAMPLES.glob("claude-code/**/*.jsonl"), *MORE)
    if "subagents" not in path.parts
    and path.suffix == ".jsonl"
    and path.stat().st_size
    and open_log(path).format.name == "claude-code"
]


def recorded_usage(path: Path) -> tuple[int, int]:
    """Sums up the largest numbers of each message, by its id, over all records of a log and of the files of
    its sub-agents, without the readers.
    """
    most: dict[str, list[int]] = {}
    for file in (path, *path.with_suffix("").glob("subagents/*.jsonl")):
        for line in file.read_bytes().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            for message in messages(record):
                numbers = [message["usage"].get(field) or 0 for field in FIELDS]
                before = most.get(message["id"], numbers)
                most[message["id"]] = list(map(max, before, numbers))
    sums = [sum(numbers) for numbers in zip(*most.values(), strict=True)] or [0, 0, 0, 0]
    return sum(sums[:3]), sums[3]


def messages(record: Any) -> Iterator[dict[str, Any]]:
    """Yields the messages of models in a record: its own, and that of a progress record."""
    if not isinstance(record, dict):
        return
    has_usage = isinstance(record.get("usage"), dict) and isinstance(record.get("id"), str)
    if has_usage and record.get("model") != "<synthetic>":
        yield record
    for field in ("message", "data"):
        yield from messages(record.get(field))


@pytest.mark.parametrize("path", CLAUDE, ids=lambda path: path.name)
def test_tokens_are_those_of_all_messages_of_the_log(path: Path) -> None:
    counts = traces.load(path).counts
    assert (counts.input_tokens or 0, counts.output_tokens or 0) == recorded_usage(path)


def test_samples_have_sub_agents_in_progress_records_and_in_files() -> None:
    assert any(list(path.with_suffix("").glob("subagents/*.jsonl")) for path in CLAUDE)
    assert any(b'"agent_progress"' in path.read_bytes() for path in CLAUDE)


def record(number: int, kind: str, message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    shared = {
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s",
        "timestamp": f"2026-01-02T03:04:{number:02}.000Z",
        "version": "2.1.80",
        "cwd": "/w",
    }
    return {**shared, "type": kind, "message": message, **fields}


def response(name: str, size: int, *content: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": size, "cache_read_input_tokens": 10 * size, "output_tokens": 2}
    return {
        "id": name,
        "role": "assistant",
        "model": "claude-x",
        "stop_reason": "end_turn",
        "usage": usage,
        "content": [{"type": "text", "text": name}, *content],
    }


TASK = {"type": "tool_use", "id": "task", "name": "Task", "input": {"prompt": "look", "description": "d"}}
BASH = {"type": "tool_use", "id": "bash", "name": "Bash", "input": {"command": "ls"}}
ANSWER = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "task", "content": "done"}]}
AGENT = [response("a1", 3, BASH), response("a2", 4)]
MAIN = [
    record(0, "user", {"role": "user", "content": "please look"}),
    record(1, "assistant", response("m1", 1, TASK)),
]
END = [record(8, "user", ANSWER), record(9, "assistant", response("m2", 2))]


def progress(number: int, message: dict[str, Any]) -> dict[str, Any]:
    data = {"type": "agent_progress", "agentId": "x1", "message": {"type": "assistant", "message": message}}
    return record(number, "progress", {}, data=data, parentToolUseID="task", toolUseID="p") | {
        "message": None
    }


@pytest.mark.parametrize(
    "layout", ["progress", "repeated progress", "file", "file and progress", "own records"]
)
def test_a_sub_agents_messages_count_once_in_every_layout(layout: str, tmp_path: Path) -> None:
    between: list[dict[str, Any]] = []
    if "progress" in layout:
        between = [progress(2 + at, message) for at, message in enumerate(AGENT)]
    if layout == "repeated progress":
        between += [progress(4 + at, message) for at, message in enumerate(AGENT)]
    if layout == "own records":
        chain = [record(2, "user", {"role": "user", "content": "look"}, isSidechain=True)]
        chain += [record(3 + at, "assistant", one, isSidechain=True) for at, one in enumerate(AGENT)]
        between = [{**chain[0], "parentUuid": None}, *chain[1:]]
    path = tmp_path / "s.jsonl"
    write(path, [*MAIN, *between, *END])
    if "file" in layout:
        folder = tmp_path / "s/subagents"
        folder.mkdir(parents=True)
        own = [record(0, "user", {"role": "user", "content": "look"}, isSidechain=True, agentId="x1")]
        own += [
            record(1 + at, "assistant", one, isSidechain=True, agentId="x1") for at, one in enumerate(AGENT)
        ]
        write(folder / "agent-x1.jsonl", own)
    counts = traces.load(path).counts
    assert (counts.input_tokens, counts.output_tokens) == recorded_usage(path) == (11 * (1 + 2 + 3 + 4), 8)
    assert (counts.calls, counts.nested_calls, counts.cache_read_tokens) == (2, 0, 100)


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
