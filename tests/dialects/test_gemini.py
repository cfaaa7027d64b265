"""Gemini CLI's calls: what they mean, what they do, and what its model reads.
The expectations are written from its documentation.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.schema.json_schema import convert_to_function_response, has_cycle_in_schema
from nbtools.dialects import dialect
from nbtools.dialects.gemini.replies import untrusted
from tests.dialects.table import Case, play, put, text_of

GEMINI = dialect("gemini")
LINES = "".join(f"line {number}\n" for number in range(1, 11))
MANY = "".join(f"{number}\n" for number in range(1, 2_501))
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
OUTSIDE = "Error: Invalid parameters provided. Reason: Path not in workspace: Attempted path"

READ = [
    Case("read: all of a file", "read_file", {"file_path": "a.txt"}, {"a.txt": LINES}, reply=LINES),
    Case("read: by an absolute path", "read_file", {"file_path": "{root}/a.txt"}, {"a.txt": "x"}, reply="x"),
    Case(
        "read: a notebook is its JSON, which replace changes",
        "read_file",
        {"file_path": "a.ipynb"},
        {"a.ipynb": '{"cells": [],\n "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'},
        reply='{"cells": [],\n "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n',
    ),
    Case(
        "read: no newline at the end",
        "read_file",
        {"file_path": "a.txt"},
        {"a.txt": "one\ntwo"},
        reply="one\ntwo",
    ),
    Case(
        "read: CRLF is LF to a model",
        "read_file",
        {"file_path": "a.txt"},
        {"a.txt": "one\r\ntwo\r\n"},
        reply="one\ntwo\n",
    ),
    Case(
        "read: a mark in front is no text",
        "read_file",
        {"file_path": "a.txt"},
        {"a.txt": b"\xef\xbb\xbfone\n"},
        reply="one\n",
    ),
    Case(
        "read: a range, both ends included",
        "read_file",
        {"file_path": "a.txt", "start_line": 3, "end_line": 4},
        {"a.txt": LINES},
        parts=[
            "Status: Showing lines 3-4 of 10 total lines.",
            "start_line: 5",
            "--- FILE CONTENT (truncated) ---\nline 3\nline 4",
        ],
        absent=["line 5"],
    ),
    Case(
        "read: 2,000 lines where no end is given",
        "read_file",
        {"file_path": "a.txt"},
        {"a.txt": MANY},
        parts=["Showing lines 1-2000 of 2500 total lines.", "start_line: 2001", "\n2000"],
        absent=["\n2001\n"],
    ),
    Case(
        "read: an explicit end is not capped",
        "read_file",
        {"file_path": "a.txt", "start_line": 1, "end_line": 2400},
        {"a.txt": MANY},
        parts=["Showing lines 1-2400 of 2500", "\n2400"],
    ),
    Case(
        "read: 2,000 characters of a line",
        "read_file",
        {"file_path": "a.txt"},
        {"a.txt": "x" * 2_500 + "\nshort\n"},
        parts=["Some lines were shortened.", "x" * 2_000 + "... [truncated]\nshort"],
    ),
    Case(
        "read: a start past the end is an error, not an empty text",
        "read_file",
        {"file_path": "a.txt", "start_line": 50},
        {"a.txt": LINES},
        code="invalid_tool_params",
        parts=["a.txt has 10 lines"],
    ),
    Case(
        "read: binary content is a sentence",
        "read_file",
        {"file_path": "a.bin"},
        {"a.bin": b"\x00\x01\xff" * 9},
        reply="Cannot display content of binary file: a.bin",
    ),
    Case(
        "read: no such file",
        "read_file",
        {"file_path": "b.txt"},
        {"a.txt": ""},
        code="file_not_found",
        parts=["File not found: {root}/b.txt", "a.txt"],
    ),
    Case(
        "read: a folder",
        "read_file",
        {"file_path": "src"},
        {"src/a": ""},
        code="target_is_directory",
        reply="Path is a directory, not a file: {root}/src",
    ),
    Case(
        "read: outside",
        "read_file",
        {"file_path": "/etc/passwd"},
        code="invalid_tool_params",
        parts=[OUTSIDE, '"/etc/passwd"', "{root}"],
    ),
    Case(
        "read: a wrong range",
        "read_file",
        {"file_path": "a", "start_line": 0},
        code="invalid_tool_params",
        parts=["params/start_line must be >= 1"],
    ),
    Case(
        "read: nothing given",
        "read_file",
        {},
        code="invalid_tool_params",
        reply="Error: Invalid parameters provided. Reason: params must have required property 'file_path'",
    ),
    Case(
        "read: not a number",
        "read_file",
        {"file_path": "a", "start_line": "x"},
        code="invalid_tool_params",
        parts=["params/start_line must be integer"],
    ),
    Case(
        "read: former parameters count from 0",
        "read_file",
        {"absolute_path": "{root}/a.txt", "offset": 2, "limit": 2},
        {"a.txt": LINES},
        parts=["Showing lines 3-4 of 10", "line 3\nline 4"],
    ),
    Case(
        "read: the former path alone",
        "read_file",
        {"absolute_path": "{root}/a.txt"},
        {"a.txt": LINES},
        reply=LINES,
    ),
    Case(
        "read: waits for the calls before it",
        "read_file",
        {"file_path": "a.txt", "wait_for_previous": True},
        {"a.txt": "x"},
        reply="x",
    ),
]

WRITE = [
    Case(
        "write: a new file and its folders",
        "write_file",
        {"file_path": "src/new/a.py", "content": "x\n"},
        after={"src/new/a.py": "x\n"},
        reply="Successfully created and wrote to new file: {root}/src/new/a.py.",
    ),
    Case(
        "write: over a file, the changed places shown",
        "write_file",
        {"file_path": "a.txt", "content": LINES.replace("line 9", "nine")},
        {"a.txt": LINES},
        {"a.txt": LINES.replace("line 9", "nine")},
        parts=[
            "Successfully overwrote file: {root}/a.txt.\nHere is the updated code:\n...\nline 4",
            "nine\nline 10",
        ],
        absent=["line 3"],
    ),
    Case(
        "write: CRLF stays CRLF",
        "write_file",
        {"file_path": "a", "content": "one\nthree\n"},
        {"a": "one\r\ntwo\r\n"},
        {"a": b"one\r\nthree\r\n"},
        parts=["overwrote"],
    ),
    Case(
        "write: the same content is allowed",
        "write_file",
        {"file_path": "a", "content": "x\n"},
        {"a": "x\n"},
        {"a": "x\n"},
        parts=["Successfully overwrote"],
    ),
    Case(
        "write: a folder",
        "write_file",
        {"file_path": "src", "content": "x"},
        {"src/a": ""},
        code="invalid_tool_params",
        parts=["Path is a directory, not a file"],
    ),
    Case(
        "write: outside",
        "write_file",
        {"file_path": "../a", "content": "x"},
        code="invalid_tool_params",
        parts=[OUTSIDE],
    ),
    Case(
        "write: a placeholder instead of the rest",
        "write_file",
        {"file_path": "a.py", "content": "def f():\n    pass\n// rest of code ...\n"},
        {"a.py": "def f():\n    return 1\n"},
        {"a.py": "def f():\n    return 1\n"},
        code="invalid_tool_params",
        parts=["Error: Invalid parameters provided."],
    ),
]

TWICE = "a = 1\nb = 2\na = 1\n"
EDIT = [
    Case(
        "replace: one place",
        "replace",
        {"file_path": "a.py", "instruction": "x", "old_string": "b = 2", "new_string": "b = 3"},
        {"a.py": TWICE},
        {"a.py": TWICE.replace("b = 2", "b = 3")},
        parts=[
            "Successfully modified file: {root}/a.py (1 replacements).\nHere is the updated code:\na = 1\nb = 3\na = 1"
        ],
        absent=["fuzzy"],
    ),
    Case(
        "replace: all of them",
        "replace",
        {
            "file_path": "a.py",
            "instruction": "x",
            "old_string": "a = 1",
            "new_string": "a = 9",
            "allow_multiple": True,
        },
        {"a.py": TWICE},
        {"a.py": TWICE.replace("a = 1", "a = 9")},
        parts=["(2 replacements)"],
    ),
    Case(
        "replace: more places than one",
        "replace",
        {"file_path": "a.py", "instruction": "x", "old_string": "a = 1", "new_string": "a = 9"},
        {"a.py": TWICE},
        {"a.py": TWICE},
        code="edit_expected_occurrence_mismatch",
        parts=["Failed to edit", "{root}/a.py", "or change all 2 with allow_multiple=true."],
        absent=["count="],
    ),
    Case(
        "replace: nowhere",
        "replace",
        {
            "file_path": "a.py",
            "instruction": "x",
            "old_string": "completely different text",
            "new_string": "y",
        },
        {"a.py": TWICE},
        {"a.py": TWICE},
        code="edit_no_occurrence_found",
        parts=["Failed to edit, 0 occurrences found for old_string in {root}/a.py. No edits were made."],
    ),
    Case(
        "replace: no change",
        "replace",
        {"file_path": "a.py", "instruction": "x", "old_string": "b = 2", "new_string": "b = 2"},
        {"a.py": TWICE},
        {"a.py": TWICE},
        code="edit_no_change",
        reply="No changes to apply. The old_string and new_string are identical in file: {root}/a.py",
    ),
    Case(
        "replace: no such file",
        "replace",
        {"file_path": "b.py", "instruction": "x", "old_string": "b", "new_string": "c"},
        after={"b.py": None},
        code="file_not_found",
        parts=[
            "File not found: {root}/b.py. Cannot apply edit. Use an empty old_string to create a new file."
        ],
    ),
    Case(
        "replace: a new file",
        "replace",
        {"file_path": "b.py", "instruction": "x", "old_string": "", "new_string": "c\n"},
        after={"b.py": "c\n"},
        reply="Created new file: {root}/b.py with provided content.",
    ),
    Case(
        "replace: a new file where there is one",
        "replace",
        {"file_path": "a.py", "instruction": "x", "old_string": "", "new_string": "c\n"},
        {"a.py": TWICE},
        {"a.py": TWICE},
        code="attempt_to_create_existing_file",
        parts=["already exists"],
    ),
    Case(
        "replace: indentation may differ and is put right",
        "replace",
        {
            "file_path": "a.py",
            "instruction": "x",
            "old_string": "if x:\n    go()",
            "new_string": "if y:\n    stay()",
        },
        {"a.py": "def f():\n    if x:\n        go()\n"},
        {"a.py": "def f():\n    if y:\n        stay()\n"},
        parts=["(1 replacements)", "Applied fuzzy match at line 2"],
    ),
    Case(
        "replace: LF finds CRLF, which stays",
        "replace",
        {"file_path": "a", "instruction": "x", "old_string": "one\ntwo", "new_string": "one\n2"},
        {"a": "one\r\ntwo\r\nthree\r\n"},
        {"a": b"one\r\n2\r\nthree\r\n"},
        parts=["(1 replacements)"],
    ),
    Case(
        "replace: the last newline is the file's affair",
        "replace",
        {"file_path": "a", "instruction": "x", "old_string": "two", "new_string": "2"},
        {"a": "one\ntwo"},
        {"a": "one\n2"},
        parts=["(1 replacements)"],
    ),
    Case(
        "replace: a dollar sign is a dollar sign",
        "replace",
        {"file_path": "a", "instruction": "x", "old_string": "b = 2", "new_string": "b = '$&$1'"},
        {"a": TWICE},
        {"a": TWICE.replace("b = 2", "b = '$&$1'")},
        parts=["(1 replacements)"],
    ),
    Case(
        "replace: bytes of another encoding, far away, stay",
        "replace",
        {"file_path": "a", "instruction": "x", "old_string": "b = 2", "new_string": "b = 3"},
        {"a": b"# caf\xe9\nb = 2\n"},
        {"a": b"# caf\xe9\nb = 3\n"},
        parts=["(1 replacements)"],
    ),
    Case(
        "replace: a placeholder instead of the rest",
        "replace",
        {
            "file_path": "a",
            "instruction": "x",
            "old_string": "b = 2",
            "new_string": "b = 3\n(rest of methods ...)",
        },
        {"a": TWICE},
        {"a": TWICE},
        code="invalid_tool_params",
    ),
    Case(
        "replace: an instruction is required",
        "replace",
        {"file_path": "a", "old_string": "b", "new_string": "c", "allow_multiple": "perhaps"},
        code="invalid_tool_params",
        parts=["params must have required property 'instruction'"],
    ),
    Case(
        "replace: expected_replacements means what it says",
        "replace",
        {"file_path": "a.py", "old_string": "a = 1", "new_string": "a = 9", "expected_replacements": 2},
        {"a.py": TWICE},
        {"a.py": TWICE.replace("a = 1", "a = 9")},
        parts=["(2 replacements)"],
    ),
    Case(
        "replace: expected_replacements that is wrong changes nothing",
        "replace",
        {"file_path": "a.py", "old_string": "a = 1", "new_string": "a = 9", "expected_replacements": 3},
        {"a.py": TWICE},
        {"a.py": TWICE},
        code="edit_expected_occurrence_mismatch",
        absent=["count="],
    ),
]

TREE = {
    "src/a.py": "import os\nTODO = 1\n",
    "src/b.py": "todo()\n",
    "src/lib/c.js": "// TODO\n",
    ".env": "TODO=x\n",
    "skip.log": "TODO\n",
    ".gitignore": "*.log\n",
}
SEARCH = [
    Case(
        "list: folders first, sizes, what is ignored is counted",
        "list_directory",
        {"dir_path": "."},
        {**TREE, ".git/HEAD": ""},
        parts=["Directory listing for {root}:\n", "[DIR] src", ".env (7 bytes)", "(2 ignored)"],
        absent=["skip.log", "[DIR] .git\n"],
    ),
    Case(
        "list: names left out",
        "list_directory",
        {"dir_path": "src", "ignore": ["*.js", "lib"]},
        TREE,
        parts=["a.py (19 bytes)\nb.py (7 bytes)"],
        absent=["lib\n"],
    ),
    Case(
        "list: an empty folder",
        "list_directory",
        {"dir_path": "src", "ignore": ["*"]},
        {"src/a": ""},
        parts=["Directory {root}/src is empty."],
    ),
    Case(
        "list: ignored files too",
        "list_directory",
        {"dir_path": ".", "file_filtering_options": {"respect_git_ignore": False}},
        {**TREE, ".git/HEAD": ""},
        parts=["skip.log (5 bytes)"],
        absent=["ignored)"],
    ),
    Case(
        "list: no such folder",
        "list_directory",
        {"dir_path": "nope"},
        code="ls_execution_error",
        parts=["{root}/nope"],
    ),
    Case(
        "list: a file",
        "list_directory",
        {"dir_path": "a"},
        {"a": ""},
        code="path_is_not_a_directory",
        reply="Path is not a directory: {root}/a",
    ),
    Case(
        "list: the former name of the folder",
        "list_directory",
        {"path": "{root}/src"},
        {"src/a": "x"},
        parts=["Directory listing for {root}/src:\na (1 bytes)"],
    ),
    Case(
        "glob: absolute paths",
        "glob",
        {"pattern": "**/*.py"},
        TREE,
        parts=[
            'Found 2 file(s) matching "**/*.py" within {root}, sorted by modification time (newest first):\n',
            "{root}/src/",
        ],
    ),
    Case("glob: dot files are found", "glob", {"pattern": ".e*"}, TREE, parts=["{root}/.env"]),
    Case(
        "glob: none is no failure",
        "glob",
        {"pattern": "**/*.rs"},
        TREE,
        reply='No files found matching pattern "**/*.rs" within {root}',
    ),
    Case("glob: capitals do not matter", "glob", {"pattern": "SRC/*.PY"}, TREE, parts=["Found 2 file(s)"]),
    Case(
        "glob: unless they shall",
        "glob",
        {"pattern": "SRC/*.PY", "case_sensitive": True},
        TREE,
        parts=["No files found"],
    ),
    Case(
        "glob: no such folder",
        "glob",
        {"pattern": "*", "dir_path": "nope"},
        code="invalid_tool_params",
        parts=["Search path does not exist {root}/nope"],
    ),
    Case(
        "glob: ignored files on request",
        "glob",
        {"pattern": "*.log", "respect_git_ignore": False},
        {**TREE, ".git/HEAD": ""},
        parts=["{root}/skip.log"],
    ),
    Case(
        "grep: capitals do not matter, files and lines",
        "grep_search",
        {"pattern": "todo", "dir_path": "src", "context": 0},
        TREE,
        reply='Found 3 matches for pattern "todo" in path "src":\n---\nFile: a.py\nL2: TODO = 1\n---\n'
        "File: b.py\nL1: todo()\n---\nFile: lib/c.js\nL1: // TODO\n---",
    ),
    Case(
        "grep: one match comes with its surroundings",
        "grep_search",
        {"pattern": "import"},
        TREE,
        parts=["Found 1 match for", "L1: import os\nL2- TODO = 1"],
    ),
    Case(
        "grep: an explicit 0 has none",
        "grep_search",
        {"pattern": "import", "context": 0},
        TREE,
        absent=["L2-"],
        parts=["L1: import os"],
    ),
    Case(
        "grep: capitals on request",
        "grep_search",
        {"pattern": "todo", "case_sensitive": True},
        TREE,
        parts=["Found 1 match", "src/b.py"],
    ),
    Case(
        "grep: only some files",
        "grep_search",
        {"pattern": "todo", "include_pattern": "*.js", "context": 0},
        TREE,
        parts=['(filter: "*.js")', "src/lib/c.js"],
        absent=["a.py"],
    ),
    Case(
        "grep: lines left out",
        "grep_search",
        {"pattern": "todo", "dir_path": "src", "exclude_pattern": "//"},
        TREE,
        parts=["Found 2 matches"],
        absent=["c.js"],
    ),
    Case(
        "grep: a pattern to leave out that is none",
        "grep_search",
        {"pattern": "x", "exclude_pattern": "("},
        code="invalid_tool_params",
        parts=["exclude"],
    ),
    Case(
        "grep: names only",
        "grep_search",
        {"pattern": "todo", "names_only": True, "dir_path": "src"},
        TREE,
        parts=["Found 3 files", "\na.py\nb.py\nlib/c.js"],
    ),
    Case(
        "grep: the cut is told with the true total",
        "grep_search",
        {"pattern": "x", "total_max_matches": 2, "context": 0},
        {"a": "x\n" * 9},
        parts=["Found 2 matches", "results limited to 2 matches", "9 in all", "L2: x"],
        absent=["L3"],
    ),
    Case(
        "grep: so many of a file",
        "grep_search",
        {"pattern": "x", "max_matches_per_file": 1, "context": 0},
        {"a": "x\nx\n", "b": "x\n"},
        parts=["File: a\nL1: x\n---\nFile: b\nL1: x"],
    ),
    Case(
        "grep: plain text",
        "grep_search",
        {"pattern": "a.b(", "fixed_strings": True, "context": 0},
        {"a": "a.b(\naxb(\n"},
        parts=["Found 1 match", "L1: a.b("],
    ),
    Case(
        "grep: lines before and after",
        "grep_search",
        {"pattern": "two", "before": 1, "after": 0},
        {"a": "one\ntwo\nthree\n"},
        parts=["L1- one\nL2: two"],
        absent=["three"],
    ),
    Case(
        "grep: nothing",
        "grep_search",
        {"pattern": "nowhere"},
        TREE,
        reply='No matches found for pattern "nowhere" in path ".".',
    ),
    Case(
        "grep: a wrong pattern is an error",
        "grep_search",
        {"pattern": "("},
        TREE,
        code="invalid_tool_params",
        parts=["Error: Invalid parameters provided.", "unclosed group"],
    ),
    Case(
        "grep: no such folder",
        "grep_search",
        {"pattern": "x", "dir_path": "nope"},
        code="file_not_found",
        parts=["Path does not exist: {root}/nope"],
    ),
    Case(
        "grep: a single file",
        "grep_search",
        {"pattern": "todo", "dir_path": "src/b.py", "context": 0},
        TREE,
        parts=["File: b.py\nL1: todo()"],
    ),
    Case(
        "grep: ignored files on request",
        "grep_search",
        {"pattern": "todo", "include_pattern": "*.log", "no_ignore": True, "context": 0},
        {**TREE, ".git/HEAD": ""},
        parts=["skip.log"],
    ),
    Case(
        "grep: the former name",
        "search_file_content",
        {"pattern": "todo", "include": "*.js", "path": "src"},
        TREE,
        parts=["Found 1 match", "c.js"],
    ),
]

COMMANDS = [
    Case(
        "shell: output alone where all is well",
        "run_shell_command",
        {"command": "echo hello"},
        reply=untrusted("Output: hello"),
    ),
    Case("shell: no output", "run_shell_command", {"command": "true"}, reply=untrusted("Output: (empty)")),
    Case(
        "shell: an exit code is no error",
        "run_shell_command",
        {"command": "echo no >&2; exit 3"},
        reply=untrusted("Output: no\nExit Code: 3"),
    ),
    Case(
        "shell: in a folder",
        "run_shell_command",
        {"command": "pwd", "dir_path": "src", "description": "where"},
        {"src/a": ""},
        reply=untrusted("Output: {root}/src"),
    ),
    Case(
        "shell: no such folder",
        "run_shell_command",
        {"command": "pwd", "dir_path": "nope"},
        code="invalid_tool_params",
        parts=["Directory does not exist: {root}/nope"],
    ),
    Case(
        "shell: a wrapper is taken off",
        "run_shell_command",
        {"command": "bash -c 'echo inner'"},
        reply=untrusted("Output: inner"),
    ),
    Case(
        "shell: a signal",
        "run_shell_command",
        {"command": "kill -9 $$"},
        parts=["Output: (empty)", "Signal: SIGKILL"],
    ),
    Case(
        "shell: pagers do not wait",
        "run_shell_command",
        {"command": "echo $PAGER $GIT_PAGER"},
        reply=untrusted("Output: cat cat"),
    ),
    Case(
        "shell: an empty command",
        "run_shell_command",
        {"command": " "},
        code="invalid_tool_params",
        parts=["Error: Invalid parameters provided."],
    ),
    Case(
        "shell: the former name of the folder",
        "run_shell_command",
        {"command": "pwd", "directory": "src"},
        {"src/a": ""},
        reply=untrusted("Output: {root}/src"),
    ),
    Case("background: none", "list_background_processes", {}, reply="No background processes found."),
    Case(
        "background: an id that nobody has", "read_background_output", {"pid": 1}, code="invalid_tool_params"
    ),
]

OTHERS = [
    Case(
        "todos: the list is told back",
        "write_todos",
        {
            "todos": [
                {"description": "one", "status": "completed"},
                {"description": "two", "status": "in_progress"},
            ]
        },
        reply="Successfully updated the todo list. The current list is now:\n1. [completed] one\n2. [in_progress] two",
    ),
    Case("todos: none", "write_todos", {"todos": []}, reply="Successfully cleared the todo list."),
    Case(
        "todos: two at once",
        "write_todos",
        {"todos": [{"description": x, "status": "in_progress"} for x in "ab"]},
        code="invalid_tool_params",
    ),
    Case(
        "todos: a status that is none",
        "write_todos",
        {"todos": [{"description": "a", "status": "done"}]},
        code="invalid_tool_params",
        parts=["params/todos/0/status"],
    ),
    Case(
        "fetch: no address",
        "web_fetch",
        {"prompt": "tell me"},
        code="web_fetch_no_url_in_prompt",
        parts=["http:// or https://"],
    ),
    Case(
        "fetch: a private address",
        "web_fetch",
        {"prompt": "see http://127.0.0.1:9/x."},
        code="web_fetch_fallback_failed",
    ),
    Case(
        "fetch: the direct parameter",
        "web_fetch",
        {"url": "http://10.0.0.1/"},
        code="web_fetch_fallback_failed",
    ),
    Case(
        "memory: the former tool",
        "save_memory",
        {"fact": "I like tabs."},
        reply='{"success": true, "message": "Okay, I\'ve remembered that: \\"I like tabs.\\""}',
    ),
    Case(
        "many: files by a pattern",
        "read_many_files",
        {"include": ["src/*.py"]},
        TREE,
        parts=["src/a.py", "TODO = 1", "src/b.py", "todo()"],
        absent=["c.js"],
    ),
    Case(
        "many: the former parameter",
        "read_many_files",
        {"paths": ["src"], "exclude": ["**/*.js"]},
        TREE,
        parts=["a.py", "b.py"],
        absent=["// TODO"],
    ),
    Case(
        "unspoken: told with the reason",
        "google_web_search",
        {"query": "x"},
        code="tool_not_registered",
        parts=['Tool "google_web_search" not found in registry.', "no search service"],
    ),
    Case(
        "unknown: the nearest names",
        "read_fil",
        {},
        code="tool_not_registered",
        parts=['Tool "read_fil" not found in registry.', "read_file"],
    ),
    Case("a canonical name is understood, too", "read", {"path": "a"}, {"a": "x"}, reply="x"),
    Case(
        "a former name", "grep", {"pattern": "x", "path": "a"}, {"a": "x"}, parts=["Found 1 match", "File: a"]
    ),
    Case(
        "a former name that is canonical, too",
        "edit",
        {"path": "a", "old": "x", "new": "y"},
        {"a": "x"},
        {"a": "y"},
    ),
    Case("and right as neither", "edit", {"file": "a"}, code="invalid_tool_params"),
]


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Memory of the user goes to a home of the test's own."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))


@pytest.mark.parametrize("case", [*READ, *WRITE, *EDIT, *SEARCH, *COMMANDS, *OTHERS], ids=str)
async def test_a_call(case: Case, tmp_path: Path) -> None:
    await play(case, "gemini", tmp_path)


async def test_a_picture_is_a_part(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": PNG})
    async with Session(tmp_path, dialect="gemini") as session:
        result = await session.call("read_file", {"file_path": "a.png"})
    assert result.llm_content == (
        {"inline_data": {"mime_type": "image/png", "data": base64.b64encode(PNG).decode()}},
    )
    response = convert_to_function_response("7", "read_file", result, "gemini")
    assert response["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}}
    ]


async def test_a_background_command_is_read_by_its_process_id(tmp_path: Path) -> None:
    async with Session(tmp_path, dialect="gemini", policy=Policy(mode="yolo")) as session:
        started = await session.call(
            "run_shell_command",
            {"command": "echo ready; read line < /dev/zero; sleep 60", "is_background": True},
        )
        pid = started.data["pid"]
        assert f"PID: {pid}" in text_of(started)
        assert untrusted("ready") in text_of(started)
        assert f"[PID {pid}]" in text_of(await session.call("list_background_processes", {}))
        for _ in range(2):
            read = await session.call("read_background_output", {"pid": pid})
            assert text_of(read) == f"Full Log Output:\n{untrusted('ready')}"


async def test_a_change_by_the_person_is_reported(tmp_path: Path) -> None:
    class Editor:
        async def ask(self, confirmation: Confirmation) -> Answer:
            changed = ToolConfirmationPayload(new_content="mine\n")
            done = getattr(confirmation.details, "is_modifying", False)
            outcome = (
                ToolConfirmationOutcome.PROCEED_ONCE if done else ToolConfirmationOutcome.MODIFY_WITH_EDITOR
            )
            return Answer(outcome, None if done else changed)

    async with Session(tmp_path, dialect="gemini", confirmer=Editor()) as session:
        result = await session.call("write_file", {"file_path": "a", "content": "yours\n"})
    assert (tmp_path / "a").read_text() == "mine\n"
    assert "User modified the `content` content to be: mine\n" in text_of(result)


async def test_an_answer_is_json_by_the_questions_number(tmp_path: Path) -> None:
    class Person:
        async def ask(self, confirmation: Confirmation) -> Answer:
            return Answer(
                ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=("red", "yes"))
            )

    questions = [
        {
            "question": "Which?",
            "header": "Colour",
            "type": "choice",
            "options": [{"label": "red", "description": ""}, {"label": "blue", "description": ""}],
        },
        {"question": "Sure?", "header": "Sure", "type": "yesno"},
    ]
    async with Session(tmp_path, dialect="gemini", confirmer=Person()) as session:
        result = await session.call("ask_user", {"questions": questions})
    assert json.loads(text_of(result)) == {"answers": {"0": "red", "1": "yes"}}


async def test_a_denial_has_the_words_of_the_agent(tmp_path: Path) -> None:
    class No:
        async def ask(self, confirmation: Confirmation) -> Answer:
            return Answer(ToolConfirmationOutcome.CANCEL)

    async with Session(tmp_path, dialect="gemini", confirmer=No()) as session:
        result = await session.call("run_shell_command", {"command": "touch a"})
    assert text_of(result) == "User denied execution."
    assert not (tmp_path / "a").exists()


def test_the_model_gets_the_descriptions_of_its_agent(tmp_path: Path) -> None:
    session = Session(tmp_path, dialect="gemini")
    declared = {one["name"]: one for one in session.declarations("gemini")}
    assert list(declared) == [
        *("read_file", "write_file", "replace", "list_directory", "glob", "grep_search"),
        *(
            "run_shell_command",
            "list_background_processes",
            "read_background_output",
            "web_fetch",
            "write_todos",
            "ask_user",
        ),
    ]
    replace = declared["replace"]["parametersJsonSchema"]
    assert replace["required"] == ["file_path", "instruction", "old_string", "new_string"]
    assert replace["properties"]["wait_for_previous"]["type"] == "boolean"
    assert "modified_by_user" not in replace["properties"]
    assert not any(has_cycle_in_schema(one["parametersJsonSchema"]) for one in declared.values())
