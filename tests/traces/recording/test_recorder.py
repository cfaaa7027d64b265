"""The calls of a session are in its log, and the log restores the displays."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from nbtools import Policy, Session, Settings, ToolResult, tool, traces
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import (
    CommandOutput,
    FileDiff,
    FileDiffs,
    FileText,
    Listing,
    Matches,
    Media,
    TodoList,
)
from nbtools.testing import CANCEL, ONCE, ScriptedConfirmer, modify, temporary_workspace
from nbtools.traces.recording.recorder import Recorder
from nbtools.traces.recording.session_logs import kept_logs

YOLO = Policy(mode="yolo")
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
FILES = {"a.py": "one = 1\ntwo = 2\n", "b/c.txt": "two words\n", "pixel.png": PIXEL}


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_workspace(FILES) as folder:
        yield folder


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


CALLS = [
    ("read", {"path": "a.py"}, FileText),
    ("edit", {"path": "a.py", "old": "one = 1", "new": "one = 11"}, FileDiff),
    ("grep", {"pattern": "two"}, Matches),
    ("ls", {}, Listing),
    ("shell", {"command": "printf '\\033[31mred\\033[0m\\n'; exit 3"}, CommandOutput),
    ("todo", {"items": [{"text": "first", "status": "completed"}]}, TodoList),
    ("read", {"path": "pixel.png"}, Media),
    ("replace_in_files", {"pattern": "two", "replacement": "2", "apply": True}, FileDiffs),
    ("read", {"path": "nowhere"}, str),
    ("nonsense", {}, str),
    ("delete", {"path": "b/c.txt"}, str),
]


async def test_a_log_gives_back_what_the_calls_showed(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root)
    async with Session(root, policy=YOLO, observers=[recorder]) as session:
        results = [await session.call(name, arguments) for name, arguments, _ in CALLS]
        finished = session.history
    trace = traces.load(tmp_path / "log.jsonl")
    assert [call.name for call in trace.calls] == [name for name, _, _ in CALLS]
    for call, result, end, (_, arguments, kind) in zip(trace.calls, results, finished, CALLS, strict=True):
        detail = call.detail
        assert detail.display == end.result.return_display
        assert isinstance(detail.display, kind), (call.name, detail.display)
        assert detail.args == arguments
        assert call.status == ("ok" if result.ok else "error")
        assert (call.ended, call.id) == (end.at, end.request.id)
        if isinstance(end.result.llm_content, str):
            assert detail.result == end.result.llm_content
            assert call.result_size == len(detail.result)
    shell = trace.calls[4]
    assert (shell.op, shell.exit_code, shell.subject) == ("shell", 3, CALLS[4][1]["command"])
    assert [(change.path, change.kind) for change in trace.file_changes] == [
        ("a.py", "modify"),
        ("a.py", "modify"),
        ("b/c.txt", "modify"),
        ("b/c.txt", "delete"),
    ]
    assert trace.calls[1].paths == ("a.py",)
    facts = trace.facts()
    assert (facts["format"], facts["records"], facts["tool_calls"], facts["answered"]) == (
        "nbtools",
        12,
        11,
        11,
    )
    assert (facts["tool_errors"], facts["malformed"], facts["sessions"], facts["file_edits"]) == (2, 0, 1, 4)


async def test_the_same_of_another_accent(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root, dialect="claude")
    async with Session(root, policy=YOLO, dialect="claude", observers=[recorder]) as session:
        await session.call("Read", {"file_path": str(root / "a.py")})
        await session.call("Bash", {"command": "true"})
    trace = traces.load(recorder.path)
    assert [(call.name, call.detail.extra["spoken"]) for call in trace.calls] == [
        ("read", "Read"),
        ("shell", "Bash"),
    ]
    assert trace.sessions[0].counts == {"dialect": "claude"}


async def test_the_approval_of_a_call_and_its_changes_are_in_the_log(root: Path, tmp_path: Path) -> None:
    confirmer = ScriptedConfirmer(modify("mine\n"), ONCE, CANCEL)
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root)
    policy = Policy(deny=["shell(rm *)"])
    async with Session(root, policy=policy, confirmer=confirmer, observers=[recorder]) as session:
        await session.call("write", {"path": "new", "content": "yours\n"})
        await session.call("write", {"path": "other", "content": "x"})
        await session.call("shell", {"command": "rm -r b"})
    written, declined, denied = traces.load(recorder.path).calls
    assert [call.status for call in (written, declined, denied)] == ["ok", "denied", "denied"]
    assert (written.detail.args["content"], written.detail.extra["ran"]["content"]) == ("yours\n", "mine\n")
    assert written.detail.changes[0].new_content == "mine\n"
    assert written.permission.endswith("proceed_once by the script")
    assert written.detail.extra["approval"]["question"]
    assert declined.detail.extra["approval"]["outcome"] == "cancel"
    assert denied.detail.extra["decision"]["rule"] == "shell(rm *)"
    assert (denied.status, denied.detail.command) == ("denied", "rm -r b")


async def test_calls_are_in_the_order_of_their_requests(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl")
    gate = asyncio.Event()

    async def slow() -> str:
        """Waits."""
        await gate.wait()
        return "slow"

    async with Session(root, policy=YOLO, observers=[recorder]) as session:
        session.tools.register(tool(kind="read")(slow))
        first = asyncio.create_task(session.call("slow"))
        await asyncio.sleep(0)
        second = asyncio.create_task(session.call("slow", id="stopped"))
        await asyncio.sleep(0)
        session.cancel("stopped")
        await second
        gate.set()
        await first
    assert [line["number"] for line in lines(recorder.path)[1:]] == [1, 0]
    assert [call.status for call in traces.load(recorder.path).calls] == ["ok", "cancelled"]


async def test_long_texts_are_stored_beside_the_log_once_and_read_back(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root)
    text = "".join(f"line {n} of a long text\n" for n in range(20_000))
    async with Session(root, policy=YOLO, observers=[recorder]) as session:
        await session.call("write", {"path": "long", "content": text})
        await session.call("edit", {"path": "long", "old": "line 7 of", "new": "line seven of"})
    assert recorder.path.stat().st_size < 40_000
    (_, change) = traces.load(recorder.path).calls
    assert change.detail.changes[0].original_content == text
    assert change.detail.changes[0].new_content == text.replace("line 7 of", "line seven of")
    texts = list((tmp_path / "log.texts").iterdir())
    assert sum(file.read_text() == text for file in texts) == 1
    assert {stat.S_IMODE(path.stat().st_mode) for path in (*texts, recorder.path)} == {0o600}
    for file in texts:
        file.unlink()
    gone = traces.load(recorder.path).calls[1].detail
    assert gone.truncated > len(text)
    assert gone.changes[0].new_content == text.replace("line 7 of", "line seven of")[:300]


async def test_no_secret_gets_into_a_log(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "correct-horse-9-battery")
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root)
    async with Session(root, policy=YOLO, observers=[recorder], settings=Settings(redact=False)) as session:
        await session.call("write", {"path": ".env", "content": f"T={TOKEN}\nP=correct-horse-9-battery\n"})
        await session.call("shell", {"command": f"echo {TOKEN}; cat .env"})
        await session.call("read", {"path": ".env"})
        await session.call("nonsense", {"api_key": "q8Zr2Lk9Xw4Tn7Vb", "path": f"/tmp/{TOKEN}"})
    text = recorder.path.read_text()
    assert TOKEN not in text
    assert "correct-horse" not in text
    assert "q8Zr2Lk9Xw4Tn7Vb" not in text
    written, echo, *_ = traces.load(recorder.path).calls
    assert (
        written.detail.args["content"] == "T=[redacted: GitHub token]\nP=[redacted: value of DB_PASSWORD]\n"
    )
    assert written.detail.changes[0].new_content == written.detail.args["content"]
    assert echo.subject.startswith("echo [redacted")
    assert (root / ".env").read_text().startswith(f"T={TOKEN}")


async def test_no_secret_gets_into_a_log_with_the_decision(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root)
    confirmer = ScriptedConfirmer(ONCE, replace(CANCEL, reason=f"not with {TOKEN}"))
    policy = Policy(deny=[f"shell(curl {TOKEN})"])
    async with Session(root, policy=policy, confirmer=confirmer, observers=[recorder]) as session:
        await session.call("write", {"path": f"{TOKEN}.txt", "content": "x"})
        await session.call("shell", {"command": f"touch {TOKEN}; true"})
        await session.call("shell", {"command": f"curl {TOKEN}"})
    assert [call.status for call in traces.load(recorder.path).calls] == ["ok", "denied", "denied"]
    assert TOKEN not in recorder.path.read_text()


class Odd:
    def __repr__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    "data",
    [Odd(), float("nan"), 1 << 80, "\ud800 half", {"$text": "x", "$": [b"\0"]}, {1: {2, 3}}, Path("/x")],
)
async def test_values_that_no_log_can_hold_stop_neither_call_nor_log(
    root: Path, tmp_path: Path, data: object
) -> None:
    recorder = Recorder(tmp_path / "log.jsonl")

    async def odd() -> ToolResult:
        """Answers with something odd."""
        return ToolResult("fine \udcff", "fine", data=data)

    async with Session(root, policy=YOLO, observers=[recorder]) as session:
        session.tools.register(tool(kind="read")(odd))
        result = await session.call("odd")
        assert result.ok
        await session.call("read", {"path": "a.py"})
    trace = traces.load(recorder.path)
    assert [call.status for call in trace.calls] == ["ok", "ok"]
    assert not trace.problems
    detail = trace.calls[0].detail
    if isinstance(data, Odd):
        assert "no words" in detail.extra["unwritten"]
    elif isinstance(data, dict) and "$text" in data:
        assert detail.extra["data"] == {"$text": "x", "$": ["AA=="]}
    else:
        assert detail.result == "fine \ufffd"


async def test_a_log_that_cannot_be_written_does_not_affect_the_calls(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "no" / "folder" / "log.jsonl")
    async with Session(root, observers=[recorder]) as session:
        assert (await session.call("read", {"path": "a.py"})).ok
        assert (await session.call("read", {"path": "a.py"})).ok
    assert "No such file" in recorder.problem


async def test_a_log_ends_when_it_is_as_large_as_it_may_be(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", limit=4_000)
    async with Session(root, observers=[recorder]) as session:
        for _ in range(20):
            assert (await session.call("read", {"path": "a.py"})).ok
    assert "4,000 bytes" in recorder.problem
    assert recorder.path.stat().st_size < 4_200
    trace = traces.load(recorder.path)
    assert 0 < len(trace.calls) < 20
    assert trace.sessions[0].flags == ("truncated",)
    assert trace.events[0].type == "full"


async def test_one_log_may_contain_several_sessions(root: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        async with Session(root, observers=[Recorder(tmp_path / "log.jsonl", session=name)]) as session:
            await session.call("read", {"path": "a.py"})
        with (tmp_path / "log.jsonl").open("a") as file:
            file.write('{"type":"call","session":')  # killed
    trace = traces.load(tmp_path / "log.jsonl")
    assert [session.id for session in trace.sessions] == ["first", "second"]
    assert [call.session for call in trace.calls] == ["first", "second"]
    assert [problem.ref.line for problem in trace.problems] == [3, 6]
    assert trace.sessions[0].flags == ("malformed",)


async def test_lines_of_later_versions_stay_and_are_counted(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    async with Session(root, observers=[Recorder(log)]) as session:
        await session.call("read", {"path": "a.py"})
    with log.open("a") as file:
        file.write('{"type":"thought","of":1}\n{"type":"call","number":"three"}\n')
    trace = traces.load(log)
    assert [(event.kind, event.type, event.seq) for event in trace.events] == [
        ("system", "thought", 1),
        ("system", "call", 2),
    ]
    assert trace.sessions[0].flags == ("unknown_records",)
    assert trace.facts()["records"] == 4


async def test_a_setting_keeps_logs_in_the_state_folder(root: Path) -> None:
    settings = Settings(record=True)
    for _ in range(2):
        async with Session(root, settings=settings) as session:
            assert session.log is not None
            assert not session.log.exists()
            await session.call("read", {"path": "a.py"})
            session.settings = Settings()
            assert session.log is None
            await session.call("read", {"path": "a.py"})
    logs = kept_logs(root)
    assert [len(traces.load(log).calls) for log in logs] == [1, 1]
    assert stat.S_IMODE(logs[0].parent.stat().st_mode) == 0o700
    assert traces.load(logs[0]).sessions[0].cwd == os.path.realpath(root)


async def test_the_log_of_a_closed_session_is_there_and_closed(root: Path) -> None:
    async with Session(root, settings=Settings(record=True)) as session:
        await session.call("read", {"path": "a.py"})
        assert str(session.log) in [file.path for file in psutil.Process().open_files()]
    assert session.log is not None
    assert str(session.log) not in [file.path for file in psutil.Process().open_files()]
    assert len(traces.load(session.log).calls) == 1


async def test_the_oldest_logs_go_first(root: Path) -> None:
    folder = None
    for name in ("2000-01-01T00-00-00-x", "2001-01-01T00-00-00-x"):
        async with Session(root, settings=Settings(record=True)) as session:
            await session.call("read", {"path": "a.py"})
            assert session.log is not None
            folder = session.log.parent
            old = session.log.rename(folder / f"{name}.jsonl")
            (folder / f"{name}.texts").mkdir()
            (folder / f"{name}.texts" / "t.txt").write_text("x" * 3_000)
    assert folder is not None
    async with Session(root, settings=Settings(record=True, record_bytes=8_000)) as session:
        await session.call("read", {"path": "a.py"})
        assert {path.name for path in folder.iterdir()} == {
            old.name,
            "2001-01-01T00-00-00-x.texts",
            session.log.name,
        }  # type: ignore[union-attr]


async def test_the_commit_is_read_from_the_files_of_git(root: Path, tmp_path: Path) -> None:
    from nbtools.traces.recording.recorder import git_head

    def git(*words: str, folder: Path = root) -> str:
        import subprocess

        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    assert git_head(root) == ("", "")
    git("init", "-q", "-b", "trunk")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "HEAD")
    assert git_head(root / "b") == ("trunk", commit)
    git("pack-refs", "--all")
    assert git_head(root) == ("trunk", commit)
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    assert git_head(tmp_path / "tree") == ("side", commit)
    git("checkout", "-q", "--detach")
    assert git_head(root) == ("", commit)


def test_a_failure_has_its_code(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl")

    async def fails() -> str:
        """Fails."""
        raise ToolFailure(ErrorCode.TIMEOUT, "too late")

    with Session(root, policy=YOLO, observers=[recorder]).sync() as session:
        session.session.tools.register(tool(kind="read")(fails))
        session.call("fails")
    (call,) = traces.load(recorder.path).calls
    assert (call.status, call.detail.extra["error"], call.detail.extra["message"]) == (
        "error",
        "timeout",
        "too late",
    )
