"""The panel *Agents*: from the click on *Approve once*, with another notebook in front, to the tool's start;
and the cost of idling.

Idle are two open notebooks: without the extension and with bare kernels,
and with the panel open and nbtools loaded in one of them.

python bench/panel.py     (NBTOOLS_BROWSER names the browser; the front end must be built: make lab)
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import psutil
from idle import SECONDS, IdleMeter
from playwright.async_api import Browser, Page, Playwright, async_playwright, expect
from report import Figure, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.project import make_project, write_notebook
from tests.browser.server import Server, disable_extension
from tests.browser.tab import Tab

ROUNDS = 20
EDITS = f"""\
for n in range({ROUNDS}):
    tools.edit("notes.txt", old=f"line {{n}}", new=f"line {{n + 1}}")"""
LISTEN = """() => {
    window.clicks = [];
    window.addEventListener('click', event => event.target.closest('.nbtools-waiting') && window.clicks.push(Date.now() / 1000), true);
}"""
STARTS = "__import__('json').dumps([call.last.at for call in tools._runtime.session.history])"


async def clicks(page: Page, tab: Tab, front: Tab) -> list[float]:
    """Milliseconds from click to start, round by round."""
    await tab.start(1)
    await front.command("docmanager:open", path=front.path.name)
    await page.evaluate(LISTEN)
    approve = page.locator(".nbtools-waiting").get_by_role("button", name="Approve once")
    seen = ""
    for _ in range(ROUNDS):
        row = page.locator(f".nbtools-waiting:not([data-question='{seen}'])")
        await expect(row).to_have_count(1)
        seen = str(await row.get_attribute("data-question"))
        await front.keys_pass()
        await approve.click()
    await expect(page.locator(".nbtools-waiting")).to_have_count(0)
    await front.command("docmanager:open", path=tab.path.name)
    await tab.done(1)
    starts = json.loads(await tab.value(STARTS))
    return [
        (start - click) * 1e3
        for start, click in zip(starts, await page.evaluate("window.clicks"), strict=True)
    ]


async def idle(browser: Browser, kernel: psutil.Process) -> tuple[float, float]:
    """Percent of a processor, of the page and of the kernel, while nothing happens."""
    meter = await IdleMeter.of(browser)
    await meter.settle()
    before = kernel.cpu_times()
    page = await meter.percent()
    after = kernel.cpu_times()
    return page, 100 * (after.user + after.system - before.user - before.system) / SECONDS


async def measure(playwright: Playwright, *, extension: bool) -> tuple[list[float], tuple[float, float]]:
    """Milliseconds from click to start, none without the extension;
    percent of a processor of page and kernel.
    """
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        folder = make_project(Path(served))
        (folder / "notes.txt").write_text("line 0\n", encoding="utf-8")
        write_notebook(folder / "asks.ipynb", [EDITS])
        write_notebook(folder / "front.ipynb", ["1"])
        if not extension:
            disable_extension(Path(home), "nbtools-agent")
        async with Server(folder, Path(home)) as server:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            page = await browser.new_page()
            await page.goto(server.address("lab/tree", "asks.ipynb"))
            tab, front = Tab(page, folder / "asks.ipynb", folder), Tab(page, folder / "front.ipynb", folder)
            await tab.ready()
            if extension:
                await tab.run(0)
                await page.evaluate("window.jupyterapp.shell.activateById('nbtools-agents')")
            kernel = psutil.Process(int(await tab.value("__import__('os').getpid()")))
            await front.command("docmanager:open", path=front.path.name)
            await front.ready()
            await front.command("docmanager:open", path=tab.path.name)
            cost = await idle(browser, kernel)
            taken = await clicks(page, tab, front) if extension else []
            await browser.close()
    return taken, cost


async def main() -> None:
    async with async_playwright() as playwright:
        _, without = await measure(playwright, extension=False)
        taken, cost = await measure(playwright, extension=True)
    table(
        f"the panel Agents: click → start, {ROUNDS} rounds",
        [Figure("Approve once, another notebook in front", taken, "ms", "≤ 50 ms")],
    )
    table(
        f"the page, idle for {SECONDS} s, percent of a processor",
        [
            Figure("page, without the extension", [without[0]], "%"),
            Figure("page, panel open", [cost[0]], "%", "≤ 1 % more"),
        ],
    )
    table(
        f"the kernel, idle for {SECONDS} s, percent of a processor",
        [
            Figure("kernel, bare", [without[1]], "%"),
            Figure("kernel, nbtools loaded, panel open", [cost[1]], "%", "≤ 1 % more"),
        ],
    )


if __name__ == "__main__":
    asyncio.run(main())
