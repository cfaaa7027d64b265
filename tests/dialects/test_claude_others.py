"""Claude Code's NotebookEdit, NotebookRead, TodoWrite, AskUserQuestion and WebFetch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session
from nbtools.core.errors import ErrorCode
from nbtools.core.result import ToolResult
from nbtools.core.schema.json_schema import has_cycle_in_schema
from nbtools.dialects.claude import CLAUDE
from nbtools.testing import ScriptedConfirmer, answers
from nbtools.tools.fetch import FetchData, Page
from tests.dialects.claude_calls import Case, check, project, speaking_claude

READ_N = (("Read", {"file_path": "n.ipynb"}),)
TODO = {"content": "Run the tests", "status": "in_progress", "activeForm": "Running the tests"}
QUESTION = {
    "question": "Which one?",
    "header": "Choice",
    "options": [
        {"label": "red", "description": "warm"},
        {"label": "blue", "description": "cold", "preview": "~~~"},
    ],
    "multiSelect": False,
}

OTHERS = {
    "replace a cell": Case(
        "NotebookEdit",
        {"notebook_path": "n.ipynb", "cell_id": "hello", "new_source": "print(2)"},
        "Updated cell hello with print(2)",
        means=("cells", {"path": "n.ipynb", "action": "replace", "id": "hello", "source": "print(2)"}),
        first=READ_N,
        data={
            "edit_mode": "replace",
            "cell_id": "hello",
            "cell_type": "code",
            "notebook_path": "{root}/n.ipynb",
        },
    ),
    "delete a cell": Case(
        "NotebookEdit",
        {"notebook_path": "n.ipynb", "cell_id": "intro", "new_source": "", "edit_mode": "delete"},
        "Deleted cell intro",
        means=("cells", {"path": "n.ipynb", "action": "delete", "id": "intro"}),
        first=READ_N,
    ),
    "insert behind a cell": Case(
        "NotebookEdit",
        {
            "notebook_path": "n.ipynb",
            "cell_id": "intro",
            "new_source": "x",
            "cell_type": "code",
            "edit_mode": "insert",
        },
        says=("Inserted cell ", " with x"),
        means=(
            "cells",
            {"path": "n.ipynb", "action": "insert", "after": "intro", "source": "x", "type": "code"},
        ),
        first=READ_N,
    ),
    "insert needs a type": Case(
        "NotebookEdit",
        {"notebook_path": "n.ipynb", "new_source": "x", "edit_mode": "insert"},
        "<tool_use_error>Cell type is required when using edit_mode=insert.</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "replace needs a cell": Case(
        "NotebookEdit",
        {"notebook_path": "n.ipynb", "new_source": "x"},
        "<tool_use_error>Cell ID must be specified when not inserting a new cell.</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "an unread notebook": Case(
        "NotebookEdit",
        {"notebook_path": "n.ipynb", "cell_id": "hello", "new_source": "x"},
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
        code=ErrorCode.EDIT_PREPARATION_FAILURE,
    ),
    "no such cell: which there are": Case(
        "NotebookEdit",
        {"notebook_path": "n.ipynb", "cell_id": "nope", "new_source": "x"},
        says=("<tool_use_error>", "nope", "intro", "hello"),
        first=READ_N,
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "no such notebook": Case(
        "NotebookEdit",
        {"notebook_path": "m.ipynb", "cell_id": "a", "new_source": "x"},
        says=("<tool_use_error>Notebook file does not exist. ",),
        code=ErrorCode.FILE_NOT_FOUND,
    ),
    "a cell by its former number": Case(
        "NotebookEdit",
        {"notebook_path": "n.ipynb", "cell_number": 1, "new_source": "x"},
        "Updated cell hello with x",
        means=("cells", {"path": "n.ipynb", "action": "replace", "id": "#2", "source": "x"}),
        first=READ_N,
    ),
    "insert at a former number": Case(
        "NotebookEdit",
        {
            "notebook_path": "n.ipynb",
            "cell_number": 0,
            "new_source": "x",
            "cell_type": "markdown",
            "edit_mode": "insert",
        },
        says=("Inserted cell ",),
        means=(
            "cells",
            {"path": "n.ipynb", "action": "insert", "after": "", "source": "x", "type": "markdown"},
        ),
        first=READ_N,
    ),
    "read a notebook": Case(
        "NotebookRead",
        {"notebook_path": "{root}/n.ipynb"},
        '<cell id="intro"><cell_type>markdown</cell_type># Title</cell id="intro">\n<cell id="hello">print(\'hi\')</cell id="hello">\nhi',
        means=("cells", {"path": "{root}/n.ipynb", "action": "read"}),
        data={"type": "notebook"},
    ),
    "read a cell": Case(
        "NotebookRead",
        {"notebook_path": "n.ipynb", "cell_id": "hello"},
        '<cell id="hello">print(\'hi\')</cell id="hello">\nhi',
        means=("cells", {"path": "n.ipynb", "action": "read", "id": "hello"}),
    ),
    "to do": Case(
        "TodoWrite",
        {"todos": [TODO, {"content": "Rest", "status": "pending", "activeForm": "Resting"}]},
        says=("Todos have been modified successfully. Ensure that you continue to use the todo list",),
        means=(
            "todo",
            {
                "items": [
                    {"text": "Run the tests", "status": "in_progress"},
                    {"text": "Rest", "status": "pending"},
                ]
            },
        ),
        data={
            "oldTodos": [],
            "newTodos": [TODO, {"content": "Rest", "status": "pending", "activeForm": "Resting"}],
        },
    ),
    "to do as it was": Case(
        "TodoWrite",
        {"todos": [{"content": "Rest", "status": "completed", "priority": "low", "id": "1"}]},
        says=("Todos have been modified successfully.",),
        first=(("TodoWrite", {"todos": [TODO]}),),
        data={
            "oldTodos": [{"content": "Run the tests", "status": "in_progress"}],
            "newTodos": [{"content": "Rest", "status": "completed"}],
        },
    ),
    "to do of no state": Case(
        "TodoWrite",
        {"todos": [{**TODO, "status": "later"}]},
        says=("InputValidationError: TodoWrite failed", "`todos[0].status`"),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "to do that is no list": Case(
        "TodoWrite",
        {"todos": "rest"},
        says=("The parameter `todos` type is expected as `array` but provided as `string`",),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "questions with one option": Case(
        "AskUserQuestion",
        {"questions": [{**QUESTION, "options": [{"label": "red", "description": "warm"}]}]},
        says=("InputValidationError: AskUserQuestion failed", "`questions[0].options`"),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "the same question twice": Case(
        "AskUserQuestion",
        {"questions": [QUESTION, QUESTION]},
        "<tool_use_error>Question texts must be unique.</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "a page that is nobody's business": Case(
        "WebFetch",
        {"url": "http://127.0.0.1:9/", "prompt": "What is it?"},
        says=("<tool_use_error>127.0.0.1 is not on the public internet",),
        means=("fetch", {"urls": ["http://127.0.0.1:9/"]}),
        code=ErrorCode.WEB_FETCH_FALLBACK_FAILED,
    ),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
async def test_others(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


@pytest.mark.parametrize(
    ("edit", "reply", "sources"),
    [
        ({"cell_id": "cell-1", "new_source": "x"}, "Updated cell cell-1 with x", "a x c"),
        ({"cell_id": "cell-2", "new_source": "", "edit_mode": "delete"}, "Deleted cell cell-2", "a b"),
        (
            {"cell_id": "cell-0", "new_source": "x", "edit_mode": "insert", "cell_type": "code"},
            "Inserted cell cell-1 with x",
            "a x b c",
        ),
        ({"cell_id": "#2", "new_source": "x"}, "Updated cell cell-1 with x", "a x c"),
        ({"cell_id": "cell-3", "new_source": "x"}, None, "a b c"),
        ({"cell_id": "cell-01", "new_source": "x"}, None, "a b c"),
    ],
)
async def test_cells_without_ids_are_numbered_from_0(
    tmp_path: Path, edit: dict[str, str], reply: str | None, sources: str
) -> None:
    path = tmp_path / "old.ipynb"
    cells = [{"cell_type": "markdown", "metadata": {}, "source": source} for source in "abc"]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    async with speaking_claude(tmp_path) as session:
        for name, argument in (("Read", "file_path"), ("NotebookRead", "notebook_path")):
            read = await session.call(name, {argument: "old.ipynb"})
            assert [cell.cell_id for cell in read.data.file.cells] == ["cell-0", "cell-1", "cell-2"]
            assert read.llm_content.startswith(
                '<cell id="cell-0"><cell_type>markdown</cell_type>a</cell id="cell-0">\n'
            )
        result = await session.call("NotebookEdit", {"notebook_path": "old.ipynb", **edit})
    assert result.llm_content == reply if reply else result.error.code is ErrorCode.INVALID_TOOL_PARAMS
    assert "".join(
        " ".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]
    ) == sources.replace(" ", "")


async def test_an_id_that_looks_like_a_number_is_an_id(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    cells = [
        {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, "source": str(number)}
        for number in (1, 2)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    async with speaking_claude(tmp_path) as session:
        await session.call("Read", {"file_path": "n.ipynb"})
        assert (
            await session.call(
                "NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "cell-1", "new_source": "x"}
            )
        ).ok
    assert [cell["source"] for cell in json.loads(path.read_text())["cells"]] == ["x", "2"]


async def test_cells_inserted_without_a_place_stay_in_order(tmp_path: Path) -> None:
    """Claude Code puts each on top of the one before."""
    async with speaking_claude(project(tmp_path)) as session:
        await session.call("Read", {"file_path": "n.ipynb"})
        for source in ("first", "second"):
            new = {
                "notebook_path": "n.ipynb",
                "new_source": source,
                "cell_type": "markdown",
                "edit_mode": "insert",
            }
            assert (await session.call("NotebookEdit", new)).ok
    cells = json.loads((tmp_path / "n.ipynb").read_text())["cells"]
    assert ["".join(cell["source"]) for cell in cells] == ["# Title", "print('hi')", "first", "second"]


async def test_the_person_answers(tmp_path: Path) -> None:
    other = {**QUESTION, "question": "And?", "multiSelect": True}
    confirmer = ScriptedConfirmer(answers("blue", "red, something else"))
    async with Session(tmp_path, dialect="claude", confirmer=confirmer) as session:
        result = await session.call("AskUserQuestion", {"questions": [QUESTION, other]})
    assert result.llm_content == (
        'User has answered your questions: "Which one?"="blue", "And?"="red, something else". '
        "You can now continue with the user's answers in mind."
    )
    assert result.data.as_json()["answers"] == {"Which one?": "blue", "And?": "red, something else"}
    asked: Any = confirmer.asked[0].details
    assert [question.several for question in asked.questions] == [False, True]
    assert asked.questions[0].choices[1].description == "cold\n~~~"


async def test_nobody_answers(tmp_path: Path) -> None:
    async with Session(tmp_path, dialect="claude", policy=Policy(allow=["*"])) as session:
        result = await session.call("AskUserQuestion", {"questions": [QUESTION]})
    assert not result.ok
    assert "haven't granted it yet" in result.llm_content


def test_a_page_is_given_as_it_is() -> None:
    said = CLAUDE.read("WebFetch", {"url": "https://example.org", "prompt": "What is it?"})
    page = Page("https://example.org", "https://example.org/", 200, "text/html", 10, 5, "Title", "Hello")
    reply = said.convert_result(ToolResult("what a model reads: Hello", "Hello", data=FetchData((page,))))
    assert reply.llm_content == "what a model reads: Hello"
    assert reply.data.as_json() == {
        "bytes": 10,
        "code": 200,
        "result": "Hello",
        "url": "https://example.org/",
    }


async def test_the_model_gets_the_descriptions_of_its_agent(tmp_path: Path) -> None:
    async with Session(tmp_path, dialect="claude") as session:
        told = {tool["name"]: tool for tool in session.declarations("anthropic")}
    assert list(told) == [
        *("Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "Bash", "TaskOutput", "TaskStop"),
        *("WebFetch", "TodoWrite", "AskUserQuestion"),
    ]
    assert set(told["Grep"]["input_schema"]["properties"]) >= {
        "-A",
        "-B",
        "-C",
        "-n",
        "-i",
        "-o",
        "head_limit",
    }
    assert told["Edit"]["input_schema"]["required"] == ["file_path", "old_string", "new_string"]
    assert "description" not in told["Bash"]["input_schema"]
    assert not any(has_cycle_in_schema(tool["input_schema"]) for tool in told.values())
