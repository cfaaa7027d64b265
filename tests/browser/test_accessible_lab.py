"""Accessibility of what nbtools adds to JupyterLab: the panel, the status bar, dialogs, the tour and tabs of logs."""

from __future__ import annotations

import shutil

import pytest
from playwright.async_api import expect

from tests.browser.accessibility import cut_buttons, in_all_themes, is_accessible
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
    command = ["nbtools:open-log", {"path": paths[0]}] if len(paths) == 1 else ["nbtools:compare-logs", {"paths": list(paths)}]
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


async def test_the_dialogs_and_the_tour(open_notebook, zoomed):
    tab = await open_notebook("%tool ls")
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
    await expect(dialog.locator(".nbtools-tool-fields textarea, .nbtools-tool-fields input").first).to_be_visible()
    await in_all_themes(tab, DIALOG)
    await zoomed()
    await eventually([], cut_buttons, tab.page, DIALOG)
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await tab.command("nbtools:tour", wait=False)
    tour = tab.page.get_by_role("dialog", name="Tour of nbtools")
    await in_all_themes(tab)
    for _ in range(3):
        await tab.page.keyboard.press("Enter")
        await is_accessible(tab.page)
        await eventually([], cut_buttons, tab.page)
    await tab.page.keyboard.press("Enter")
    await expect(tour).to_have_count(0)


async def open_edit_of_a_log(page, project):
    """Opens one of two logs in a tab, and an edit in it; returns the tab."""
    shutil.copy(REAL, project / "a.jsonl")
    write_cart_log(project / "b.jsonl")
    await open_log(page, f"{project.name}/a.jsonl")
    log = LogTab(page)
    await log.chip("edits").click()
    await log.row("Edit").click()
    await expect(log.panel.locator(".nbtools-diff")).to_be_visible()
    return log


async def test_logs_and_a_comparison_in_tabs(open_notebook, project, zoomed):
    tab = await open_notebook()
    log = await open_edit_of_a_log(tab.page, project)
    await is_accessible(tab.page)
    await open_log(tab.page, f"{project.name}/a.jsonl", f"{project.name}/b.jsonl")
    await expect(log.node).to_contain_text("shared at the beginning")
    await in_all_themes(tab)
    await zoomed()
    await eventually([], cut_buttons, tab.page)


@pytest.mark.usefixtures("logs")
async def test_the_list_of_sessions(open_notebook, zoomed):
    tab = await open_notebook()
    page = tab.page
    await page.evaluate(OPEN, ["nbtools:list-sessions", {}])
    shown = Sessions(page, page.locator(TAB))
    row = shown.row("Fix issue 6")
    await expect(row).to_contain_text("31")
    await row.get_by_role("checkbox").click()
    await expect(row).to_have_attribute("aria-selected", "true")
    await in_all_themes(tab, ".nbtools-sessions")
    await page.emulate_media(forced_colors="active")
    await expect(row.locator(".nbtools-sessions-box")).to_have_css("border-left-width", "4px")
    await is_accessible(page, ".nbtools-sessions")
    await page.emulate_media(forced_colors="none")
    await zoomed()
    await eventually([], cut_buttons, page)
    await is_accessible(page, ".nbtools-sessions")
    await expect(row.locator(".nbtools-sessions-project")).to_be_hidden()  # the title has its room
