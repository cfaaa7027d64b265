"""A cell with many calls: JupyterLab shows 50 outputs of a cell, and the question,
the last card and the answer are among them.
"""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.conftest import without_extension
from tests.browser.project import write_notebook
from tests.browser.tab import Tab
from tests.browser.test_agent import PLAYING, foot, head, texts_of

LOOP = """\
for number in range(70):
    tools.read("notes.txt", start=1 + number % 3, end=3)
tools.edit("notes.txt", old="two", new="2")
for number in range(30):
    tools.read("notes.txt", start=1 + number % 3, end=3)"""


async def test_a_question_after_many_calls_in_a_loop_is_in_view(open_notebook, app):
    tab = await open_notebook(LOOP, app=app)
    await tab.start(1)
    await tab.wait_for_questions(1)
    await expect(tab.question(1)).to_be_in_viewport(ratio=0.9)
    assert await tab.output(1).count() < 30
    await expect(tab.card(1)).to_have_count(70)
    await expect(tab.card(1).last.locator(".nbtools-body")).to_be_hidden()
    await tab.look(f"outputs-loop-asks-{app}", tab.panel)
    await tab.keys_count(1)
    await tab.page.keyboard.press("y")
    await tab.done(1)
    await expect(tab.card(1)).to_have_count(101)
    await tab.look(f"outputs-loop-done-{app}", tab.panel)
    await expect(tab.card(1).nth(70)).to_contain_text("edit")
    assert await tab.output(1).count() < 30
    await tab.card(1).nth(60).get_by_role("button", name="show").click()
    await expect(tab.card(1).nth(60)).to_contain_text("three")
    saved = await tab.save()
    assert str(saved["cells"][1]["outputs"]).count("Approved once by you") >= 2, (
        "the saved notebook has the cards as HTML and text"
    )
    await tab.card(1).nth(70).get_by_role("button", name="undo").click()
    await expect(tab.card(1).nth(70).locator(".nbtools-status")).to_have_text("Undone")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"


async def test_a_question_after_many_calls_is_in_view_without_the_extension(server, project, context):
    write_notebook(project / "many.ipynb", (LOOP,))
    async with without_extension(context) as page:
        await page.goto(server.address("lab/workspaces/many/tree", f"{project.name}/many.ipynb"))
        tab = Tab(page, project / "many.ipynb", project)
        await tab.ready()
        await tab.run(0)
        await tab.start(1)
        await tab.wait_for_questions(1)
        await expect(tab.question(1)).to_be_in_viewport()
        assert await tab.output(1).count() < 30
        await tab.approve(1)
        await tab.done(1)
        assert tab.read("notes.txt") == "one\n2\nthree\n"
        await page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")


TURNS = 40


async def test_long_runs_keep_their_questions_and_their_answers_in_view(open_notebook):
    """One with many turns, one with many calls at once."""
    read = """("read", '{"path": "notes.txt"}')"""
    turns = ", ".join(f"['Step {n}.', {read}, {read}]" for n in range(TURNS))
    cells = (*run_of(turns, "two", "2"), *run_of(f"[{', '.join([read] * TURNS * 2)}]", "2", "two"))
    tab = await open_notebook(PLAYING, *cells)
    await tab.run(1)
    for index, steps in ((3, 2 + TURNS), (5, 3)):
        await tab.run(index - 1)
        await tab.start(index)
        await tab.wait_for_questions(index)
        await expect(tab.question(index)).to_be_in_viewport(ratio=0.9)
        assert await tab.output(index).count() < 35
        await expect(head(tab, index)).to_have_count(1)
        await tab.look(f"outputs-run-asks-{steps}", tab.panel)
        await tab.keys_count(index)
        await tab.page.keyboard.press("y")
        await tab.done(index)
        calls = tab.card(index).filter(has_not=tab.page.locator(".nbtools-run-figures, .nbtools-run-why"))
        await expect(calls).to_have_count(TURNS * 2 + 1)
        await expect(texts_of(tab, index).last).to_contain_text("All done.")
        await expect(foot(tab, index)).to_contain_text(f"{steps} steps")
        await tab.look(f"outputs-run-done-{steps}", tab.panel)


def run_of(turns, old, new):
    """Two cells: a model that has these turns and then edits, and its run."""
    edit = f"""("edit", '{{"path": "notes.txt", "old": "{old}", "new": "{new}"}}')"""
    return (
        f"agent.model = playing({turns}, ['Now the change.', {edit}], ['All **done**.'])",
        "%%agent\nGo on.",
    )
