"""A recorded run in JupyterLab, a step at a time: by keys where the focus is on Continue, and never while somebody types."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.tab import eventually
from tests.browser.test_agent import foot, status
from tests.replay.samples import bash, edit, log

pytestmark = pytest.mark.timeout(300)  # the kernel loads pydantic-ai, which takes its time on a busy machine
NOTES = "one\ntwo\nthree\n"
START = '%agent --model recorded:lesson.jsonl --project . --pace step\n%tools allow "shell(cat:*)"'


@pytest.fixture
def open_lesson(open_notebook, project):
    """Opens a lesson whose first step has been played, in cell 2."""

    async def open_lesson(*calls):
        log(project / "lesson.jsonl", *(calls or (bash(f"cat {name}", NOTES) for name in ("notes.txt", "./notes.txt", ".//notes.txt"))))
        tab = await open_notebook(START, "%%agent", "# typed here")
        await tab.run(1)
        await tab.run(2)
        await expect(foot(tab, 2)).to_contain_text("Call 1 is done")
        return tab

    return open_lesson


def going_on(tab, index):
    return foot(tab, index).get_by_role("button", name="Continue")


async def shown_keys(button):
    """What the card shows before *Continue*."""
    return await button.evaluate("button => getComputedStyle(button, '::before').content.split(' / ')[0]")


async def test_space_and_the_right_arrow_go_on(open_lesson):
    tab = await open_lesson()
    await expect(going_on(tab, 2)).to_have_attribute("aria-keyshortcuts", "Space ArrowRight")
    await expect(going_on(tab, 2)).not_to_be_focused()
    await eventually("none", shown_keys, going_on(tab, 2))
    await going_on(tab, 2).focus()
    await eventually('"Space or →"', shown_keys, going_on(tab, 2))
    await tab.page.keyboard.press("Alt+ArrowRight")
    await tab.page.keyboard.press("ArrowRight")
    await expect(foot(tab, 3)).to_contain_text("Call 2 is done")
    await expect(going_on(tab, 3)).to_be_focused()
    await expect(going_on(tab, 3)).to_be_in_viewport()
    await eventually('"Space or →"', shown_keys, going_on(tab, 3))
    await tab.page.keyboard.press("Space")
    await expect(foot(tab, 4)).to_contain_text("Call 3 is done")
    await expect(going_on(tab, 4)).to_be_focused()
    await tab.page.keyboard.press("Space")
    await expect(status(tab, 5)).to_have_text("Done")
    await expect(going_on(tab, 5)).to_have_count(0)
    await expect(tab.cell(6).locator(".cm-content")).to_have_text("# typed here")
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(7)


async def test_who_types_keeps_the_focus(open_lesson):
    tab = await open_lesson()
    await going_on(tab, 2).click()
    editor = tab.cell(4).locator(".cm-content")
    await editor.click()
    await tab.page.keyboard.press("End")
    await tab.page.keyboard.type(" more")
    await expect(foot(tab, 3)).to_contain_text("Call 2 is done")
    await tab.page.keyboard.press("Space")
    await tab.page.keyboard.press("ArrowRight")
    await tab.page.keyboard.type("words")
    await expect(editor).to_have_text("# typed here more words")
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(5)


async def test_what_a_person_has_focused_elsewhere_keeps_the_focus(open_lesson):
    tab = await open_lesson()
    await going_on(tab, 2).click()
    other = foot(tab, 2).get_by_role("button", name="Open trace")
    await other.focus()
    await expect(foot(tab, 3)).to_contain_text("Call 2 is done")
    await tab.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))")
    await expect(other).to_be_focused()
    await tab.page.keyboard.press("ArrowRight")
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(5)


async def test_an_answer_in_between_leaves_the_keys(open_lesson):
    """The question has its own keys; after its answer Continue has the focus again."""
    look = bash("cat notes.txt", NOTES)
    tab = await open_lesson(look, edit("two", "2", "/home/sam/shop/notes.txt"), look)
    await going_on(tab, 2).click()
    await tab.keys_count(3)
    await tab.page.keyboard.press("ArrowRight")
    await tab.answer(3, "Approve once")
    await expect(foot(tab, 3)).to_contain_text("Call 2 is done")
    await expect(going_on(tab, 3)).to_be_focused()
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(5)
