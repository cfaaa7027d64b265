"""A log and its files may be of somebody else:
no name in it leads elsewhere, and nothing in it or beside it stops the reader.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.traces.json_document import open_document
from nbtools.traces.known_tools import Edit, edits_of
from nbtools.traces.model import Detail
from nbtools.traces.prompts import typed_text
from nbtools.traces.readers.swe_agent import diffs_of
from nbtools.traces.reviews.commands import commands_of
from nbtools.traces.source import repair_json

AT = "2026-01-01T00:00:00.000Z"


def claude_log(path: Path, session: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": "hi"}
    path.write_text(
        json.dumps(
            {
                "type": "user",
                "uuid": "u",
                "parentUuid": None,
                "sessionId": session,
                "timestamp": AT,
                "message": message,
            }
        )
        + "\n"
    )
    return path


def gemini_log(path: Path, session: str, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    message = {"id": "1", "timestamp": AT, "type": "user", "content": text}
    path.write_text(
        json.dumps(
            {
                "sessionId": session,
                "projectHash": "p",
                "startTime": AT,
                "lastUpdated": AT,
                "messages": [message],
            }
        )
    )
    return path


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"]
)
@pytest.mark.parametrize(
    "name", ["s/subagents/agent-1.jsonl", "s/subagents/agent-1.meta.json", "agent-1.jsonl", "s.jsonl"]
)
def test_a_pipe_or_a_device_beside_a_log_is_not_read(
    name: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    log = claude_log(tmp_path / "s.jsonl", "s")
    claude_log(tmp_path / "s" / "subagents" / "agent-1.jsonl", "s")
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    if name == "s.jsonl":
        with pytest.raises(TraceError, match="Not a regular file"):
            traces.load(log)
    else:
        assert len(traces.load(log).sessions) == (1 if name == "s/subagents/agent-1.jsonl" else 2)


@pytest.mark.parametrize("name", [".", "..", "x" * 300, "a\0b", "a/b"])
def test_an_id_that_names_no_folder_adds_no_files(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for other in (folder / "private.json", folder.parent / "private.json"):
        gemini_log(other, "another", "private")
    claude_log(folder.parent / "subagents" / "agent-1.jsonl", "another")
    for log in (gemini_log(folder / "s.json", name, "hi"), claude_log(folder / "s.jsonl", name)):
        trace = traces.load(log)
        assert [event.text for event in trace.events] == ["hi"]
        assert len(trace.readings[0].source.files) == 1


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = gemini_log(tmp_path / "s.json", "s", "hi")
    (tmp_path / "s").mkdir()

    def denied(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)  # root lists every folder
    with pytest.raises(TraceError, match="Permission denied"):
        traces.load(log)


def in_seconds(work: Callable[[], object], seconds: float = 30) -> None:
    began = time.process_time()
    work()
    assert time.process_time() - began < seconds


@pytest.mark.parametrize(
    "text", ["<command-name>" + " " * 100_000, "<local-command-caveat>" * 10_000, "<command-name>" * 10_000]
)
def test_elements_that_do_not_end_are_searched_once(text: str) -> None:
    in_seconds(lambda: typed_text(text))


@pytest.mark.parametrize(
    "unit", ["<<<<<<< SEARCH\n", "<<<<<<< SEARCH\n=======\n", "<<<<<<< SEARCH\n=======\n=======\n"]
)
def test_blocks_of_an_edit_that_do_not_end_are_searched_once(unit: str) -> None:
    complete = "<<<<<<< SEARCH\n:start_line: 3\n-------\nold\n=======\nnew\n>>>>>>> REPLACE\n"
    edits: list[Edit] = []
    in_seconds(lambda: edits.extend(edits_of("apply_diff", {"path": "a", "diff": unit * 20_000 + complete})))
    assert [(edit.old, edit.new) for edit in edits] == [("old\n", "new\n")]


@pytest.mark.parametrize("head", ["*** Add File: ", "+++ b/"])
def test_names_of_files_in_a_patch_are_found_in_linear_time(head: str) -> None:
    edits: list[Edit] = []
    in_seconds(
        lambda: edits.extend(
            edits_of("apply_patch", {"input": f"*** Begin Patch\n{head}{' ' * 100_000}x \n+a\n"})
        )
    )
    assert [(edit.path.strip(), edit.new) for edit in edits] == ([("x", "a\n")] if "File" in head else [])


@pytest.mark.parametrize("command", ['"\\' * 50_000, "1" * 100_000])
def test_a_command_is_split_in_linear_time(command: str) -> None:
    in_seconds(lambda: commands_of(command))


MINI_SWE_AGENT = [
    {"role": "assistant", "content": "```bash\nls\n```"},
    {"role": "user", "content": "<output>\n" * 60_000},
]
READ = {"status": "completed", "input": {"filePath": "a"}, "output": "<file>\n" * 60_000}
OPENCODE = {"type": "tool", "callID": "c", "tool": "read", "state": READ}


@pytest.mark.parametrize(
    "records",
    [
        [{"info": {}, "trajectory_format": "mini-swe-agent-1", "messages": MINI_SWE_AGENT}],
        [
            {"type": "step_start", "sessionID": "s", "timestamp": 1, "part": {"type": "step-start"}},
            {"type": "tool_use", "sessionID": "s", "timestamp": 1, "part": OPENCODE},
        ],
    ],
    ids=["mini-swe-agent", "opencode"],
)
def test_a_result_whose_output_does_not_end_is_read_in_linear_time(records: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    details: list[Detail] = []
    in_seconds(lambda: details.extend(call.detail for call in traces.load(log).calls))
    assert details[0].result.startswith("<")


def test_thoughts_of_cline_that_do_not_end_are_read_in_linear_time(tmp_path: Path) -> None:
    log = tmp_path / "api_conversation_history.json"
    thought = f"<thinking>{' ' * 20_000}x"
    messages = [("user", "<task>\nhi\n</task>"), ("assistant", thought)]
    log.write_text(
        json.dumps([{"role": role, "content": [{"type": "text", "text": text}]} for role, text in messages])
    )
    found: list[str] = []
    in_seconds(lambda: found.extend(event.text for event in traces.load(log).events))
    assert found[0] == "hi"


def test_an_edit_of_swe_agent_that_does_not_end_is_read_in_linear_time() -> None:
    in_seconds(lambda: diffs_of("edit 1:1\n" * 60_000, {}, "a"))


@pytest.mark.parametrize("end", [b"", b"\\"])
def test_a_string_that_does_not_end_is_searched_once(end: bytes) -> None:
    text = b'{"a": [1, 2], "b": "' + b'\\"' * 100_000 + end
    in_seconds(lambda: repair_json(text))
    found: list[Any] = []
    in_seconds(lambda: found.append(open_document(text, Any).value))
    assert found == [{"a": [1, 2]}]
