"""The way to open notebooks: what pages are asked, and what their answers, or their silence, mean."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import nbformat
import pytest

from nbtools.cards.card_model import NotebookAnswer
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.methods import respond
from nbtools.notebook.open_notebooks import FrontendNotebooks
from nbtools.tools.cells import CellsTool
from nbtools.workspace.notebooks.open_notebooks import DeleteCell, InsertCell, MoveCell, ReplaceCell
from nbtools.workspace.workspace import Workspace


@dataclass
class Page:
    """A page with notebooks; ``says`` is what it answers by the task's type, None for silence."""

    says: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    closed: int = 0
    is_attended: bool = True
    live: FrontendNotebooks | None = None

    def publish(self, request):
        self.asked.append(request.task.model_dump())
        said = self.says.get(request.task.type)
        if said is not None:
            self.live.answer(NotebookAnswer.model_validate({"id": request.id, **said}))
        return self.close

    def close(self):
        self.closed += 1


def opened(path, *, own=False, dirty=False, busy=False):
    return {"client": "page", "path": path, "own": own, "dirty": dirty, "busy": busy}


def cell(name, source, *, outputs=(), busy=False):
    return {"id": name, "type": "code", "source": source, "outputs": json.dumps(outputs), "busy": busy}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """This kernel was started for work/nb.ipynb; the server's root is the folder above."""
    (tmp_path / "work").mkdir()
    for name in ("nb.ipynb", "other.ipynb"):
        content = nbformat.v4.new_notebook()
        content.cells = [nbformat.v4.new_code_cell("on disk", id="a")]
        (tmp_path / "work" / name).write_text(nbformat.writes(content))
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "work" / "nb.ipynb"))
    page = Page()
    page.says["list"] = {
        "notebooks": [opened("work/nb.ipynb", own=True), opened("work/other.ipynb", dirty=True)]
    }
    page.says["cells"] = {
        "cells": [cell("a", "live", outputs=[{"output_type": "stream", "name": "stdout", "text": ["1\n"]}])]
    }
    page.live = FrontendNotebooks(page, page.publish, known=0.2, unknown=0.1)
    return page


@pytest.fixture
def tool(page, tmp_path):
    return CellsTool(Workspace(tmp_path / "work"), live=page.live)


async def call(tool, action="read", path=None, **more):
    return await tool.validate_build_and_execute({"path": path, "action": action, **more})


async def test_the_notebook_that_one_is_in(tool, page):
    result = await call(tool)
    assert (result.data.live, result.data.path) == (True, "nb.ipynb")
    assert result.llm_content == "nb.ipynb: 1 cell (open, saved)\n\n=== #1 · code · id a\nlive\n--- output\n1"
    assert [task["type"] for task in page.asked] == ["list", "cells"]
    assert page.closed == 2


async def test_another_open_notebook_is_the_live_one(tool):
    result = await call(tool, path="other.ipynb")
    assert result.data.live
    assert "with unsaved changes" in result.llm_content


async def test_the_notebook_whose_cell_runs_is_chosen_of_two_on_one_kernel(tool, page):
    page.says["list"] = {
        "notebooks": [opened("work/other.ipynb", own=True), opened("work/nb.ipynb", own=True, busy=True)]
    }
    assert (await call(tool)).data.path == "nb.ipynb"


async def test_a_notebook_that_is_not_open_is_the_file(tool, page):
    page.says["list"] = {"notebooks": [opened("work/nb.ipynb", own=True), opened("elsewhere/other.ipynb")]}
    result = await call(tool, path="other.ipynb")
    assert (result.data.live, result.data.cells[0].source) == (False, "on disk")


async def test_silence_means_the_file_but_never_for_the_kernels_own_notebook(tool, page, tmp_path):
    page.says["list"] = None
    before = (tmp_path / "work" / "nb.ipynb").read_bytes()
    result = await call(tool, "delete", "nb.ipynb", id="a")
    assert result.error.code is ErrorCode.CONFLICT
    assert "extension is missing or disabled" in result.error.message
    assert (tmp_path / "work" / "nb.ipynb").read_bytes() == before
    assert (await call(tool, "replace", "other.ipynb", id="a", source="changed")).ok
    assert "changed" in (tmp_path / "work" / "other.ipynb").read_text()
    assert (await call(tool)).error.code is ErrorCode.INVALID_TOOL_PARAMS


async def test_without_a_person_no_page_gets_a_request(tool, page):
    page.is_attended = False
    assert (await call(tool, path="nb.ipynb")).data.cells[0].source == "on disk"
    assert page.asked == []


async def test_a_notebook_that_was_renamed_is_judged_again(tool, page, tmp_path):
    page.says["list"] = {"notebooks": [opened("work/new.ipynb", own=True)]}
    (tmp_path / "work" / "nb.ipynb").rename(tmp_path / "work" / "new.ipynb")
    refused = await call(tool)
    assert refused.error.code is ErrorCode.CONFLICT
    assert "was renamed to new.ipynb" in refused.error.message
    result = await call(tool)
    assert (result.data.path, result.data.live) == ("new.ipynb", True)
    assert tool.build({}).target().paths == ("new.ipynb",)


async def test_changes_go_to_the_page_with_what_they_expect(tool, page, tmp_path):
    page.says |= {"replace": {"cells": [cell("a", "new")]}}
    result = await call(tool, "replace", id="#1", source="new")
    assert page.asked[-1] == {
        "type": "replace", "path": "work/nb.ipynb", "cell": "a", "expected": "live", "source": "new", "kind": None,
    }  # fmt: skip
    assert (
        "Its outputs were cleared. The notebook is open: the change is in the editor, not saved"
        in result.llm_content
    )
    assert "on disk" in (tmp_path / "work" / "nb.ipynb").read_text()


async def test_a_refusal_by_the_page_is_a_conflict_with_its_message(tool, page):
    page.says["delete"] = {
        "problem": "cell a runs just now and cannot be deleted. Wait for its end, or stop it."
    }
    result = await call(tool, "delete", id="a")
    assert result.error.code is ErrorCode.CONFLICT
    assert (
        result.error.message
        == "work/nb.ipynb: cell a runs just now and cannot be deleted. Wait for its end, or stop it."
    )


async def test_a_page_that_stops_answering_is_reported_in_time(tool, page):
    page.says["delete"] = None
    result = await call(tool, "delete", id="a")
    assert result.error.code is ErrorCode.TIMEOUT
    assert "did not answer" in result.error.message


async def test_a_run_that_takes_too_long_is_stopped_there(tool, page):
    page.says["run"] = None
    result = await call(tool, "run", "other.ipynb", id="a", timeout=0.1)
    assert result.error.code is ErrorCode.TIMEOUT
    assert [task["type"] for task in page.asked][-2:] == ["run", "stop"]


async def test_cancelling_a_run_stops_it_there(tool, page):
    page.says["run"] = None
    running = asyncio.create_task(tool.build({"path": "other.ipynb", "action": "run", "id": "a"}).execute())
    while not page.asked or page.asked[-1]["type"] != "run":
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert page.asked[-1] == {"type": "stop", "path": "work/other.ipynb"}


async def test_a_run_on_this_very_kernel_is_queued(tool, page):
    page.says["run"] = {"queued": True, "cells": [cell("a", "live", busy=True)]}
    result = await call(tool, "run", id="a")
    assert result.summary == "queued"
    assert "the kernel is busy with the cell that makes this call" in result.llm_content


async def test_reading_first_counts_for_open_notebooks_too(tool, page):
    page.says["delete"] = {"cells": []}
    tool.workspace.read_tracker.required = True
    assert (await call(tool, "delete", id="a")).error.code is ErrorCode.EDIT_PREPARATION_FAILURE
    await call(tool)
    assert (await call(tool, "delete", id="a")).ok


async def test_invalid_answers_are_dropped(page):
    page.says["list"] = None
    finding = asyncio.create_task(page.live.find(None))
    await asyncio.sleep(0)
    answers = []
    for nonsense in (None, 3, {}, {"id": "x", "client": "y"}, {"id": "x", "client": 3, "notebooks": "z"}):
        message = {"id": 1, "method": "cells.answer", "params": nonsense}
        respond(page.live, message, lambda answer, _: answers.append(answer))
    assert all("problem" in answer for answer in answers)
    assert await finding is None


@pytest.mark.parametrize(
    "change",
    [ReplaceCell("a", "", "x"), InsertCell("b", "x", "raw", None), DeleteCell("a", ""), MoveCell("a", "")],
)
async def test_every_change_travels(page, change):
    page.says |= {task: {"cells": []} for task in ("replace", "insert", "delete", "move")}
    found = await page.live.find(None)
    assert await page.live.change(found, change) == ()
    assert page.asked[-1]["cell"] == change.cell


async def test_a_page_that_has_closed_says_so_as_a_failure(page):
    found = await page.live.find(None)
    page.says["cells"] = {"problem": "it has been closed. Call again."}
    with pytest.raises(ToolFailure, match="has been closed"):
        await page.live.cells(found)


def asked_in(cell):
    """The requests that a page would have got."""
    opened = [message["content"] for message in cell.messages if message["header"]["msg_type"] == "comm_open"]
    events = [content["data"] for content in opened if content["target_name"] == "nbtools"]
    return [event["params"] for event in events if event["event"] == "cells"]


@pytest.mark.parametrize("code", ["r = tools.quiet.cells()", "r = await tools.quiet.cells.start()"])
def test_a_real_kernel_gets_its_answers_while_a_cell_waits(lab, project, code):
    (project / "nb.ipynb").write_text("{}")
    lab.run(f"import os\nos.environ['JPY_SESSION_NAME'] = {str(project / 'nb.ipynb')!r}\n%reload_ext nbtools")
    asking = lab.start(code)
    for number, said in enumerate(
        ({"notebooks": [opened("nb.ipynb", own=True)]}, {"cells": [cell("a", "live")]})
    ):
        request = lab.until(lambda number=number: asked_in(asking)[number : number + 1])[0]
        lab.request("cells.answer", id=request["id"], **said)
    lab.until(lambda: asking.done)
    assert lab.value("r.data.live, r.data.cells[0].source") == (True, "live")


def test_a_kernel_without_anybody_asks_no_page(lab, project):
    content = nbformat.v4.new_notebook()
    content.cells = [nbformat.v4.new_code_cell("on disk", id="a")]
    (project / "nb.ipynb").write_text(nbformat.writes(content))
    cell = lab.run("print(tools.quiet.cells('nb.ipynb').data.cells[0].source)", stdin=False)
    assert "on disk" in cell.text
    assert asked_in(cell) == []


def test_a_silent_page_costs_two_seconds_once(lab, project):
    first, second = (lab.run("r = %tool cells\nprint(r.error.message)") for _ in range(2))
    assert all("No notebook is open" in cell.text for cell in (first, second))
    assert waited(first) >= 2 > waited(second) > 0


def waited(cell) -> float:
    """Seconds for which the kernel waited for a page, by its own clock."""
    asked, over = (
        message["header"]["date"]
        for message in cell.messages
        if message["header"]["msg_type"] in {"comm_open", "comm_close"}
    )
    return (over - asked).total_seconds()
