"""Cells of open notebooks, changed and run from cells: of the same notebook and of another one."""

from __future__ import annotations

import json
import os

import nbformat
from playwright.async_api import expect

from tests.browser.project import write_notebook

ALLOW = "%tools mode yolo"
FIRST = ["%load_ext nbtools", ALLOW]
NOTEBOOK = "window.jupyterapp.shell.currentWidget.content.model.sharedModel"
SOURCES = f"JSON.stringify({NOTEBOOK}.cells.map(cell => cell.getSource()))"
IDS = f"JSON.stringify({NOTEBOOK}.cells.map(cell => cell.id))"


async def has(tab, *sources):
    """Waits until the notebook in front has these sources."""
    wanted = json.dumps(sources, ensure_ascii=False, separators=(",", ":"))
    await tab.page.wait_for_function(f"wanted => {SOURCES} === wanted", arg=wanted)


async def ids(tab):
    return json.loads(await tab.page.evaluate(IDS))


async def undo(tab):
    """Undo of the notebook, as Z does in command mode."""
    await tab.command("notebook:undo-cell-action")


async def test_a_cell_is_inserted_replaced_moved_and_deleted_in_its_own_notebook(open_notebook):
    calls = [
        "r = tools.cells(action='insert', source='x = 6 * 7', after='#7')\nprint(r.data.live, r.data.path)",
        "tools.cells(action='replace', id='#8', source='x = 1');",
        "tools.cells(action='move', id='#8', after='');",
        "tools.cells(action='delete', id='#1');",
        "tools.cells(action='replace', id='#1', source='# Title', type='markdown');",
    ]
    tab = await open_notebook(ALLOW, *calls)
    on_disk, before = tab.path.read_bytes(), await ids(tab)
    await tab.run(1)
    await tab.run(2)
    await expect(tab.output(2).last).to_contain_text("True story.ipynb")
    await has(tab, *FIRST, *calls, "x = 6 * 7")
    made = (await ids(tab))[-1]
    await tab.run(3)
    await has(tab, *FIRST, *calls, "x = 1")
    assert await ids(tab) == [*before, made]
    await tab.look("cells", tab.panel)
    await tab.run(4)
    await has(tab, "x = 1", *FIRST, *calls)
    assert await ids(tab) == [made, *before]
    await tab.start(6)
    await has(tab, *FIRST, *calls)
    await tab.done(5)
    assert tab.path.read_bytes() == on_disk
    await undo(tab)
    await has(tab, "x = 1", *FIRST, *calls)
    await undo(tab)
    await has(tab, *FIRST, *calls, "x = 1")
    await tab.page.evaluate(f"{NOTEBOOK}.cells[0].setMetadata('tags', ['first'])")
    await tab.run(6)
    await has(tab, "# Title", ALLOW, *calls, "x = 1")
    saved = await tab.save()
    nbformat.validate(saved)
    assert (saved["cells"][0]["cell_type"], saved["cells"][0]["metadata"]["tags"]) == ("markdown", ["first"])
    assert saved["cells"][0]["id"] == before[0]


async def test_a_cell_is_taken_back_by_undo_runs_after_the_one_that_asks_and_is_reached_while_the_kernel_is_blocked(
    open_notebook,
):
    replace = "tools.cells(action='replace', id='#4', source='y = 2\\nprint(y)');"
    run = "r = tools.cells(action='run', id='#6')\nprint(r.summary)\nopen('go').read()\nz = 'first'"
    look = "tools.quiet.cells(id='#6').data.cells[0].outputs"
    block = (
        "import threading\ncall = tools.cells.background(action='insert', source='w = 1')\n"
        "ended = threading.Event()\ncall._future.add_done_callback(lambda _: ended.set())\n"
        "print('done' if ended.wait(60) else 'late')"
    )
    others = (run, "print(z, 'then this')", look, block)
    tab = await open_notebook(ALLOW, replace, "print('old')", *others)
    await tab.run(1)
    await tab.run(3)
    await tab.cell(3).locator(".cm-content").click()
    await tab.page.keyboard.type("# mine ")
    typed = await tab.cell(3).locator(".cm-content").inner_text()
    await tab.run(2)
    await has(tab, *FIRST, replace, "y = 2\nprint(y)", *others)
    await expect(tab.output(3)).to_have_count(0)
    await tab.cell(3).locator(".cm-content").click()
    await tab.page.keyboard.press("Control+z")
    await has(tab, *FIRST, replace, typed, *others)
    await tab.page.keyboard.press("Control+z")
    await has(tab, *FIRST, replace, "print('old')", *others)

    os.mkfifo(tab.folder / "go")  # the opener waits for the other
    await tab.start(4)
    await expect(tab.output(4).last).to_contain_text("queued")
    await expect(tab.output(5)).to_have_count(0)
    (tab.folder / "go").write_text("now")
    await expect(tab.output(5)).to_contain_text("first then this")
    await tab.run(6)
    await expect(tab.output(6)).to_contain_text("'first then this'")

    await tab.run(7)
    await expect(tab.output(7).last).to_contain_text("done")
    await has(tab, *FIRST, replace, "print('old')", *others, "w = 1")


async def test_a_closed_notebook_is_changed_on_disk_and_an_open_one_where_it_is_open(
    open_notebook, open_file, project
):
    """The question shows the source."""
    closed, other = project / "closed.ipynb", project / "other.ipynb"
    write_notebook(closed, ["total = 0\nprint(total)"])
    write_notebook(other, ["a = 1", "import sys; print('in the other', a); a / 0"])
    on_disk = other.read_bytes()
    change = (
        "read = tools.cells('other.ipynb')\nprint(read.llm_content.splitlines()[0])\n"
        "made = tools.cells('other.ipynb', 'insert', source='a = a + 1', after=read.data.cells[1].id)\n"
        "ran = [tools.cells('other.ipynb', 'run', id=n).summary for n in ('#2', '#3', '#4')]\n"
        "print(made.data.live, ran)\nprint(tools.cells('other.ipynb', id='#4').data.cells[0].outputs)"
    )
    replace = "r = tools.cells('closed.ipynb', 'replace', id='#2', source='total = 1\\nprint(total)')"
    tab = await open_notebook(replace, ALLOW, change)
    await tab.start(1)
    await expect(tab.question(1)).to_contain_text("total = 1")
    await expect(tab.question(1)).to_contain_text("closed.ipynb")
    await expect(tab.question(1)).not_to_contain_text("cell_type")
    await tab.look("cells-asking", tab.cell(1))
    await tab.approve(1)
    await tab.done(1)
    assert json.loads(closed.read_text())["cells"][1]["source"] == ["total = 1\n", "print(total)"]
    assert await tab.value("r.data.live") == "False"

    await tab.run(2)
    theirs = await open_file(other)
    await theirs.cell(1).locator(".cm-content").click()
    await theirs.page.keyboard.type("0")
    typed = await theirs.cell(1).locator(".cm-content").inner_text()
    await tab.to_front()
    await tab.run(3)
    shown = tab.cell(3).locator(".jp-OutputArea-output")
    await expect(shown.filter(has_text="with unsaved changes").first).to_be_visible()
    await expect(shown.filter(has_text="True ['ran', 'ran', 'error']").first).to_be_visible()
    await expect(
        shown.filter(has_text="in the other").filter(has_text="ZeroDivisionError").first
    ).to_be_visible()
    assert other.read_bytes() == on_disk
    await theirs.to_front()
    await has(theirs, "%load_ext nbtools", typed, "a = a + 1", "import sys; print('in the other', a); a / 0")
    saved = await theirs.save()
    nbformat.validate(saved)
    assert saved["cells"][3]["outputs"][0]["text"]


async def test_a_notebook_in_another_page_is_changed_there_and_that_of_the_kernel_in_its_own(
    open_notebook, open_file, project
):
    """Notebook 7 has a page for each notebook: a kernel reaches the others through its own."""
    other = project / "other.ipynb"
    write_notebook(other, ["a = 1"])
    on_disk = other.read_bytes()
    change = "r = tools.cells('other.ipynb', 'insert', source='b = 2')\nprint(r.data.live, tools.cells('other.ipynb', 'run', id='#3').summary)"
    own = "tools.cells(action='replace', id='#5', source='d = 4');"
    theirs = await open_file(other)
    tab = await open_notebook(ALLOW, change, own, "c = 3", app="notebook")
    await tab.run(1)
    await tab.run(2)
    await expect(tab.output(2).last).to_contain_text("True ran")
    await has(theirs, "%load_ext nbtools", "a = 1", "b = 2")
    assert other.read_bytes() == on_disk
    await tab.run(3)
    await has(tab, *FIRST, change, own, "d = 4")
    await theirs.command("docmanager:save")
