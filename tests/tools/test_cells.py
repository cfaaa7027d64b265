"""Cells of notebook files through the tool: read, changed, and run in real kernels."""

from __future__ import annotations

import asyncio
import base64
import json

import nbformat
import psutil
import pytest

from nbtools.core.confirmation import ToolEditConfirmationDetails, ToolInfoConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import CommandOutput, FileDiff, Media
from nbtools.core.tool import Kind, ModifiableTool, PathTarget
from nbtools.policy.decide import Policy
from nbtools.session import Session
from nbtools.testing import ONCE, ScriptedConfirmer, modify
from nbtools.tools.cells import CellsTool
from nbtools.workspace.workspace import Workspace

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()


def made(*sources):
    """A notebook of code cells a, b, …; the first has an output."""
    content = nbformat.v4.new_notebook()
    content.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content.cells = [
        nbformat.v4.new_code_cell(source, id=name) for name, source in zip("abcdef", sources, strict=False)
    ]
    content.cells[0].outputs = [nbformat.v4.new_output("stream", text="old\n")]
    return nbformat.writes(content) + "\n"


@pytest.fixture
def tool(tmp_path):
    (tmp_path / "nb.ipynb").write_text(made("x = 1", "print(x)", "x + 1"))
    return CellsTool(Workspace(tmp_path))


@pytest.fixture
async def ending(tool):
    """A tool whose kernels end with the test."""
    yield tool
    await tool.workspace.close()


async def call(tool, action="read", path="nb.ipynb", **more):
    return await tool.validate_build_and_execute({"path": path, "action": action, **more})


def cells(tool, name="nb.ipynb"):
    content = json.loads((tool.workspace.root / name).read_text())
    nbformat.validate(content)
    return content["cells"]


def sources(tool):
    return {cell["id"]: "".join(cell["source"]) for cell in cells(tool)}


async def test_reading(tool):
    result = await call(tool)
    assert result.llm_content.startswith(
        "nb.ipynb: 3 cells\n\n=== #1 · code · id a\nx = 1\n--- output\nold\n\n=== #2 · code · id b\n"
    )
    assert (result.data.path, result.data.live, result.summary) == ("nb.ipynb", False, "3 cells")
    one = await call(tool, id="#3")
    assert [cell.id for cell in one.data.cells] == ["c"]
    assert "x = 1" not in one.llm_content


async def test_replacing_clears_outputs_and_says_so(tool):
    result = await call(tool, "replace", id="a", source="x = 2\ny = 3")
    told = (
        "Replaced the source of cell a (#1) in nb.ipynb. Its outputs were cleared.\n@@ -1 +1,2 @@\n-x = 1\n"
    )
    assert result.llm_content.startswith(told)
    assert isinstance(result.return_display, FileDiff)
    assert result.return_display.file_name == "nb.ipynb · cell a"
    assert result.return_display.original_content == "x = 1"
    assert result.summary == "+2 −1"
    assert cells(tool)[0]["outputs"] == []
    assert [cell.source for cell in result.data.cells] == ["x = 2\ny = 3", "print(x)", "x + 1"]


async def test_the_same_source_is_a_success_that_touches_nothing(tool, tmp_path):
    before = (tmp_path / "nb.ipynb").read_bytes()
    result = await call(tool, "replace", id="a", source="x = 1")
    assert result.summary == "nothing changed"
    assert (tmp_path / "nb.ipynb").read_bytes() == before


@pytest.mark.parametrize(("after", "order"), [(None, "abc."), ("", ".abc"), ("a", "a.bc"), ("#2", "ab.c")])
async def test_inserting(tool, after, order):
    result = await call(
        tool, "insert", source="# new", type="markdown", **({} if after is None else {"after": after})
    )
    assert [key if key in "abc" else "." for key in sources(tool)] == list(order)
    assert sources(tool)[result.data.id] == "# new"
    assert result.llm_content == f"Inserted cell {result.data.id} (#{order.index('.') + 1}) into nb.ipynb."


@pytest.mark.parametrize(
    ("cell", "after", "order"),
    [("a", None, "bca"), ("c", "", "cab"), ("a", "b", "bac"), ("c", "a", "acb"), ("b", "a", "abc")],
)
async def test_moving(tool, cell, after, order):
    result = await call(tool, "move", id=cell, **({} if after is None else {"after": after}))
    assert "".join(sources(tool)) == order
    assert result.summary == f"now #{order.index(cell) + 1}"


async def test_deleting(tool):
    result = await call(tool, "delete", id="b")
    assert list(sources(tool)) == ["a", "c"]
    assert result.llm_content.startswith("Deleted cell b (#2) from nb.ipynb.\n@@ -1 +0,0 @@\n-print(x)")


async def test_a_notebook_without_ids_is_addressed_by_number_and_stays_as_it_is(tool, tmp_path):
    old = json.loads(made("1", "2"))
    for cell in old["cells"]:
        del cell["id"]
    old["nbformat_minor"] = 4
    (tmp_path / "old.ipynb").write_text(json.dumps(old, indent=1))
    result = await call(tool, "insert", "old.ipynb", source="3", after="#1")
    assert (result.data.id, [cell.id for cell in result.data.cells]) == ("#2", ["#1", "#2", "#3"])
    assert all("id" not in cell for cell in cells(tool, "old.ipynb"))
    assert (await call(tool, "move", "old.ipynb", id="#2")).data.id == "#3"
    assert (await call(tool, "replace", "old.ipynb", id="#3", source="4")).ok
    assert ["".join(cell["source"]) for cell in cells(tool, "old.ipynb")] == ["1", "2", "4"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ({"action": "replace", "id": "a"}, ErrorCode.INVALID_TOOL_PARAMS, "replace needs source"),
        ({"action": "delete"}, ErrorCode.INVALID_TOOL_PARAMS, "delete needs id"),
        ({"action": "read", "source": "x"}, ErrorCode.INVALID_TOOL_PARAMS, "read does not use source"),
        ({"action": "run", "id": "a", "timeout": 9999}, ErrorCode.INVALID_TOOL_PARAMS, "at most 3600"),
        (
            {"action": "delete", "id": "z"},
            ErrorCode.INVALID_TOOL_PARAMS,
            "Cells: a (code: x = 1), b (code: print(x)), c",
        ),
        ({"action": "insert", "source": "", "after": "z"}, ErrorCode.INVALID_TOOL_PARAMS, "has no cell 'z'"),
        ({"action": "move", "id": "a", "after": "#1"}, ErrorCode.INVALID_TOOL_PARAMS, "after itself"),
        ({"path": "nn.ipynb"}, ErrorCode.FILE_NOT_FOUND, "nb.ipynb"),
        ({"path": "../x.ipynb"}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
        ({"path": "notes.txt"}, ErrorCode.READ_CONTENT_FAILURE, "not valid JSON"),
        (
            {"path": "notes.txt", "action": "delete", "id": "#1"},
            ErrorCode.READ_CONTENT_FAILURE,
            "not valid JSON",
        ),
        ({"path": None}, ErrorCode.INVALID_TOOL_PARAMS, "Name the notebook file with path"),
    ],
)
async def test_impossible_changes_of_cells_fail_with_a_reason(tool, tmp_path, arguments, code, message):
    (tmp_path / "notes.txt").write_text("hello")
    before = (tmp_path / "nb.ipynb").read_bytes()
    result = await call(tool, **arguments)
    assert result.error.code is code
    assert message in result.error.message
    assert (tmp_path / "nb.ipynb").read_bytes() == before


def test_the_parameters_decide_the_kind_of_a_call(tool):
    kinds = {"read": Kind.READ, "run": Kind.EXECUTE, "delete": None, "move": None}
    for action, kind in kinds.items():
        invocation = tool.build({"path": "nb.ipynb", "action": action, "id": "a"})
        assert invocation.kind is kind
        assert invocation.target() == PathTarget(("nb.ipynb",))


async def test_the_question_shows_the_source_and_not_the_file(tool):
    details = await tool.build(
        {"path": "nb.ipynb", "action": "replace", "id": "b", "source": "y"}
    ).should_confirm_execute()
    assert isinstance(details, ToolEditConfirmationDetails)
    assert (details.file_name, details.original_content, details.new_content) == (
        "nb.ipynb · cell b",
        "print(x)",
        "y",
    )
    run = await tool.build({"path": "nb.ipynb", "action": "run", "id": "b"}).should_confirm_execute()
    assert run == ToolInfoConfirmationDetails("Run cell b (#2) of nb.ipynb?", "print(x)")
    move = await tool.build(
        {"path": "nb.ipynb", "action": "move", "id": "b", "after": ""}
    ).should_confirm_execute()
    assert move.title == "Move cell b of nb.ipynb to the top?"
    with pytest.raises(ToolFailure, match="has no cell"):
        await tool.build({"path": "nb.ipynb", "action": "run", "id": "z"}).should_confirm_execute()


async def test_a_person_can_change_the_source(tool, tmp_path):
    assert isinstance(tool, ModifiableTool)
    confirmer = ScriptedConfirmer(modify("y = 7"), ONCE, modify("# kept"), ONCE)
    async with Session(tmp_path, confirmer=confirmer) as session:
        result = await session.call(
            "cells", {"path": "nb.ipynb", "action": "insert", "source": "y = 6", "after": "a"}
        )
        assert "The person changed the proposed text" in result.llm_content
        assert list(sources(tool).values()) == ["x = 1", "y = 7", "print(x)", "x + 1"]
        assert (
            await session.call("cells", {"path": "nb.ipynb", "action": "delete", "id": "b"})
        ).data.action == "replace"
    assert sources(tool)["b"] == "# kept"


async def test_a_cell_that_changes_while_the_question_is_open_is_not_changed(tool, tmp_path):
    invocation = tool.build({"path": "nb.ipynb", "action": "delete", "id": "b"})
    await invocation.should_confirm_execute()
    await call(tool, "replace", id="b", source="precious")
    with pytest.raises(ToolFailure, match="changed meanwhile") as caught:
        await invocation.execute()
    assert caught.value.code is ErrorCode.CONFLICT
    assert sources(tool)["b"] == "precious"


async def test_a_simultaneous_change_of_another_cell_does_no_harm(tool):
    invocation = tool.build({"path": "nb.ipynb", "action": "delete", "id": "b"})
    await invocation.should_confirm_execute()
    await call(tool, "replace", id="a", source="other")
    assert (await invocation.execute()).ok
    assert sources(tool) == {"a": "other", "c": "x + 1"}


async def test_a_notebook_is_read_before_it_is_changed_where_that_is_required(tool):
    tool.workspace.read_tracker.required = True
    refused = await call(tool, "delete", id="b")
    assert refused.error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    await call(tool)
    assert (await call(tool, "delete", id="b")).ok
    assert (await call(tool, "delete", id="a")).ok


async def test_cells_run_in_one_kernel_and_their_outputs_are_written(ending, tmp_path):
    shown = []
    result = await ending.build({"path": "nb.ipynb", "action": "run", "id": "a"}).execute(shown.append)
    assert (result.llm_content, result.summary) == ("Cell a (#1) of nb.ipynb ran.\n(no output)", "ran")
    assert (await call(ending, "run", id="b")).llm_content == "Cell b (#2) of nb.ipynb ran.\n1"
    result = await call(ending, "run", id="c")
    assert result.data.cells[0].outputs == "2"
    assert isinstance(result.return_display, CommandOutput)
    assert [cell["execution_count"] for cell in cells(ending)] == [1, 2, 3]
    assert cells(ending)[1]["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}]
    assert cells(ending)[2]["outputs"][0]["data"] == {"text/plain": ["2"]}
    assert cells(ending)[0]["outputs"] == []


async def test_an_error_is_an_outcome_with_a_traceback_without_colours(ending, tmp_path):
    await call(ending, "replace", id="a", source="print('before')\n1/0")
    result = await call(ending, "run", id="a")
    assert (result.ok, result.summary) == (True, "error")
    assert "before\n" in result.llm_content
    assert "ZeroDivisionError: division by zero" in result.llm_content
    assert "\x1b" not in result.llm_content
    assert result.return_display.exit_code == 1
    assert cells(ending)[0]["outputs"][-1]["ename"] == "ZeroDivisionError"


async def test_a_picture_is_a_part(ending):
    source = f"from IPython.display import display\ndisplay({{'image/png': {PIXEL!r}, 'text/plain': 'pixel'}}, raw=True)"
    await call(ending, "replace", id="a", source=source)
    result = await call(ending, "run", id="a")
    assert result.llm_content[1]["inline_data"] == {"mime_type": "image/png", "data": PIXEL}
    assert isinstance(result.return_display, Media)


async def test_a_cell_that_takes_too_long_is_interrupted_and_its_kernel_stays(ending):
    await call(ending, "run", id="a")
    await call(ending, "replace", id="b", source="print('on', flush=True)\nimport time\ntime.sleep(60)")
    result = await call(ending, "run", id="b", timeout=4)
    assert result.error.code is ErrorCode.TIMEOUT
    assert "after 4 seconds" in result.error.message
    assert result.data.cells[0].outputs.startswith("on")
    assert (await call(ending, "run", id="c")).data.cells[0].outputs == "2"


async def test_cancelling_interrupts_the_cell(ending):
    await call(ending, "replace", id="b", source="print('on', flush=True)\nimport time\ntime.sleep(60)")
    on = asyncio.Event()
    running = asyncio.create_task(
        ending.build({"path": "nb.ipynb", "action": "run", "id": "b"}).execute(lambda _: on.set())
    )
    await on.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await call(ending, "run", id="a")).ok


async def test_the_end_of_a_kernel_is_reported_and_the_next_run_has_a_new_one(ending):
    await call(ending, "replace", id="b", source="import os\nos._exit(1)")
    result = await call(ending, "run", id="b")
    assert result.error.code is ErrorCode.EXECUTION_FAILED
    assert "The next run starts a new one" in result.error.message
    assert (await call(ending, "run", id="a")).ok


async def test_an_unknown_kernel_names_those_there(ending, tmp_path):
    (tmp_path / "nb.ipynb").write_text(made("1").replace('"python3"', '"fortran"'))
    result = await call(ending, "run", id="a")
    assert result.error.code is ErrorCode.EXECUTION_FAILED
    assert "Kernel 'fortran' is not installed. Installed kernels: " in result.error.message
    assert "python3" in result.error.message


async def test_only_code_cells_run(tool):
    await call(tool, "replace", id="a", source="# Title", type="markdown")
    assert "only code cells run" in (await call(tool, "run", id="a")).error.message


async def test_closing_the_session_ends_its_kernels(tmp_path):
    (tmp_path / "nb.ipynb").write_text(made("import os; print(os.getpid(), os.getcwd())"))
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        result = await session.call("cells", {"path": "nb.ipynb", "action": "run", "id": "a"})
        pid, folder = result.data.cells[0].outputs.split()
        assert psutil.pid_exists(int(pid))
        assert folder == str(tmp_path.resolve())
    assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
