"""``traces.follow`` and the command, beside a process that writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.traces.following import follow
from nbtools.traces.formats import open_log
from nbtools.traces.model import Call, Event, Row, Session
from nbtools.traces.reader import LogFile
from tests.traces.following.test_growing_log import CLAUDE, CODEX, lines_of

WRITER = Path(__file__).parent / "writer.py"
SOURCES = {"claude": CLAUDE, "codex": CODEX}


@contextmanager
def writing(
    how: str, source: Path, log: Path, *, lines: int, size: int = 1000
) -> Iterator[subprocess.Popen[str]]:
    """Starts to write what ``log`` lacks of ``source``; it has the first ``lines`` already."""
    log.write_bytes(b"".join(source.read_bytes().splitlines(keepends=True)[:lines]))
    command = [sys.executable, str(WRITER), how, str(source), str(log), str(size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        try:
            yield writer
        finally:
            writer.kill()


def write_all(writer: subprocess.Popen[str]) -> None:
    assert writer.stdin
    assert writer.stdout
    for line in writer.stdout:
        if line == "ended\n":
            return
        writer.stdin.write("\n")
        writer.stdin.flush()


@pytest.mark.parametrize("how", ["lines", "halves", "rename"])
@pytest.mark.parametrize("agent", SOURCES)
def test_rows_come_while_an_agent_writes(agent: str, how: str, tmp_path: Path) -> None:
    source, path = SOURCES[agent], tmp_path / "session.jsonl"
    whole = traces.load(source)
    seen: list[Row] = []
    with writing(how, source, path, lines=len(lines_of(source)) - 30) as writer:
        thread = Thread(target=write_all, args=(writer,))
        for row in traces.follow(path):
            if not seen:
                thread.start()
            seen.append(row)
            if isinstance(row, Session) and row.records == whole.sessions[0].records:
                break
        thread.join()
    last = {(row.session, row.id): row for row in seen if isinstance(row, Call)}
    assert {key: call.status for key, call in last.items()} == {
        (call.session, call.id): call.status for call in whole.calls
    }
    assert len({row.seq for row in seen if isinstance(row, Event)}) == len(whole.events)


def test_following_ends_when_it_is_stopped_and_when_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(CODEX.read_bytes())
    assert sum(isinstance(row, Call) for row in traces.follow(path, quiet=0)) == 33
    stop = Signal()
    stop.set()
    assert sum(isinstance(row, Call) for row in traces.follow(path, stop=stop)) == 33
    rows = traces.follow(path)
    assert next(rows)
    rows.close()
    assert next(rows, None) is None


def test_a_log_that_has_only_begun_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"timestamp": "20')
    stop = Signal()
    found: list[Row] = []

    def collect() -> None:
        for row in traces.follow(path, stop=stop):
            found.append(row)
            stop.set()

    thread = Thread(target=collect)
    thread.start()
    path.write_bytes(CODEX.read_bytes())
    thread.join()
    assert found


def test_a_log_whose_first_line_is_completed_while_it_is_opened_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"timestamp": "20')

    def open_too_early(log: Path) -> LogFile:
        try:
            return open_log(log)
        finally:
            log.write_bytes(CODEX.read_bytes())

    monkeypatch.setattr(follow, "open_log", open_too_early)
    assert next(traces.follow(path))


def test_a_file_that_is_not_a_log_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        next(iter(traces.follow(tmp_path / "nothing.jsonl")))
    other = tmp_path / "other.txt"
    other.write_text("no log\n")
    with pytest.raises(TraceError):
        next(iter(traces.follow(other)))


def command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "nbtools", "trace", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )


@pytest.mark.parametrize("first", [True, False])
def test_the_command_prints_steps_as_they_come_and_ctrl_c_ends_it(tmp_path: Path, first: bool) -> None:
    source, path = CODEX, tmp_path / "session.jsonl"
    whole = traces.load(source)
    last = [event for event in whole.events if event.kind == "assistant_text"][-1]
    arguments = ("--follow", str(path)) if first else (str(path), "--follow")
    with (
        writing("lines", source, path, lines=len(lines_of(source)) - 12) as writer,
        command(*arguments) as nbtools,
    ):
        assert nbtools.stdout
        assert nbtools.stderr
        title, facts, *steps = [nbtools.stdout.readline() for _ in range(12)]
        assert "search skill" in title
        assert "Codex" in facts
        assert len(steps) == 10
        write_all(writer)
        new = ""
        while last.text[:30] not in new:
            new = nbtools.stdout.readline()
            assert new
        nbtools.send_signal(signal.SIGINT)
        assert nbtools.wait() == 0
        assert nbtools.stderr.read() == ""


def test_a_reader_that_has_seen_enough_ends_the_command() -> None:
    line = f"{sys.executable} -m nbtools trace --follow {CODEX} | head -3; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_the_command_reports_a_file_that_is_not_a_log(tmp_path: Path) -> None:
    with command("--follow", str(tmp_path / "nothing.jsonl")) as nbtools:
        assert nbtools.wait() == 1
        assert nbtools.stderr
        assert "nothing.jsonl" in nbtools.stderr.read()
