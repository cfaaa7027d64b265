"""A recorded run in JupyterLab, a step at a time: by keys where the focus is on Continue, and never while somebody types."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.test_agent import foot, status
from tests.browser.test_panel import Agents, is_settled
from tests.replay.samples import bash, edit, log
from tests.waiting import eventually

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


def change(old, new):
    return edit(old, new, "/home/sam/shop/notes.txt")


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


async def test_a_double_click_goes_on_once(open_lesson):
    tab = await open_lesson()
    await going_on(tab, 2).dblclick()
    await expect(foot(tab, 3)).to_contain_text("Call 2 is done")
    await expect(going_on(tab, 3)).to_be_focused()
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
    tab = await open_lesson(look, change("two", "2"), look)
    await going_on(tab, 2).click()
    await tab.keys_count(3)
    await tab.page.keyboard.press("ArrowRight")
    await tab.approve(3)
    await expect(foot(tab, 3)).to_contain_text("Call 2 is done")
    await expect(going_on(tab, 3)).to_be_focused()
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(5)


async def test_after_a_denial_by_key_continue_is_in_view(open_lesson):
    """The recorded result is higher than the window."""
    look = bash("cat notes.txt", NOTES)
    tab = await open_lesson(look, change("two", "".join(f"line {number}\n" for number in range(100))), look)
    await going_on(tab, 2).click()
    await tab.keys_count(3)
    await tab.page.keyboard.press("Escape")
    await expect(foot(tab, 3)).to_contain_text("Call 2 was denied")
    await expect(going_on(tab, 3)).to_be_focused()
    await expect(going_on(tab, 3)).to_be_in_viewport(ratio=0.9)


async def test_a_question_after_a_reload_waits_in_the_panel_and_the_head_follows(open_lesson):
    """JupyterLab adds no output to a cell that ran before the page was loaded: the second question is only in the panel."""
    tab = await open_lesson(bash("cat notes.txt", NOTES), change("two", "2"), change("three", "3"))
    await tab.value("setattr(agent, 'pace', 0)")
    await going_on(tab, 2).click()
    await tab.asked(3)
    await tab.save()
    await tab.load_again()
    await tab.asked(3)
    await tab.approve(3)
    await expect(tab.card(3).filter(has_text="Approved once by you")).to_be_visible()
    await tab.page.locator(".nbtools-status-button", has_text="1 waiting").click()
    agents = Agents(tab)
    await expect(agents.waiting).to_contain_text("three")
    await is_settled(agents)
    await agents.waiting.get_by_role("button", name="Approve once").click()
    await expect(status(tab, 3)).to_have_text("Done")
