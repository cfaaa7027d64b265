"""Several logs at once: each is read once, by one process or by several."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nbtools import traces
from nbtools.traces import TraceError
from nbtools.traces.formats import open_log
from nbtools.traces.parallel_reading import read_rows, read_written_rows, write_rows
from tests.traces.recorded import SAMPLES

LAYOUT = SAMPLES / "claude-code" / "subagent-layout"


def test_files_of_a_session_are_read_with_it_and_not_again() -> None:
    (main,) = LAYOUT.glob("*.jsonl")
    alone, all_of_it = traces.load(main), traces.load_many(LAYOUT / "**" / "*.jsonl")
    assert len(list(LAYOUT.glob("**/*.jsonl"))) > 1
    assert [call.id for call in all_of_it.calls] == [call.id for call in alone.calls]
    assert [session.id for session in all_of_it.sessions] == [session.id for session in alone.sessions]
    backwards = traces.load_many(sorted(LAYOUT.glob("**/*.jsonl"), reverse=True))
    assert len(backwards.calls) == len(alone.calls)


def test_a_path_that_comes_twice_is_read_once() -> None:
    log = SAMPLES / "claude-code" / "cctrace--main.jsonl"
    assert len(traces.load_many([log, str(log)]).calls) == len(traces.load(log).calls)


def test_sub_agents_whose_session_is_gone_are_read_once_each(tmp_path: Path) -> None:
    first = {
        "type": "user",
        "isSidechain": True,
        "sessionId": "s",
        "parentUuid": None,
        "uuid": "u",
        "message": {"role": "user", "content": "x"},
    }
    for name in ("a1", "a2"):
        (tmp_path / f"agent-{name}.jsonl").write_text(json.dumps({**first, "agentId": name}) + "\n")
    assert len(traces.load_many(tmp_path / "*.jsonl").events) == 2


def test_a_pattern_that_matches_other_files_reports_them(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(TraceError, match="not recognised"):
        traces.load_many(tmp_path / "*.jsonl")


@pytest.mark.parametrize("pattern", ["claude-code/*.jsonl", "codex/*", "gemini-cli/session*"])
def test_two_processes_read_what_one_does(pattern: str) -> None:
    logs = sorted(path for path in SAMPLES.glob(pattern) if path.is_file())[:4]
    one, two = traces.load_many(logs), traces.load_many(logs, workers=2)
    assert (two.sessions, two.events, two.file_changes, two.problems) == (
        one.sessions,
        one.events,
        one.file_changes,
        one.problems,
    )
    assert [(call.id, call.status, call.result_ref) for call in two.calls] == [
        (call.id, call.status, call.result_ref) for call in one.calls
    ]
    assert [call.detail for call in two.calls[:3]] == [call.detail for call in one.calls[:3]]


FILES = [path for path in sorted(SAMPLES.glob("*/*")) if path.is_file()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_worker_process_writes_the_rows_that_it_has_read(path: Path, tmp_path: Path) -> None:
    try:
        log = open_log(path)
    except TraceError:
        pytest.skip("no log")
    here = read_rows(log)
    write_rows({0: path}, tmp_path)
    sent = read_written_rows(tmp_path / "0", log)
    assert sent is not None
    assert sent == here
    assert all(call.origin is log for call in sent.calls)


def test_a_log_is_read_by_one_process_only(tmp_path: Path) -> None:
    paths = dict(enumerate(sorted((SAMPLES / "claude-code").glob("*.jsonl"))[:2]))
    (tmp_path / "1.claim").touch()
    write_rows(paths, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"0", "0.claim", "1.claim"}


def test_a_script_without_main_guard_gets_an_error_that_says_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    logs = [str(path) for path in sorted((SAMPLES / "claude-code").glob("*.jsonl"))[:2]]
    script.write_text(f"from nbtools import traces\ntraces.load_many({logs!r}, workers=2)\n")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "below `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]
