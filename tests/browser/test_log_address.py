"""The address of a step: copied in one page, opened in another, and made up by somebody who means harm."""

from __future__ import annotations

import re
import shutil
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.async_api import expect

from tests.browser.explorer import Explorer
from tests.browser.tab import restored
from tests.browser.test_log_tabs import LogTab
from tests.browser.test_trace import REAL
from tests.waiting import eventually

COPY = "Copy link"
COPIED = "addEventListener('copy', event => { window.copied = event.clipboardData.getData('text'); })"
OPEN = "path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)"
SAVED = """() => window.jupyterapp.serviceManager.workspaces.fetch('addressed').then(
    ({ data }) => JSON.stringify(data['layout-restorer:data'] ?? '').includes('nbtools-agent-logs'))"""
ENDED = "window.jupyterapp.serviceManager.sessions.shutdownAll()"


async def copied(page, button):
    await page.evaluate(COPIED)
    await button.click()
    await page.wait_for_function("window.copied !== undefined")
    return await page.evaluate("window.copied")


async def selected_step(tab):
    """Selects a step of the log in cell 1; returns its number and the button that copies its address."""
    await tab.run(1)
    trace = Explorer(tab, 1)
    await trace.row("Read").click()
    return await trace.chosen.locator(".nbtools-trace-number").inner_text(), trace.panel.get_by_role("button", name=COPY)


async def test_an_address_that_was_copied_in_a_notebook_opens_the_step_in_another_page(open_notebook, project, context):
    name = "my session & more #1.jsonl"
    shutil.copy(REAL, project / name)
    tab = await open_notebook(f'%trace "{name}"')
    number, button = await selected_step(tab)
    await expect(button).to_have_attribute("title", re.compile(rf"agent-log.*agent-step={re.escape(number)}$"))
    address = await copied(tab.page, button)
    parts = urlsplit(address)
    assert parts.path.endswith("/lab")
    assert parse_qs(parts.query) == {"agent-log": [f"{project.name}/{name}"], "agent-step": [number]}
    page = await context.new_page()
    await page.goto(address)  # the page may load again, with a workspace of its own
    opened = LogTab(page)
    await expect(opened.node.locator('.nbtools-trace-row[aria-selected="true"] .nbtools-trace-number')).to_have_text(number)
    await expect(opened.panel.locator(".nbtools-card")).to_be_visible()
    await page.wait_for_url(lambda url: "agent-log" not in url)
    link = opened.panel.get_by_role("button", name=COPY)
    await expect(link).to_have_attribute("title", address)
    await page.evaluate(OPEN, f"{project.name}/{name}")
    assert await page.locator(".nbtools-log").count() == 1
    await page.close()


async def test_an_open_tab_goes_to_the_step(server, context, project):
    shutil.copy(REAL, project / "session.jsonl")
    page = await context.new_page()
    await page.goto(server.address("lab/workspaces/addressed") + f"&agent-log={project.name}/session.jsonl&agent-step=3")
    await restored(page)
    chosen = LogTab(page).node.locator('.nbtools-trace-row[aria-selected="true"] .nbtools-trace-number')
    await expect(chosen).to_have_text("3")
    await eventually(True, page.evaluate, SAVED)
    await page.goto(server.address("lab/workspaces/addressed") + f"&agent-log={project.name}/session.jsonl&agent-step=12")
    await restored(page)
    await expect(chosen).to_have_text("12")
    assert await page.locator(".nbtools-log").count() == 1
    await page.evaluate(ENDED)
    await page.close()


async def test_a_log_that_jupyter_does_not_serve_keeps_the_line(open_notebook, server):
    outside = server.root.parent / "outside.jsonl"
    shutil.copy(REAL, outside)
    tab = await open_notebook(f"%trace {outside}")
    number, button = await selected_step(tab)
    await expect(button).to_have_attribute("title", f"%trace {outside} --step {number}")
    assert await copied(tab.page, button) == f"%trace {outside} --step {number}"


MISSING = "does not exist, or Jupyter does not serve it"
ADDRESSES = {
    ("../outside.jsonl", "1"): MISSING,
    ("session:00000000000001", "1"): MISSING,
    ("x" * 6_000, "1"): MISSING,
    ("{project}/session.jsonl", "9" * 6_000): "does not exist",
    ("{project}/session.jsonl", "1;alert(1)"): "does not exist",
    ("{project}/session.jsonl", "<img src=x onerror=window.broken=true>"): "does not exist",
}
PATHS = {
    "{project}/../../outside.jsonl": MISSING,
    "/etc/passwd": MISSING,
    "{project}": MISSING,
    "javascript:window.broken=true": MISSING,
    "{project}/<img src=x onerror=window.broken=true>.jsonl": MISSING,
    "{project}/notes.txt": "is not recognised as a session log",
}
"""An address has its log opened as the command does, for which the page need not be loaded again."""


async def test_hostile_addresses_say_what_is_wrong(server, context, project):
    shutil.copy(REAL, project / "session.jsonl")
    shutil.copy(REAL, server.root.parent / "outside.jsonl")
    (project / "notes.txt").write_text("notes", encoding="utf-8")
    page = await context.new_page()

    async def is_refused(says):
        await expect(LogTab(page).node).to_contain_text(says)
        await expect(page.locator(".jp-Dialog")).to_have_count(0)
        assert await page.evaluate("window.broken") is None

    for number, ((log, step), says) in enumerate(ADDRESSES.items()):
        path = quote(log.format(project=project.name), safe="")
        await page.goto(server.address(f"lab/workspaces/hostile-{number}") + f"&agent-log={path}&agent-step={quote(step, safe='')}")
        await restored(page)
        await is_refused(says)
        await page.wait_for_url(lambda url: "agent-log" not in url)
    for path, says in PATHS.items():
        await page.evaluate("[...window.jupyterapp.shell.widgets('main')].forEach(widget => widget.dispose())")
        await page.evaluate(OPEN, path.format(project=project.name))
        await is_refused(says)
    await page.evaluate(ENDED)
    await page.close()


@pytest.mark.parametrize("query", ["&agent-log=", "&agent-step=4"])
async def test_an_address_without_a_log_opens_nothing(server, context, query):
    page = await context.new_page()
    await page.goto(server.address("lab/workspaces/no-log") + query)
    await restored(page)
    await expect(page.locator(".jp-Launcher").first).to_be_visible()
    await expect(page.locator(".nbtools-log")).to_have_count(0)
    await page.close()
