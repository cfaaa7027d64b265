"""One story by the keyboard alone: no click, no mouse, from an empty JupyterLab to a step of a log."""

from __future__ import annotations

import re
import shutil

import pytest
from playwright.async_api import expect

from tests.browser.project import write_notebook
from tests.browser.tab import Tab
from tests.browser.test_editing import CHANGED, LONG
from tests.browser.test_log_tabs import LogTab
from tests.browser.test_panel import Agents
from tests.browser.test_trace import REAL

STEPS = 60
"""Presses of Tab after which something counts as out of reach."""


class Hands:
    """Uses a page with the keyboard alone."""

    def __init__(self, page):
        self.page = page

    async def press(self, *keys):
        for key in keys:
            await self.page.keyboard.press(key)

    async def command(self, label):
        """Chooses a command in the palette by its label."""
        await self.press("Control+Shift+c")
        palette = self.page.locator("#modal-command-palette")
        await expect(palette.locator("input")).to_be_focused()
        await self.page.keyboard.type(label)
        await expect(palette.locator(".lm-CommandPalette-item.lm-mod-active")).to_contain_text(label)
        await self.press("Enter")
        await expect(palette).to_be_hidden()

    async def reach(self, target, key="Tab"):
        """Presses a key until the target has the focus."""
        await expect(target).to_be_visible()
        for _ in range(STEPS):
            await self.press(key)
            if await target.evaluate("node => node === document.activeElement"):
                return
        pytest.fail(f"the keyboard does not reach {target}")


@pytest.fixture
def story(project, server, lab):
    """A notebook that is not open, and its tab."""
    (project / "long.py").write_text(LONG, encoding="utf-8")
    shutil.copy(REAL, project / "session.jsonl")
    write_notebook(
        project / "story.ipynb", (f"tools.write('long.py', {CHANGED!r}).ok", "%tool delete notes.txt")
    )
    return Tab(lab, project / "story.ipynb", server.root)


async def test_from_a_notebook_to_a_log(story, project, lab):
    hands, tab = Hands(lab), story
    await lab.bring_to_front()
    await hands.command("Open from Path…")
    await lab.keyboard.type(f"{project.name}/story.ipynb")
    await hands.press("Enter")
    await tab.ready()
    await hands.press("Shift+Enter")
    await tab.done(0)
    try:
        await decide(hands, tab)
        await use_the_panel(hands, tab)
        await read_a_log(hands, tab)
    finally:
        await tab.end()


async def decide(hands, tab):
    """A hunk is left out, the proposal is modified, and then approved."""
    await hands.press("Shift+Enter")
    await tab.keys_count(1)
    question = tab.question(1)
    await hands.reach(question.get_by_role("checkbox", name="Change").nth(1), "Shift+Tab")
    await hands.press("Space")
    await expect(question.locator(".nbtools-approve")).to_contain_text("Approve 2 of 3 changes")
    gap = question.locator(".nbtools-gap > .nbtools-link").first
    await hands.reach(gap, "Shift+Tab")
    count = await question.locator(".nbtools-gap").count()
    await hands.press("Enter")
    await expect(question.locator(".nbtools-gap")).not_to_have_count(count)
    await hands.press("m")
    editor = question.locator(".nbtools-merge .cm-content")
    await expect(editor).to_be_focused()
    await hands.press("F8", "F7")
    await expect(editor).not_to_contain_text("three")
    await tab.page.keyboard.type("by_hand = 1\n")
    await hands.press("Control+Enter")
    await expect(question).to_contain_text("With your changes")
    await tab.keys_count(1)
    await hands.press("y")
    await tab.done(1)
    assert "by_hand = 1" in tab.read("long.py")
    assert "three" not in tab.read("long.py")
    await expect(tab.panel.locator(":focus")).to_have_count(1)
    await hands.press("ArrowDown")
    await expect(tab.cell(2)).to_have_class(re.compile(r"\bjp-mod-active\b"))


async def use_the_panel(hands, tab):
    """A change is undone, and a question answered, in the panel."""
    agents = Agents(tab)
    await hands.command("Show the Panel Agents")
    await expect(agents.node.locator(":focus")).to_have_count(1)
    await hands.reach(agents.section("Changes").get_by_role("button", name="Undo the change of long.py"))
    await hands.press("Enter")
    await expect(agents.section("Changes")).to_contain_text("undone")
    assert tab.read("long.py") == LONG
    await hands.command("Run Selected Cell and Do not Advance")
    await expect(agents.waiting).to_have_count(1)
    await hands.command("Show the Panel Agents")
    await expect(agents.waiting.get_by_role("button", name="Deny")).to_be_focused()
    await tab.keys_pass()
    await hands.reach(agents.approve_button(agents.waiting), "Shift+Tab")
    await hands.press("Enter")
    await tab.done(2)
    assert not (tab.folder / "notes.txt").exists()


async def read_a_log(hands, tab):
    """A log, in a tab of its own, is filtered and searched, and a step is opened and left."""
    await tab.command("nbtools:open-log", path=f"{tab.folder.name}/session.jsonl")
    log = LogTab(hands.page)
    await expect(log.row("Read")).to_be_visible()
    await hands.reach(log.chip("writes"))
    await hands.press("Enter")
    await expect(log.chip("writes")).to_have_attribute("aria-pressed", "true")
    await hands.press("/")
    await hands.page.keyboard.type("repo.go")
    await hands.press("Enter")
    rows = log.node.locator(".nbtools-trace-list")
    await expect(rows).to_be_focused()
    await expect(log.node.locator(".nbtools-trace-found")).to_contain_text("of")
    await expect(log.trace).to_have_attribute(
        "aria-busy", "false"
    )  # until then the list is the unfiltered one
    await hands.press("j", "Enter")
    await expect(log.panel).to_be_focused()
    await expect(log.panel.locator(".nbtools-card")).to_contain_text("repo.go")
    await hands.press("Escape")
    await expect(rows).to_be_focused()
