"""Claude Code's logs: each trap of the format, and that nothing which may stand in a file stops a reader."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import CommandOutput, FileDiff, FileText, Listing, Matches, Media, TodoList
from nbtools.traces import Trace, TraceError
from tests.examples import examples
from tests.traces.recorded import SAMPLES

SESSION = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f"
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
Record = dict[str, Any]


def record(kind: str, uuid: str, parent: str | None, second: int = 0, **rest: Any) -> Record:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": SESSION,
        "version": "2.1.150",
        "cwd": "/w",
        "gitBranch": "main",
        "type": kind,
        "uuid": uuid,
        "timestamp": f"2026-01-01T00:00:{second:02}.000Z",
        **rest,
    }


def prompt(uuid: str, parent: str | None, text: str = "Do it", **rest: Any) -> Record:
    return record("user", uuid, parent, message={"role": "user", "content": text}, **rest)


def reply(
    uuid: str,
    parent: str | None,
    *blocks: Record,
    key: str = "msg_1",
    usage: Record | None = None,
    **rest: Any,
) -> Record:
    message = {
        "id": key,
        "role": "assistant",
        "model": "claude-x",
        "stop_reason": "tool_use",
        "content": list(blocks),
    }
    return record(
        "assistant",
        uuid,
        parent,
        message={**message, "usage": usage or {"input_tokens": 1, "output_tokens": 2}},
        **rest,
    )


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def ask(call: str, name: str = "Bash", **args: Any) -> Record:
    return {"type": "tool_use", "id": call, "name": name, "input": args}


def result(
    uuid: str,
    parent: str | None,
    call: str,
    content: Any = "done",
    outcome: Any = None,
    *,
    error: bool = False,
    **rest: Any,
) -> Record:
    block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
    return record(
        "user", uuid, parent, message={"role": "user", "content": [block]}, toolUseResult=outcome, **rest
    )


def write(path: Path, records: Iterable[Record | bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in records)
    )
    return path


def log(folder: Path, *records: Record | bytes) -> Trace:
    return traces.load(write(folder / f"{SESSION}.jsonl", records))


def one_call(
    folder: Path, name: str, args: Record, content: Any, outcome: Any = None, *, error: bool = False
) -> traces.Call:
    (call,) = log(
        folder,
        prompt("u1", None),
        reply("a1", "u1", ask("t1", name, **args)),
        result("r1", "a1", "t1", content, outcome, error=error),
    ).calls
    return call


def test_a_message_spread_over_lines_is_paid_once(tmp_path: Path) -> None:
    usage = [
        {
            "input_tokens": 5,
            "output_tokens": n,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 7,
        }
        for n in (1, 40, 1)
    ]
    trace = log(
        tmp_path,
        prompt("u1", None),
        *(reply(f"a{n}", f"a{n - 1}" if n else "u1", text(str(n)), usage=one) for n, one in enumerate(usage)),
    )
    (session,) = trace.sessions
    assert session.native_tokens == {"input": 5, "output": 40, "cache_write": 7, "cache_read": 100}
    assert session.counts["api_messages"] == 1
    assert session.flags == ()


def test_tokens_of_messages_that_never_ended_are_flagged(tmp_path: Path) -> None:
    unfinished = reply("a1", "u1", text("x"))
    unfinished["message"]["stop_reason"] = None
    assert log(tmp_path, prompt("u1", None), unfinished).sessions[0].flags == ("tokens_placeholder",)


def test_synthetic_messages_cost_nothing(tmp_path: Path) -> None:
    synthetic = reply("a1", "u1", text("No response requested."))
    synthetic["message"]["model"] = "<synthetic>"
    (session,) = log(tmp_path, prompt("u1", None), synthetic).sessions
    assert session.counts["api_messages"] == 0
    assert session.models == ()


def test_an_error_has_text_where_others_have_an_object(tmp_path: Path) -> None:
    call = one_call(
        tmp_path, "Bash", {"command": "false"}, "Exit code 3\nno", "Error: Exit code 3\nno", error=True
    )
    assert (call.status, call.status_source, call.exit_code) == ("error", "flag", 3)
    display = call.detail.display
    assert isinstance(display, CommandOutput)
    assert (display.text, display.exit_code) == ("Exit code 3\nno", 3)


@pytest.mark.parametrize(
    ("words", "status", "permission"),
    [
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected.",
            "denied",
            "denied",
        ),
        ("Permission for this tool use was denied. The tool use was rejected.", "denied", "denied"),
        ("[Request interrupted by user for tool use]", "cancelled", ""),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "cancelled", ""),
        ("<tool_use_error>Cancelled: parallel tool call Bash(ls) errored</tool_use_error>", "cancelled", ""),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "error", ""),
    ],
)
def test_a_call_that_was_refused_or_not_made_any_more_has_not_failed(
    tmp_path: Path, words: str, status: str, permission: str
) -> None:
    arguments = {"file_path": "/w/a", "content": "x"}
    call = one_call(tmp_path, "Write", arguments, words, "Error", error=True)
    assert (call.status, call.permission, call.has_failed) == (status, permission, status == "error")
    assert call.detail.changes == ()
    facts = traces.load(tmp_path / f"{SESSION}.jsonl").facts()
    assert (facts["tool_errors"], facts["failed_calls"]) == (1, status == "error")  # the result is an error


def test_a_call_without_an_answer_is_unanswered(tmp_path: Path) -> None:
    (call,) = log(tmp_path, prompt("u1", None), reply("a1", "u1", ask("t1", command="sleep 9"))).calls
    assert (call.status, call.answered, call.detail.command) == ("unanswered", False, "sleep 9")


def test_a_call_that_is_repeated_counts_once(tmp_path: Path) -> None:
    asked, answered = reply("a1", "u1", ask("t1", command="ls")), result("r1", "a1", "t1")
    trace = log(tmp_path, prompt("u1", None), asked, asked, answered, answered)
    assert len(trace.calls) == 1
    assert trace.sessions[0].records == 5


def test_a_result_may_come_before_its_call(tmp_path: Path) -> None:
    trace = log(
        tmp_path, prompt("u1", None), result("r1", "a1", "t1"), reply("a1", "u1", ask("t1", command="ls"))
    )
    assert [call.status for call in trace.calls] == ["ok"]
    assert not [event for event in trace.events if event.kind == "tool_result"]


def test_a_result_of_no_call_is_an_event(tmp_path: Path) -> None:
    trace = log(tmp_path, prompt("u1", None), result("r1", "u1", "t9", "lost"))
    assert [(event.kind, event.text) for event in trace.events][1:] == [("tool_result", "lost")]


def test_calls_without_ids_find_their_results(tmp_path: Path) -> None:
    asked = reply("a1", "u1", text("Now."), {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}})
    answer = result("r1", "a1", "")
    del answer["message"]["content"][0]["tool_use_id"]
    (call,) = log(tmp_path, prompt("u1", None), asked, answer).calls
    assert (call.id, call.status, call.detail.command, call.detail.result) == ("a1.1", "ok", "ls", "done")


HUNK = {"oldStart": 2, "oldLines": 2, "newStart": 2, "newLines": 2, "lines": [" b", "-c", "+C"]}


@pytest.mark.parametrize(
    ("original", "before", "after"),
    [("a\nb\nc\nd\n", "a\nb\nc\nd\n", "a\nb\nC\nd\n"), (None, "b\nc\n", "b\nC\n")],
)
def test_an_edit_is_drawn_from_its_patch_with_or_without_the_file(
    tmp_path: Path, original: str | None, before: str, after: str
) -> None:
    outcome = {
        "filePath": "/w/a",
        "oldString": "c",
        "newString": "C",
        "originalFile": original,
        "structuredPatch": [HUNK],
    }
    trace = log(
        tmp_path,
        prompt("u1", None),
        reply("a1", "u1", ask("t1", "Edit", file_path="/w/a", old_string="c", new_string="C")),
        result("r1", "a1", "t1", "ok", outcome),
    )
    display = trace.calls[0].detail.display
    assert isinstance(display, FileDiff)
    assert display.file_diff.endswith("@@ -2,2 +2,2 @@\n b\n-c\n+C\n")
    assert (display.original_content, display.new_content) == (before, after)
    (change,) = trace.file_changes
    assert (change.path, change.kind, change.added, change.removed, change.basis) == (
        "/w/a",
        "modify",
        1,
        1,
        "recorded_patch",
    )


@pytest.mark.parametrize("all_of_them", [False, True])
def test_an_edit_shows_the_tabs_that_its_patch_has_as_blanks(tmp_path: Path, all_of_them: bool) -> None:
    original = "a:\n\tone\n\t\ttwo\n\tone\n"
    new = original.replace("one", "1", -1 if all_of_them else 1)
    lines = [" a:", "-  one", "+  1", "     two", *(["-  one", "+  1"] if all_of_them else ["   one"])]
    hunk = {"oldStart": 1, "oldLines": 4, "newStart": 1, "newLines": 4, "lines": lines}
    edit = {"oldString": "one", "newString": "1", "replaceAll": all_of_them}
    outcome = {"filePath": "/w/a", "originalFile": original, "structuredPatch": [hunk], **edit}
    (change,) = one_call(tmp_path, "Edit", {"file_path": "/w/a"}, "ok", outcome).detail.changes
    assert (change.original_content, change.new_content) == (original, new)
    assert "\n-\tone\n+\t1\n \t\ttwo\n" in change.file_diff


def test_a_patch_is_believed_where_the_arguments_say_something_else(tmp_path: Path) -> None:
    outcome = {
        "filePath": "/w/a",
        "oldString": "c",
        "newString": "X",
        "originalFile": "a\nb\nc\nd\n",
        "structuredPatch": [HUNK],
        "userModified": True,
    }
    (change,) = one_call(tmp_path, "Edit", {"file_path": "/w/a"}, "ok", outcome).detail.changes
    assert change.new_content == "a\nb\nC\nd\n"


def test_a_new_file_is_all_added(tmp_path: Path) -> None:
    outcome = {
        "type": "create",
        "filePath": "/w/n",
        "content": "1\n2",
        "structuredPatch": [],
        "originalFile": None,
    }
    call = one_call(tmp_path, "Write", {"file_path": "/w/n", "content": "1\n2"}, "ok", outcome)
    (change,) = call.detail.changes
    assert (change.original_content, change.new_content, change.diff_stat.model_added_lines) == (
        None,
        "1\n2",
        2,
    )
    assert traces.load(tmp_path / f"{SESSION}.jsonl").file_changes[0].added == 2


def test_edits_of_old_logs_are_drawn_from_their_arguments(tmp_path: Path) -> None:
    args = {
        "file_path": "/w/a",
        "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "1", "new_string": "2"}],
    }
    call = one_call(tmp_path, "MultiEdit", args, "ok")
    assert [change.new_content for change in call.detail.changes] == ["y", "2"]


SHOWN: list[tuple[str, Record, Any, Any, Any]] = [
    (
        "Read",
        {"file_path": "/w/a"},
        "1→x",
        {"file": {"filePath": "/w/a", "content": "x\ny", "startLine": 4, "totalLines": 9}},
        FileText,
    ),
    ("Read", {"file_path": "/w/a"}, "     1→x\n     2→y", None, FileText),
    (
        "Read",
        {"file_path": "/w/p.png"},
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}],
        {},
        Media,
    ),
    (
        "Read",
        {"file_path": "/w/p.pdf"},
        "PDF",
        {"type": "pdf", "file": {"base64": PIXEL, "filePath": "/w/p.pdf"}},
        Media,
    ),
    (
        "Grep",
        {"pattern": "x"},
        "…",
        {"mode": "content", "content": "a.py:3:x = 1\na.py-4-y\n--\nb.py:9:x"},
        Matches,
    ),
    ("Grep", {"pattern": "x"}, "…", {"mode": "files_with_matches", "filenames": ["a.py"]}, Listing),
    ("Grep", {"pattern": "x"}, "…", {"mode": "content", "content": "no number here"}, str),
    ("Glob", {"pattern": "*"}, "…", {"filenames": ["a.py", "b.py"], "truncated": True}, Listing),
    ("LS", {"path": "/w"}, "- /w/\n  - a/\n    - b.py\n  - c.py\n", None, Listing),
    (
        "TodoWrite",
        {"todos": []},
        "ok",
        {"oldTodos": [], "newTodos": [{"content": "one", "status": "in_progress"}]},
        TodoList,
    ),
    (
        "mcp__db__query",
        {"sql": "select 1"},
        [{"type": "text", "text": "1"}],
        [{"type": "text", "text": "1"}],
        str,
    ),
    ("Bash", {"command": "ls"}, "a", {"stdout": "a\n", "stderr": "b", "interrupted": False}, CommandOutput),
]


@pytest.mark.parametrize(("name", "args", "content", "outcome", "kind"), SHOWN)
def test_a_result_is_shown_as_a_live_one(
    tmp_path: Path, name: str, args: Record, content: Any, outcome: Any, kind: type
) -> None:
    assert type(one_call(tmp_path, name, args, content, outcome).detail.display) is kind


def test_displayed_content_is_the_recorded_content(tmp_path: Path) -> None:
    shown = [one_call(tmp_path / str(n), *case[:4]).detail.display for n, case in enumerate(SHOWN)]
    assert shown[0] == FileText("/w/a", 4, ("x", "y"), 9)
    assert shown[1] == FileText("/w/a", 1, ("x", "y"), 2)
    found = shown[4]
    assert isinstance(found, Matches)
    assert [(one.path, one.line, one.text, one.context) for one in found.matches] == [
        ("a.py", 3, "x = 1", False),
        ("a.py", 4, "y", True),
        ("b.py", 9, "x", False),
    ]
    tree = shown[8]
    assert isinstance(tree, Listing)
    assert [(one.path, one.folder) for one in tree.entries] == [
        ("a", True),
        ("a/b.py", False),
        ("c.py", False),
    ]
    assert isinstance(shown[11], CommandOutput)
    assert shown[11].text == "a\nb"


def test_an_interrupted_command_says_so(tmp_path: Path) -> None:
    call = one_call(tmp_path, "Bash", {"command": "x"}, "", {"stdout": "", "stderr": "", "interrupted": True})
    assert call.status == "interrupted"


def test_a_result_that_was_spilled_names_its_file_where_it_is_now(tmp_path: Path) -> None:
    whole = write(tmp_path / SESSION / "tool-results" / "t1.txt", [b"all of it"])
    content = "<persisted-output>\nOutput too large. Full output saved to: /elsewhere/tool-results/t1.txt\n\nab\n</persisted-output>"
    call = one_call(
        tmp_path, "Bash", {"command": "x"}, content, {"stdout": "ab", "stderr": "", "interrupted": False}
    )
    assert (call.detail.full, call.detail.truncated) == (str(whole), 2)
    assert traces.load(tmp_path / f"{SESSION}.jsonl").sessions[0].flags == ("truncated",)


def agent_file(folder: Path, name: str, *records: Record, meta: Record | None = None) -> None:
    write(folder / f"agent-{name}.jsonl", [{**one, "agentId": name, "isSidechain": True} for one in records])
    if meta is not None:
        (folder / f"agent-{name}.meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize("link", ["result", "meta", "prompt", "nothing"])
@pytest.mark.parametrize("place", ["subagents", "subagents/workflows/wf_1", ".."])
def test_a_sub_agents_file_is_a_session_of_its_own(tmp_path: Path, link: str, place: str) -> None:
    agent_file(
        (tmp_path / SESSION / place).resolve(),
        "a7",
        prompt("s1", None, "Look"),
        reply("s2", "s1", ask("t2", command="ls"), key="msg_2"),
        result("s3", "s2", "t2"),
        meta={"agentType": "Explore", **({"toolUseId": "t1"} if link == "meta" else {})},
    )
    asked = ask("t1", "Agent", description="look", prompt="Look" if link == "prompt" else "…")
    answer = [
        result("r1", "a1", "t1", "found", {"agentId": "a7", "status": "completed", "totalDurationMs": 1500})
    ]
    trace = log(tmp_path, prompt("u1", None), reply("a1", "u1", asked), *(answer if link == "result" else []))
    main, child = trace.sessions
    assert (child.id, child.parent, child.parent_call, child.title) == ("agent-a7", main.id, "t1", "Explore")
    assert [(call.name, call.session, call.child, call.level) for call in trace.calls] == [
        ("Agent", SESSION, "agent-a7", "model"),
        ("Bash", "agent-a7", "", "model"),
    ]
    assert trace.calls[1].detail.result == "done"
    assert trace.calls[0].duration == (1.5 if link == "result" else None)


def test_a_workflows_journal_says_what_its_agents_gave_back(tmp_path: Path) -> None:
    folder = tmp_path / SESSION / "subagents" / "workflows" / "wf_1"
    agent_file(folder, "a7", prompt("s1", None, "Look"), meta={"agentType": "workflow-subagent"})
    entries: list[Record | bytes] = [
        {"type": "started", "key": "v2:1", "agentId": "a7"},
        {"type": "result", "key": "v2:1", "agentId": "a7", "result": {"text": "all well"}},
        {"type": "result", "key": "v2:2", "agentId": "gone", "result": "nobody"},
        b"{cut o",
    ]
    journal = write(folder / "journal.jsonl", entries)
    trace = log(tmp_path, prompt("u1", None), reply("a1", "u1", ask("t1", "Workflow")))
    told = [
        (event.session, event.type, event.text)
        for event in trace.events
        if event.type.startswith("workflow/")
    ]
    assert told == [
        ("agent-a7", "workflow/started", ""),
        ("agent-a7", "workflow/result", "all well"),
        (SESSION, "workflow/result", "nobody"),
    ]
    assert [trace.readings[0].source.files[problem.ref.file] for problem in trace.problems] == [journal]
    assert len(traces.load_many(tmp_path / "**" / "*.jsonl").events) == len(trace.events)


def test_the_size_of_a_result_is_its_characters(tmp_path: Path) -> None:
    assert one_call(tmp_path, "Bash", {}, 'ä\n\t"→\\').result_size == 6
    assert one_call(tmp_path, "Bash", {}, [text("ä\n"), text("b")]).result_size == 3


def test_ten_levels_of_sub_agents(tmp_path: Path) -> None:
    depth = 10
    for level in range(depth):
        deeper = [
            reply(f"x{level}", f"p{level}", ask(f"c{level}", "Agent", prompt="…"), key=f"m{level}"),
            result(f"y{level}", f"x{level}", f"c{level}", "ok", {"agentId": f"n{(level + 1) % depth}"}),
        ]
        agent_file(tmp_path / SESSION / "subagents", f"n{level}", prompt(f"p{level}", None), *deeper)
    asked = reply("a1", "u1", ask("t1", "Agent", prompt="…"))
    trace = log(tmp_path, prompt("u1", None), asked, result("r1", "a1", "t1", "ok", {"agentId": "n0"}))
    parents = {session.id: session.parent for session in trace.sessions}
    assert parents == {
        SESSION: "",
        "agent-n0": SESSION,
        **{f"agent-n{n}": f"agent-n{n - 1}" for n in range(1, depth)},
    }


def echo(uuid: str, kind: str, *blocks: Record, agent: str = "a7") -> Record:
    message = {"type": kind, "message": {"role": kind, "id": "msg_e", "content": list(blocks)}}
    return record(
        "progress",
        uuid,
        "a1",
        data={"type": "agent_progress", "agentId": agent, "message": message},
        parentToolUseID="t1",
    )


ECHOED = (
    echo("e1", "assistant", ask("t2", command="ls")),
    echo("e2", "user", {"type": "tool_result", "tool_use_id": "t2", "content": "a"}),
)


def test_echoes_of_a_sub_agent_are_nested_calls(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        prompt("u1", None),
        reply("a1", "u1", ask("t1", "Task", prompt="…")),
        *ECHOED,
        *ECHOED,
        result("r1", "a1", "t1"),
    )
    nested = trace.calls[1]
    assert (nested.level, nested.parent, nested.status, nested.detail.command, nested.detail.result) == (
        "nested",
        "t1",
        "ok",
        "ls",
        "a",
    )
    assert len(trace.calls) == 2
    assert trace.facts()["nested_by_name"] == {"Bash": 1}
    assert trace.facts()["tool_calls"] == 1


def test_edits_of_a_sub_agent_in_progress_records_count(tmp_path: Path) -> None:
    def edit(name: str, words: str, **result: Any) -> tuple[Record, Record]:
        arguments = {"file_path": f"/w/{name}", "old_string": "a", "new_string": "b"}
        answer = {"type": "tool_result", "tool_use_id": name, "content": words, **result}
        return echo(f"{name}1", "assistant", ask(name, "Edit", **arguments)), echo(f"{name}2", "user", answer)

    trace = log(
        tmp_path,
        prompt("u1", None),
        reply("a1", "u1", ask("t1", "Task", prompt="…")),
        *edit("good", "The file /w/good has been updated successfully."),
        *edit("bad", "<tool_use_error>File does not exist.</tool_use_error>", is_error=True),
        result("r1", "a1", "t1"),
    )
    assert [(one.path, one.applied) for one in trace.file_changes] == [("/w/good", True), ("/w/bad", False)]
    assert (trace.counts.edits, trace.counts.failed_calls) == (1, 1)
    assert trace.facts()["file_edits"] == 0  # by the rules of the format, echoes are no calls


def test_echoes_of_an_agent_with_a_file_are_only_progress(tmp_path: Path) -> None:
    agent_file(
        tmp_path / SESSION / "subagents",
        "a7",
        prompt("s1", None),
        reply("s2", "s1", ask("t2", command="ls"), key="msg_2"),
    )
    trace = log(tmp_path, prompt("u1", None), reply("a1", "u1", ask("t1", "Task", prompt="…")), *ECHOED)
    assert [call.level for call in trace.calls] == ["model", "model"]
    assert trace.facts()["nested_by_name"] == {}


def test_inline_sidechains_belong_to_the_call_with_their_prompt(tmp_path: Path) -> None:
    side = [
        prompt("s1", None, "Look", isSidechain=True),
        reply("s2", "s1", ask("t2", command="ls"), key="msg_2", isSidechain=True),
        result("s3", "s2", "t2", isSidechain=True),
        reply("s4", "s3", ask("t3", command="pwd"), key="msg_3", isSidechain=True),
    ]
    trace = log(
        tmp_path,
        prompt("u1", None),
        reply("a1", "u1", ask("t1", "Task", prompt="Look")),
        *side,
        result("r1", "a1", "t1"),
    )
    assert [(call.id, call.parent, call.live) for call in trace.calls] == [
        ("t1", "", True),
        ("t2", "t1", True),
        ("t3", "t1", True),
    ]
    assert trace.sessions[0].counts["sidechain_records"] == 4


REWOUND = (
    prompt("u1", None, "First"),
    reply("a1", "u1", ask("t1", command="ls")),
    result("r1", "a1", "t1"),
    reply("a2", "r1", text("Done."), key="msg_2"),
    prompt("u2", "a2", "Wrong way"),
    reply("a3", "u2", ask("t2", command="rm x"), key="msg_3"),
    result("r2", "a3", "t2"),
    prompt("u3", "a2", "Another way"),
    reply("a4", "u3", ask("t3", command="mv x y"), key="msg_4"),
    result("r3", "a4", "t3"),
)


@pytest.mark.parametrize("held", [True, False])
def test_rewound_steps_are_not_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: bool) -> None:
    if not held:
        monkeypatch.setattr("nbtools.traces.readers.claude_code.row_builder._MAX_HELD", 0)
    trace = log(tmp_path, *REWOUND)
    assert {call.id: call.live for call in trace.calls} == {"t1": True, "t2": False, "t3": True}
    assert [event.text for event in trace.events if not event.live] == ["Wrong way"]
    assert len(trace.calls) == trace.facts()["tool_calls"] == 3


def test_a_retried_answer_is_not_live(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        prompt("u1", None),
        reply("a1", "u1", text("cut o"), key="msg_1"),
        reply("a2", "u1", text("whole"), key="msg_2"),
    )
    assert [(event.text, event.live) for event in trace.events] == [
        ("Do it", True),
        ("cut o", False),
        ("whole", True),
    ]


def test_branches_of_calls_asked_for_together_are_live(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        prompt("u1", None),
        reply("a1", "u1", ask("t1", command="ls")),
        record("progress", "p1", "a1", data={"type": "bash_progress", "output": "…"}),
        reply("a2", "a1", ask("t2", command="pwd")),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        reply("a3", "r1", text("Done."), key="msg_2"),
        prompt("u2", "a3"),
    )
    assert all(call.live for call in trace.calls)
    assert all(event.live for event in trace.events)


def test_a_branch_reaches_over_a_compaction(tmp_path: Path) -> None:
    boundary = record(
        "system",
        "c1",
        None,
        subtype="compact_boundary",
        content="Conversation compacted",
        logicalParentUuid="a2",
    )
    summary = prompt("c2", "c1", "So far …", isCompactSummary=True)
    later = reply("c3", "c2", ask("t4", command="cat y"), key="msg_5")
    trace = log(tmp_path, *REWOUND[:4], boundary, summary, later, *REWOUND[4:5])
    assert {call.id: call.live for call in trace.calls} == {"t1": True, "t4": False}
    trace = log(tmp_path, *REWOUND[:7], boundary, summary, later)
    assert {call.id: call.live for call in trace.calls} == {"t1": True, "t2": False, "t4": True}
    assert [event.kind for event in trace.events if event.kind == "compaction"] == [
        "compaction",
        "compaction",
    ]
    assert trace.sessions[0].counts["compactions"] == 1


def test_cycles_of_parents_hang_nobody(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        prompt("u1", "a2"),
        reply("a1", "u1", text("x")),
        reply("a2", "a1", text("y")),
        prompt("u2", "u2"),
        prompt("u3", "a1"),
    )
    assert len(trace.events) == 5


def test_two_records_on_one_line_are_both_taken(tmp_path: Path) -> None:
    glued = b"".join(
        json.dumps(one).encode()
        for one in (reply("a1", "u1", ask("t1", command="ls")), result("r1", "a1", "t1"))
    )
    trace = log(tmp_path, prompt("u1", None), glued + b"\n", b"{cut o\n", b"\n", b"[1]\n")
    assert [(problem.ref.line, problem.recovered) for problem in trace.problems] == [(2, 2), (3, 0), (5, 0)]
    assert trace.calls[0].detail.result == "done"
    assert trace.sessions[0].flags == ("malformed",)
    facts = trace.facts()
    assert (facts["records"], facts["malformed"], facts["tool_calls"], facts["recovered"]["tool_calls"]) == (
        1,
        3,
        0,
        1,
    )


def test_bytes_that_are_no_utf8_are_named_and_read(tmp_path: Path) -> None:
    line = (
        json.dumps(reply("a1", "u1", ask("t1", command="echo BYTE"))).encode().replace(b"BYTE", b"\xff\xfe")
        + b"\n"
    )
    trace = log(tmp_path, prompt("u1", None), line, result("r1", "a1", "t1"))
    assert [problem.recovered for problem in trace.problems] == [1]
    assert trace.calls[0].detail.command.startswith("echo ")


def test_a_line_of_95_megabytes(tmp_path: Path) -> None:
    size = 95 << 20
    trace = log(
        tmp_path,
        prompt("u1", None),
        reply("a1", "u1", ask("t1", command="cat")),
        result("r1", "a1", "t1", "x" * size),
        b"{" * size,
    )
    assert trace.calls[0].result_size == size
    assert [problem.ref.length for problem in trace.problems] == [size]


def test_deep_nesting_is_a_problem_of_its_line(tmp_path: Path) -> None:
    trace = log(
        tmp_path, prompt("u1", None), b'{"type":"user","data":' + b"[" * 100_000 + b"\n", prompt("u2", "u1")
    )
    assert [problem.ref.line for problem in trace.problems] == [2]
    assert len(trace.events) == 2


def test_fields_of_other_types_spoil_only_themselves(tmp_path: Path) -> None:
    odd = reply(
        "a1",
        "u1",
        ask("t1", "mcp__x", path=["a"], command=3),
        usage={"input_tokens": "many", "output_tokens": 4},
    )
    odd["timestamp"] = 1767225600000
    answer = result(
        "r1",
        "a1",
        "t1",
        [{"type": "text", "text": None}, 5],
        {"interrupted": "no", "agentId": 3, "structuredPatch": "none"},
    )
    nan = (
        json.dumps(record("system", "s1", "r1", subtype="turn_duration", durationMs=float("nan"))).encode()
        + b"\n"
    )
    trace = log(tmp_path, prompt("u1", None), odd, answer, nan)
    (call,) = trace.calls
    assert (call.status, call.at, call.paths) == ("ok", 1767225600.0, ())
    assert trace.problems == []
    assert trace.sessions[0].native_tokens["output"] == 4
    assert call.detail.args["path"] == ["a"]


def test_unknown_records_stay_in_the_trace(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        prompt("u1", None),
        {"type": "brand-new", "sessionId": SESSION},
        {"type": "custom-title", "customTitle": "Mine"},
    )
    assert [event.type for event in trace.events] == ["user", "brand-new", "custom-title"]
    assert (trace.sessions[0].flags, trace.sessions[0].title, trace.sessions[0].records) == (
        ("unknown_records",),
        "Mine",
        3,
    )


def test_the_last_title_that_the_person_chose_counts(tmp_path: Path) -> None:
    titles = [{"type": "custom-title", "customTitle": title} for title in ("Mine", "Mine again")]
    trace = log(tmp_path, prompt("u1", None), *titles, {"type": "ai-title", "aiTitle": "Generated"})
    assert trace.sessions[0].title == "Mine again"


def test_images_are_counted_where_they_stand(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    pasted = record("user", "u1", None, message={"role": "user", "content": [image, text("See")]})
    trace = log(
        tmp_path,
        pasted,
        reply("a1", "u1", ask("t1", "Read", file_path="/p.png")),
        result("r1", "a1", "t1", [image]),
    )
    assert trace.sessions[0].counts["images"] == 2
    assert trace.calls[0].detail.media[0].mime_type == "image/png"


def test_a_log_that_changed_says_so(tmp_path: Path) -> None:
    trace = log(
        tmp_path, prompt("u1", None), reply("a1", "u1", ask("t1", command="ls")), result("r1", "a1", "t1")
    )
    write(trace.readings[0].source.path, [b" " * 5_000])
    with pytest.raises(TraceError, match=r"JSON|where it was"):
        _ = trace.calls[0].detail


@pytest.mark.parametrize(
    "first",
    [
        {"type": "summary", "summary": "x", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "m"},
    ],
)
def test_a_log_is_recognised_by_what_it_begins_with(tmp_path: Path, first: Record) -> None:
    assert traces.load(write(tmp_path / "renamed.txt", [first])).readings[0].format.name == "claude-code"


def test_output_of_claude_is_read(tmp_path: Path) -> None:
    lines: list[Record] = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": "s",
            "cwd": "/w",
            "tools": [],
            "claude_code_version": "2.1.9",
        },
        {
            "type": "assistant",
            "session_id": "s",
            "message": reply("", "", ask("t1", "Task", prompt="p"))["message"],
        },
        {
            "type": "assistant",
            "session_id": "s",
            "parent_tool_use_id": "t1",
            "message": {"id": "m", "content": [ask("t2", command="ls")]},
        },
        {
            "type": "user",
            "session_id": "s",
            "message": result("", "", "t1")["message"],
            "tool_use_result": {"totalDurationMs": 10},
        },
        {
            "type": "result",
            "subtype": "success",
            "session_id": "s",
            "result": "Done",
            "total_cost_usd": 0.5,
            "num_turns": 3,
        },
    ]
    trace = traces.load(write(tmp_path / "ci.log", lines))
    (session,) = trace.sessions
    assert (session.format, session.cost, session.cwd, session.started) == (
        "claude-stream-json",
        0.5,
        "/w",
        None,
    )
    assert session.counts["exit_status"] == "success"
    assert [(call.id, call.level, call.parent, call.duration) for call in trace.calls] == [
        ("t1", "model", "", 0.01),
        ("t2", "nested", "t1", None),
    ]
    assert [call.detail.args for call in trace.calls] == [{"prompt": "p"}, {"command": "ls"}]


ACTION = SAMPLES / "claude-stream-json/made--action.json"


@pytest.mark.parametrize("layout", ["lines", "an array on a line", "an array over many lines"])
def test_the_same_messages_are_read_as_lines_and_as_an_array(tmp_path: Path, layout: str) -> None:
    messages = json.loads(ACTION.read_text())
    text = {
        "lines": "".join(f"{json.dumps(one)}\n" for one in messages),
        "an array on a line": json.dumps(messages),
        "an array over many lines": json.dumps(messages, indent=2),
    }[layout]
    path = tmp_path / "execution.json"
    path.write_text(text)
    trace, expected = traces.load(path), traces.load(ACTION)
    assert trace.readings[0].format.name == "claude-stream-json"
    assert [(one.name, one.level, one.status) for one in expected.calls] == [
        ("Read", "model", "ok"),
        ("Edit", "model", "ok"),
        ("Bash", "model", "error"),
        ("Task", "model", "ok"),
        ("Grep", "nested", "ok"),
    ]
    assert [(one.id, one.status, one.detail.args, one.detail.result) for one in trace.calls] == [
        (one.id, one.status, one.detail.args, one.detail.result) for one in expected.calls
    ]
    assert [(one.kind, one.text) for one in trace.events] == [(one.kind, one.text) for one in expected.events]
    assert {**trace.facts(), "bytes": 0} == {**expected.facts(), "bytes": 0}


def test_an_array_that_was_cut_is_read_up_to_there(tmp_path: Path) -> None:
    data = ACTION.read_bytes()
    path = tmp_path / "cut.json"
    path.write_bytes(data[: data.index(b'"toolu_3"')])
    trace = traces.load(path)
    assert [one.name for one in trace.calls] == ["Read", "Edit"]
    assert len(trace.problems) == 1


def test_hooks_may_run_before_a_printed_session_begins(tmp_path: Path) -> None:
    hook = {"type": "system", "subtype": "hook_started", "hook_name": "SessionStart", "session_id": "s"}
    said_something = {"type": "assistant", "session_id": "s", "message": {"id": "m", "content": [text("Hi")]}}
    assert (
        traces.load(write(tmp_path / "ci.log", [hook, said_something])).readings[0].format.name
        == "claude-stream-json"
    )


GOOD = [
    json.dumps(one).encode()
    for one in (*REWOUND, *ECHOED, {"type": "summary", "summary": "x", "leafUuid": "u"})
]
KEYS = ("type", "id", "content", "message", "input", "uuid", "text")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


def mangled(seed: int, values: list[Any]) -> bytes:
    """A good log with bytes changed, lines cut and glued, and fields of any value."""
    chance = random.Random(seed)
    lines = list(GOOD)
    for value in values:
        at = chance.randrange(len(lines))
        try:
            one = json.loads(lines[at])
            place = one
            while isinstance(place, dict) and place:
                key = chance.choice(list(place))
                if not isinstance(place[key], dict) or chance.random() < 0.3:
                    place[key] = value
                    break
                place = place[key]
            lines[at] = json.dumps(one).encode()
        except ValueError:
            lines[at] += b"}"
    data = bytearray(b"\n".join(lines))
    for _ in range(chance.randrange(6)):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(40)] = chance.randbytes(chance.randrange(3))
    return bytes(data)


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 1 << 30), st.lists(JSON, max_size=5))
def test_no_content_of_a_file_raises(tmp_path: Path, seed: int, values: list[Any]) -> None:
    path = tmp_path / "mangled.jsonl"
    path.write_bytes(GOOD[0] + b"\n" + mangled(seed, values))
    trace = traces.load(path)
    trace.facts()
    assert trace.sessions
    for call in trace.calls:
        _ = call.detail


def attached(uuid: str, parent: str | None, kind: str, rendered: str = "", **fields: Any) -> Record:
    shown = {"rendered": [{"content": rendered}], "renderedRole": "system"} if rendered else {}
    return record("attachment", uuid, parent, attachment={"type": kind, **fields}, **shown)


@pytest.mark.parametrize(
    ("fields", "words", "kind"),
    [
        ({}, "Please fix the test.", "user"),
        ({"origin": {"kind": "human"}}, "Please fix the test.", "user"),
        ({"origin": {"kind": "task-notification"}}, "<task-notification>done</task-notification>", "system"),
        ({"origin": {"kind": "a-kind-of-next-year"}}, "Words of a program.", "system"),
        ({"isMeta": True}, "Words of a program.", "system"),
        ({}, "<local-command-stdout>Theme set</local-command-stdout>", "system"),
        ({}, "<local-command-caveat>Caveat: …</local-command-caveat>", "system"),
        ({}, "<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>", "system"),
        ({}, "<task-notification>\n<task-id>a</task-id></task-notification>", "system"),
        ({}, "<bash-input>ls</bash-input>", "user"),
        ({}, "<command-name>/compact</command-name>", "user"),
    ],
)
def test_only_words_of_the_person_are_a_message_of_the_person(
    tmp_path: Path, fields: Record, words: str, kind: str
) -> None:
    trace = log(tmp_path, prompt("a", None, words, **fields))
    assert [(one.kind, one.text, one.turn) for one in trace.events] == [(kind, words, int(kind == "user"))]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"commandMode": "prompt", "origin": {"kind": "human"}}, "user"),
        ({"commandMode": "prompt"}, "user"),
        ({"commandMode": "task-notification", "origin": {"kind": "task-notification"}}, "attachment"),
        ({"commandMode": "prompt", "origin": {"kind": "task-notification"}}, "attachment"),
    ],
)
@pytest.mark.parametrize(
    "content", ["Look at the other test, too.", [{"type": "text", "text": "Look at the other test, too."}]]
)
def test_a_prompt_typed_while_the_agent_worked_is_a_message(
    tmp_path: Path, fields: Record, kind: str, content: Any
) -> None:
    trace = log(tmp_path, prompt("a", None), attached("b", "a", "queued_command", prompt=content, **fields))
    assert [(one.kind, one.text) for one in trace.events] == [
        ("user", "Do it"),
        (kind, "Look at the other test, too."),
    ]
    assert trace.events[1].turn == 1 + (kind == "user")


def test_attachments_have_the_text_that_the_model_reads(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        attached("a", None, "date", "<system-reminder>Today is Monday.</system-reminder>", date="Monday"),
        attached("b", "a", "skill_listing", content="- review: reviews a change"),
        attached("c", "b", "prompt_snapshot", systemPrompt=["You are an agent.", "Be careful."]),
        attached("d", "c", "a_kind_of_next_year", rendered="Words for the model."),
    )
    assert [one.text for one in trace.events] == [
        "<system-reminder>Today is Monday.</system-reminder>",
        "- review: reviews a change",
        "You are an agent.\nBe careful.",
        "Words for the model.",
    ]
    assert trace.sessions[0].flags == ()


def test_the_cost_that_the_application_notes_is_the_sessions_cost(tmp_path: Path) -> None:
    notes = [record("cost-state", f"c{n}", None, totalCostUSD=cost) for n, cost in enumerate((0.01, 0.25))]
    trace = log(tmp_path, prompt("a", None), notes[0], reply("b", "a", text("Done")), notes[1])
    assert trace.cost().total == 0.25


def test_tokens_of_a_sub_agent_in_progress_records_are_counted_once(tmp_path: Path) -> None:
    spent = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 5}
    message = {
        "id": "msg_sub",
        "role": "assistant",
        "model": "claude-small",
        "content": [ask("n1", command="ls")],
        "usage": spent,
    }
    echo = {"type": "agent_progress", "agentId": "x", "message": {"type": "assistant", "message": message}}
    trace = log(
        tmp_path,
        reply("a", None, ask("t1", "Task", prompt="Look")),
        record("progress", "p1", "a", data=echo, parentToolUseID="t1"),
        record("progress", "p2", "p1", data=echo, parentToolUseID="t1"),
    )
    [session] = trace.sessions
    assert (session.tokens.input, session.tokens.output, session.tokens.cache_read) == (11, 22, 5)
    assert session.models == ("claude-x",)
    assert [(one.model, one.tokens.output) for one in trace.usage] == [("claude-x", 2), ("claude-small", 20)]
