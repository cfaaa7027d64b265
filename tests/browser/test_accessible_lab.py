"""Accessibility of what nbtools adds to JupyterLab:
the panel, the status bar, dialogs, the tour and tabs of logs.
"""

from __future__ import annotations

import shutil

import pytest
from playwright.async_api import expect

from tests.browser.accessibility import cut_buttons, in_all_themes, is_accessible
from tests.browser.conftest import WINDOW
from tests.browser.long_log import write_cart_log
from tests.browser.test_accessible_questions import KINDS, SEVERAL
from tests.browser.test_log_tabs import LogTab
from tests.browser.test_mcp import ADD, CONNECTING
from tests.browser.test_panel import Agents
from tests.browser.test_sessions import TAB, Sessions, logs  # noqa: F401 - the fixture
from tests.browser.test_trace import REAL
from tests.waiting import eventually

SECTIONS = ("Waiting", "Running", "Sessions", "Changes", "Rules", "MCP servers")
WORK = """\
%tools mode auto_edit
%tool edit notes.txt --old two --new zwei
%tool edit notes.txt --old one --new eins
%tools undo
%tools mode default
%tools allow shell(sleep:*)
job = tools.shell.background("sleep 300")"""
DIALOG = ".jp-Dialog-content"
OPEN = "([command, args]) => window.jupyterapp.commands.execute(command, args).then(() => null)"


@pytest.fixture
def panel():
    """Opens the panel *Agents* with all its sections."""

    async def panel(tab):
        agents = Agents(tab)
        await agents.open()
        for name in SECTIONS:
            if await agents.head(name).get_attribute("aria-expanded") != "true":
                await agents.head(name).click()
        return agents

    return panel


async def open_log(page, *paths):
    command = (
        ["nbtools:open-log", {"path": paths[0]}]
        if len(paths) == 1
        else ["nbtools:compare-logs", {"paths": list(paths)}]
    )
    await page.evaluate(OPEN, command)


async def test_the_panel(open_notebook, panel, project):
    shutil.copy(REAL, project / "session.jsonl")
    tab = await open_notebook(f"import json\n{ADD}", WORK, SEVERAL)
    agents = await panel(tab)
    await expect(agents.section("Waiting")).to_contain_text("Nothing waits")
    await is_accessible(tab.page)
    await open_log(tab.page, f"{project.name}/session.jsonl")
    await expect(LogTab(tab.page).row("Read")).to_be_visible()
    await tab.page.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    await expect(agents.section("Sessions")).to_contain_text("session.jsonl")
    await tab.start(1)
    await expect(tab.output(1).get_by_text("connected", exact=True)).to_be_visible(timeout=CONNECTING)
    await tab.done(1)
    await tab.run(2)
    await tab.run(3)
    await expect(agents.waiting).to_have_count(KINDS)
    for details in await agents.waiting.get_by_role("button", name="Details", exact=True).all():
        await details.click()
    await expect(agents.section("Running").locator(".nbtools-row")).to_have_count(1)
    await expect(agents.section("servers")).to_contain_text("shop")
    await expect(tab.page.locator(".nbtools-status-button")).to_contain_text(f"{KINDS} waiting")
    await in_all_themes(tab)


@pytest.mark.usefixtures("logs")
async def test_the_dialogs_the_tour_and_tabs_of_logs(open_notebook, zoomed, project):
    """The content of tabs is checked in all themes where it is shown without JupyterLab."""
    shutil.copy(REAL, project / "a.jsonl")
    write_cart_log(project / "b.jsonl")
    tab = await open_notebook("%tool ls")
    await dialogs(tab, zoomed)
    await tour(tab)

    await tab.page.set_viewport_size(WINDOW)
    await open_log(tab.page, f"{project.name}/a.jsonl")
    log = LogTab(tab.page)
    await log.chip("writes").click()
    await log.row("Edit").click()
    await expect(log.panel.locator(".nbtools-diff")).to_be_visible()
    await is_accessible(tab.page)
    await open_log(tab.page, f"{project.name}/a.jsonl", f"{project.name}/b.jsonl")
    await expect(log.node).to_contain_text("shared at the beginning")
    await is_accessible(tab.page)
    await is_usable_when_zoomed(tab, zoomed)
    await tab.page.evaluate(OPEN, ["nbtools:list-sessions", {}])
    await expect(Sessions(tab.page, tab.page.locator(TAB)).row("Fix issue 6")).to_contain_text("31")
    await is_accessible(tab.page)
    await is_usable_when_zoomed(tab, zoomed)


async def dialogs(tab, zoomed):
    dialog = tab.page.locator(".jp-Dialog")
    await tab.command("nbtools:keys", wait=False)
    await expect(dialog).to_contain_text("approve once")
    await in_all_themes(tab, DIALOG)
    await tab.page.keyboard.press("Escape")
    await tab.command("nbtools:set-mode", mode="yolo", wait=False)
    await expect(dialog).to_contain_text("yolo")
    await is_accessible(tab.page, DIALOG)
    await tab.page.keyboard.press("Escape")
    await tab.command("nbtools:new-call", wait=False)
    await expect(dialog.get_by_role("option").first).to_be_visible()
    await is_accessible(tab.page, DIALOG)
    await dialog.get_by_label("Search the tools").fill("shell")
    await tab.page.keyboard.press("Enter")
    await expect(
        dialog.locator(".nbtools-tool-fields textarea, .nbtools-tool-fields input").first
    ).to_be_visible()
    await in_all_themes(tab, DIALOG)
    await zoomed()
    await eventually([], cut_buttons, tab.page, DIALOG)
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


async def tour(tab):
    """In the small window."""
    await tab.command("nbtools:tour", wait=False)
    shown = tab.page.get_by_role("dialog", name="Tour of nbtools")
    await in_all_themes(tab)
    for _ in range(3):
        await tab.page.keyboard.press("Enter")
        await is_accessible(tab.page)
        await eventually([], cut_buttons, tab.page)
    await tab.page.keyboard.press("Enter")
    await expect(shown).to_have_count(0)


async def is_usable_when_zoomed(tab, zoomed):
    await zoomed()
    await eventually([], cut_buttons, tab.page)
    await tab.page.set_viewport_size(WINDOW)
