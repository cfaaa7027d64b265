"""The canonical form of a recorded call, or the reason why it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtools.core.errors import TraceError
from nbtools.replay import WorkingDirectory, canonical_call, working_directory_of
from nbtools.replay.canonical_call import convert_by_operation
from nbtools.traces.model import NOWHERE, Call, Detail, Op, Origin
from tests.replay.samples import CWD, bash, codex_log, edit, exec_output, log, sample


class Nowhere(Origin):
    def detail(self, call: Call) -> Detail:
        raise AssertionError


def call(name: str, op: Op) -> Call:
    return Call(session="s", id="c", seq=0, name=name, op=op, origin=Nowhere(), ref=NOWHERE)


GROUND = WorkingDirectory(CWD)


@pytest.mark.parametrize(
    ("name", "op", "args", "meant"),
    [
        (
            "shell",
            "shell",
            {"command": ["bash", "-lc", f"ls {CWD}/a {CWD}er"]},
            ("shell", {"command": f"ls ./a {CWD}er"}),
        ),
        (
            "view",
            "read",
            {"path": f"{CWD}/a.py", "view_range": [3, 5]},
            ("read", {"path": "a.py", "start": 3, "end": 5}),
        ),
        ("view", "read", {"path": "a.py", "view_range": [3, -1]}, ("read", {"path": "a.py", "start": 3})),
        (
            "read_file",
            "read",
            {"path": "a.py", "offset": 3, "limit": 2},
            ("read", {"path": "a.py", "start": 3, "end": 4}),
        ),
        (
            "create_file",
            "write",
            {"path": "a.py", "content": "x"},
            ("write", {"path": "a.py", "content": "x"}),
        ),
        (
            "str_replace_editor",
            "edit",
            {"command": "str_replace", "path": f"{CWD}/b/../a.py", "old_str": "x", "new_str": "y"},
            ("edit", {"path": "a.py", "old": "x", "new": "y"}),
        ),
        (
            "apply_patch",
            "patch",
            {"input": f"*** Begin Patch\n*** Update File: {CWD}/a.py\n@@\n-x\n+y\n*** End Patch"},
            ("patch", {"patch": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"}),
        ),
        (
            "grep_search",
            "search",
            {"query": "x+", "include": "*.py"},
            ("grep", {"pattern": "x+", "glob": "*.py"}),
        ),
        ("list_dir", "list", {"path": CWD}, ("ls", {"path": "."})),
        ("glob", "list", {"pattern": f"{CWD}/**/*.py"}, ("glob", {"pattern": "**/*.py"})),
        ("fetch", "fetch", {"url": "https://example.org"}, ("fetch", {"urls": ["https://example.org"]})),
    ],
)
def test_by_what_it_does(name: str, op: Op, args: dict[str, Any], meant: tuple[str, dict[str, Any]]) -> None:
    meaning = canonical_call(call(name, op), GROUND, detail=Detail(args=args))
    assert (meaning.tool, dict(meaning.arguments)) == meant


@pytest.mark.parametrize(
    ("name", "op", "args", "why"),
    [
        ("read_file", "read", {"path": "/etc/passwd"}, "outside of the session's folder"),
        ("read_file", "read", {"path": "../x"}, "outside of the session's folder"),
        ("write_file", "write", {"path": f"{CWD}er/x", "content": ""}, "outside of the session's folder"),
        (
            "str_replace_editor",
            "edit",
            {"command": "insert", "path": "a.py", "insert_line": 3, "new_str": "x"},
            "no equivalent",
        ),
        ("spawn_agent", "agent", {"prompt": "x"}, "no equivalent"),
        ("write_stdin", "shell", {"session_id": 3}, "no equivalent"),
    ],
)
def test_a_call_without_counterpart_says_why(name: str, op: Op, args: dict[str, Any], why: str) -> None:
    with pytest.raises(TraceError, match=why):
        canonical_call(call(name, op), GROUND, detail=Detail(args=args))


@pytest.mark.parametrize(
    ("first_line", "window"), [(1, {"start": 20, "end": 29}), (0, {"start": 21, "end": 30})]
)
def test_an_offset_counts_from_the_agents_first_line(first_line: int, window: dict[str, int]) -> None:
    detail = Detail(args={"path": "a.py", "offset": 20, "limit": 10})
    found = canonical_call(
        call("read_file", "read"), WorkingDirectory(CWD, first_line=first_line), detail=detail
    )
    assert found.arguments == {"path": "a.py", **window}


def test_lines_of_qwen_code_count_from_0() -> None:
    assert {working_directory_of(one).first_line for one in sample("qwen-code/made--price.jsonl").calls} == {
        0
    }


def test_an_absolute_path_without_a_recorded_folder_asks_for_it() -> None:
    with pytest.raises(TraceError, match="cwd="):
        canonical_call(call("read_file", "read"), WorkingDirectory(), detail=Detail(args={"path": "/a"}))


def test_by_the_dialect_of_its_agent(tmp_path: Path) -> None:
    trace = log(
        tmp_path / "log.jsonl",
        edit("1", "2"),
        bash(f"cd {CWD} && ls", ""),
        ("AskUserQuestion", {"questions": []}, "", {}),
    )
    ground = working_directory_of(trace.calls[0])
    assert ground == WorkingDirectory(CWD, "", "claude")
    assert canonical_call(trace.calls[0], ground).arguments == {
        "path": "price.py",
        "old": "1",
        "new": "2",
        "count": 1,
        "match": "exact",
    }
    assert canonical_call(trace.calls[1], ground, "/copy").arguments["command"] == "cd /copy && ls"
    with pytest.raises(TraceError):
        canonical_call(trace.calls[2], ground)


def test_an_absolute_pattern_of_claude_is_searched_in_the_copy(tmp_path: Path) -> None:
    call = log(tmp_path / "log.jsonl", ("Glob", {"pattern": f"{CWD}/src/*.py"}, "", {})).calls[0]
    arguments = canonical_call(call, working_directory_of(call)).arguments
    assert (arguments["path"], arguments["pattern"]) == ("src", "*.py")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        (
            "claude-code/external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl",
            {"read", "glob", "grep", "edit", "write", "shell"},
        ),
        ("codex/external-agents--019dc116-c183-74f3-8f98-b4e5bd8eddfa.jsonl", {"patch", "shell"}),
        ("gemini-cli/session-2025-12-24T21-37-2ccb51c5.json", {"shell", "read", "ls", "write"}),
        ("mini-swe-agent/github_issue.traj.json", {"shell"}),
        ("swe-agent/function_calling_simple.traj", {"ls", "read", "shell"}),
        ("claude-stream-json/made--action.json", {"read", "edit", "shell", "grep"}),
        ("qwen-code/made--price.jsonl", {"read", "edit", "shell", "write"}),
        ("opencode/made--export.json", {"read", "edit", "shell", "write"}),
        ("copilot-cli/made--events.jsonl", {"read", "edit", "shell", "grep"}),
        ("pi/made--tree.jsonl", {"read", "edit", "shell", "write"}),
    ],
)
def test_recorded_sessions(name: str, meant: set[str]) -> None:
    found = set()
    for one in sample(name).calls:
        try:
            found.add(canonical_call(one, working_directory_of(one)).tool)
        except TraceError:
            continue
    assert found == meant


@pytest.mark.parametrize("name", ["vscode-chat/made--session.json", "vscode-chat/made--changes.jsonl"])
def test_a_session_without_a_folder_is_run_in_the_one_that_is_named(name: str) -> None:
    read, edit_, run, *_ = [
        canonical_call(one, working_directory_of(one, "/work/shop")) for one in sample(name).calls[:3]
    ]
    assert (read.tool, read.arguments) == ("read", {"path": "price.py", "start": 1, "end": 2})
    assert (edit_.tool, edit_.arguments) == ("edit", {"path": "price.py", "old": "n * 2", "new": "n * 3"})
    assert (run.tool, run.arguments["command"]) == ("shell", "pytest -q")


def test_the_blocks_of_an_edit_are_its_texts() -> None:
    calls = sample("cline/made--task.json").calls
    found = [canonical_call(one, working_directory_of(one, "/work/shop")) for one in calls[:4]]
    assert [(one.tool, one.arguments) for one in found] == [
        ("read", {"path": "price.py"}),
        ("edit", {"path": "price.py", "old": "    return n * 2\n", "new": "    return n * 3\n"}),
        ("write", {"path": "page.html", "content": "<content>n * 3</content>"}),
        ("shell", {"command": "pytest -q"}),
    ]


def test_a_shell_that_patches_is_a_patch() -> None:
    text = "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF"
    found = convert_by_operation(
        call("shell", "patch"), Detail(args={"command": ["bash", "-lc", text]}), GROUND
    )
    assert found is not None
    assert found[0] == "patch"


PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-price = 1\n+price = 2\n*** End Patch"
HERE = PATCH.format("price.py")
JSON_OUTPUT = '{"output":"","metadata":{"exit_code":0,"duration_seconds":0.1}}'
TEXT_OUTPUT = "Exit code: 0\nWall time: 0 seconds\nOutput:\na b"
RUN = {"timeout": 120, "silence": 600}


@pytest.mark.parametrize(
    ("name", "recorded", "printed", "meant"),
    [
        (
            "exec_command",
            {"cmd": f"ls {CWD}/a", "workdir": CWD, "yield_time_ms": 1000},
            exec_output("x"),
            {"command": "ls /copy/a", "path": ".", **RUN},
        ),
        (
            "exec_command",
            {"cmd": "ls", "workdir": f"{CWD}/src"},
            exec_output("x", 1),
            {"command": "ls", "path": "src", **RUN},
        ),
        (
            "shell",
            {"command": ["bash", "-lc", "ls"], "timeout_ms": 2000},
            JSON_OUTPUT,
            {"command": "ls", "timeout": 2, "silence": 600},
        ),
        (
            "shell",
            {"command": ["echo", "a b"]},
            TEXT_OUTPUT,
            {"command": "echo 'a b'", "timeout": 10, "silence": 600},
        ),
        (
            "shell_command",
            {"command": "ls", "workdir": "src"},
            TEXT_OUTPUT,
            {"command": "ls", "path": "src", "timeout": 10, "silence": 600},
        ),
        ("apply_patch", PATCH.format(f"{CWD}/price.py"), "Success.", {"patch": HERE}),
        ("apply_patch", HERE, "Success.", {"patch": HERE}),
        (
            "shell",
            {"command": ["apply_patch", PATCH.format("price.py")], "workdir": f"{CWD}/src"},
            "{}",
            {"patch": PATCH.format("src/price.py")},
        ),
        (
            "exec_command",
            {"cmd": f"cd src && apply_patch <<'EOF'\n{HERE}\nEOF"},
            exec_output(""),
            {"patch": PATCH.format("src/price.py")},
        ),
        (
            "update_plan",
            {"plan": [{"step": "a", "status": "pending"}]},
            "Plan updated",
            {"items": ({"text": "a", "status": "pending"},)},
        ),
        ("view_image", {"path": f"{CWD}/a.png"}, "", {"path": "a.png"}),
    ],
)
def test_calls_of_codex(
    tmp_path: Path, name: str, recorded: dict[str, Any] | str, printed: str, meant: dict[str, Any]
) -> None:
    trace = codex_log(tmp_path / "rollout.jsonl", (name, recorded, printed))
    ground = working_directory_of(trace.calls[0])
    assert ground == WorkingDirectory(CWD, "", "codex")
    assert dict(canonical_call(trace.calls[0], ground, "/copy").arguments) == meant


@pytest.mark.parametrize(
    ("name", "recorded", "why"),
    [
        ("write_stdin", {"session_id": 3, "chars": ""}, "background command of that session"),
        ("spawn_agent", {"message": "x"}, "only runs tools"),
        ("web_search", {"query": "x"}, "OpenAI's servers"),
        ("exec_command", {"cmd": "ls", "workdir": "/etc"}, "outside of the session's folder"),
        ("apply_patch", PATCH.format("/etc/hosts"), "outside of the session's folder"),
    ],
)
def test_calls_of_codex_that_mean_nothing_here(
    tmp_path: Path, name: str, recorded: dict[str, Any] | str, why: str
) -> None:
    call = codex_log(tmp_path / "rollout.jsonl", (name, recorded, "")).calls[0]
    with pytest.raises(TraceError, match=why):
        canonical_call(call, working_directory_of(call))
