"""The panel *Agents*: from the click on *Approve once*, with another notebook in front, to the tool's start; and the cost of idling.

python bench/panel.py     (NBTOOLS_BROWSER names the browser; the front end must be built: make lab)
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Page, async_playwright, expect
from report import Figure, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.project import make_project, write_notebook
from tests.browser.server import Server
from tests.browser.tab import Tab

ROUNDS = 20
IDLE_SECONDS = 20
EDITS = f"""\
for n in range({ROUNDS}):
    tools.edit("notes.txt", old=f"line {{n}}", new=f"line {{n + 1}}")"""
LISTEN = """() => {
    window.clicks = [];
    window.addEventListener('click', event => event.target.closest('.nbtools-waiting') && window.clicks.push(Date.now() / 1000), true);
}"""
STARTS = "__import__('json').dumps([call.last.at for call in tools._runtime.session.history])"
CPU = "sum(__import__('os').times()[:2])"


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
    return [(start - click) * 1e3 for start, click in zip(starts, await page.evaluate("window.clicks"), strict=True)]


async def idle(page: Page, tab: Tab) -> tuple[float, float]:
    """Processor time in percent, of the page's thread and of the kernel, while nothing happens."""
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable")

    async def busy() -> float:
        metrics = await session.send("Performance.getMetrics")
        return float(next(one["value"] for one in metrics["metrics"] if one["name"] == "TaskDuration"))

    before = await busy(), float(await tab.value(CPU))
    await asyncio.sleep(IDLE_SECONDS)
    after = await busy(), float(await tab.value(CPU))
    return (after[0] - before[0]) / IDLE_SECONDS * 100, (after[1] - before[1]) / IDLE_SECONDS * 100


async def run() -> tuple[list[float], tuple[float, float], tuple[float, float]]:
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        folder = make_project(Path(served))
        (folder / "notes.txt").write_text("line 0\n", encoding="utf-8")
        write_notebook(folder / "asks.ipynb", [EDITS])
        write_notebook(folder / "front.ipynb", ["1"])
        async with Server(folder, Path(home)) as server, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            page = await browser.new_page()
            await page.goto(server.address("lab/tree", "asks.ipynb"))
            tab, front = Tab(page, folder / "asks.ipynb", folder), Tab(page, folder / "front.ipynb", folder)
            await tab.ready()
            before = await idle(page, tab)
            await tab.run(0)
            await page.evaluate("window.jupyterapp.shell.activateById('nbtools-agents')")
            await front.command("docmanager:open", path=front.path.name)
            await front.ready()
            await front.command("docmanager:open", path=tab.path.name)
            taken = await clicks(page, tab, front)
            cost = await idle(page, tab)
            await browser.close()
    return taken, before, cost


def main() -> None:
    taken, before, after = asyncio.run(run())
    table(
        f"the panel Agents: click → start, {ROUNDS} rounds; idle for {IDLE_SECONDS} s",
        [
            Figure("Approve once, another notebook in front", taken, "ms", "≤ 50 ms"),
            Figure("page, idle, before nbtools is loaded", [before[0]], "%"),
            Figure("page, idle, panel open", [after[0]], "%", "≤ 1 % more"),
            Figure("kernel, idle, before nbtools is loaded", [before[1]], "%"),
            Figure("kernel, idle, panel open", [after[1]], "%", "≤ 1 % more"),
        ],
    )


if __name__ == "__main__":
    main()
