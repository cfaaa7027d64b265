"""Claude Code's Read, Write, Edit, MultiEdit and LS: call in → canonical → effect on files → reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, ToolConfirmationOutcome
from nbtools.core.errors import ErrorCode
from nbtools.testing import CANCEL, ScriptedConfirmer, modify
from tests.dialects.claude_calls import Case, check, project, speaking_claude

READ_A = ("Read", {"file_path": "a.py"})
CURRENT = " (file state is current in your context — no need to Read it back)"
UNREAD = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"
NUMBERED = "1\timport os\n2\t\n3\t\n4\tdef f():\n5\t    return 1\n6\t\n7\t\n8\tdef g():\n9\t    return 1"

READ = {
    "whole": Case(
        "Read",
        {"file_path": "{root}/a.py"},
        NUMBERED,
        means=("read", {"path": "{root}/a.py"}),
        data={"type": "text"},
    ),
    "relative path": Case("Read", {"file_path": "a.py"}, NUMBERED, means=("read", {"path": "a.py"})),
    "offset and limit": Case(
        "Read",
        {"file_path": "a.py", "offset": 4, "limit": 2},
        "4\tdef f():\n5\t    return 1",
        means=("read", {"path": "a.py", "start": 4, "end": 5}),
    ),
    "numbers as text": Case(
        "Read",
        {"file_path": "a.py", "offset": " 8 ", "limit": "+1"},
        "8\tdef g():",
        means=("read", {"path": "a.py", "start": 8, "end": 8}),
    ),
    "offset alone": Case(
        "Read",
        {"file_path": "a.py", "offset": 8},
        "8\tdef g():\n9\t    return 1",
        means=("read", {"path": "a.py", "start": 8}),
    ),
    "offset 0 is the first line": Case("Read", {"file_path": "src/b.py", "offset": 0}, "1\tTODO = 1"),
    "limit alone": Case(
        "Read", {"file_path": "a.py", "limit": 1}, "1\timport os", means=("read", {"path": "a.py", "end": 1})
    ),
    "limit beyond the end": Case("Read", {"file_path": "src/b.py", "limit": 50}, "1\tTODO = 1"),
    "past the end is a warning": Case(
        "Read",
        {"file_path": "a.py", "offset": 50},
        "<system-reminder>Warning: the file exists but is shorter than the provided offset (50). The file has 9 lines.</system-reminder>",
    ),
    "empty file": Case(
        "Read",
        {"file_path": "empty"},
        "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>",
    ),
    "CRLF": Case("Read", {"file_path": "windows.txt"}, "1\tone\n2\ttwo"),
    "missing": Case(
        "Read",
        {"file_path": "b.py"},
        says=("<tool_use_error>File does not exist. ", "src/b.py", "</tool_use_error>"),
        code=ErrorCode.FILE_NOT_FOUND,
    ),
    "folder": Case(
        "Read",
        {"file_path": "src"},
        "<tool_use_error>EISDIR: illegal operation on a directory, read '{root}/src'</tool_use_error>",
        code=ErrorCode.TARGET_IS_DIRECTORY,
    ),
    "notebook": Case(
        "Read",
        {"file_path": "n.ipynb"},
        '<cell id="intro"><cell_type>markdown</cell_type># Title</cell id="intro">\n<cell id="hello">print(\'hi\')</cell id="hello">\nhi',
        data={"type": "notebook"},
    ),
    "picture": Case("Read", {"file_path": "dot.png"}, "", data={"type": "image"}),
    "outside": Case(
        "Read",
        {"file_path": "/etc/passwd"},
        says=("<tool_use_error>/etc/passwd is outside",),
        code=ErrorCode.PATH_NOT_IN_WORKSPACE,
    ),
    "without a path": Case(
        "Read",
        {},
        "<tool_use_error>InputValidationError: Read failed due to the following issue:\n"
        "The required parameter `file_path` is missing</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "wrong types": Case(
        "Read",
        {"file_path": ["a.py"], "offset": "[1, 2]", "path": "a.py"},
        "<tool_use_error>InputValidationError: Read failed due to the following issues:\n"
        "The parameter `file_path` type is expected as `string` but provided as `array`\n"
        "The parameter `offset` type is expected as `number` but provided as `string`\n"
        "An unexpected parameter `path` was provided</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
}

WRITE = {
    "new": Case(
        "Write",
        {"file_path": "deep/er/new.txt", "content": "x\n"},
        "File created successfully at: {root}/deep/er/new.txt" + CURRENT,
        means=("write", {"path": "deep/er/new.txt", "content": "x\n"}),
        after={"deep/er/new.txt": "x\n"},
        data={
            "type": "create",
            "filePath": "{root}/deep/er/new.txt",
            "content": "x\n",
            "structuredPatch": [],
            "originalFile": None,
        },
    ),
    "over a file that was read": Case(
        "Write",
        {"file_path": "src/b.py", "content": "TODO = 2\n"},
        "The file {root}/src/b.py has been updated successfully." + CURRENT,
        first=(("Read", {"file_path": "src/b.py"}),),
        after={"src/b.py": "TODO = 2\n"},
        data={
            "type": "update",
            "originalFile": "TODO = 1\n",
            "userModified": False,
            "structuredPatch": [
                {
                    "oldStart": 1,
                    "oldLines": 1,
                    "newStart": 1,
                    "newLines": 1,
                    "lines": ["-TODO = 1", "+TODO = 2"],
                }
            ],
        },
    ),
    "over a file that was not read": Case(
        "Write",
        {"file_path": "a.py", "content": ""},
        UNREAD,
        after={"a.py": "import os\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 1\n"},
        code=ErrorCode.EDIT_PREPARATION_FAILURE,
    ),
    "over a file of which a part was read": Case(
        "Write",
        {"file_path": "a.py", "content": ""},
        says=("File has not been read yet. Read it first before writing to it.", "only in part"),
        first=(("Read", {"file_path": "a.py", "limit": 2}),),
        code=ErrorCode.EDIT_PREPARATION_FAILURE,
    ),
    "twice": Case(
        "Write",
        {"file_path": "new.txt", "content": "two\n"},
        "The file {root}/new.txt has been updated successfully." + CURRENT,
        first=(("Write", {"file_path": "new.txt", "content": "one\n"}),),
        after={"new.txt": "two\n"},
    ),
    "CRLF stays": Case(
        "Write",
        {"file_path": "windows.txt", "content": "one\nthree\n"},
        first=(("Read", {"file_path": "windows.txt"}),),
        after={"windows.txt": b"one\r\nthree\r\n"},
    ),
}

EDIT = {
    "once": Case(
        "Edit",
        {"file_path": "{root}/a.py", "old_string": "import os", "new_string": "import sys"},
        "The file {root}/a.py has been updated successfully." + CURRENT,
        means=(
            "edit",
            {"path": "{root}/a.py", "old": "import os", "new": "import sys", "count": 1, "match": "exact"},
        ),
        first=(READ_A,),
        after={"a.py": "import sys\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 1\n"},
        data={
            "filePath": "{root}/a.py",
            "oldString": "import os",
            "newString": "import sys",
            "userModified": False,
            "replaceAll": False,
            "structuredPatch": [
                {
                    "oldStart": 1,
                    "oldLines": 4,
                    "newStart": 1,
                    "newLines": 4,
                    "lines": ["-import os", "+import sys", " ", " ", " def f():"],
                }
            ],
        },
    ),
    "everywhere": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "return 1", "new_string": "return 2", "replace_all": "true"},
        "The file {root}/a.py has been updated. All occurrences were successfully replaced." + CURRENT,
        means=(
            "edit",
            {"path": "a.py", "old": "return 1", "new": "return 2", "count": "all", "match": "exact"},
        ),
        first=(READ_A,),
        after={"a.py": "import os\n\n\ndef f():\n    return 2\n\n\ndef g():\n    return 2\n"},
    ),
    "after a part was read": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "import os", "new_string": "import sys"},
        first=(("Read", {"file_path": "a.py", "limit": 1}),),
        after={"a.py": "import sys\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 1\n"},
    ),
    "unread": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "import os", "new_string": "import sys"},
        UNREAD,
        code=ErrorCode.EDIT_PREPARATION_FAILURE,
    ),
    "not unique: where they are": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "return 1", "new_string": "return 2"},
        "<tool_use_error>Found 2 matches of the string to replace, but replace_all is false. To replace all occurrences, set "
        "replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\n"
        "String: return 1\n(lines 5, 9)</tool_use_error>",
        first=(READ_A,),
        code=ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH,
    ),
    "not there: what is like it": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "def f( ):\n    return 1", "new_string": "x"},
        says=(
            "<tool_use_error>String to replace not found in file.\nString: def f( ):\n    return 1\n",
            "line 4",
        ),
        first=(READ_A,),
        code=ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
    ),
    "exact: no indentation is guessed": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "def f():\nreturn 1", "new_string": "x"},
        says=("String to replace not found in file.",),
        first=(READ_A,),
        code=ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
    ),
    "the same": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "import os", "new_string": "import os"},
        "<tool_use_error>No changes to make: old_string and new_string are exactly the same.</tool_use_error>",
        first=(READ_A,),
        code=ErrorCode.EDIT_NO_CHANGE,
    ),
    "an empty old string makes a file": Case(
        "Edit",
        {"file_path": "new.txt", "old_string": "", "new_string": "x\n"},
        "The file {root}/new.txt has been updated successfully." + CURRENT,
        after={"new.txt": "x\n"},
    ),
    "an empty old string fills an empty file": Case(
        "Edit",
        {"file_path": "empty", "old_string": "", "new_string": "x\n"},
        first=(("Read", {"file_path": "empty"}),),
        after={"empty": "x\n"},
    ),
    "an empty old string overwrites nothing": Case(
        "Edit",
        {"file_path": "a.py", "old_string": "", "new_string": "x\n"},
        "<tool_use_error>Cannot create new file - file already exists.</tool_use_error>",
        first=(READ_A,),
        code=ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE,
    ),
    "missing": Case(
        "Edit",
        {"file_path": "nope.py", "old_string": "a", "new_string": "b"},
        says=("<tool_use_error>File does not exist. ",),
        code=ErrorCode.FILE_NOT_FOUND,
    ),
    "LF matches CRLF": Case(
        "Edit",
        {"file_path": "windows.txt", "old_string": "one\ntwo", "new_string": "1\n2"},
        first=(("Read", {"file_path": "windows.txt"}),),
        after={"windows.txt": b"1\r\n2\r\n"},
    ),
    "a notebook": Case(
        "Edit",
        {"file_path": "n.ipynb", "old_string": "hi", "new_string": "ho"},
        "<tool_use_error>File is a Jupyter Notebook. Use the NotebookEdit tool to edit this file.</tool_use_error>",
        code=ErrorCode.EDIT_PREPARATION_FAILURE,
    ),
    "several in turn": Case(
        "MultiEdit",
        {
            "file_path": "src/b.py",
            "edits": [
                {"old_string": "TODO", "new_string": "DONE"},
                {"old_string": "DONE = 1", "new_string": "DONE = 2"},
            ],
        },
        'Applied 2 edits to {root}/src/b.py:\n1. Replaced "TODO" with "DONE"\n2. Replaced "DONE = 1" with "DONE = 2"',
        means=(
            "edit",
            {
                "path": "src/b.py",
                "edits": [{"old": "TODO", "new": "DONE"}, {"old": "DONE = 1", "new": "DONE = 2"}],
                "in_turn": True,
                "match": "exact",
            },
        ),
        first=(("Read", {"file_path": "src/b.py"}),),
        after={"src/b.py": "DONE = 2\n"},
    ),
    "several, one without a text": Case(
        "MultiEdit",
        {
            "file_path": "src/b.py",
            "edits": [{"old_string": "TODO", "new_string": "DONE"}, {"old_string": "", "new_string": "x"}],
        },
        "<tool_use_error>old_string of edit 2 is empty. Give the text to replace; Write makes a new file.</tool_use_error>",
        first=(("Read", {"file_path": "src/b.py"}),),
        after={"src/b.py": "TODO = 1\n"},
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "several, all or nothing": Case(
        "MultiEdit",
        {
            "file_path": "src/b.py",
            "edits": [
                {"old_string": "TODO", "new_string": "DONE"},
                {"old_string": "nowhere", "new_string": "x"},
            ],
        },
        says=("String to replace not found in file.", "2"),
        first=(("Read", {"file_path": "src/b.py"}),),
        after={"src/b.py": "TODO = 1\n"},
        code=ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
    ),
}

LIST = {
    "folder": Case(
        "LS",
        {"path": "{root}"},
        "- {root}/\n  - src/\n  - .env\n  - a.py\n  - dot.png\n  - empty\n  - n.ipynb\n  - windows.txt",
        means=("ls", {"path": "{root}", "limit": 1_000_000}),
    ),
    "names left out": Case(
        "LS",
        {"path": "src", "ignore": ["*.py"]},
        says=("- {root}/src/\n  - lib/\n[1 ignored]",),
        means=("ls", {"path": "src", "limit": 1_000_000, "ignore": ["*.py"]}),
    ),
}


@pytest.mark.parametrize("case", READ.values(), ids=READ)
async def test_read(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


@pytest.mark.parametrize("case", WRITE.values(), ids=WRITE)
async def test_write(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


@pytest.mark.parametrize("case", EDIT.values(), ids=EDIT)
async def test_edit(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


@pytest.mark.parametrize("case", LIST.values(), ids=LIST)
async def test_ls(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


async def test_a_picture_is_a_block_and_nothing_else(tmp_path: Path) -> None:
    result = await check(tmp_path, READ["picture"])
    assert [list(part) for part in result.llm_content if isinstance(part, dict)] == [["inline_data"]]
    file = result.data.as_json()["file"]
    assert file["type"] == "image/png"
    assert file["originalSize"] == (tmp_path / "dot.png").stat().st_size


async def test_a_long_file_is_shown_in_part_and_then_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("line\n" * 3_000)
    async with speaking_claude(tmp_path) as session:
        read = await session.call("Read", {"file_path": "long.txt"})
        assert read.llm_content.endswith(
            "PARTIAL view: lines 1-2000 of 3000. Use offset (2001) and limit to read on.</system-reminder>"
        )
        assert (
            await session.call("Write", {"file_path": "long.txt", "content": ""})
        ).error.code == "edit_preparation_failure"
        asked_for = await session.call("Read", {"file_path": "long.txt", "offset": 2_999, "limit": 10})
        assert asked_for.llm_content == "2999\tline\n3000\tline"


async def test_a_file_changed_elsewhere_is_edited_with_a_note_but_not_overwritten(tmp_path: Path) -> None:
    async with speaking_claude(project(tmp_path)) as session:
        await session.call(*READ_A)
        (tmp_path / "a.py").write_text((tmp_path / "a.py").read_text() + "# more\n")
        refused = await session.call("Write", {"file_path": "a.py", "content": ""})
        assert refused.llm_content.startswith(
            "<tool_use_error>File has been modified since read, either by the user or by a linter."
        )
        edited = await session.call(
            "Edit", {"file_path": "a.py", "old_string": "import os", "new_string": "import sys"}
        )
        assert (
            "has been updated successfully. The file had been changed since you read it" in edited.llm_content
        )
        assert (tmp_path / "a.py").read_text().endswith("# more\n")


async def test_the_message_of_the_person_reaches_the_model(tmp_path: Path) -> None:
    reason = Answer(ToolConfirmationOutcome.CANCEL, reason="use pathlib")
    confirmer = ScriptedConfirmer(CANCEL, reason, modify("import pathlib\n"))
    async with Session(
        project(tmp_path), dialect="claude", policy=Policy(ask=["edit", "write"]), confirmer=confirmer
    ) as session:
        await session.call("Read", {"file_path": "src/b.py"})
        call = ("Edit", {"file_path": "src/b.py", "old_string": "TODO", "new_string": "DONE"})
        rejected = await session.call(*call)
        assert rejected.llm_content.startswith(
            "The user doesn't want to proceed with this tool use. The tool use was rejected"
        )
        assert rejected.llm_content.endswith(
            "STOP what you are doing and wait for the user to tell you how to proceed."
        )
        assert (await session.call(*call)).llm_content.endswith(
            "To tell you how to proceed, the user said:\nuse pathlib"
        )
        assert (tmp_path / "src/b.py").read_text() == "TODO = 1\n"


async def test_a_change_that_the_person_changed(tmp_path: Path) -> None:
    confirmer = ScriptedConfirmer(modify("mine\n"), Answer(ToolConfirmationOutcome.PROCEED_ONCE))
    async with Session(
        tmp_path, dialect="claude", policy=Policy(ask=["write"]), confirmer=confirmer
    ) as session:
        result = await session.call("Write", {"file_path": "new.txt", "content": "yours\n"})
    assert (tmp_path / "new.txt").read_text() == "mine\n"
    assert result.data.as_json()["userModified"] is True
    assert "no need to Read it back" not in result.llm_content


async def test_nobody_to_ask_and_a_denial(tmp_path: Path) -> None:
    call = ("Write", {"file_path": "new.txt", "content": ""})
    async with Session(tmp_path, dialect="claude", policy=Policy(ask=["write"])) as session:
        unasked = await session.call(*call)
    assert unasked.llm_content.startswith(
        "Claude requested permissions for this, but you haven't granted it yet."
    )
    async with Session(tmp_path, dialect="claude", policy=Policy(deny=["write"])) as session:
        denied = await session.call(*call)
    assert denied.llm_content.startswith("Permission for this has been denied.")
    assert not (tmp_path / "new.txt").exists()


async def test_names_that_are_none(tmp_path: Path) -> None:
    async with speaking_claude(tmp_path) as session:
        unknown = await session.call("Reed", {})
        unspoken = await session.call("WebSearch", {"query": "x"})
    assert unknown.llm_content.startswith("<tool_use_error>Error: No such tool available: Reed. ")
    assert "Read" in unknown.llm_content
    assert unspoken.llm_content.startswith(
        "<tool_use_error>Error: No such tool available: WebSearch. It is a search service"
    )
    assert unspoken.error.code == "tool_not_registered"
