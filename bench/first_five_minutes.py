"""The first five minutes of a new user in JupyterLab: what is seen after each step, and when.

python bench/first_five_minutes.py     (NBTOOLS_BROWSER names the browser; the front end must be built: make lab)

Times are seconds from the user's last key or click until the thing is on the page.
Reading and typing take no time here.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.async_api import Locator, Page, async_playwright, expect

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.project import make_project
from tests.browser.server import Server
from tests.browser.tab import PATIENCE, Tab, open_lab
from tests.traces.recorded import SAMPLES

LOG = SAMPLES / "claude-code" / "external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl"
PALETTE = "input.lm-CommandPalette-input, .lm-CommandPalette-input"
COMMANDS = ("nbtools:open-log", "nbtools:open-trace", "nbtools-agent:open-trace")
"""Commands that open a log, the newest first; older versions have only the last ones."""


class Walk:
    """Prints each step with its time and what the page shows then."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.begin = time.perf_counter()

    def start(self) -> None:
        self.begin = time.perf_counter()

    async def see(self, step: str, what: Locator, *, words: int = 25) -> None:
        """Waits until ``what`` is visible."""
        await expect(what.first).to_be_visible(timeout=PATIENCE)
        taken = time.perf_counter() - self.begin
        text = " ".join((await what.first.inner_text()).split()[:words])
        print(f"{taken:6.2f} s  {step:42}  {text}", flush=True)


async def search_palette(walk: Walk, text: str) -> None:
    page = walk.page
    await page.keyboard.press("Control+Shift+c")
    await page.locator(PALETTE).first.fill(text)
    walk.start()
    await page.wait_for_timeout(500)
    items = await page.locator(
        f'.lm-CommandPalette-item[data-command^="{text}"] .lm-CommandPalette-itemLabel'
    ).all_inner_texts()
    print(
        f"        palette, “{text}”: {len(items)} commands of ours{': ' if items else ''}{'; '.join(items)}",
        flush=True,
    )
    await page.keyboard.press("Escape")


async def type_cell(tab: Tab, index: int, text: str) -> None:
    """Types a cell at the end of the notebook and runs it."""
    await tab.cell(index).locator(".cm-content").click()
    await tab.page.keyboard.insert_text(text)
    await tab.page.keyboard.press("Shift+Enter")


def finished(tab: Tab, index: int) -> Locator:
    return tab.cell(index).locator('.nbtools-card[data-state="success"]')


async def walk_through(walk: Walk, tab: Tab) -> None:
    page = walk.page
    await search_palette(walk, "nbtools")
    walk.start()
    await tab.command("notebook:create-new", kernelName="python3", cwd="")
    await tab.ready()
    await walk.see("a new notebook, its kernel is ready", tab.cell(0).locator(".cm-content"))
    walk.start()
    await type_cell(tab, 0, "%load_ext nbtools")
    await tab.done(0)
    await walk.see("%load_ext nbtools", tab.panel.locator(".jp-Cell").first, words=30)
    walk.start()
    await type_cell(tab, 1, "%tool grep TODO")
    await walk.see("%tool grep TODO", finished(tab, 1), words=40)
    walk.start()
    await type_cell(tab, 2, "%tool read src/cart.py")
    await walk.see("%tool read src/cart.py", finished(tab, 2), words=40)
    walk.start()
    await type_cell(tab, 3, "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'")
    approve = tab.cell(3).get_by_role("button", name="Approve once")
    await walk.see("%tool edit: its question", approve)
    buttons = await tab.cell(3).locator(".nbtools-asking button").all_inner_texts()
    print(
        f"        its buttons: {', '.join(button.strip() for button in buttons if button.strip())}",
        flush=True,
    )
    walk.start()
    await approve.click()
    await walk.see("Approve once: the card", tab.status(3).filter(has_text="Done"))
    undo = tab.card(3).get_by_role("button", name="undo")
    await expect(undo).to_be_visible()
    walk.start()
    await undo.click()
    await walk.see("undo in the card", tab.status(3).filter(has_text="Undone"))
    assert "Decimal" not in tab.read("src/cart.py")
    walk.start()
    await page.evaluate(
        """async ([names, path]) => {
            const { commands, shell } = window.jupyterapp;
            shell.activateById('filebrowser');
            await commands.execute('filebrowser:go-to-path', { path });
            const name = names.find(one => commands.hasCommand(one));
            commands.execute(name, name === 'nbtools:open-log' ? { path } : {});
        }""",
        [COMMANDS, "session.jsonl"],
    )
    await walk.see("a log opened from the file browser", page.locator(".nbtools-trace-row:visible"))
    title = page.locator(".lm-DockPanel-tabBar .lm-mod-current .lm-TabBar-tabLabel")
    files = sorted(path.name for path in tab.folder.iterdir() if path.name[0] != ".")
    print(f"        its tab: {await title.first.inner_text()}; files now: {', '.join(files)}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        folder = make_project(Path(served))
        shutil.copy(LOG, folder / "session.jsonl")
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            page = await browser.new_page(viewport={"width": 1280, "height": 900})
            walk = Walk(page)
            async with Server(folder, Path(home)) as server:
                await open_lab(page, server.address("lab"))
                await walk.see("JupyterLab, from its start", page.locator(".jp-Launcher"), words=0)
                tiles = await page.locator(".jp-LauncherCard-label").all_inner_texts()
                print(f"        tiles of the launcher: {', '.join(tile.strip() for tile in tiles)}")
                await walk_through(walk, Tab(page, folder / "Untitled.ipynb", folder))
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
