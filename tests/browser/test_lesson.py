"""A recorded run in JupyterLab, a step at a time:
by keys where the focus is on Continue, and never while somebody types.
"""

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
        log(project / "lesson.jsonl", *calls)
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
    """Returns the text of the card before *Continue*."""
    return await button.evaluate("button => getComputedStyle(button, '::before').content.split(' / ')[0]")


async def test_space_and_the_right_arrow_go_on_where_continue_has_the_focus_which_who_uses_something_else_keeps(
    open_lesson,
):
    """A double click goes on once, also where something else is under the pointer when the second click
    comes.
    """
    tab = await open_lesson(*(bash(f"cat {'./' * number}notes.txt", NOTES) for number in range(6)))
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

    await going_on(tab, 4).click()
    await expect(foot(tab, 5)).to_contain_text("Call 4 is done")
    await tab.page.mouse.down(click_count=2)  # on what is there now
    await tab.page.mouse.up(click_count=2)
    await expect(going_on(tab, 5)).to_be_focused()
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(7)

    await going_on(tab, 5).click()
    other = foot(tab, 5).get_by_role("button", name="Open trace")
    await other.focus()
    await expect(foot(tab, 6)).to_contain_text("Call 5 is done")
    await tab.page.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
    )
    await expect(other).to_be_focused()
    await tab.page.keyboard.press("ArrowRight")
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(8)

    await going_on(tab, 6).click()
    editor = tab.cell(8).locator(".cm-content")
    await editor.click()
    await tab.page.keyboard.press("End")
    await tab.page.keyboard.type(" more")
    await expect(foot(tab, 7)).to_contain_text("Call 6 is done")
    await tab.page.keyboard.press("Space")
    await tab.page.keyboard.press("ArrowRight")
    await tab.page.keyboard.type("words")
    await expect(editor).to_have_text("# typed here more words")
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(9)

    await going_on(tab, 7).focus()
    await tab.page.keyboard.press("Space")
    await expect(status(tab, 8)).to_have_text("Done")
    await expect(going_on(tab, 8)).to_have_count(0)
    await expect(tab.cell(9).locator(".cm-content")).to_have_text("# typed here more words")
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(10)


async def test_questions_keep_their_keys_and_after_a_reload_wait_in_the_panel(open_lesson):
    """After an answer Continue has the focus again,
    and is in view also where the recorded result is higher than the window.
    """
    long = "".join(f"line {number}\n" for number in range(100))
    look, look_again = bash("cat notes.txt", NOTES), bash("cat notes.txt", NOTES.replace("two", "2"))
    changes = change("one", "1"), change("three", "3")
    tab = await open_lesson(look, change("two", "2"), look_again, change("one", long), look_again, *changes)
    await going_on(tab, 2).click()
    await tab.keys_count(3)
    await tab.page.keyboard.press("ArrowRight")
    await tab.approve(3)
    await expect(foot(tab, 3)).to_contain_text("Call 2 is done")
    await expect(going_on(tab, 3)).to_be_focused()
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(5)

    await going_on(tab, 3).click()
    await going_on(tab, 4).click()
    await tab.keys_count(5)
    await tab.page.keyboard.press("Escape")
    await expect(foot(tab, 5)).to_contain_text("Call 4 was denied")
    await expect(going_on(tab, 5)).to_be_focused()
    await expect(going_on(tab, 5)).to_be_in_viewport(ratio=0.9)

    # JupyterLab adds no output to a cell that ran before the page was loaded:
    # the second question is only in the panel, the head follows.
    await tab.value("setattr(agent, 'pace', 0)")
    await going_on(tab, 5).click()
    await tab.wait_for_questions(6)
    await tab.save()
    await tab.load_again()
    await expect(tab.cell(2)).to_be_visible()
    await tab.page.evaluate("window.jupyterapp.shell.currentWidget.content.scrollToItem(6).then(() => null)")
    await tab.wait_for_questions(6)
    await tab.approve(6)
    await expect(tab.card(6).filter(has_text="Approved once by you")).to_be_visible()
    await tab.page.locator(".nbtools-status-button", has_text="1 waiting").click()
    agents = Agents(tab)
    await expect(agents.waiting).to_contain_text("three")
    await is_settled(agents)
    await agents.approve("three")
    await expect(status(tab, 6)).to_have_text("Done")
