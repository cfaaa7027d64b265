"""Codex's calls: what they mean, what they do, and what its model reads.
The expectations are written from its source and its logs.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.errors import ToolFailure
from nbtools.dialects import canonical_tool_name, dialect
from nbtools.diff.codex_patch import read_codex_patch, with_paths
from tests.dialects.table import Case, play, put, text_of
from tests.examples import examples

CODEX = dialect("codex")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WALL = re.compile(r"Wall time: \d+(?:\.\d{1,4})? seconds")


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


ADD = patch("*** Add File: new.txt", "+one", "+two")
CHANGE = patch("*** Update File: a.txt", "@@", " one", "-two", "+2")
UNIX = [["bash", "-lc"], ["bash", "-c"], ["/bin/bash", "-lc"], ["sh", "-c"]]
SHELL = [
    Case(
        "shell: an argument list",
        "shell",
        {"command": ["printf", "%s|", "a b", "$HOME", "*"]},
        parts=["Exit code: 0", "Output:\na b|$HOME|*|"],
    ),
    *(
        Case(
            f"shell: a script of {' '.join(words)}",
            "shell",
            {"command": [*words, "echo one && echo two"]},
            parts=["Output:\none\ntwo\n"],
        )
        for words in UNIX
    ),
    Case(
        "shell: in a folder",
        "shell",
        {"command": ["ls"], "workdir": "src"},
        {"src/a.py": ""},
        parts=["Output:\na.py\n"],
    ),
    Case(
        "shell: a failure",
        "shell",
        {"command": ["bash", "-lc", "echo no; exit 3"]},
        code="execution_failed",
        parts=["Exit code: 3\nWall", "\nno\n"],
    ),
    Case(
        "shell: too slow",
        "shell",
        {"command": ["bash", "-lc", "echo begun; sleep 30"], "timeout_ms": 300},
        code="timeout",
        parts=["Exit code: 124\nWall time: 0.", "command timed out after ", " milliseconds\nbegun\n"],
        absent=["longer timeout"],
    ),
    Case("shell: the canonical parameters", "shell", {"command": "echo $((1 + 1))", "timeout": 5}, reply="2"),
    Case(
        "shell_command: a line",
        "shell_command",
        {"command": "echo $((1 + 1))", "login": False},
        parts=["Exit code: 0", "Output:\n2\n"],
    ),
    Case(
        "container.exec: an argument list",
        "container.exec",
        {"command": ["echo", "x"], "timeout": 1000},
        parts=["Output:\nx\n"],
    ),
    Case(
        "local_shell: the action of the API",
        "local_shell",
        {"type": "exec", "command": ["pwd"], "working_directory": "src", "timeout_ms": None, "env": {}},
        {"src/a": ""},
        parts=["Output:\n{root}/src\n"],
    ),
    Case(
        "local_shell: with variables",
        "local_shell",
        {"command": ["env"], "env": {"A": "1"}},
        code="invalid_tool_params",
        parts=["env is not supported"],
    ),
    Case(
        "shell: what Codex ignores",
        "shell",
        {"command": ["true"], "sandbox_permissions": "require_escalated", "justification": "?"},
        parts=["Exit code: 0"],
    ),
    Case(
        "shell: nothing to run",
        "shell",
        {"command": []},
        code="invalid_tool_params",
        parts=["failed to parse function arguments:", "`command`"],
    ),
    Case(
        "exec_command: an end",
        "exec_command",
        {"cmd": "echo x; exit 4"},
        parts=["Process exited with code 4\nOriginal token count: 1\nOutput:\nx\n"],
    ),
    Case(
        "exec_command: by a signal",
        "exec_command",
        {"cmd": "kill -9 $$"},
        parts=["Process exited with code 137"],
    ),
    Case(
        "exec_command: another shell",
        "exec_command",
        {"cmd": "echo $0", "shell": "/bin/sh"},
        parts=["Output:\n/bin/sh\n"],
    ),
    Case(
        "exec_command: in a folder",
        "exec_command",
        {"cmd": "ls", "workdir": "{root}/src"},
        {"src/a": ""},
        parts=["Output:\na\n"],
    ),
    Case(
        "exec_command: less output",
        "exec_command",
        {"cmd": "seq 1 1000", "max_output_tokens": 4},
        parts=[
            "Original token count: 974\n",
            "Warning: truncated output (original token count: 974)\nTotal output lines: 1000\n\n1\n2\n3\n4\n…970 tokens truncated…",
            "\n1000\n",
        ],
    ),
    Case(
        "exec_command: many lines, all of them",
        "exec_command",
        {"cmd": "seq 1 500"},
        parts=["Original token count: 473\nOutput:\n1\n", "\n500\n"],
        absent=["truncated"],
    ),
    Case(
        "exec_command: more output than is kept",
        "exec_command",
        {"cmd": "seq 1 30000", "max_output_tokens": 90_000},
        parts=["Total output lines: 30000\n\n1\n", "\n30000\n"],
    ),
    Case(
        "exec_command: no command",
        "exec_command",
        {"command": "x"},
        code="invalid_tool_params",
        reply="failed to parse function arguments: missing field `cmd`",
    ),
    Case(
        "exec_command: no such folder",
        "exec_command",
        {"cmd": "ls", "workdir": "no"},
        code="file_not_found",
        parts=["exec_command failed: "],
    ),
    Case(
        "write_stdin: an unknown session",
        "write_stdin",
        {"session_id": 9},
        code="invalid_tool_params",
        reply="write_stdin failed: Unknown process id 9",
    ),
]
PATCHES = [
    Case(
        "apply_patch: a new file",
        "apply_patch",
        {"input": ADD},
        after={"new.txt": "one\ntwo\n"},
        reply="Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nA new.txt\n",
    ),
    Case(
        "apply_patch: all kinds of sections",
        "apply_patch",
        {
            "input": patch(
                "*** Delete File: old.txt",
                *CHANGE.split("\n")[1:-1],
                "*** Update File: m.txt",
                "*** Move to: d/n.txt",
                "@@",
                "-x",
                "+y",
                *ADD.split("\n")[1:-1],
            )
        },
        {"old.txt": "x\n", "a.txt": "one\ntwo\n", "m.txt": "x\n"},
        {"old.txt": None, "a.txt": "one\n2\n", "m.txt": None, "d/n.txt": "y\n", "new.txt": "one\ntwo\n"},
        parts=["files:\nA new.txt\nM a.txt\nM d/n.txt\nD old.txt\n"],
    ),
    Case(
        "apply_patch: an absolute path",
        "apply_patch",
        {"input": CHANGE.replace("a.txt", "{root}/a.txt")},
        {"a.txt": "one\ntwo\n"},
        {"a.txt": "one\n2\n"},
        parts=["M {root}/a.txt\n"],
    ),
    Case(
        "apply_patch: former parameter",
        "apply_patch",
        {"patch": ADD},
        after={"new.txt": "one\ntwo\n"},
        parts=["A new.txt"],
    ),
    Case(
        "apply_patch: lines that differ in blanks",
        "apply_patch",
        {"input": CHANGE},
        {"a.txt": "  one\n  two\n"},
        {"a.txt": "  one\n  2\n"},
        parts=["M a.txt\n(a.txt, hunk 1 is not in the file exactly as given"],
    ),
    Case(
        "apply_patch: nothing of a patch that fails",
        "apply_patch",
        {"input": patch(*ADD.split("\n")[1:-1], *CHANGE.split("\n")[1:-1])},
        {"a.txt": "other\n"},
        {"a.txt": "other\n", "new.txt": None},
        code="edit_no_occurrence_found",
        parts=["apply_patch verification failed: a.txt, hunk 1"],
    ),
    Case(
        "apply_patch: over a file",
        "apply_patch",
        {"input": ADD},
        {"new.txt": "old\n"},
        {"new.txt": "old\n"},
        code="attempt_to_create_existing_file",
        parts=["apply_patch verification failed: "],
    ),
    Case(
        "apply_patch: another format",
        "apply_patch",
        {"input": "--- a\n+++ b\n"},
        code="invalid_tool_params",
        parts=["*** Begin Patch"],
    ),
    Case(
        "shell: apply_patch as a program",
        "shell",
        {"command": ["apply_patch", CHANGE], "workdir": "d"},
        {"d/a.txt": "one\ntwo\n"},
        {"d/a.txt": "one\n2\n"},
        parts=["M a.txt"],
    ),
    *(
        Case(
            f"shell: a script of {words[0]} that applies a patch",
            "shell",
            {"command": [*words, f"apply_patch <<'EOF'\n{ADD}\nEOF\n"]},
            after={"new.txt": "one\ntwo\n"},
            parts=["A new.txt"],
        )
        for words in UNIX
    ),
    Case(
        "exec_command: a patch in a folder",
        "exec_command",
        {"cmd": f"cd 'd e' && apply_patch <<EOF\n{ADD}\nEOF"},
        {"d e/x": ""},
        {"d e/new.txt": "one\ntwo\n", "new.txt": None},
        parts=["A new.txt"],
    ),
    Case(
        "shell_command: a patch",
        "shell_command",
        {"command": f'applypatch << "END"\n{ADD}\nEND'},
        after={"new.txt": "one\ntwo\n"},
        parts=["A new.txt"],
    ),
    Case(
        "shell: a patch, as the canonical tool",
        "shell",
        {"command": f"apply_patch <<'EOF'\n{ADD}\nEOF"},
        after={"new.txt": "one\ntwo\n"},
        parts=["A new.txt"],
    ),
    Case(
        "exec_command: a patch and more",
        "exec_command",
        {"cmd": f"apply_patch <<'EOF'\n{ADD}\nEOF\necho done"},
        after={"new.txt": None},
        parts=["Process exited with code 0", "not found", "done"],
    ),
    Case(
        "exec_command: a patch alone",
        "exec_command",
        {"cmd": ADD},
        after={"new.txt": None},
        code="invalid_tool_params",
        parts=["apply_patch"],
    ),
]
OTHERS = [
    Case(
        "update_plan: steps",
        "update_plan",
        {
            "explanation": "x",
            "plan": [{"step": "a", "status": "in_progress"}, {"step": "b", "status": "pending"}],
        },
        reply="Plan updated",
    ),
    Case(
        "update_plan: an unknown status",
        "update_plan",
        {"plan": [{"step": "a", "status": "done"}]},
        code="invalid_tool_params",
        parts=["failed to parse function arguments: ", "plan.0.status"],
    ),
    Case(
        "update_plan: a step without status",
        "update_plan",
        {"plan": [{"step": "a"}]},
        code="invalid_tool_params",
        parts=["missing field `status` in plan.0"],
    ),
    Case(
        "view_image: a text",
        "view_image",
        {"path": "a.txt"},
        {"a.txt": "x"},
        code="invalid_tool_params",
        parts=["unable to process image at `{root}/a.txt`"],
    ),
    Case(
        "view_image: nothing there",
        "view_image",
        {"path": "a.png"},
        code="file_not_found",
        parts=["unable to locate image at `{root}/a.png`"],
    ),
    Case(
        "view_image: a folder",
        "view_image",
        {"path": "d"},
        {"d/a": ""},
        code="target_is_directory",
        reply="image path `{root}/d` is not a file",
    ),
    Case(
        "read_file: lines",
        "read_file",
        {"file_path": "{root}/a.txt", "offset": 2, "limit": 2},
        {"a.txt": "a\nb\nc\nd\n"},
        reply="L2: b\nL3: c",
    ),
    Case(
        "read_file: a block",
        "read_file",
        {"file_path": "a.txt", "mode": "indentation"},
        {"a.txt": "a\n"},
        code="invalid_tool_params",
        parts=["offset and limit"],
    ),
    Case(
        "grep_files: files",
        "grep_files",
        {"pattern": "on.", "include": "*.txt"},
        {"a.txt": "one\n", "b.py": "one\n", "c.txt": "two\n"},
        reply="{root}/a.txt",
    ),
    Case(
        "grep_files: none", "grep_files", {"pattern": "three"}, {"a.txt": "one\n"}, reply="No matches found."
    ),
    Case(
        "an unsupported tool",
        "spawn_agent",
        {"message": "x"},
        code="tool_not_registered",
        parts=["unsupported call: spawn_agent. ", "only runs tools"],
    ),
    Case(
        "an unknown tool",
        "exec_comand",
        {},
        code="tool_not_registered",
        parts=["unsupported call: exec_comand. ", "exec_command"],
    ),
]


@pytest.mark.parametrize("case", [*SHELL, *PATCHES, *OTHERS], ids=str)
async def test_a_call(case: Case, tmp_path: Path) -> None:
    await play(case, "codex", tmp_path)


async def test_every_command_says_how_long_it_took(tmp_path: Path) -> None:
    async with Session(tmp_path, dialect="codex", policy=Policy(mode="yolo")) as session:
        for name, arguments in (
            ("shell", {"command": ["true"]}),
            ("exec_command", {"cmd": "true"}),
            ("apply_patch", {"input": ADD}),
        ):
            assert WALL.search(text_of(await session.call(name, arguments))), name


async def test_a_long_command_goes_on_as_a_session(tmp_path: Path) -> None:
    line = "echo begun; until [ -e go ]; do sleep 0.05; done; echo ended; exit 5"
    async with Session(tmp_path, dialect="codex", policy=Policy(mode="yolo")) as session:
        started = text_of(await session.call("exec_command", {"cmd": line, "yield_time_ms": 300}))
        found = re.search(
            r"Process running with session ID (\d+)\nOriginal token count: \d\nOutput:\n", started
        )
        assert found, started
        number = int(found[1])
        while not started.endswith("\nOutput:\nbegun\n"):
            started = text_of(
                await session.call(
                    "write_stdin", {"session_id": number, "chars": "", "yield_time_ms": 20_000}
                )
            )
        assert "\nOriginal token count: 2\n" in started
        refused = await session.call("write_stdin", {"session_id": number, "chars": "x\n"})
        assert refused.error is not None
        assert "stdin is closed" in text_of(refused)
        (tmp_path / "go").touch()
        polled = ""
        while "Process exited" not in polled:
            polled += text_of(
                await session.call(
                    "write_stdin", {"session_id": number, "chars": "", "yield_time_ms": 20_000}
                )
            )
    assert "\nended\n" in polled
    assert "Process exited with code 5\n" in polled


async def test_ctrl_c_ends_a_session(tmp_path: Path) -> None:
    async with Session(tmp_path, dialect="codex", policy=Policy(mode="yolo")) as session:
        started = text_of(await session.call("exec_command", {"cmd": "sleep 300", "yield_time_ms": 250}))
        number = int(started.partition("session ID ")[2].partition("\n")[0])
        ended = text_of(await session.call("write_stdin", {"session_id": number, "chars": "\x03"}))
    assert "Process exited with code 143" in ended


async def test_a_picture_comes_alone(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": PNG})
    async with Session(tmp_path, dialect="codex") as session:
        result = await session.call("view_image", {"path": "a.png", "detail": "original"})
    assert isinstance(result.llm_content, tuple)
    assert [part["inline_data"]["mime_type"] for part in result.llm_content] == ["image/png"]


class Person:
    """Answers every question."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Confirmation] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        self.asked.append(confirmation)
        return self.answer


@pytest.mark.parametrize(
    ("name", "arguments", "refusal"),
    [
        ("shell", {"command": ["touch", "new.txt"]}, "exec command rejected by user"),
        ("exec_command", {"cmd": "touch new.txt"}, "exec command rejected by user"),
        ("apply_patch", {"input": ADD}, "patch rejected by user"),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{ADD}\nEOF"}, "patch rejected by user"),
    ],
)
@pytest.mark.parametrize("reason", ["", "Use tabs."])
async def test_a_denial_has_the_words_of_the_agent(
    tmp_path: Path, name: str, arguments: dict[str, Any], refusal: str, reason: str
) -> None:
    person = Person(Answer(ToolConfirmationOutcome.CANCEL, reason=reason))
    async with Session(tmp_path, dialect="codex", confirmer=person) as session:
        result = await session.call(name, arguments)
    assert text_of(result) == (f"{refusal}: {reason}" if reason else refusal)
    assert len(person.asked) == 1
    assert not (tmp_path / "new.txt").exists()


LISTS = [
    (["rm", "-rf", "a b"], "deny"),
    (["bash", "-lc", "ls; rm x"], "deny"),
    (["sh", "-c", "ls; rm x"], "deny"),
    (["/bin/bash", "-c", "rm x"], "deny"),
    (["ls", "; rm x"], "allow"),
    (["echo", "$(rm x)"], "allow"),
    (["bash", "-lc", "ls"], "allow"),
]


@pytest.mark.parametrize(("words", "action"), LISTS)
@pytest.mark.parametrize("rules", ["shell", "exec_command"])
def test_the_policy_judges_what_runs(tmp_path: Path, words: list[str], action: str, rules: str) -> None:
    policy = Policy(allow=[f"{rules}(ls:*)", f"{rules}(echo:*)"], deny=[f"{rules}(rm:*)"])
    with_rules = Session(tmp_path, dialect="codex", policy=policy)
    assert with_rules.decide("shell", {"command": words}).action == action


def test_rules_are_written_in_its_names() -> None:
    names = {
        "exec_command": "shell",
        "shell_command": "shell",
        "apply_patch": "patch",
        "update_plan": "todo",
        "view_image": "read",
    }
    assert {name: canonical_tool_name(name, CODEX) for name in names} == names


async def test_a_rule_for_patches_holds_for_those_in_commands(tmp_path: Path) -> None:
    async with Session(
        tmp_path, dialect="codex", policy=Policy(mode="yolo", deny=["apply_patch(new.txt)"])
    ) as session:
        for name, arguments in (
            ("apply_patch", {"input": ADD}),
            ("shell", {"command": ["apply_patch", ADD]}),
        ):
            result = await session.call(name, arguments)
            assert result.error is not None
            assert result.error.code == "policy_violation"
    assert not (tmp_path / "new.txt").exists()


@settings(max_examples=examples(30), deadline=None, database=None)
@given(
    words=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), max_size=3),
    first=st.sampled_from(["A=1", "if", "no-such"]),
)
def test_the_words_of_a_list_reach_the_program(words: list[str], first: str) -> None:
    """Words are passed as by execvp: nothing is expanded,
    and the first one is a program even where bash has such a keyword.
    """
    line = CODEX.read("shell", {"command": ["printf", "%s\\0", *words, "end"]}).arguments["command"]
    with_name = CODEX.read("shell", {"command": [first, *words]}).arguments["command"]
    script = f"{line}; {with_name} 2>/dev/null; echo $?"
    printed = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    assert printed == b"".join(f"{word}\0".encode() for word in [*words, "end"]) + b"127\n"


@pytest.mark.parametrize(
    "line",
    [
        f"apply_patch <<'EOF'\n{ADD}\nEOF\nrm -rf x",
        f"apply_patch <<'EOF'; rm x\n{ADD}\nEOF",
        f"rm x; apply_patch <<'EOF'\n{ADD}\nEOF",
        f"cd a; apply_patch <<'EOF'\n{ADD}\nEOF",
        f"cd $(x) && apply_patch <<'EOF'\n{ADD}\nEOF",
        f"cd a b && apply_patch <<'EOF'\n{ADD}\nEOF",
        f"apply_patch <<'EOF'\n{ADD}\nEOF\n{ADD}\nEOF",
        f"apply_patch x <<'EOF'\n{ADD}\nEOF",
    ],
)
def test_a_line_that_does_more_than_patch_is_a_command(line: str) -> None:
    assert CODEX.read("exec_command", {"cmd": line}).tool == "shell"


def test_paths_of_a_patch_are_converted_and_nothing_else() -> None:
    text = patch(
        "*** Update File: a.txt",
        "*** Move to: b.txt",
        "@@",
        " *** Update File: c.txt",
        "-x",
        "+*** Delete File: d",
        "  *** Delete File: e",
        "*** Add File: f",
        "+g",
    )
    moved = read_codex_patch(with_paths(text, lambda path: f"d/{path}"))
    one, two = moved.files
    assert (one.path, one.to, two.path) == ("d/a.txt", "d/b.txt", "d/f")
    assert read_codex_patch(text).files[0].parts == one.parts
    assert with_paths("no patch", str.upper) == "no patch"


async def test_questions_and_answers(tmp_path: Path) -> None:
    question = {
        "id": "size",
        "header": "Size",
        "question": "How big?",
        "options": [{"label": "S", "description": ""}, {"label": "L", "description": "Large"}],
    }
    person = Person(Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=("L",))))
    async with Session(tmp_path, dialect="codex", confirmer=person) as session:
        result = await session.call("request_user_input", {"questions": [question]})
    assert json.loads(text_of(result)) == {"answers": {"size": {"answers": ["L"]}}}


def test_calls_of_others_can_be_translated_into_its_terms() -> None:
    assert CODEX.speak("patch", {"patch": ADD}) == ("apply_patch", {"input": ADD})
    assert CODEX.speak("read", {"path": "a.png"}) == ("view_image", {"path": "a.png"})
    assert CODEX.speak("read", {"path": "a.png", "start": 3}) is None
    assert CODEX.speak("shell", {"command": "ls", "timeout": 3, "silence": 600}) == (
        "shell",
        {"command": ["bash", "-lc", "ls"], "timeout_ms": 3000},
    )
    assert CODEX.speak("patch", {"patch": "<<<<<<< SEARCH"}) is None
    with pytest.raises(ToolFailure):
        CODEX.read("write_stdin", {"session_id": "x"})
