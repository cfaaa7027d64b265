"""A cell with many calls: JupyterLab shows 50 outputs of a cell, and the question, the last card and the answer are among them."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.project import make_project, write_notebook
from tests.browser.tab import Tab
from tests.browser.test_agent import PLAYING, foot, head, said

LOOP = """\
for number in range(70):
    tools.read("notes.txt", start=1 + number % 3, end=3)
tools.edit("notes.txt", old="two", new="2")
for number in range(30):
    tools.read("notes.txt", start=1 + number % 3, end=3)"""


async def test_a_question_after_many_calls_in_a_loop_is_in_view(open_notebook, app):
    tab = await open_notebook(LOOP, app=app)
    await tab.start(1)
    await tab.asked(1)
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
    assert str(saved["cells"][1]["outputs"]).count("Approved once by you") >= 2, "the saved notebook has the cards as HTML and text"
    await tab.card(1).nth(70).get_by_role("button", name="undo").click()
    await expect(tab.card(1).nth(70).locator(".nbtools-status")).to_have_text("Undone")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"


async def test_a_question_after_many_calls_is_in_view_without_the_extension(plain_server, context):
    folder = make_project(plain_server.root / "many")
    write_notebook(folder / "many.ipynb", (LOOP,))
    page = await context.new_page()
    try:
        await page.goto(plain_server.address("lab/tree", "many/many.ipynb"))
        tab = Tab(page, folder / "many.ipynb", folder)
        await tab.ready()
        await tab.run(0)
        await tab.start(1)
        await tab.asked(1)
        await expect(tab.question(1)).to_be_in_viewport()
        assert await tab.output(1).count() < 30
        await tab.approve(1)
        await tab.done(1)
        assert tab.read("notes.txt") == "one\n2\nthree\n"
        await tab.end()
    finally:
        await page.close()


TURNS = 40


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_long_run_keeps_its_question_and_its_answer_in_view(open_notebook, at_once):
    read = """("read", '{"path": "notes.txt"}')"""
    edit = """("edit", '{"path": "notes.txt", "old": "two", "new": "2"}')"""
    reads = f"[{', '.join([read] * TURNS * 2)}]" if at_once else ", ".join(f"['Step {n}.', {read}, {read}]" for n in range(TURNS))
    tab = await open_notebook(PLAYING, f"agent.model = playing({reads}, ['Now the change.', {edit}], ['All **done**.'])", "%%agent\nGo on.")
    await tab.run(1)
    await tab.run(2)
    await tab.start(3)
    await tab.asked(3)
    await expect(tab.question(3)).to_be_in_viewport(ratio=0.9)
    assert await tab.output(3).count() < 35
    await expect(head(tab, 3)).to_have_count(1)
    await tab.look(f"outputs-run-asks-{at_once}", tab.panel)
    await tab.keys_count(3)
    await tab.page.keyboard.press("y")
    await tab.done(3)
    await expect(tab.card(3).filter(has_not=tab.page.locator(".nbtools-run-figures, .nbtools-run-why"))).to_have_count(TURNS * 2 + 1)
    await expect(said(tab, 3).last).to_contain_text("All done.")
    await expect(foot(tab, 3)).to_contain_text(f"{2 + (1 if at_once else TURNS)} steps")
    await tab.look(f"outputs-run-done-{at_once}", tab.panel)
