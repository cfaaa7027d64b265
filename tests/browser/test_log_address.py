"""The address of a step: copied in one page and opened in another; and tabs that a workspace has restored."""

from __future__ import annotations

import re
import shutil
from urllib.parse import parse_qs, quote, urlsplit

from playwright.async_api import expect

from tests.browser.explorer import Explorer
from tests.browser.tab import restored
from tests.browser.test_continuing import GOES_ON, fork_of
from tests.browser.test_log_tabs import CHUNK, KEPT, LINES, OPEN_PATH, OURS, SESSIONS, LogTab
from tests.browser.test_trace import REAL
from tests.waiting import eventually

COPY = "Copy link"
COPIED = "addEventListener('copy', event => { window.copied = event.clipboardData.getData('text'); })"
SAVED = """name => window.jupyterapp.serviceManager.workspaces.fetch('addressed').then(
    ({ data }) => JSON.stringify(data['layout-restorer:data'] ?? '').includes(name))"""
ENDED = "window.jupyterapp.serviceManager.sessions.shutdownAll()"
NO_STEP = "1;alert(1)<img src=x onerror=window.broken=true>" + "9" * 6_000


async def copied(page, button):
    await page.evaluate(COPIED)
    await button.click()
    await page.wait_for_function("window.copied !== undefined")
    return await page.evaluate("window.copied")


async def selected_step(tab, index):
    """Selects a step of the log in a cell; returns its number and the button that copies its address."""
    await tab.run(index)
    trace = Explorer(tab, index)
    await trace.row("Read").click()
    return await trace.chosen.locator(".nbtools-trace-number").inner_text(), trace.panel.get_by_role(
        "button", name=COPY
    )


async def test_an_address_that_was_copied_in_a_notebook_opens_the_step_in_another_page(
    open_notebook, project, context, server
):
    """A log that Jupyter does not serve has no address; the line that opens it is copied."""
    name = "my session & more #1.jsonl"
    shutil.copy(REAL, project / name)
    outside = shutil.copy(REAL, server.root.parent / "outside.jsonl")
    tab = await open_notebook(f'%trace "{name}"', f"%trace {outside}")
    number, button = await selected_step(tab, 1)
    await expect(button).to_have_attribute(
        "title", re.compile(rf"agent-log.*agent-step={re.escape(number)}$")
    )
    address = await copied(tab.page, button)
    parts = urlsplit(address)
    assert parts.path.endswith("/lab")
    assert parse_qs(parts.query) == {"agent-log": [f"{project.name}/{name}"], "agent-step": [number]}
    page = await context.new_page()
    await page.goto(address)  # the page may load again, with a workspace of its own
    opened = LogTab(page)
    await expect(
        opened.node.locator('.nbtools-trace-row[aria-selected="true"] .nbtools-trace-number')
    ).to_have_text(number)
    await expect(opened.panel.locator(".nbtools-card")).to_be_visible()
    await page.wait_for_url(lambda url: "agent-log" not in url)
    link = opened.panel.get_by_role("button", name=COPY)
    await expect(link).to_have_attribute("title", address)
    await page.evaluate(OPEN_PATH, f"{project.name}/{name}")
    assert await page.locator(".nbtools-log").count() == 1
    await page.close()
    await tab.page.bring_to_front()
    number, button = await selected_step(tab, 2)
    await expect(button).to_have_attribute("title", f"%trace {outside} --step {number}")
    await tab.page.evaluate("delete window.copied")
    assert await copied(tab.page, button) == f"%trace {outside} --step {number}"


async def refuse_explorer(page):
    """Has the page not get the explorer; returns the addresses from which it asks for it."""
    loads = []

    async def refuse(route):
        loads.append(route.request.url)
        await route.abort()

    await page.route(CHUNK, refuse)
    return loads


async def load_explorer_again(page):
    """Lets the page have it, after a message that it could not be loaded."""
    message = page.locator(".nbtools-log-message:visible")
    await expect(message).to_contain_text("could not be loaded")
    await page.unroute(CHUNK)
    await message.get_by_role("button", name="Try again").click()
    await expect(LogTab(page).row("Read")).to_be_visible()


async def test_tabs_are_restored_with_their_kernel_and_names_and_go_to_the_step_of_an_address(
    server, context, project
):
    """The explorer is loaded with the first log,
    and no log is opened by an address that names none or a step that is none.
    """
    (project / "session.jsonl").write_bytes(b"".join(LINES[:KEPT]))
    (project / "other").mkdir()
    shutil.copy(REAL, project / "other" / "session.jsonl")
    page = await context.new_page()
    loads = await refuse_explorer(page)
    tab = LogTab(page)
    chosen = tab.node.locator('.nbtools-trace-row[aria-selected="true"] .nbtools-trace-number')

    async def load(log, step):
        await page.goto(
            server.address("lab/workspaces/addressed")
            + f"&agent-log={quote(log, safe='')}&agent-step={quote(step, safe='')}"
        )
        await restored(page)

    await load("", "4")
    await expect(page.locator(".jp-Launcher").first).to_be_visible()
    await expect(page.locator(".nbtools-log")).to_have_count(0)
    assert loads == []
    await page.evaluate(OPEN_PATH, f"{project.name}/session.jsonl")
    await load_explorer_again(page)
    assert len(loads) == 1
    await eventually(True, page.evaluate, SAVED, "nbtools-agent-logs")

    await load(f"{project.name}/session.jsonl", "12")
    await expect(chosen).to_have_text("12")
    assert await page.locator(".nbtools-log").count() == 1
    await page.wait_for_url(lambda url: "agent-log" not in url)
    await eventually(OURS, page.evaluate, SESSIONS)
    await page.evaluate(ENDED)
    await tab.chip("writes").first.click()  # the kernel has ended: the log is opened again by another
    await expect(tab.row("Write")).to_be_visible()
    await expect(tab.chip("writes").first).to_have_attribute("aria-pressed", "true")
    await eventually(OURS, page.evaluate, SESSIONS)

    (project / "fork.jsonl").write_bytes(fork_of(LINES))
    await tab.node.locator(GOES_ON).get_by_role("button", name="Follow it").click()
    await expect(tab.chip("All").first).to_have_text("All 133")
    title = page.locator(".lm-TabBar-tab").filter(has_text=".jsonl")
    await expect(title).to_have_text("fork.jsonl")
    await expect(tab.node.locator(".nbtools-trace-list")).to_be_focused()
    await eventually(True, page.evaluate, SAVED, "fork.jsonl")
    await page.evaluate(ENDED)
    await tab.chip("shell").first.click()
    await expect(tab.chip("shell").first).to_have_attribute("aria-pressed", "true")
    await expect(tab.chip("All").first).to_have_text("All 133")

    await load(f"{project.name}/other/session.jsonl", NO_STEP)
    await expect(tab.node).to_contain_text("does not exist")
    await expect(page.locator(".jp-Dialog")).to_have_count(0)
    assert await page.evaluate("window.broken") is None
    await page.wait_for_url(lambda url: "agent-log" not in url)
    await page.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    await expect(title).to_have_text("fork.jsonl")
    await expect(tab.chip("All").first).to_have_text("All 133")
    await page.evaluate(ENDED)
    await page.close()
